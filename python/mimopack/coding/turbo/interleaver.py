# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block sizes of the turbo code and its internal interleaver."""

from functools import cache
from importlib import resources

import numpy as np

from ...checks import integer


@cache
def _coefficients():
    """Return {K: (f1, f2)}."""
    text = resources.files(__package__).joinpath("tables", "qpp.txt").read_text("ascii")
    rows = [map(int, line.split()) for line in text.splitlines() if line and line[0] != "#"]
    return {size: (f1, f2) for size, f1, f2 in rows}


# K, the numbers of information bits that the code supports.
TURBO_SIZES = tuple(_coefficients())
NUM_TAIL = 3    # bits that terminate a constituent code: its memory


def turbo_size(size):
    """Return size if it is one of TURBO_SIZES; otherwise raise ValueError with the nearest ones."""
    size = integer("size", size, TURBO_SIZES[0], TURBO_SIZES[-1])
    if size not in _coefficients():
        below, above = (pick(s for s in TURBO_SIZES if (s > size) == larger)
                        for pick, larger in ((max, False), (min, True)))
        raise ValueError(f"size: got {size}, the nearest of TURBO_SIZES are {below} and {above}")
    return size


def qpp_coefficients(size):
    """Return the interleaver's coefficients (f1, f2) for one of TURBO_SIZES.
    """
    return _coefficients()[turbo_size(size)]


def qpp_interleaver(size):
    """Return the quadratic permutation of 3GPP TS 36.212 §5.1.3.2.3.

    Args:
        size: K, one of TURBO_SIZES.

    Returns:
        order: (K,) int64. Input bit i of the second constituent encoder is information bit
            ``order[i]``.
    """
    f1, f2 = qpp_coefficients(size)
    i = np.arange(size)
    return (f1 + f2 * i) * i % size
