# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""K-best: breadth-first search that keeps the k best nodes of each level.

Z. Guo, P. Nilsson: Algorithm and Implementation of the K-Best Sphere Decoding for MIMO Detection.
IEEE Journal on Selected Areas in Communications 24 (3), 2006. Paper 001 compares the N-way
detector with K-best.
"""

import numpy as np

from .tree import Tree, clipped, list_llr, spaced


def ascending_norm(h):
    """Return the layers by rising column norm; the last one is at the top and detected first."""
    return list(np.argsort(np.linalg.norm(h, axis=0), kind="stable"))


def kbest(y, h, noise_var, constellation, prior=None, k=16, llr_clip=8.0):
    """Return max-log LLRs of the k paths that survive to the bottom.

    Each level expands all M children of each survivor and keeps the k children with the smallest
    metric (distance and a-priori terms so far). In a tie, the first path wins. An LLR differs from
    the a-priori LLR by at most llr_clip; None does not limit it. If all paths agree on a bit, its
    LLR is at the limit.
    """
    order = ascending_norm(spaced(h, constellation))
    tree = Tree(y, h, noise_var, constellation, order, prior)
    nt = len(tree.order)
    paths, metric = np.zeros((1, nt), int), np.zeros(1)
    for level in range(nt - 1, -1, -1):
        children = (metric[:, None] + tree.steps(paths, level)).ravel()
        size = tree.layers[level].size
        keep = np.argsort(children, kind="stable")[:k]
        paths = paths[keep // size]
        paths[:, level] = keep % size
        metric = children[keep]
    return clipped(list_llr(tree.labels(paths), metric, constellation), prior, llr_clip)
