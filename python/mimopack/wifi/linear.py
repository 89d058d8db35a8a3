# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Solve many small linear systems at once."""

import numpy as np


def solve(a, b):
    """Solve a x = b by Gauss-Jordan elimination without pivoting.

    This is for many small systems: numpy.linalg.solve wakes the threads of BLAS for each matrix.
    If other threads occupy the cores, numpy.linalg.solve then takes four times as long.

    Args:
        a: (..., s, s), Hermitian and positive definite, or triangular.
        b: (..., s, r).

    Returns:
        x: (..., s, r), of the type of b.
    """
    size = a.shape[-1]
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    # Layout (row, column, ...), so that each step works on long vectors.
    work = np.empty((size, size + b.shape[-1], *shape), np.result_type(a, b))
    work[:, :size] = np.moveaxis(np.broadcast_to(a, (*shape, size, size)), (-2, -1), (0, 1))
    work[:, size:] = np.moveaxis(np.broadcast_to(b, (*shape, *b.shape[-2:])), (-2, -1), (0, 1))
    for p in range(size):
        work[p, p + 1:] *= 1 / work[p, p]
        for i in range(size):
            if i != p:
                work[i, p + 1:] -= work[i, p] * work[p, p + 1:]
    return np.ascontiguousarray(np.moveaxis(work[:, size:], (0, 1), (-2, -1)))
