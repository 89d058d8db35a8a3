# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""MMSE with parallel interference cancellation."""

import numpy as np


def soft_symbols(prior, constellation):
    """Return mean and variance (nt,) of symbols whose bits have the a-priori LLRs (nt, m)."""
    log_p = prior @ constellation.bits.T.astype(float)
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    mean = p @ constellation.points
    return mean, p @ np.abs(constellation.points) ** 2 - np.abs(mean) ** 2


def demap_with_prior(x, noise_var, constellation, prior):
    """Return a-posteriori max-log LLRs (nt, m) of streams x (nt,).

    The streams have noise variances noise_var (nt,) and a-priori LLRs prior (nt, m).
    """
    metric = -np.abs(x[:, None] - constellation.points) ** 2 / noise_var[:, None]
    metric = metric + prior @ constellation.bits.T
    ones = constellation.bits.astype(bool)
    return np.stack([np.max(metric[:, one], axis=1) - np.max(metric[:, ~one], axis=1)
                     for one in ones.T], axis=1)


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
    shape = num_tx, constellation.bits_per_symbol
    prior = np.zeros(shape) if prior is None else np.reshape(prior, shape)
    known = prior
    gram, matched = h.conj().T @ h, h.conj().T @ y
    for _ in range(num_iterations):
        mean, variance = soft_symbols(known, constellation)
        inverse = np.linalg.inv(gram * variance + noise_var * np.eye(num_tx))
        # column i: H^H (y - sum_{j != i} h_j mean_j)
        cancelled = (matched - gram @ mean)[:, None] + gram * mean
        mu = np.maximum(np.einsum("ij,ji->i", inverse, gram).real, 1e-30)
        x = np.einsum("ij,ji->i", inverse, cancelled) / mu
        effective = (1 - variance * mu) / mu
        known = demap_with_prior(x, effective, constellation, prior)
    return known.ravel()
