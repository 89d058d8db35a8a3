# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The vectors of a batch of codewords."""

import numpy as np

from ..arrays import array_module


class Batch:
    """Vectors of codewords, of which some can be left out.

    Raises:
        ValueError: another number of matrices or noise powers than goes with y.
    """

    def __init__(self, y, h, noise_var, vectors):
        self.y, self.h, self.noise_var, self._vectors = y, h, noise_var, vectors
        matrices = len(h) if np.ndim(h) else 0
        if len(y) and (not matrices or len(y) % matrices):
            raise ValueError(f"h: got {matrices} matrices for {len(y)} vectors, allowed is any "
                             "number that divides the vectors")
        if np.ndim(noise_var) and np.shape(noise_var) != (len(y),):
            raise ValueError(f"noise_var: got shape {np.shape(noise_var)}, must be a number or "
                             f"({len(y)},), one for each vector")

    def take(self, codewords):
        """The batch of these alone."""
        h, period = self._matrices()
        noise_var, vectors = self.noise_var, self._vectors
        if np.ndim(noise_var):
            noise_var = take_rows(noise_var, codewords, vectors)
        return Batch(take_rows(self.y, codewords, vectors),
                     take_rows(h, codewords, vectors // period), noise_var, vectors)

    def part(self, first, end):
        """The batch of consecutive ones, not copied."""
        h, period = self._matrices()
        at = slice(first * self._vectors, end * self._vectors)
        noise_var = self.noise_var[at] if np.ndim(self.noise_var) else self.noise_var
        return Batch(self.y[at], h[at.start // period:at.stop // period], noise_var, self._vectors)

    def _matrices(self):
        """The matrices, and how many vectors of one codeword share one."""
        period = len(self.y) // max(1, len(self.h))
        if self._vectors % period:
            return self.h.repeat(period, axis=0), 1
        return self.h, period


def take_rows(values, codewords, rows, axis=0):
    """Of an array with so many rows for each codeword those of some."""
    shape = values.shape
    split = values.reshape(*shape[:axis], -1, rows, *shape[axis + 1:])
    return array_module(values).take(split, codewords, axis=axis).reshape(
        *shape[:axis], -1, *shape[axis + 1:])
