# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""OMAP, MLA and SoftSphere: exact LLRs by enumeration of all M^nt candidates (000 §4.1)."""

from functools import lru_cache

import numpy as np

from ..constellation import each_layer
from .tree import clipped


@lru_cache(maxsize=16)
def candidates(constellation, num_tx):
    """Return all candidates in Omega^nt: (symbols (M^nt, nt), their bits (M^nt, nt*m))."""
    layers = each_layer(constellation, num_tx)
    index = np.indices([points.size for points in layers]).reshape(num_tx, -1)
    symbols = [points.points[labels] for points, labels in zip(layers, index, strict=True)]
    bits = [points.bits[labels] for points, labels in zip(layers, index, strict=True)]
    return np.stack(symbols, axis=1), np.concatenate(bits, axis=1).astype(bool)


def _log_likelihoods(y, h, noise_var, constellation, prior):
    """Return ln p(y, s) of every candidate, up to a constant, and the candidates' bits."""
    symbols, bits = candidates(constellation, h.shape[1])
    residual = y - symbols @ h.T
    metric = -np.sum(np.abs(residual) ** 2, axis=1) / noise_var
    if prior is not None:
        metric = metric + bits @ prior       # ln P(b) = b L - ln(1 + e^L), the last term constant
    return metric, bits


def _log_sum(metric):
    """Return ln sum exp(metric), scaled so that the largest term is 1."""
    largest = np.max(metric)
    return largest + np.log(np.sum(np.exp(metric - largest)))


def omap(y, h, noise_var, constellation, prior=None):
    """Return exact a-posteriori MAP LLRs, 000 eq. 11 (with priors: 002 eq. 3)."""
    metric, bits = _log_likelihoods(y, h, noise_var, constellation, prior)
    return np.array([_log_sum(metric[bits[:, k]]) - _log_sum(metric[~bits[:, k]])
                     for k in range(bits.shape[1])])


def mla(y, h, noise_var, constellation, prior=None):
    """Return exact a-posteriori max-log LLRs, 000 eq. 12 (with priors: 002 eq. 4)."""
    metric, bits = _log_likelihoods(y, h, noise_var, constellation, prior)
    return np.array([np.max(metric[bits[:, k]]) - np.max(metric[~bits[:, k]])
                     for k in range(bits.shape[1])])


def softsphere(y, h, noise_var, constellation, prior=None, llr_clip=None):
    """Return the LLRs of ``mla``, at most llr_clip from the a-priori LLRs; None: no limit."""
    return clipped(mla(y, h, noise_var, constellation, prior), prior, llr_clip)
