# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Products of matrices in C++ equal NumPy's."""

import numpy as np
import pytest
from gnuradio.mimopack import _core

rng = np.random.default_rng(3)


def random(*shape):
    return rng.normal(size=(*shape, 2)).astype(np.float32).view(np.complex64)[..., 0]


@pytest.mark.parametrize(("n", "depth", "columns"), [(1, 1, 1), (4, 7, 32), (9, 40, 71), (3, 0, 5)])
@pytest.mark.parametrize("threads", [1, 3])
def test_products_of_chosen_columns_in_any_order(n, depth, columns, threads):
    a, starts = random(n, depth + 2), rng.permutation(n) * 3 * columns
    places = rng.permutation(3 * columns).astype(np.int32)
    parts = [(random(depth, columns), rng.permutation(depth + 2)[:depth].astype(np.int32), own)
             for own in (places[:columns], places[columns:2 * columns])]
    out = np.zeros((n, 3 * columns), np.complex64)
    _core.Product(parts).run(a, starts, out, threads=threads)
    expected = np.zeros_like(out)
    for matrix, sources, own in parts:
        expected[(starts // (3 * columns))[:, None], own] = a[:, sources] @ matrix
    np.testing.assert_allclose(out, expected, atol=1e-5 * max(depth, 1))


def test_product_stays_inside_its_arrays():
    index = np.arange(3, dtype=np.int32)
    product = _core.Product([(random(3, 3), index, index)])
    starts, out = np.arange(2) * 3, random(2, 3)
    for bad in [(random(2, 2), starts, out), (random(3, 3), starts, out),
                (random(2, 3), starts + 1, out), (random(2, 3), starts - 1, out)]:
        with pytest.raises(ValueError, match="inconsistent shapes|negative"):
            product.run(*bad, threads=1)
    with pytest.raises(ValueError, match="negative"):
        _core.Product([(random(3, 3), index - 1, index)])


@pytest.mark.parametrize("threads", [1, 4])
def test_powers(threads):
    values = random(7, 3 * 50_001)
    np.testing.assert_allclose(_core.powers(values, 3, threads),
                               (np.abs(values)**2).reshape(7, -1, 3).sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("columns", [0, 1, 1224])
def test_gram(columns, threads):
    y = random(40, 4, columns)
    np.testing.assert_allclose(_core.gram(y, threads), y @ y.conj().swapaxes(1, 2),
                               atol=1e-6 * max(columns, 1))


@pytest.mark.parametrize("threads", [1, 4])
def test_pilots(threads):
    received, sequences = random(40, 4, 1000), random(40, 600)
    places = rng.permutation(1000)[:600].astype(np.int32)
    np.testing.assert_allclose(_core.pilots(received, places, sequences, threads),
                               received[..., places] * sequences[:, None], atol=1e-5)
    for bad in [(received[..., :places.max()].copy(), places, sequences),
                (received, places - 1 - places.min(), sequences),
                (received, places[1:], sequences)]:
        with pytest.raises(ValueError, match="inconsistent shapes|negative"):
            _core.pilots(*bad, threads)


def test_interleaved_columns():
    values, first = random(3, 50), np.array([7, 0, 41, 8], np.int32)
    out = np.empty((3, 9, 4), np.complex64)
    _core.interleave(values, first, 9, out, 2)
    np.testing.assert_array_equal(out, np.stack([values[:, at:at + 9] for at in first], axis=2))
    for bad in [(first + 1, 9, out), (first, 9, out[1:]), (first, 8, out)]:
        with pytest.raises(ValueError, match="interleave"):
            _core.interleave(values, *bad, 2)
