# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""ZF-SIC and bit flipping (002 §2.2, fig. 5-6)."""

import numpy as np

from .fsd import fsd_order
from .tree import Tree, list_llr


def sic_order(h, ordering):
    """Layers from the last detected (level 0) to the first (the top).

    "sinr": the layer with the smallest noise amplification first, anew after each (V-BLAST);
    "norm": by falling column norm; "none": from the last layer to the first.
    """
    if ordering == "sinr":
        return fsd_order(h, 0)
    if ordering == "norm":
        return list(np.argsort(np.linalg.norm(h, axis=0), kind="stable"))
    return list(range(h.shape[1]))


def zfsic(y, h, noise_var, constellation, ordering="sinr"):
    """Hard decisions of ordered zero-forcing with successive cancellation, as LLRs of +-1."""
    tree = Tree(y, h, noise_var, constellation, sic_order(h, ordering))
    path = tree.complete(np.zeros((1, h.shape[1]), int), h.shape[1] - 1)
    return 2.0 * constellation.bits[tree.labels(path)[0]].ravel() - 1


def flipped(tree, path):
    """The list of 002 fig. 6: the path itself, and for each level, from the top, and each bit
    of its symbol the path with that bit flipped and the levels below completed by SIC."""
    nt, m = len(tree.order), tree.constellation.bits_per_symbol
    paths = [path[None]]
    for level in range(nt - 1, -1, -1):
        for k in range(m):
            branch = path[None].copy()
            branch[:, level] ^= 1 << (m - 1 - k)
            paths.append(tree.complete(branch, level - 1))
    return np.concatenate(paths)


def bitflip(y, h, noise_var, constellation, prior=None, starts=None, ordering="sinr"):
    """Max-log LLRs (002 eq. 4) of the lists that grew from one or more hard solutions.

    Args:
        starts: (iterations, nt) labels by layer, one hard solution per iteration so far (the
            list of each is kept); None starts from ZF-SIC.
    """
    tree = Tree(y, h, noise_var, constellation, sic_order(h, ordering), prior)
    if starts is None:
        paths = tree.complete(np.zeros((1, h.shape[1]), int), h.shape[1] - 1)
    else:
        paths = np.asarray(starts)[:, tree.order]
    paths = np.concatenate([flipped(tree, path) for path in paths])
    return list_llr(tree.labels(paths), tree.metric(paths), constellation)
