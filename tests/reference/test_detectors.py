# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The orders of layers and the lists of the NumPy references are those of the papers."""

import numpy as np
import pytest
from gnuradio.mimopack import constellation
from gnuradio.mimopack.reference import fsd, sic, sphere, tree
from gnuradio.mimopack.reference.nway import norm_order
from simulated import problem

pytestmark = pytest.mark.quick


def test_fsd_order_of_barbero_and_thompson():
    """With orthogonal columns of different norms, the expanded level takes the weakest layer."""
    h = np.diag([3.0, 1.0, 4.0, 2.0]).astype(complex)
    assert fsd.fsd_order(h, 1) == [3, 0, 2, 1]     # top: the weakest; below: strongest first
    assert fsd.fsd_order(h, 0) == [1, 3, 0, 2]
    assert fsd.fsd_order(h, 2)[-2:] == [3, 1]


def test_fpfsd_orders_are_those_of_table_1():
    """000 table 1: norm-based ordering {2, 4, 3, 1} and the four orderings derived from it."""
    h = np.diag([1.0, 4.0, 2.0, 3.0]).astype(complex)
    detection = [[layer + 1 for layer in norm_order(h, top)[::-1]] for top in range(4)]
    assert detection == [[1, 2, 4, 3], [2, 4, 3, 1], [3, 2, 4, 1], [4, 2, 3, 1]]


def test_bit_flipping_list():
    """The list has a branch per bit (002 fig. 6): 8 for QPSK and four layers."""
    points = constellation.get("qpsk")
    (y,), (h,), noise_var, _ = problem(1, 4, 4, "qpsk", 10)
    search = tree.Tree(y, h, noise_var, points, sic.sic_order(h, "none"))
    start = np.array([0b00, 0b01, 0b11, 0b10])
    paths = fsd.extension(search, start[None], 0)
    for branch, (level, bit) in zip(paths, [(i, k) for i in range(4) for k in (2, 1)],
                                    strict=True):
        assert np.array_equal(branch[level + 1:], start[level + 1:])
        assert branch[level] == start[level] ^ bit


def test_sorted_qr_order():
    """The column with the smallest residual comes first.

    The first three columns have norms 3, 1 and 2 along different axes. The fourth is nearly equal
    to the first; projection leaves only the small difference.
    """
    h = np.diag([3.0, 1.0, 2.0, 0.5]).astype(complex)
    h[0, 3] = 3.0
    assert sphere.sorted_qr_order(h) == [1, 2, 0, 3]
    assert np.allclose(np.diag(sphere.RealTree(h[0], h, constellation.get("qpsk"),
                                               ordering="sorted").r[::2, 1::2]), 0)
