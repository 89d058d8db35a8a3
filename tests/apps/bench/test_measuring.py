# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated vectors, runs that take turns, and the figures made of them."""

import numpy as np
import pytest
from gnuradio.mimopack.apps.bench.data import simulate
from gnuradio.mimopack.apps.bench.measuring import Run, error_rate, take_turns
from gnuradio.mimopack.apps.bench.table import Table, bit_error_rate, markdown, number, text
from gnuradio.mimopack.constellation import get


def test_simulated_data_follow_the_model():
    points = get("qam16")
    y, h, bits = simulate(14 * 200, 3, 4, points, 0.05, 14)
    noise = y - np.einsum("nij,nj->ni", np.repeat(h, 14, axis=0), points.modulate(bits))
    assert h.shape == (200, 4, 3) and y.dtype == h.dtype == np.complex64
    assert np.mean(np.abs(noise) ** 2) == pytest.approx(0.05, rel=0.05)
    assert np.mean(np.abs(h) ** 2) == pytest.approx(1, rel=0.1)


class _Clock(Run):
    """Run that takes 1 ms per unit, and records the order of runs."""

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


def test_error_rate_counts_vectors_not_bits():
    errors = np.array([0, 0, 0, 4] * 100)
    rate = error_rate(errors, 16)
    assert rate["ber"] == pytest.approx(1 / 16) and rate["bits_compared"] == 6400
    assert rate["ber_95"] == pytest.approx(1.96 * np.std(errors, ddof=1) / 20 / 16)
    row = {"ber": 0.0, "vectors_compared": 5000, "bits_compared": 80_000}
    assert bit_error_rate(row) == "< 4e-05" and bit_error_rate(row | {"ber": 0.0123}) == "1.2e-02"
    assert bit_error_rate(row | {"vectors_compared": 100}) == "-"


def test_columns_are_aligned_and_documents_have_the_same_cells():
    parts = [Table(["case", "Mbit/s"], [["`mmse`", number(1045.4)], ["zf", number(None)]])]
    assert text(parts) == "case  Mbit/s\nmmse    1045\nzf         -"
    assert markdown(parts) == "| case | Mbit/s |\n| --- | --- |\n| `mmse` | 1045 |\n| zf | - |"
