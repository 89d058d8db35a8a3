# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The N-way detector of Wu, Yin and Cavallaro (001)."""

import numpy as np

from ..constellation import each_layer
from .axes import axis_levels, axis_logits, real_model, turned
from .qr import modified_gram_schmidt
from .tree import clipped, list_llr


def search(y, h, noise_var, levels, logits):
    """Run one pass: 001 Algorithm 2 for all M threads k at once.

    Both axes of the last column of h are expanded fully. Each level below takes the PAM symbol with
    the smallest metric, given the levels above; without a prior this is the nearest symbol.

    Args:
        y, h, noise_var: as for a detector; the columns of h in the order of this pass.
        levels, logits: (2 nt, side) PAM symbols and their a-priori log-probabilities, see ``axes``.

    Returns:
        (PAM symbols (M, 2 nt) of the candidates, metrics (M,)). The metric of a candidate s is
        -ln p(y, s) up to a constant (002 eq. 3).
    """
    y_real, h_real = real_model(y, h)
    q, r = modified_gram_schmidt(h_real)
    y_hat = q.T @ y_real
    top = len(levels) - 2
    tops = [np.flatnonzero(np.isfinite(axis)) for axis in logits[top:]]
    k = np.stack(np.meshgrid(*tops, indexing="ij")).reshape(2, -1)
    s = np.zeros((k.shape[1], len(levels)))
    metric = np.zeros(len(s))
    for i in range(len(levels) - 1, -1, -1):
        b = y_hat[i] - s[:, i + 1:] @ r[i, i + 1:]
        step = (b[:, None] - r[i, i] * levels[i]) ** 2 / noise_var - logits[i]
        chosen = k[i - top] if i >= top else np.argmin(step, axis=1)
        s[:, i] = levels[i][chosen]
        metric += step[np.arange(len(s)), chosen]
    return s, metric


def candidates(y, h, noise_var, constellation, prior, passes):
    """Return labels (P, nt) and metrics (P,) of the candidates of all passes.

    Pass k = 0, 1, ... has column (nt - 1 + k) mod nt on top, and as many candidates as this column
    has points.
    """
    nt = h.shape[1]
    turned_h = turned(h, constellation)
    levels = axis_levels(constellation, nt)[0].reshape(nt, 2, -1)
    logits = axis_logits(prior, constellation, nt).reshape(nt, 2, -1)
    candidate_labels, metrics = [], []
    for k in range(passes):
        order = (np.arange(nt) + k) % nt
        s, metric = search(y, turned_h[:, order], noise_var, levels[order].reshape(2 * nt, -1),
                           logits[order].reshape(2 * nt, -1))
        labels = np.empty((len(s), nt), int)
        for column, layer in enumerate(order):
            points = each_layer(constellation, nt)[layer]
            sent = points.grid.turn * (s[:, 2 * column] + 1j * s[:, 2 * column + 1])
            labels[:, layer] = np.argmin(np.abs(sent[:, None] - points.points), axis=1)
        candidate_labels.append(labels)
        metrics.append(metric)
    return np.concatenate(candidate_labels), np.concatenate(metrics)


def nway(y, h, noise_var, constellation, prior=None, num_passes=1, llr_clip=8.0,
         llr_method="maxlog"):
    """Return LLRs from the candidates of num_passes passes over cyclically rotated columns.

    The LLRs follow 001 eq. 6 (max-log), or 000 eq. 11 with only these candidates. A bit value that
    no candidate has counts as impossible. An LLR differs from the a-priori LLR by at most llr_clip;
    None does not limit it.
    """
    llr = list_llr(*candidates(y, h, noise_var, constellation, prior, num_passes), constellation,
                   llr_method)
    return clipped(llr, prior, llr_clip)
