# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spatial correlation between antennas: Kronecker model with exponential correlation."""

import numpy as np


def exponential_correlation(size, rho):
    """Return the (size, size) real matrix R with R[i, j] = rho**|i - j|.

    Raises:
        ValueError: rho is not in 0 <= rho < 1.
    """
    if not 0 <= rho < 1:
        raise ValueError(f"rho: got {rho}, must be 0 or more and below 1")
    index = np.arange(size)
    return float(rho) ** np.abs(index[:, None] - index)


class KroneckerCorrelation:
    """Correlate channel matrices: H = R_rx^(1/2) G (R_tx^(1/2))^T.

    For G (..., num_rx, num_tx) with uncorrelated entries of mean power 1,
    E[H[i, k] conj(H[j, l])] = R_rx[i, j] R_tx[k, l]: the mean power of each entry stays 1. Calling
    the object with G returns H.

    Args:
        num_tx, num_rx: number of transmit and receive antennas.
        rho_tx, rho_rx: correlation between neighbouring antennas, 0 <= rho < 1, for
            :func:`exponential_correlation`.

    Raises:
        ValueError: rho_tx or rho_rx is out of range.
    """

    def __init__(self, num_tx, num_rx, rho_tx=0.0, rho_rx=0.0):
        # Any square root will do; the Cholesky factor is exact for the identity.
        self._root_tx = _root("rho_tx", num_tx, rho_tx)
        self._root_rx = _root("rho_rx", num_rx, rho_rx)

    def __call__(self, gains):
        return self._root_rx @ gains @ self._root_tx.T


def _root(argument, size, rho):
    try:
        return np.linalg.cholesky(exponential_correlation(size, rho))
    except ValueError as error:
        raise ValueError(f"{argument}{str(error).removeprefix('rho')}") from error
