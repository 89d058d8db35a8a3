# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Antennas of a recording in comparison; tests/apps/wifi/test_command.py has what users see."""

import numpy as np
import pytest
from gnuradio.mimopack.wifi import HT, NonHT, compare_antennas
from wifi_air import air, data_mpdu, multipath

FRAMES = [(lambda n: NonHT(6, n), [data_mpdu(1500)]), (lambda n: HT(9, n), [data_mpdu(400)])] * 3


@pytest.mark.quick
@pytest.mark.parametrize("rate", [20e6, 40e6])
def test_delays_and_offsets(rate):
    samples, _ = air(FRAMES, 3, snr_db=25, sample_rate=rate, channel=multipath)
    delays, offsets = np.array([0, -300, 17]), np.array([0.0, 7e3, -25e3])
    at = np.arange(samples.shape[1]) / rate
    spoilt = np.stack([np.roll(row, delay) for row, delay in zip(
        samples * np.exp(2j * np.pi * np.outer(offsets, at)), delays, strict=True)])
    reference, antennas = compare_antennas(spoilt.astype(np.complex64), rate)
    assert [one.frames for one in antennas] == [one.common for one in antennas] == [6, 6, 6]
    found = np.array([(one.delay, one.offset_hz) for one in antennas])
    np.testing.assert_allclose(found[:, 0], delays - delays[reference], atol=2)
    # Frames of 2 ms tell the offset to a few Hz.
    np.testing.assert_allclose(found[:, 1], offsets - offsets[reference], atol=5)


def test_nothing_in_common():
    samples, _ = air(FRAMES[:2], 2)
    noise = 1e-3 * np.random.default_rng(1).standard_normal((2, *samples.shape))
    reference, (first, second) = compare_antennas(
        np.stack([samples[0], noise[0, 0] + 1j * noise[1, 0]]), 20e6)
    assert (reference, first.frames, second.frames, second.common) == (0, 2, 0, 0)
    assert (second.delay, second.offset_hz, second.copy_of) == (0, 0.0, None)


def test_copies_are_told_from_antennas_with_the_same_signal():
    samples, _ = air(FRAMES[:1], 1, snr_db=50, gap=3000)
    noise = 1e-4 * np.random.default_rng(1).standard_normal((2, *samples.shape))
    same_signal = samples + noise[0] + 1j * noise[1]
    for other, copy in ((same_signal, None), (samples, 0), (np.zeros_like(samples), None)):
        _, antennas = compare_antennas(np.concatenate([samples, other]), 20e6)
        assert [one.copy_of for one in antennas] == [None, copy]
