# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""N greedy tree searches, each with another layer on top: N-way (001) and FPFSD (000 §4.3)."""

import numpy as np

from .fsd import hfsd_list
from .tree import Tree, clipped, list_llr, spaced


def _searches(orders, y, h, noise_var, constellation, prior, llr_clip, llr_method):
    """Return the LLRs from the candidates of a search for each order of the layers.

    A search expands its top layer fully. Each layer below takes the symbol with the smallest
    metric, given the layers above; without a prior this is the nearest symbol. An LLR differs from
    the a-priori LLR by at most llr_clip; None does not limit it.
    """
    labels, metrics = [], []
    for order in orders:
        tree = Tree(y, h, noise_var, constellation, order, prior, slices_with_prior=True)
        paths, metric = hfsd_list(tree, 1)
        labels.append(tree.labels(paths))
        metrics.append(metric)
    llr = list_llr(np.concatenate(labels), np.concatenate(metrics), constellation, llr_method)
    return clipped(llr, prior, llr_clip)


def nway(y, h, noise_var, constellation, prior=None, num_passes=1, llr_clip=8.0,
         llr_method="maxlog"):
    """Return LLRs from num_passes searches over cyclically rotated columns (001 Algorithm 2).

    001 searches the real-valued model. For QAM with Gray labels per axis the complex model gives
    the same candidates: R has a real diagonal, so the axes of a layer are sliced independently.
    """
    layers = np.arange(h.shape[1])
    return _searches([np.roll(layers, -k) for k in range(num_passes)], y, h, noise_var,
                     constellation, prior, llr_clip, llr_method)


def norm_order(h, top):
    """Return FPFSD's order of the layers (000 table 1), from level 0 to the top.

    Layer ``top`` is at the top; below it the column norm falls.
    """
    by_norm = np.argsort(-np.linalg.norm(h, axis=0), kind="stable")
    return [layer for layer in by_norm[::-1] if layer != top] + [top]


def fpfsd(y, h, noise_var, constellation, prior=None, llr_clip=None, llr_method="maxlog"):
    """Return LLRs from nt searches, with the layers in ``norm_order`` below each top layer."""
    spacing = spaced(h, constellation)
    return _searches([norm_order(spacing, top) for top in range(h.shape[1])], y, h, noise_var,
                     constellation, prior, llr_clip, llr_method)
