# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Apply a reference detector to a batch, and tell which vectors cannot be detected."""

import numpy as np

from ..checks import LARGEST, SMALLEST
from ..constellation import bits_per_vector

LARGEST_LLR = np.finfo(np.float32).max
# These two are largest_energy and least_pivot in lib/common/config.h.
_LARGEST_ENERGY = 1e26    # of y, and of a column of H
_LEAST_PIVOT = 1e-7       # of a covariance, times its size and the diagonal entry


@np.errstate(divide="ignore", over="ignore", invalid="ignore")    # such vectors are erased
def undetectable(y, h, noise_var, prior=None, needs_rank=True):
    """Return which vectors (n,) and which matrices (n/T,) no detector can work with: two bool.

    With ``needs_rank``, a matrix also needs full column rank. A column counts as dependent on the
    columns before it if the norm of its component orthogonal to them is less than a tolerance times
    the norm of the column. float32 cannot distinguish a smaller component from zero, because the
    rounding error grows with the square root of the number of rows.

    Args:
        y, h, noise_var, prior: those of ``run``, with one noise_var for each vector.
    """
    columns = np.array(h, np.complex128)
    norms = np.linalg.norm(columns, axis=1, keepdims=True)
    fit = (norms**2 < _LARGEST_ENERGY).all(axis=(1, 2))    # False for NaN
    if needs_rank:
        columns /= norms
        for column in range(h.shape[2]):
            rest = np.linalg.norm(columns[:, :, column], axis=1)
            fit &= rest > 1e-6 * np.sqrt(max(h.shape[1] / 4, 1))
            q = (columns[:, :, column] / rest[:, None])[:, :, None]
            later = columns[:, :, column + 1:]
            later -= q * np.sum(q.conj() * later, axis=1, keepdims=True)
    good = np.einsum("nr,nr->n", y, y.conj()).real < _LARGEST_ENERGY
    good &= (noise_var >= np.float32(SMALLEST)) & (noise_var <= np.float32(LARGEST))
    good &= fit.repeat(len(y) // max(1, len(h)))
    if prior is not None:
        good &= np.isfinite(prior).all(axis=1)
    return ~good, ~fit


def whitened(y, h, noise_cov):
    """Return y and h multiplied by the inverse of the noise's Cholesky factor.

    Where a covariance is not positive definite they are NaN, so that the vectors are erased. A
    pivot that is less than the rounding of float32 does not count as positive.

    Args:
        y, h, noise_cov: those of ``run``.
    """
    y, h = np.array(y, np.complex128), np.array(h, np.complex128)
    period = len(y) // max(1, len(h))
    for k in range(len(h)):
        covariance = np.asarray(noise_cov[k if len(noise_cov) > 1 else 0], np.complex128)
        vectors = y[k * period:(k + 1) * period]
        variances = covariance.diagonal().real
        try:
            factor = np.linalg.cholesky(covariance)    # reads the lower triangle
            pivots = factor.diagonal().real**2
            positive = (pivots > _LEAST_PIVOT * len(pivots) * variances).all()
        except np.linalg.LinAlgError:
            positive = False
        if not (positive and (variances > SMALLEST).all() and (variances < LARGEST).all()):
            vectors[:], h[k] = np.nan, np.nan
            continue
        h[k] = np.linalg.solve(factor, h[k])
        vectors[:] = np.linalg.solve(factor, vectors.T).T
    return y, h


@np.errstate(divide="ignore", over="ignore", invalid="ignore")    # what comes of it is erased
def run(detector, y, h, noise_var, constellation, prior=None, width=None, hard=None,
        needs_rank=True, noise_cov=None, **parameters):
    """Apply a reference detector to a batch.

    Args:
        detector: one of this package's functions.
        y: (n, nr) received vectors.
        h: (n/T, nr, nt) channel matrices; each applies to T consecutive vectors.
        noise_var: (n,) noise power per complex receive dimension, or (1,) for all vectors.
        prior: (n, nt*m) a-priori LLRs, or None.
        width: number of values that the detector returns for a vector; None for nt*m LLRs.
        hard: (iterations, n, nt*m) hard solutions for a detector that takes them, or None.
        needs_rank: whether a vector is erased if its h has no full column rank.
        noise_cov: (n/T, nr, nr) or (1, nr, nr) covariance of the noise, with a noise_var of 1; or
            None.
        parameters: further arguments of the detector.

    Returns:
        (llr (n, width) float64, erased (n,) bool).
    """
    noise_var = np.broadcast_to(noise_var, len(y))
    if noise_cov is not None:
        y, h = whitened(y, h, noise_cov)
    erased, _ = undetectable(y, h, noise_var, prior, needs_rank)
    llr = np.zeros((len(y), width or bits_per_vector(constellation, h.shape[2])))
    for i in np.flatnonzero(~erased):
        known = {} if prior is None else {"prior": np.asarray(prior[i], np.float64)}
        if hard is not None:
            known["hard"] = hard[:, i]
        values = detector(np.asarray(y[i], np.complex128),
                          np.asarray(h[i * len(h) // len(y)], np.complex128),
                          noise_var[i], constellation, **known, **parameters)
        erased[i] = not np.all(np.abs(values) <= LARGEST_LLR)
        if not erased[i]:
            llr[i] = values
    return llr, erased
