# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Linear equaliser: estimates of the transmitted symbols, to look at and to measure."""

import numpy as np


def mmse_symbols(y, h, noise_var):
    """Unbiased linear MMSE estimates of x in y = H x + n, n ~ CN(0, noise_var I).

    x_hat = W y / mu with W = (H^H H + noise_var I)^-1 H^H and mu_i = [W H]_ii: what a
    constellation display shows, layer by layer. For decisions use a detector.

    Args:
        y: (n, nr) complex.
        h: (n, nr, nt) complex.
        noise_var: linear noise power per complex dimension, positive, a scalar or (n,).

    Returns:
        (n, nt) complex64; 0 where y, h or noise_var is not usable.

    Raises:
        ValueError: the shapes do not fit.
    """
    y, h = np.asarray(y), np.asarray(h)
    if y.ndim != 2 or h.ndim != 3 or h.shape[:2] != y.shape:
        raise ValueError(f"h: got shape {h.shape} for y of shape {y.shape}, "
                         "must be (n, nr, nt) and (n, nr)")
    noise = np.broadcast_to(np.asarray(noise_var, float), len(y))
    usable = (np.isfinite(y).all(1) & np.isfinite(h).all((1, 2)) & np.isfinite(noise)
              & (noise > 0))
    x = np.zeros((len(y), h.shape[2]), np.complex64)
    h, y, noise = h[usable].astype(complex), y[usable], noise[usable]
    adjoint = h.conj().swapaxes(1, 2)
    gram = adjoint @ h
    # A channel of deficient rank must not become singular beside the rounding of its products.
    trace = np.trace(gram, axis1=1, axis2=2).real
    noise = np.maximum(noise, np.maximum(1e-13 * trace, 1e-200))
    inverse = np.linalg.inv(gram + noise[:, None, None] * np.eye(h.shape[2]))
    mu = 1 - noise[:, None] * np.diagonal(inverse, axis1=1, axis2=2).real
    with np.errstate(all="ignore"):    # a layer that is not received has mu = 0
        estimates = (inverse @ (adjoint @ y[:, :, None]))[..., 0] / mu
    x[usable] = np.where(np.isfinite(estimates), estimates, 0)
    return x
