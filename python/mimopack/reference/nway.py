# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The N-way detector of Wu, Yin and Cavallaro (001)."""

import numpy as np

from .axes import axis_logits, real_model
from .qr import modified_gram_schmidt
from .tree import clipped, list_llr


def search(y, h, noise_var, side, scale, logits):
    """Run one pass: 001 Algorithm 2 for all M threads k at once.

    Both axes of the last column of h are expanded fully. Each level below takes the PAM symbol with
    the smallest metric, given the levels above; without a prior this is the nearest symbol.

    Args:
        y, h, noise_var: as for a detector; the columns of h in the order of this pass.
        side, scale: see ``constellation.SquareQAM``.
        logits: (2 nt, side) a-priori log-probabilities of the PAM symbols.

    Returns:
        (levels (M, 2 nt) of the candidates as odd integers, metrics (M,)). The metric of a
        candidate s is -ln p(y, s) up to a constant (002 eq. 3).
    """
    y_real, h_real = real_model(y, h * scale)
    q, r = modified_gram_schmidt(h_real)
    y_hat = q.T @ y_real
    levels = 2 * np.arange(side) - (side - 1)
    k = np.zeros((side * side, h_real.shape[1]), int)
    k[:, -2:] = np.indices((side, side)).reshape(2, -1).T
    metric = np.zeros(side * side)
    for i in range(h_real.shape[1] - 1, -1, -1):
        b = y_hat[i] - levels[k[:, i + 1:]] @ r[i, i + 1:]
        step = (b[:, None] - r[i, i] * levels) ** 2 / noise_var - logits[i]
        if i < h_real.shape[1] - 2:
            k[:, i] = np.argmin(step, axis=1)
        metric += step[np.arange(len(k)), k[:, i]]
    return levels[k], metric


def candidates(y, h, noise_var, constellation, prior, passes):
    """Return labels (P, nt) and metrics (P,) of the P = M * passes candidates of all passes.

    Pass k = 0, 1, ... has column (nt - 1 + k) mod nt on top.
    """
    nt = h.shape[1]
    qam = constellation.square_qam
    logits = axis_logits(prior, constellation).reshape(nt, 2, -1)
    found, metrics = [], []
    for k in range(passes):
        order = (np.arange(nt) + k) % nt
        p, metric = search(y, h[:, order], noise_var, qam.side, qam.scale,
                           logits[order].reshape(2 * nt, -1))
        labels = np.empty((len(p), nt), int)
        for column, layer in enumerate(order):
            points = qam.scale * (p[:, 2 * column] + 1j * p[:, 2 * column + 1])
            labels[:, layer] = np.argmin(np.abs(points[:, None] - constellation.points), axis=1)
        found.append(labels)
        metrics.append(metric)
    return np.concatenate(found), np.concatenate(metrics)


def nway(y, h, noise_var, constellation, prior=None, num_passes=1, llr_clip=8.0,
         llr_method="maxlog"):
    """Return LLRs from the candidates of num_passes passes over cyclically rotated columns.

    The LLRs follow 001 eq. 6 (max-log), or 000 eq. 11 with only these candidates. A bit value that
    no candidate has counts as impossible. An LLR differs from the a-priori LLR by at most llr_clip;
    None does not limit it.
    """
    known = (np.zeros(h.shape[1] * constellation.bits_per_symbol) if prior is None
             else np.asarray(prior))
    llr = list_llr(*candidates(y, h, noise_var, constellation, known, num_passes), constellation,
                   llr_method)
    return clipped(llr, prior, llr_clip)
