# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Soft-output trellis detector.

M. Wu, Y. Sun, S. Gupta, J. R. Cavallaro: Implementation of a High Throughput Soft MIMO Detector on
GPU. Journal of Signal Processing Systems 64, 2011; reference [7] of 001. This implementation
follows the description in 001 and the abstract ("multi-pass trellis traversal").

The levels of the tree are stages of M vertices, one per symbol. Each vertex keeps the best of its M
incoming paths (edge reduction), so M paths survive each stage. The survivors of the last stage
contain all symbols of its layer and give the LLRs of this layer. Each layer is last in a separate
pass. Figure 3 of 001 supports this interpretation: there, as here, N-way with N = 2 performs better
than this detector. LLRs from the survivors of all passes together would be close to max-log.
"""

import numpy as np

from .tree import Tree, list_llr, spaced


def survivors(tree):
    """Return (paths, metric) of the M paths that reach the last stage, one per symbol."""
    nt = len(tree.order)
    paths, metric = np.zeros((1, nt), int), np.zeros(1)
    for level in range(nt - 1, -1, -1):
        arriving = metric[:, None] + tree.steps(paths, level)    # (paths, vertices)
        best = np.argmin(arriving, axis=0)
        paths = paths[best]
        paths[:, level] = np.arange(len(best))
        metric = arriving[best, np.arange(len(best))]
    return paths, metric


def trellis(y, h, noise_var, constellation, prior=None):
    """Return max-log LLRs of each layer, from the survivors of the pass in which it is last.

    The other layers are ordered by falling column norm from the top.
    """
    llr = []
    rising = np.argsort(np.linalg.norm(spaced(h, constellation), axis=0), kind="stable")
    for last in range(h.shape[1]):
        order = [last] + [layer for layer in rising if layer != last]
        tree = Tree(y, h, noise_var, constellation, order, prior)
        paths, metric = survivors(tree)
        llr.append(list_llr(paths[:, :1], metric, tree.layers[0]))
    return np.concatenate(llr)
