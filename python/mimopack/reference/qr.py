# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""QR decomposition by modified Gram-Schmidt (001, Algorithm 1)."""

import numpy as np


def modified_gram_schmidt(a):
    """Return (q, r) with a = q r, where r is upper triangular with diagonal >= 0.

    a has at least as many rows as columns; q has the shape of a. If a column of a depends linearly
    on the columns before it, r has a zero on the diagonal there, and q a column of zeros.
    """
    # Row by row in memory: OpenBLAS 0.3.21 reads one element too many of columns that are not.
    v = np.array(np.transpose(a), np.result_type(a, np.float64), order="C")
    columns = len(v)
    r = np.zeros((columns, columns), v.dtype)
    for i in range(columns):
        r[i, i] = np.linalg.norm(v[i])                      # E_ii = sqrt(v_i^* v_i)
        if r[i, i] != 0:
            v[i] /= r[i, i]
        for k in range(i + 1, columns):
            r[i, k] = np.vdot(v[i], v[k])                   # E_ik = v_i^* v_k
            v[k] -= v[i] * r[i, k]
    return v.T, r
