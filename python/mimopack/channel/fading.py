# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw Rayleigh path gains, static or with Jakes' Doppler spectrum."""

import numpy as np

# Sinusoids per path. The autocorrelation is exact for any number; more sinusoids bring the
# distribution of the amplitude closer to Rayleigh.
_SINUSOIDS = 32


class StaticGains:
    """Gains that stay constant: CN(0, 1) for each path and antenna pair.

    Calling the object with any time returns the gains.

    Args:
        shape: shape of the gains, (paths, num_rx, num_tx).
        rng: ``numpy.random.Generator``.
    """

    def __init__(self, shape, rng):
        draw = rng.standard_normal((*shape, 2)) * np.sqrt(0.5)
        self._gains = draw.view(np.complex128)[..., 0]

    def __call__(self, _time):
        return self._gains


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
