# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Noise of interferers: correlated between antennas, or stronger in some subcarriers."""

import numpy as np

from .linear import solve

WHITENINGS = ("antennas", "covariance")
# Mean squares of correlations over those of independent noise that tell an interferer.
_CORRELATED = 4
# A pilot with more than so many times the usual noise of a frame's pilots counts less.
_PILOT_EXCESS = 2.5


def noise_covariance(halves):
    """Covariance of the noise of antennas, from the two halves of the L-LTF.

    C = sum_k d_k d_k^H / (2 K), d = Y_1 - Y_2: the transmitted signal drops out. Off its diagonal
    it is shrunk by R / K, which keeps the estimate from K subcarriers well-conditioned (O. Ledoit,
    M. Wolf, J. Multivar. Anal. 88 (2), 2004, towards the diagonal).

    Args:
        halves: complex (n, R, 2, K): used subcarriers of R antennas.

    Returns:
        complex128 (n, R, R).
    """
    difference = (halves[:, :, 0] - halves[:, :, 1]).astype(complex)
    rows, count = difference.shape[1:]
    covariance = difference @ difference.conj().swapaxes(1, 2) / (2 * count)
    diagonal = np.einsum("nrr->nr", covariance).real.copy()
    covariance *= 1 - min(0.5, rows / count)
    # An antenna without noise counts as one of 70 dB below the signal.
    power = np.mean(np.abs(halves)**2, axis=(2, 3))
    np.einsum("nrr->nr", covariance)[:] = np.maximum(diagonal, 1e-7 * power + 1e-30)
    return covariance


def factors(covariance):
    """(L, L^-1) of C = L L^H: complex64 (n, R, R). L^-1 y has noise of power 1 on each antenna."""
    usable = np.isfinite(covariance).all(axis=(1, 2))
    lower = np.linalg.cholesky(np.where(usable[:, None, None], covariance,
                                        np.eye(covariance.shape[1])))
    return lower.astype(np.complex64), solve(lower, np.eye(lower.shape[1])).astype(np.complex64)


def residual_noise(residual, gain, symbols):
    """Noise of subcarriers, from what is left of symbols without the points that were decided.

    Wrong decisions leave alpha gain beside the noise, the more the stronger the channel is: alpha
    is the median of residual / gain over antennas and subcarriers. The noise of an antenna is
    the median over its subcarriers, and at most what was known of it. Where the residual exceeds
    both together by more than noise does in one of a thousand subcarriers (Wilson and Hilferty's
    cube root of the chi-squared distribution), the factor is an interferer's.

    Args:
        residual: (n, R, K), mean of |y - H x|^2 over the symbols, over the noise of the antennas.
        gain: (n, R, K), sum of |H|^2 over the streams, likewise.
        symbols: their number.

    Returns:
        (noise, power of wrong decisions), each (n, R, K), over the noise of the antennas.
    """
    gain = np.maximum(gain, 1e-20)
    alpha = np.median(residual / gain, axis=(1, 2), keepdims=True)
    least = np.clip(np.median(residual, axis=2, keepdims=True), 1e-6, 1)
    ratio = residual / (least + alpha * gain)
    quantile = (1 - 1 / (9 * symbols) + 3.1 / (3 * np.sqrt(symbols))) ** 3
    noise = least * np.where(ratio > quantile, ratio, 1)
    wrong = np.median(np.maximum(residual - 1, 0) / gain, axis=(1, 2), keepdims=True)
    return noise, wrong * gain


def pilot_trust(received, expected):
    """Weights of pilots, lest one that an interferer hits turns all phases.

    The magnitude of a pilot does not depend on the phase that is looked for: how far it is from
    what is expected tells the noise.

    Args:
        received, expected: complex (n, R, symbols, pilots), over the noise of the antennas.

    Returns:
        (n, 1, pilots), 0..1: 1 for pilots with the usual noise.
    """
    combined = np.abs(np.einsum("nrsp,nrsp->nsp", expected.conj(), received))
    root = np.sqrt(np.maximum(np.sum(np.abs(expected)**2, axis=1), 1e-20))
    noise = np.mean((combined / root - root)**2, axis=1, keepdims=True)
    usual = np.maximum(_PILOT_EXCESS * np.median(noise, axis=2, keepdims=True), 1e-20)
    return usual / np.maximum(noise, usual)


def residual_correlation(residual):
    """Correlation of noise between antennas, from what is left of symbols.

    Off its diagonal it is shrunk by what independent noise would show.

    Args:
        residual: complex (n, R, ...), R > 1.

    Returns:
        complex128 (n, R, R), 1 on the diagonal.
    """
    flat = residual.reshape(*residual.shape[:2], -1)
    rows, count = flat.shape[1:]
    covariance = np.einsum("nrc,nsc->nrs", flat, flat.conj(), dtype=complex)
    deviation = np.sqrt(np.maximum(np.einsum("nrr->nr", covariance).real, 1e-20))
    found = covariance / (deviation[:, :, None] * deviation[:, None])
    np.einsum("nrr->nr", found)[:] = 0
    square = np.sum(np.abs(found)**2, axis=(1, 2)) / (rows * (rows - 1))
    # Less than 1, lest antennas that receive the same have a singular matrix.
    share = np.clip(1 - _CORRELATED / (count * np.maximum(square, 1e-20)), 0, 0.999)
    return np.eye(rows) + share[:, None, None] * found
