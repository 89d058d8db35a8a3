# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw flat channel matrices and noise, for simulations without a waveform."""

import numpy as np

from .correlation import KroneckerCorrelation


def flat_rayleigh(n, num_rx, num_tx, rng, rho_tx=0.0, rho_rx=0.0):
    """Draw n independent flat Rayleigh channels.

    Args:
        n: number of matrices.
        num_rx, num_tx: number of receive and transmit antennas.
        rng: ``numpy.random.Generator``.
        rho_tx, rho_rx: exponential correlation between neighbouring antennas, 0 <= rho < 1.

    Returns:
        (n, num_rx, num_tx) complex64, each entry CN(0, 1).

    Raises:
        ValueError: rho_tx or rho_rx is out of range.
    """
    gains = rng.standard_normal((n, num_rx, num_tx, 2)) * np.sqrt(0.5)
    gains = gains.view(np.complex128)[..., 0]
    return KroneckerCorrelation(num_tx, num_rx, rho_tx, rho_rx)(gains).astype(np.complex64)


def awgn(shape, noise_var, rng):
    """Draw circular complex white Gaussian noise n with E|n|^2 = noise_var.

    Values are drawn in memory order, so one long draw equals several short ones that split the
    first axis.

    Args:
        shape: shape of the result.
        noise_var: mean power E|n|^2, linear.
        rng: ``numpy.random.Generator``.

    Returns:
        complex64 array of ``shape``.
    """
    noise = rng.standard_normal((*np.atleast_1d(shape), 2), dtype=np.float32)
    noise *= np.float32(np.sqrt(noise_var / 2))
    return noise.view(np.complex64)[..., 0]
