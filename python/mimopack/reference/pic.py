# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""MMSE with parallel interference cancellation."""

import numpy as np

from .linear import demap
from .tree import by_layer


def soft_symbols(known, constellation, num_tx):
    """Return mean and variance (nt,) of symbols whose bits have these LLRs, or None for 0."""
    mean, variance = np.empty(num_tx, complex), np.empty(num_tx)
    for i, (points, llr) in enumerate(zip(*by_layer(constellation, num_tx, known), strict=True)):
        log_p = points.bits @ llr
        p = np.exp(log_p - log_p.max())
        p /= p.sum()
        mean[i] = p @ points.points
        variance[i] = p @ np.abs(points.points) ** 2 - np.abs(mean[i]) ** 2
    return mean, variance


def mmsepic(y, h, noise_var, constellation, prior=None, num_iterations=1):
    """Return a-posteriori max-log LLRs of MMSE-PIC.

    C. Studer, S. Fateh, D. Seethaler: ASIC Implementation of Soft-Input Soft-Output MIMO Detection
    Using MMSE Parallel Interference Cancellation. IEEE Journal of Solid-State Circuits 46 (7),
    2011. Each iteration computes soft symbols (mean, variance) from LLRs, and cancels all other
    layers from each layer. It filters the remaining signal with
    W = (H^H H Lambda + noise_var I)^-1 H^H, where Lambda = diag(variance), and demaps each layer
    with its a-priori LLRs. The first iteration computes its soft symbols from the a-priori LLRs.
    Each later iteration computes them from the LLRs of the previous one. All iterations demap with
    the original a-priori LLRs; otherwise the received vector would count twice.
    """
    num_tx = h.shape[1]
    known = prior
    gram, matched = h.conj().T @ h, h.conj().T @ y
    for _ in range(num_iterations):
        mean, variance = soft_symbols(known, constellation, num_tx)
        inverse = np.linalg.inv(gram * variance + noise_var * np.eye(num_tx))
        # column i: H^H (y - sum_{j != i} h_j mean_j)
        cancelled = (matched - gram @ mean)[:, None] + gram * mean
        mu = np.maximum(np.einsum("ij,ji->i", inverse, gram).real, 1e-30)
        x = np.einsum("ij,ji->i", inverse, cancelled) / mu
        effective = (1 - variance * mu) / mu
        known = demap(x, effective, constellation, prior)
    return known
