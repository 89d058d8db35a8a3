# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""QR decomposition by modified Gram-Schmidt (001, Algorithm 1)."""

import numpy as np


def modified_gram_schmidt(a):
    """Return (q, r) with a = q r, r upper triangular with diagonal >= 0, for rows >= columns.

    A column of a that depends on the ones before it gives a zero on the diagonal of r and a zero
    column in q.
    """
    v = np.array(a, np.result_type(a, np.float64))
    columns = v.shape[1]
    r = np.zeros((columns, columns), v.dtype)
    for i in range(columns):
        r[i, i] = np.linalg.norm(v[:, i])                      # E_ii = sqrt(v_i^* v_i)
        if r[i, i] != 0:
            v[:, i] /= r[i, i]
        for k in range(i + 1, columns):
            r[i, k] = np.vdot(v[:, i], v[:, k])                # E_ik = v_i^* v_k
            v[:, k] -= v[:, i] * r[i, k]
    return v, r
