# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""ZF and MMSE: a linear filter, then separate soft demapping of each stream (002 §2.2)."""

import numpy as np

from .tree import by_layer


def demap(x, noise_var, constellation, prior=None):
    """Return max-log LLRs of a vector's bits, from independent streams.

    Args:
        x: (nt,) estimates of the symbols.
        noise_var: (nt,) effective noise of the streams.
        constellation: as for a detector.
        prior: a-priori LLRs of all bits, or None; the result is then a-posteriori.
    """
    llr = []
    for stream, noise, points, known in zip(x, noise_var, *by_layer(constellation, len(x), prior),
                                            strict=True):
        metric = known @ points.bits.T - np.abs(stream - points.points) ** 2 / noise
        llr += [np.max(metric[ones]) - np.max(metric[~ones])
                for ones in points.bits.T.astype(bool)]
    return np.array(llr)


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
