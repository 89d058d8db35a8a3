# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Airtime over time and frequency."""

import numpy as np
import pytest
from gnuradio.mimopack import wifi
from gnuradio.mimopack.wifi.airtime import Airtime
from gnuradio.mimopack.wifi.statistics import Statistics
from wifi_air import MPDUS, air, frames_in


def test_airtime_has_each_frame_in_its_cells():
    picture = Airtime(1000, row_seconds=1.0, columns=10, rows=3)    # cells of 100 samples
    assert np.isnan(picture.picture()[:2]).all()
    picture.add(150, 200)
    shares = picture.picture()
    assert shares[2, :4] == pytest.approx([0, 0.5, 1, 0.5]) and np.isnan(shares[2, 4:]).all()
    picture.add(950, 100)    # beyond the end of a row
    shares = picture.picture()
    assert shares[1, 9] == 0.5 and shares[2, 0] == 0.5 and shares[1, 1] == 0.5
    picture.advance(3500)    # the first row is no longer in the picture
    shares = picture.picture()
    assert picture.row == 3 and shares[0, 0] == 0.5 and not shares[1].any()
    picture.add(500, 100)    # older than the picture
    assert np.nansum(picture.picture()) == 0.5
    picture.advance(100_000)
    assert not np.nansum(picture.picture())


@pytest.mark.parametrize(("rate", "formats"), [
    (40e6, [lambda n: wifi.NonHT(24, n, 40), lambda n: wifi.HT(9, n, 40),
            lambda n: wifi.HT(32, n, 40), lambda n: wifi.NonHT(24, n)]),
    (80e6, [lambda n: wifi.VHT.of_length(5, n, 2, 80), lambda n: wifi.NonHT(24, n, 80)]),
    (10e6, [lambda n: wifi.NonHT(24, n)])])
def test_frames_of_other_bandwidths(rate, formats):
    samples, sent = air([(one, MPDUS[:1]) for one in formats], num_rx=2, sample_rate=rate)
    for frame in frames_in(samples, rate, keep_symbols=True):
        assert frame.complete
        statistics = Statistics(2, rate)
        statistics.add(frame)
        figures = statistics.figures(losses=True)
        assert figures.losses.margin_db > 5 and figures.losses.mmse_db < 3
        assert len(figures.points) == frame.format.num_streams
        assert figures.airtime > 0.1 and figures.recent_total.seconds == frame.num_samples / rate
    if rate == 10e6:
        assert list(figures.totals) == [("non-ht", 12, 1)]


@pytest.mark.parametrize("seed", range(3))
def test_airtime_adds_up(seed):
    rng = np.random.default_rng(seed)
    picture, at, total = Airtime(1e6, row_seconds=1e-2, columns=7, rows=100), 0, 0
    for length in rng.integers(1, 30_000, 20):
        at += int(rng.integers(0, 10_000))
        picture.add(at, length)
        at, total = at + length, total + length
    assert np.nansum(picture.picture()) * 1e4 / 7 == pytest.approx(total)
