# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""ZF and MMSE: a linear filter, then separate soft demapping of each stream (002 §2.2)."""

import numpy as np


def demap(x, noise_var, constellation):
    """Return max-log LLRs (nt*m,) of independent streams x (nt,) with effective noise (nt,)."""
    metric = -np.abs(x[:, None] - constellation.points) ** 2 / noise_var[:, None]
    ones = constellation.bits.astype(bool)
    llr = [np.max(metric[:, one], axis=1) - np.max(metric[:, ~one], axis=1) for one in ones.T]
    return np.stack(llr, axis=1).ravel()


def zf(y, h, noise_var, constellation):
    """Detect by zero forcing: x_hat = (H^H H)^-1 H^H y, with noise noise_var [(H^H H)^-1]_ii."""
    inverse = np.linalg.pinv(h)
    effective = noise_var * np.sum(np.abs(inverse) ** 2, axis=1)
    return demap(inverse @ y, effective, constellation)


def mmse(y, h, noise_var, constellation):
    """Detect by unbiased linear MMSE: x_hat = W y / mu, W = (H^H H + noise_var I)^-1 H^H.

    mu_i = [W H]_ii, and the post-detection SINR of stream i is mu_i / (1 - mu_i).
    """
    covariance = np.linalg.inv(h.conj().T @ h + noise_var * np.eye(h.shape[1]))
    w = covariance @ h.conj().T
    error = noise_var * np.diag(covariance).real       # E|x - W y|^2 = 1 - mu
    # 1 - error would round a small mu away. It is 0 for a column of zeros.
    mu = np.maximum(np.einsum("ij,ji->i", w, h).real, 1e-30)
    return demap(w @ y / mu, error / mu, constellation)
