# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wi-Fi frames with interference: noise in some subcarriers or from some directions."""

import numpy as np
import pytest
from gnuradio.mimopack.wifi import HT, NonHT
from wifi_air import air, data_mpdu, frames_in, multipath

RATE, SPACING, LEVEL = 20e6, 312.5e3, 0.1


def gaussian(rng, *shape):
    return rng.standard_normal((*shape, 2)).view(complex)[..., 0] / np.sqrt(2)


def decoded(samples, sent, **options):
    """Return the number of sent frames that are decoded."""
    frames = frames_in(samples, **options)
    found = [mpdu.data for frame in frames for mpdu in frame.mpdus if mpdu.fcs_ok]
    return sum(one.mpdus[0] in found for one in sent)


def beside_tones(frame_format_of, antennas, level_db, carriers):
    """Return (frames decoded, frames sent), with a tone at each of the carriers for some frames."""
    count = total = 0
    for index, k in enumerate(carriers):
        frames = [(frame_format_of, [data_mpdu(400, 10 * index + i)]) for i in range(4)]
        samples, sent = air(frames, antennas, snr_db=30, seed=index, channel=multipath)
        rng = np.random.default_rng(index)
        phases = np.exp(2j * np.pi * rng.random((antennas, 1)))
        tone = np.exp(2j * np.pi * k * SPACING / RATE * np.arange(samples.shape[1]))
        level = LEVEL * 10 ** (level_db / 20)
        count += decoded(samples + level * phases * tone, sent)
        total += len(sent)
    return count, total


class TestTones:
    @pytest.mark.parametrize("frame_format_of, antennas", [
        (lambda n: NonHT(24, n), 1), (lambda n: HT(3, n), 1), (lambda n: HT(11, n), 2)])
    def test_a_tone_between_subcarriers_10_db_below_the_signal(self, frame_format_of, antennas):
        count, total = beside_tones(frame_format_of, antennas, -10, np.arange(-20, 21, 4) + 0.5)
        assert count >= 0.85 * total

    def test_a_tone_on_a_pilot(self):
        count, total = beside_tones(lambda n: NonHT(24, n), 1, -15, (-21, -7, 7, 21))
        assert count >= 0.9 * total


class TestDirections:
    @pytest.mark.parametrize("whitening", ["antennas", "covariance"])
    def test_noise_from_one_direction_5_db_below_the_signal(self, whitening):
        frames = [(lambda n: HT(11, n), [data_mpdu(400, i)]) for i in range(40)]
        samples, sent = air(frames, 4, snr_db=16, seed=7, channel=multipath)
        rng = np.random.default_rng(7)
        level = LEVEL * 10 ** ((11 - 16) / 20)
        edges = [0, *(one.start - 200 for one in sent[1:]), samples.shape[1]]
        for begin, end in zip(edges[:-1], edges[1:], strict=True):
            samples[:, begin:end] += level * gaussian(rng, 4, 1) * gaussian(rng, end - begin)
        assert decoded(samples, sent, whitening=whitening) >= 36
