# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spectra of the transmitter's frames, and the masks of the standard."""

import numpy as np
import pytest
from gnuradio.mimopack import wifi

RESOLUTION = 100e3    # Hz, of the standard's measurements
# Level of a mask in dB below the largest density, at these offsets from the centre in MHz
# (17.3.9.3, 19.3.18.1 and 21.3.17.1 of 802.11-2020 for the 5 GHz band, 27.3.19.1 of 802.11ax-2021).
LEVELS = (0, -20, -28, -40)
MASKS = {
    "non-ht": {20: (9, 11, 20, 30)},
    "ht": {20: (9, 11, 20, 30), 40: (19, 21, 40, 60)},
    "vht": {20: (9, 11, 20, 30), 40: (19, 21, 40, 60), 80: (39, 41, 80, 120),
            160: (79, 81, 160, 240)},
    "he-su": {20: (9.75, 10.5, 20, 30), 40: (19.5, 20.5, 40, 60), 80: (39.5, 40.5, 80, 120),
              160: (79.5, 80.5, 160, 240)}}
FORMATS = {
    "non-ht": lambda n, _: wifi.NonHT(54, n),
    "ht": lambda n, width: wifi.HT(7, n, bandwidth_mhz=width),
    "vht": lambda n, width: wifi.VHT.of_length(8, n, bandwidth_mhz=width),
    "he-su": lambda n, width: wifi.HE.of_length(9, n, bandwidth_mhz=width, coding="ldpc")}


def density(samples, sample_rate):
    """Return (offsets from the centre in Hz, power spectral density) by Welch's method."""
    size = round(1.5 * sample_rate / RESOLUTION)    # a Hann window's resolution: 1.5 bins
    window = np.hanning(size)
    power = np.mean([np.abs(np.fft.fft(window * samples[i:i + size]))**2
                     for i in range(0, samples.size - size + 1, size // 2)], axis=0)
    return np.fft.fftfreq(size, 1 / sample_rate), power


def margin(name, width, **options):
    """Return how many dB the spectrum of a frame lies under its mask at the worst offset."""
    rate = max(4 * width, 80) * 1e6
    frame_format = FORMATS[name](4000, width)
    rng = np.random.default_rng(1)
    psdu = rng.integers(0, 256, frame_format.length, np.uint8).tobytes()
    samples, = wifi.Transmitter(1, rate, **options).frame(frame_format, psdu)
    offset, power = density(samples, rate)
    corners = 1e6 * np.array(MASKS[name][width])
    beyond = np.abs(offset) > corners[0]
    allowed = np.interp(np.abs(offset[beyond]), corners, LEVELS)
    return np.min(allowed - 10 * np.log10(power[beyond] / power.max()))


@pytest.mark.parametrize("name, width", [(name, width) for name in MASKS for width in MASKS[name]])
def test_spectra_lie_under_the_masks(name, width):
    assert margin(name, width) > 4


@pytest.mark.parametrize("name, width", [
    ("non-ht", 20), ("ht", 20), ("ht", 40), ("vht", 20), ("vht", 40), ("he-su", 20)])
def test_symbols_without_transitions_exceed_the_masks(name, width):
    assert margin(name, width, windowing=0) < -1
