# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which times on a frame's way overlap with a pause of the host."""

import host_pauses
import numpy as np


def test_intervals_overlap_like_each_pair():
    rng = np.random.default_rng(1)
    pauses = np.sort(rng.integers(0, 1000, (20, 2)), axis=1)
    pauses = pauses[np.argsort(pauses[:, 0])]
    pauses[:, 1] = np.minimum(pauses[:, 1], pauses[:, 0] + 30)
    begin = rng.integers(0, 1000, 300)
    end = begin + rng.integers(1, 40, 300)
    expected = [any(first <= e and b < last for first, last in pauses)
                for b, e in zip(begin, end, strict=True)]
    assert 0 < sum(expected) < 300
    np.testing.assert_array_equal(host_pauses.overlap(pauses, begin, end), expected)


def test_without_pauses_nothing_overlaps():
    assert not host_pauses.overlap(np.empty((0, 2), np.int64), np.arange(3), np.arange(3)).any()
