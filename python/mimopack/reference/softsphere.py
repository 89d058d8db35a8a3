# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact max-log LLRs by a single tree search, which starts with the candidates of N-way.

C. Studer, A. Burg, H. Boelcskei: Soft-Output Sphere Decoding: Algorithms and VLSI Implementation.
IEEE Journal on Selected Areas in Communications 26 (2), 2008.
"""

import numpy as np

from .nway import candidates
from .tree import Tree, by_layer, clipped, label_bits, nearest_candidates, spaced


def softsphere(y, h, noise_var, constellation, prior=None, llr_clip=None):
    """Return max-log LLRs, 000 eq. 12 (with priors: 002 eq. 4); see ``search``."""
    return search(y, h, noise_var, constellation, prior, llr_clip)[0]


def search(y, h, noise_var, constellation, prior=None, llr_clip=None):
    """Return (max-log LLRs, number of nodes that the search visits).

    ``hypothesis[v, b]`` is the smallest metric so far of a candidate whose bit b is v. The search
    visits a node if its metric is below a hypothesis that one of its leaves could lower. Leaves can
    lower the hypotheses of the bit values on the path to the node, and both hypotheses of each bit
    on lower levels.

    The metric is the squared distance over noise_var, plus a penalty for each bit whose value
    contradicts its a-priori LLR: the magnitude of this LLR. The metric differs from -ln p(y, s)
    only by a constant. The constant is such that metrics never fall along a path. An LLR differs
    from the a-priori LLR by at most llr_clip; None does not limit it.
    """
    nt = h.shape[1]
    search = Tree(y, h, noise_var, constellation,
                  np.argsort(np.linalg.norm(spaced(h, constellation), axis=0)))
    layers, own_known = by_layer(constellation, nt, prior)
    known = np.concatenate(own_known)
    bits = [points.bits.astype(int) for points in layers]
    cost = [np.abs(llr) @ (own != (llr > 0)).T for own, llr in zip(bits, own_known, strict=True)]
    seeds = candidates(y, h, noise_var, constellation, prior, passes=nt)
    hypothesis = nearest_candidates(*seeds, constellation) + np.sum(np.maximum(known, 0))
    # An LLR beyond the limit need not be exact: metrics further than this from the smallest one do
    # not matter.
    slack = np.full(hypothesis.shape, np.inf)
    if llr_clip is not None:
        slack = np.maximum(llr_clip + np.array([[1], [-1]]) * known, 0)
    ends = np.cumsum([points.bits_per_symbol for points in layers])
    which = np.split(np.arange(ends[-1]), ends[:-1])    # bits of each layer
    nodes = 0

    def descend(labels, level, metric, above):
        """Visit the children, at ``level``, of a node.

        ``labels`` are the node's symbols at the levels above, ``above`` is the largest hypothesis
        of their bits.
        """
        nonlocal hypothesis, nodes
        layer = search.order[level]
        above_it = [points[s] for points, s in zip(search.points[level + 1:], labels, strict=True)]
        centre = search.y[level] - search.r[level, level + 1:] @ np.array(above_it)
        metrics = (metric + cost[layer] + np.abs(
            centre - search.r[level, level] * search.points[level]) ** 2 / noise_var)
        lower = [b for i in search.order[:level] for b in which[i]]
        below = np.max(hypothesis[:, lower], initial=above)
        for s in np.argsort(metrics, kind="stable"):
            own = np.max(hypothesis[bits[layer][s], which[layer]])
            if metrics[s] >= max(own, below):
                continue
            nodes += 1
            if level:
                descend([s, *labels], level - 1, metrics[s], max(own, above))
                continue
            leaf = np.array([s, *labels])
            at = (label_bits(leaf[None, np.argsort(search.order)], constellation)[0],
                  np.arange(ends[-1]))
            hypothesis[at] = np.minimum(hypothesis[at], metrics[s])
            hypothesis = np.minimum(hypothesis, np.min(hypothesis) + slack)

    hypothesis = np.minimum(hypothesis, np.min(hypothesis) + slack)
    descend([], nt - 1, 0.0, 0.0)
    return clipped(hypothesis[0] - hypothesis[1], prior, llr_clip), nodes
