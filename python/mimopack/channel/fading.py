# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw Rayleigh gains, static or with Jakes' Doppler spectrum, and noise."""

import numpy as np

from .correlation import roots

# Sinusoids per path. The autocorrelation is exact for any number; more sinusoids bring the
# distribution of the amplitude closer to Rayleigh.
_SINUSOIDS = 32


def rayleigh(shape, rng):
    """Draw independent gains CN(0, 1), a complex128 array of this shape."""
    draw = rng.standard_normal((*shape, 2)) * np.sqrt(0.5)
    return draw.view(np.complex128)[..., 0]


class JakesGains:
    """Time-varying gains for isotropic scattering, as a sum of sinusoids.

        g(t) = N^(-1/2) sum_n exp(j (2 pi f_d t cos(alpha_n) + phi_n)),
        alpha_n = (2 pi n + theta) / N

    with theta and phi_n uniform over -pi..pi, drawn for each path and antenna pair. Over
    realisations E[g(t) conj(g(t - tau))] = J0(2 pi f_d tau) exactly (Xiao, Zheng, Beaulieu,
    "Novel sum-of-sinusoids simulation models for Rayleigh and Rician fading channels", 2006).

    Calling the object with a time in seconds returns the gains at that time.

    Args:
        shape: shape of the gains, (paths, num_rx, num_tx).
        doppler: f_d, the maximum Doppler frequency in Hz.
        rng: ``numpy.random.Generator``.
    """

    def __init__(self, shape, doppler, rng):
        n = np.arange(_SINUSOIDS)
        theta = rng.uniform(-np.pi, np.pi, (*shape, 1))
        self._omega = 2 * np.pi * doppler * np.cos((2 * np.pi * n + theta) / _SINUSOIDS)
        self._phi = rng.uniform(-np.pi, np.pi, (*shape, _SINUSOIDS))

    def __call__(self, time):
        return np.exp(1j * (self._omega * time + self._phi)).sum(-1) / np.sqrt(_SINUSOIDS)


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
    root_rx, root_tx = roots(num_tx, num_rx, rho_tx, rho_rx)
    return (root_rx @ rayleigh((n, num_rx, num_tx), rng) @ root_tx.T).astype(np.complex64)


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
