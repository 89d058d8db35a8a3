# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Noise and interference of a slot: covariance between antennas, and whitening."""

import numpy as np


def noise_covariance(residual, degrees=0.0):
    """Estimate the covariance of noise and interference between antennas.

    The simplest of three forms that describes the residual is returned: the same power on all
    antennas, a power for each antenna, or any covariance. Simplest means the shortest description
    (J. Rissanen, Modeling by Shortest Data Description, Automatica 14, 1978).

    Args:
        residual: (nr, n) complex, received DMRS minus what the channel estimate explains, as
            :class:`ChannelEstimate` has it.
        degrees: number of gains that were estimated from the n elements of each antenna; they took
            this part of the noise.

    Returns:
        complex128 (nr, nr), E[n n^H].
    """
    antennas, count = residual.shape
    free = max(count - degrees, 1.0)
    full = (residual @ residual.conj().T).astype(complex) / free
    powers = np.diag(full).real
    white, diagonal = np.eye(antennas) * powers.mean(), np.diag(powers)
    if free <= antennas or not powers.min() > 0:
        return white.astype(complex)
    lengths = [free * np.linalg.slogdet(form)[1] + 0.5 * parameters * np.log(free)
               for form, parameters in ((white, 1), (diagonal, antennas), (full, antennas**2))]
    return (white, diagonal, full)[int(np.argmin(lengths))].astype(complex)


def whiten(received, covariance):
    """Multiply received symbols by the inverse Cholesky factor of the noise covariance.

    The noise then has power 1 on all antennas, and none in common.

    Args:
        received: (nr, ...) complex.
        covariance: (nr, nr).

    Returns:
        (nr, ...) complex64.
    """
    factor = np.linalg.cholesky(covariance)
    flat = np.linalg.solve(factor, received.reshape(len(received), -1))
    return flat.reshape(received.shape).astype(np.complex64)
