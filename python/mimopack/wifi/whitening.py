# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whiten noise that is correlated between antennas."""

import numpy as np

# Values of the argument ``whitening``, see :class:`receiver.Receiver`.
WHITENINGS = ("antennas", "covariance")


def noise_covariance(halves):
    """Estimate the noise covariance of antennas from the two halves of the L-LTF.

    C = sum_k d_k d_k^H / (2 K) with d = Y_1 - Y_2, in which the transmitted signal cancels. The
    off-diagonal elements are multiplied by 1 - min(1/2, R / K), which keeps the estimate from K
    subcarriers well-conditioned (shrinkage towards the diagonal; O. Ledoit, M. Wolf, J. Multivar.
    Anal. 88 (2), 2004).

    Args:
        halves: complex (n, R, 2, K), the two L-LTF halves of n frames on R antennas, at the K used
            subcarriers.

    Returns:
        complex128 (n, R, R).
    """
    difference = (halves[:, :, 0] - halves[:, :, 1]).astype(complex)
    rows, count = difference.shape[1:]
    covariance = difference @ difference.conj().swapaxes(1, 2) / (2 * count)
    diagonal = np.einsum("nrr->nr", covariance).real.copy()
    covariance *= 1 - min(0.5, rows / count)
    # Floor the noise of each antenna at 70 dB below its signal.
    power = np.mean(np.abs(halves)**2, axis=(2, 3))
    np.einsum("nrr->nr", covariance)[:] = np.maximum(diagonal, 1e-7 * power + 1e-30)
    return covariance


def factors(covariance):
    """Return L and L^-1 of C = L L^H, each complex64 (n, R, R).

    If y has noise of covariance C, then L^-1 y has uncorrelated noise of unit power on each
    antenna. A covariance that is not finite gives identity matrices.
    """
    usable = np.isfinite(covariance).all(axis=(1, 2))
    lower = np.linalg.cholesky(np.where(usable[:, None, None], covariance,
                                        np.eye(covariance.shape[1])))
    return lower.astype(np.complex64), np.linalg.inv(lower).astype(np.complex64)
