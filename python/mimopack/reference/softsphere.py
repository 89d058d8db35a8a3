# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact max-log LLRs by a single tree search, which starts with the candidates of N-way.

C. Studer, A. Burg, H. Boelcskei: Soft-Output Sphere Decoding: Algorithms and VLSI Implementation.
IEEE Journal on Selected Areas in Communications 26 (2), 2008.
"""

import numpy as np

from .nway import candidates
from .tree import Tree, nearest_candidates


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
    m = constellation.bits_per_symbol
    known = np.zeros(nt * m) if prior is None else np.asarray(prior, float)
    search = Tree(y, h, noise_var, constellation, np.argsort(np.linalg.norm(h, axis=0)))
    bits = constellation.bits.astype(int)
    guess = known.reshape(nt, m) > 0
    cost = np.sum(np.abs(known.reshape(nt, 1, m)) * (bits != guess[:, None]), axis=2)
    seeds = candidates(y, h, noise_var, constellation, known, passes=nt)
    hypothesis = nearest_candidates(*seeds, constellation) + np.sum(np.maximum(known, 0))
    # An LLR beyond the limit need not be exact: metrics further than this from the smallest one do
    # not matter.
    slack = np.full((2, nt * m), np.inf)
    if llr_clip is not None:
        slack = np.maximum(llr_clip + np.array([[1], [-1]]) * known, 0)
    which = np.arange(nt * m).reshape(nt, m)
    nodes = 0

    def descend(labels, level, metric, above):
        """Visit the children, at ``level``, of a node.

        ``labels`` are the node's symbols at the levels above, ``above`` is the largest hypothesis
        of their bits.
        """
        nonlocal hypothesis, nodes
        layer = search.order[level]
        centre = search.y[level] - constellation.points[labels] @ search.r[level, level + 1:]
        metrics = (metric + cost[layer] + np.abs(
            centre - search.r[level, level] * constellation.points) ** 2 / noise_var)
        below = np.max(hypothesis[:, which[search.order[:level]]], initial=above)
        for s in np.argsort(metrics, kind="stable"):
            own = np.max(hypothesis[bits[s], which[layer]])
            if metrics[s] >= max(own, below):
                continue
            nodes += 1
            if level:
                descend([s, *labels], level - 1, metrics[s], max(own, above))
                continue
            leaf = np.array([s, *labels])
            found = bits[leaf[np.argsort(search.order)]].ravel()
            at = found, np.arange(nt * m)
            hypothesis[at] = np.minimum(hypothesis[at], metrics[s])
            hypothesis = np.minimum(hypothesis, np.min(hypothesis) + slack)

    hypothesis = np.minimum(hypothesis, np.min(hypothesis) + slack)
    descend([], nt - 1, 0.0, 0.0)
    llr = hypothesis[0] - hypothesis[1]
    if llr_clip is not None:
        llr = known + np.clip(llr - known, -llr_clip, llr_clip)
    return llr, nodes
