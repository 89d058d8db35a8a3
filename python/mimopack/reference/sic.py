# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""ZF-SIC and bit flipping (002 §2.2, fig. 5-6)."""

import numpy as np

from .fsd import fsd_order
from .tree import Tree, label_bits, list_llr, spaced


def sic_order(h, ordering):
    """Return the layers from the last detected (level 0) to the first detected (the top).

    "sinr" detects the layer with the smallest noise amplification first, and recomputes the
    amplifications after each layer (V-BLAST). "norm" detects by falling column norm, "none" from
    the last layer to the first.
    """
    if ordering == "sinr":
        return fsd_order(h, 0)
    if ordering == "norm":
        return list(np.argsort(np.linalg.norm(h, axis=0), kind="stable"))
    return list(range(h.shape[1]))


def zfsic(y, h, noise_var, constellation, ordering="sinr"):
    """Return hard decisions of ordered ZF with successive cancellation, as LLRs of +-1."""
    tree = Tree(y, h, noise_var, constellation, sic_order(spaced(h, constellation), ordering))
    path = tree.complete(np.zeros((1, h.shape[1]), int), h.shape[1] - 1)
    return 2.0 * label_bits(tree.labels(path), constellation)[0] - 1


def flipped(tree, path):
    """Return the list (1 + nt*m, nt) of 002 fig. 6: the path (nt,) and a branch for each bit.

    A branch is the path with one bit flipped and the levels below completed by SIC. Branches are
    ordered by level, from the top.
    """
    nt = len(tree.order)
    paths = [path[None]]
    for level in range(nt - 1, -1, -1):
        m = tree.layers[level].bits_per_symbol
        for k in range(m):
            branch = path[None].copy()
            branch[:, level] ^= 1 << (m - 1 - k)
            paths.append(tree.complete(branch, level - 1))
    return np.concatenate(paths)


def bitflip(y, h, noise_var, constellation, prior=None, starts=None, ordering="sinr"):
    """Return max-log LLRs (002 eq. 4) of the lists that start from one or more hard solutions.

    Args:
        starts: (iterations, nt) labels by layer, one hard solution per iteration so far. The lists
            of all solutions are combined. None stands for the solution of ZF-SIC.
    """
    tree = Tree(y, h, noise_var, constellation, sic_order(spaced(h, constellation), ordering),
                prior)
    if starts is None:
        paths = tree.complete(np.zeros((1, h.shape[1]), int), h.shape[1] - 1)
    else:
        paths = np.asarray(starts)[:, tree.order]
    paths = np.concatenate([flipped(tree, path) for path in paths])
    return list_llr(tree.labels(paths), tree.metric(paths), constellation)
