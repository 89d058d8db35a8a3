# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""ZF-SIC and bit flipping (002 §2.2, fig. 5-6)."""

import numpy as np

from .fsd import extension, fsd_order
from .kbest import ascending_norm
from .tree import Tree, clipped, label_bits, list_llr, spaced


def sic_order(h, ordering):
    """Return the layers from the last detected (level 0) to the first detected (the top).

    "sinr" detects the layer with the smallest noise amplification first, and recomputes the
    amplifications after each layer (V-BLAST). "norm" detects by falling column norm, "none" from
    the last layer to the first.
    """
    if ordering == "sinr":
        return fsd_order(h, 0)
    if ordering == "norm":
        return ascending_norm(h)
    return list(range(h.shape[1]))


def zfsic(y, h, noise_var, constellation, ordering="sinr", soft=False, llr_clip=8.0):
    """Return hard decisions of ordered ZF with successive cancellation, as LLRs of +-1.

    With ``soft``, return the max-log LLRs of each layer, given the layers decided before it, and
    limited to +-llr_clip.
    """
    tree = Tree(y, h, noise_var, constellation, sic_order(spaced(h, constellation), ordering))
    path = tree.complete(np.zeros((1, h.shape[1]), int), h.shape[1] - 1)
    if not soft:
        return 2.0 * label_bits(tree.labels(path), constellation)[0] - 1
    llr = [list_llr(np.arange(points.size)[:, None], tree.steps(path, level)[0], points)
           for level, points in enumerate(tree.layers)]
    return clipped(np.concatenate([llr[level] for level in np.argsort(tree.order)]), None, llr_clip)


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
    paths = np.concatenate([paths, extension(tree, paths, 0)])    # 002 fig. 6
    return list_llr(tree.labels(paths), tree.metric(paths), constellation)
