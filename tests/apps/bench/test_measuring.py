# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs take turns, and bit errors become a rate."""

import numpy as np
import pytest
from gnuradio.mimopack.apps.bench.measuring import Run, error_rate, take_turns


class _Clock(Run):
    """Run that takes 1 ms per unit, plus a step in each round, and records the order of runs."""

    least, most, step = 4, 64, 4

    def __init__(self, name, order):
        self.name, self.order = name, order

    def time(self, n):
        self.order.append(self.name)
        return 1e-3 * n


def test_runs_take_turns():
    order = []
    runs = [_Clock("a", order), _Clock("b", order)]
    take_turns(runs, 0.05, 5)
    assert order[-10:] == ["a", "b"] * 5
    assert runs[0].units == 8 and runs[0].calls == 1 and runs[0].rate == pytest.approx(1000)
    take_turns(runs, 0.64, 2)
    assert runs[0].units == 64 and runs[0].calls == 5


def test_error_rate_counts_vectors_not_bits():
    errors = np.array([0, 0, 0, 4] * 100)
    rate = error_rate(errors, 16)
    assert rate["ber"] == pytest.approx(1 / 16) and rate["bits_compared"] == 6400
    assert rate["ber_95"] == pytest.approx(1.96 * np.std(errors, ddof=1) / 20 / 16)
