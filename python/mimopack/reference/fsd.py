# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixed-complexity sphere decoders HFSD and SFSD (000 §4.2, 003)."""

import numpy as np

from .tree import Tree, clipped, label_bits, list_llr, spaced


def fsd_order(h, levels):
    """Return the layers in the order of Barbero and Thompson (2008), from level 0 to the top.

    Levels are assigned from the top down. Each of the ``levels`` expanded levels at the top takes
    the remaining layer with the largest noise amplification (row norm of the pseudo-inverse),
    because full expansion makes no decision there. Any other level takes the remaining layer with
    the smallest noise amplification.
    """
    left = list(range(h.shape[1]))
    order = []
    for i in range(h.shape[1]):
        amplification = np.linalg.norm(np.linalg.pinv(h[:, left]), axis=1)
        pick = np.argmax(amplification) if i < levels else np.argmin(amplification)
        order.append(left.pop(pick))
    return order[::-1]


def hfsd_list(tree, levels):
    """Expand the top levels fully and complete each path by SIC.

    Returns:
        (paths (M^levels, nt), metric (M^levels,)).
    """
    paths = tree.complete(tree.full_expansion(levels), len(tree.order) - levels - 1)
    return paths, tree.metric(paths)


def extension(tree, paths, levels):
    """Return the paths that SFSD adds, and bit flipping with levels=0: m (nt - levels) per path.

    An added path has one bit flipped below the expanded levels, and lower levels completed by SIC.
    """
    added = []
    for level in range(len(tree.order) - levels):
        m = tree.layers[level].bits_per_symbol
        for k in range(m):
            flipped = paths.copy()
            flipped[:, level] ^= 1 << (m - 1 - k)
            added.append(tree.complete(flipped, level - 1))
    return np.concatenate(added) if added else paths[:0]


def hfsd(y, h, noise_var, constellation, prior=None, levels=1, soft=False, llr_clip=8.0):
    """Return the hard decisions of the best path, as LLRs of +-1.

    With ``soft``, return max-log LLRs of all paths. An LLR differs from the a-priori LLR by at most
    llr_clip; it does if all paths agree on the bit.
    """
    tree = Tree(y, h, noise_var, constellation, fsd_order(spaced(h, constellation), levels),
                prior)
    paths, metric = hfsd_list(tree, levels)
    if soft:
        return clipped(list_llr(tree.labels(paths), metric, constellation), prior, llr_clip)
    best = tree.labels(paths[np.argmin(metric)][None])[0]
    return 2.0 * label_bits(best[None], constellation)[0] - 1


def sfsd(y, h, noise_var, constellation, prior=None, levels=1, num_paths=4, llr_clip=None):
    """Return max-log LLRs of HFSD's list, extended from its num_paths best paths.

    An LLR differs from the a-priori LLR by at most llr_clip; None does not limit it.
    """
    tree = Tree(y, h, noise_var, constellation, fsd_order(spaced(h, constellation), levels),
                prior)
    paths, metric = hfsd_list(tree, levels)
    best = paths[np.argsort(metric, kind="stable")[:num_paths]]
    paths = np.concatenate([paths, extension(tree, best, levels)])
    return clipped(list_llr(tree.labels(paths), tree.metric(paths), constellation), prior,
                   llr_clip)
