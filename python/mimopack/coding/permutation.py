# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interleavers: fixed permutations of the bits of a block."""

import numpy as np

from ..arrays import Constant, array_module
from ..checks import integer, integers


class Interleaver:
    """A permutation of blocks of bits or LLRs, in NumPy or CuPy arrays.

    Args:
        order: integers (size,), a permutation of 0..size-1: bit j of a permuted block is bit
            ``order[j]`` of the block.

    Attributes:
        size: number of bits in a block.
    """

    def __init__(self, order):
        order = integers("order", order, 1, 0, np.size(order) - 1)
        if np.unique(order).size < order.size:
            raise ValueError("order: got an index twice, must be a permutation of 0..size-1")
        self.size = order.size
        self._order, self._inverse = Constant(order.astype(np.intp)), Constant(np.argsort(order))

    def permute(self, values):
        """Permute each block of an array.

        Args:
            values: (..., blocks * size), one or more blocks along the last axis.

        Returns:
            An array of the same shape and type.
        """
        return self._take(values, self._order)

    def restore(self, values):
        """Invert ``permute``."""
        return self._take(values, self._inverse)

    def _take(self, values, order):
        if values.shape[-1] % self.size:
            raise ValueError(f"values: got {values.shape[-1]} in the last axis, must be a multiple "
                             f"of {self.size}")
        blocks = values.reshape(*values.shape[:-1], values.shape[-1] // self.size, self.size)
        return array_module(values).take(blocks, order.beside(values), axis=-1).reshape(
            values.shape)


class RandomInterleaver(Interleaver):
    """A random permutation: NumPy's ``default_rng(seed).permutation(size)``."""

    def __init__(self, size, seed=0):
        rng = np.random.default_rng(integer("seed", seed, 0, 2**63 - 1))
        super().__init__(rng.permutation(integer("size", size, 1, 2**31 - 1)))
