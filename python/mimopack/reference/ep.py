# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Expectation propagation."""

import numpy as np

from .axes import axis_levels, axis_llr, axis_logits, real_model, turned


def ep(y, h, noise_var, constellation, prior=None, num_iterations=10, smoothing=0.9,
       initial_variance=0.5):
    """Compute LLRs by expectation propagation (Cespedes et al., IEEE Trans. Commun. 62 (8), 2014).

    In the real-valued model, a Gaussian approximates the distribution of each PAM symbol; lam is
    its precision and gam its mean times the precision. An iteration computes the posterior moments
    (eq. 28, 29), the cavity (eq. 31, 32), the moments of the PAM symbol under the cavity (eq. 33),
    and new parameters (eq. 35-38). It smooths the new parameters if they are proper (the precision
    is not negative), and drops them otherwise. The LLRs are max-log over the PAM symbols with the
    last cavity. The constellations must be square QAM with Gray labels on each axis, or BPSK.

    Without a-priori LLRs, the initial Gaussians have mean 0 and variance ``initial_variance``. With
    a-priori LLRs, their mean is the a-priori mean of the PAM symbol, and their variance is the
    a-priori variance of the PAM symbol times initial_variance / 0.5; QAM has E x^2 = 0.5. The
    a-priori LLRs also weight the PAM symbols in eq. 33 and in the LLRs.
    """
    num_tx = h.shape[1]
    y_real, h_real = real_model(y, turned(h, constellation))
    levels, _ = axis_levels(constellation, num_tx)
    noise = noise_var / 2                              # per real dimension
    gram, matched = h_real.T @ h_real, h_real.T @ y_real
    known = axis_logits(prior, constellation, num_tx)
    p = normalised(known)
    mean = np.sum(p * levels, axis=1)
    variance = np.sum(p * (levels - mean[:, None]) ** 2, axis=1) / 0.5
    lam = 1 / (initial_variance * np.maximum(variance, 1e-12))
    gam = mean * lam
    for _ in range(num_iterations):
        inverse = np.linalg.inv(gram + noise * np.diag(lam))
        mu = inverse @ (matched + noise * gam)
        sigma = noise * np.diag(inverse)
        # Without information from the channel the difference is 0; rounding must not make it
        # negative.
        v_cavity = np.maximum(1 / np.maximum(1 / sigma - lam, 1e-14 / sigma), 1e-12)
        x_cavity = v_cavity * (mu / sigma - gam)
        logits = known - (x_cavity[:, None] - levels) ** 2 / (2 * v_cavity[:, None])
        p = normalised(logits)
        x = np.sum(p * levels, axis=1)
        v = np.maximum(np.sum(p * (levels - x[:, None]) ** 2, axis=1), 1e-12)
        new_lam, new_gam = 1 / v - 1 / v_cavity, x / v - x_cavity / v_cavity
        # Under a cavity wider than the spacing of the points, but narrower than the constellation,
        # a PAM symbol has the moments of the cavity. The difference then carries no information,
        # and rounding must not decide whether it is proper.
        proper = new_lam * v_cavity > -3e-5
        nothing = proper & (new_lam * v_cavity < 3e-5)
        new_lam[nothing] = new_gam[nothing] = 0
        lam = np.where(proper, (1 - smoothing) * new_lam + smoothing * lam, lam)
        gam = np.where(proper, (1 - smoothing) * new_gam + smoothing * gam, gam)
    return axis_llr(logits, constellation)


def normalised(logits):
    """Convert log-probabilities (rows, symbols), each row up to a constant, to probabilities."""
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)
