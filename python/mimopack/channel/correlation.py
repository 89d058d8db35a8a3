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


def roots(num_tx, num_rx, rho_tx=0.0, rho_rx=0.0):
    """Return square roots of the correlations of receive and transmit antennas.

    For G (..., num_rx, num_tx) with uncorrelated entries of mean power 1 and H = root_rx G
    root_tx^T, E[H[i, k] conj(H[j, l])] = R_rx[i, j] R_tx[k, l]: the mean power of each entry of H
    is 1, too.

    Args:
        num_tx, num_rx: number of transmit and receive antennas.
        rho_tx, rho_rx: correlation between neighbouring antennas, 0 <= rho < 1, for
            :func:`exponential_correlation`.

    Returns:
        (root_rx (num_rx, num_rx), root_tx (num_tx, num_tx)).

    Raises:
        ValueError: rho_tx or rho_rx is out of range.
    """
    # Any square root will do; the Cholesky factor is exact for the identity.
    factors = []
    for argument, size, rho in (("rho_rx", num_rx, rho_rx), ("rho_tx", num_tx, rho_tx)):
        try:
            factors.append(np.linalg.cholesky(exponential_correlation(size, rho)))
        except ValueError as error:
            raise ValueError(f"{argument}{str(error).removeprefix('rho')}") from error
    return factors
