# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Expectation propagation."""

import numpy as np

from .nway import real_model


def ep(y, h, noise_var, constellation, num_iterations=10, smoothing=0.9,
       initial_variance=0.5):
    """LLRs by expectation propagation (Cespedes et al., IEEE Trans. Commun. 62 (8), 2014).

    On the real-valued model, each PAM symbol's prior is approximated by a Gaussian with
    precision lam and shift gam: the posterior moments (eq. 28, 29), the cavity (eq. 31, 32),
    the moments of the PAM symbol under the cavity (eq. 33), new parameters where they stay
    proper, smoothed (eq. 35-38). The LLRs are max-log over the PAM symbols of the last cavity.
    Square QAM with Gray labels per axis. ``initial_variance`` is that of the first Gaussians,
    E x^2 per axis.
    """
    qam = constellation.square_qam
    y_real, h_real = real_model(y, h)
    levels = qam.scale * (2 * np.arange(qam.side) - (qam.side - 1))
    noise = noise_var / 2                              # per real dimension
    gram, matched = h_real.T @ h_real, h_real.T @ y_real
    lam, gam = np.full(len(gram), 1 / initial_variance), np.zeros(len(gram))
    for _ in range(num_iterations):
        inverse = np.linalg.inv(gram + noise * np.diag(lam))
        mu = inverse @ (matched + noise * gam)
        sigma = noise * np.diag(inverse)
        v_cavity = np.maximum(1 / (1 / sigma - lam), 1e-12)
        x_cavity = v_cavity * (mu / sigma - gam)
        logits = -(x_cavity[:, None] - levels) ** 2 / (2 * v_cavity[:, None])
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        x = p @ levels
        v = np.maximum(np.sum(p * (levels - x[:, None]) ** 2, axis=1), 1e-12)
        new_lam, new_gam = 1 / v - 1 / v_cavity, x / v - x_cavity / v_cavity
        proper = new_lam >= 0
        lam = np.where(proper, (1 - smoothing) * new_lam + smoothing * lam, lam)
        gam = np.where(proper, (1 - smoothing) * new_gam + smoothing * gam, gam)
    return axis_llr(logits, constellation)


def axis_llr(logits, constellation):
    """Max-log LLRs (nt*m,) of log-probabilities of PAM symbols (2 nt, side), axes adjacent."""
    qam = constellation.square_qam
    k = np.arange(qam.side)
    gray, width = k ^ (k >> 1), qam.side.bit_length() - 1
    llr = []
    for layer in logits.reshape(-1, 2, qam.side):
        for axis, g, invert in qam.bits:
            one = (gray >> (width - 1 - g) & 1) != invert
            llr.append(np.max(layer[axis][one]) - np.max(layer[axis][~one]))
    return np.array(llr)
