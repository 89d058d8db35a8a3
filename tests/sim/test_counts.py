# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Error counts and confidence intervals."""

import json
from math import sqrt

import numpy as np
import pytest
from gnuradio.mimopack import sim
from gnuradio.mimopack.sim.counts import Counts


class TestStatistics:
    def test_wilson(self):
        """Intervals match R. G. Newcombe, Statistics in Medicine 17, 1998, table I, method 3."""
        for errors, n, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605),
                                     (0, 20, 0, 0.1611), (1, 29, 0.0061, 0.1718)):
            assert sim.wilson(errors, n) == pytest.approx([low, high], abs=5e-5)
        assert sim.wilson(0, 0) == [0, 1] and sim.wilson(20, 20)[1] == 1

    def test_sums(self):
        rng = np.random.default_rng(1)
        bits = rng.integers(0, 4, (2, 48)) * rng.integers(0, 2, (2, 48))
        ones = np.ones(48, int)
        counts = Counts(bits, 2 * bits[0], bits[1] == 3, ones, 3 * ones)
        tally = sim.Tally(2)
        for at in range(0, 48, 16):
            tally.add(counts.part(slice(at, at + 16)).sums())
            tally = sim.Tally(2, json.loads(json.dumps(tally.state)))
        rates = tally.rates(100, 200)
        assert tally.blocks == 3 and tally.frames == 48
        assert tally.state["undetected"] == np.count_nonzero(bits[1] == 3)
        for i in range(2):
            assert rates["ber"][i] == pytest.approx(bits[i].mean() / 100)
            half = 1.96 * bits[i].std(ddof=1) / sqrt(48) / 100
            assert rates["ber_95"][i][1] - rates["ber"][i] == pytest.approx(half, rel=1e-4)
            assert rates["fer"][i] == np.mean(bits[i] > 0)
        assert rates["ber_before_decoding"] == pytest.approx(2 * bits[0].mean() / 200)
        assert rates["mean_decoder_iterations"] == 3

    def test_without_an_error(self):
        none = np.zeros((1, 64), int)
        tally = sim.Tally(1)
        tally.add(Counts(none, none[0], none[0] == 0, none[0], none[0]).sums())
        assert tally.rates(10, 10)["ber_95"] == [[0, sim.wilson(0, 64)[1]]]
