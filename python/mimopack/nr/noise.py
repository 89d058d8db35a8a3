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
    free = max(residual.shape[1] - degrees, 1.0)
    full = (residual @ residual.conj().T).astype(complex) / free
    white = np.eye(len(full), dtype=complex) * np.trace(full).real / len(full)
    form = noise_forms(full[None], np.array([free]))[0]
    return white if form is None else form


def noise_forms(full, free):
    """Choose the simplest forms of covariances, see :func:`noise_covariance`.

    Args:
        full: (n, nr, nr) the covariances of residuals.
        free: (n,) number of elements, less the gains that were estimated.

    Returns:
        list of (nr, nr) covariances; None for the same power on all antennas.
    """
    antennas = full.shape[1]
    powers = np.diagonal(full, axis1=1, axis2=2).real
    # Antennas that receive the same have no inverse to whiten with.
    is_singular = np.linalg.eigvalsh(full)[:, 0] <= 1e-6 * powers.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        determinants = np.stack([antennas * np.log(powers.mean(axis=1)),
                                 np.log(powers).sum(axis=1),
                                 np.where(is_singular, np.inf, np.linalg.slogdet(full)[1])])
    parameters = np.array([1, antennas, antennas**2])[:, None]
    lengths = free * determinants + 0.5 * parameters * np.log(free)
    choices = np.where((free <= antennas) | ~(powers.min(axis=1) > 0), 0,
                       np.argmin(lengths, axis=0))
    forms = None, lambda matrix: np.diag(np.diag(matrix)), lambda matrix: matrix
    return [forms[choice](matrix) if choice else None
            for choice, matrix in zip(choices, full, strict=True)]


def whiten(received, covariance):
    """Multiply received symbols by the inverse Cholesky factor of the noise covariance.

    The noise then has power 1 on all antennas, and none in common.

    Args:
        received: (nr, ...) complex.
        covariance: (nr, nr).

    Returns:
        (nr, ...) complex64.

    Raises:
        ValueError: the covariance has another shape.
    """
    if np.shape(covariance) != (len(received), len(received)):
        raise ValueError(f"covariance: got shape {np.shape(covariance)}, must be "
                         f"({len(received)}, {len(received)})")
    factor = np.linalg.cholesky(covariance)
    flat = np.linalg.solve(factor, received.reshape(len(received), -1))
    return flat.reshape(received.shape).astype(np.complex64)
