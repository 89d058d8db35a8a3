# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Maximum-likelihood detection by tree search: SD, PSD and ASD (004 §3, 4 and 7).

All searches work on the real-valued model of 004 eq. 3 with N = 2 nt levels of PAM symbols, so the
constellation must be a square QAM, or BPSK, whose imaginary part is a symbol with the value 0 only.
They return the ML solution for every channel, or with a-priori LLRs the MAP solution. A node counts
as *visited* when its metric is evaluated, as in 004 fig. 10.

``max_nodes`` ends a search before it visits more nodes; the path is then the best one found so far.

With a list of more than one leaf, a search finds the most likely leaves, whatever its order. LLRs
come from these (list sphere detection: B. M. Hochwald, S. ten Brink: Achieving Near-Capacity on a
Multiple-Antenna Channel, IEEE Transactions on Communications 51 (3), 2003).
"""

import bisect
import heapq
from typing import Any, NamedTuple

import numpy as np

from ..constellation import each_layer
from .axes import axis_logits, grids, real_model, turned
from .tree import clipped, label_bits, list_llr, spaced

ORDERINGS = ("sorted", "stacked")


class Search(NamedTuple):
    """The result of a search.

    Attributes:
        leaves: the best leaves found, (metric, path), by rising metric.
        visited: number of visited nodes; of ``psd_search``, of each thread (tt,).
        truncated: whether the search ended because of ``max_nodes``.
    """

    leaves: list
    visited: Any
    truncated: bool


class LeafList:
    """The best leaves that a search has met.

    Args:
        size: most leaves in the list.
        reach: how far from the best metric another one may be.

    Attributes:
        leaves: (metric, path) of each leaf, by rising metric.
    """

    def __init__(self, size=1, reach=0.0):
        self.size, self.reach, self.leaves = size, reach, []

    @property
    def bound(self):
        """The metric from which a leaf is of no use: the radius of the search."""
        last = self.leaves[-1][0] if len(self.leaves) == self.size else np.inf
        return min(last, self.leaves[0][0] + self.reach) if self.leaves else np.inf

    def add(self, metric, path):
        """Add a leaf if it is of use."""
        if metric < self.bound:
            bisect.insort(self.leaves, (metric, path), key=lambda leaf: leaf[0])
            del self.leaves[self.size:]


def sorted_qr_order(h):
    """Return the column order of the sorted QR decomposition.

    The next column is always the one with the smallest norm after projection on the columns before
    it. Strong columns are therefore left for the top of the tree.
    """
    columns = np.array(np.transpose(h), complex, order="C")    # see modified_gram_schmidt
    left = list(range(len(columns)))
    order = []
    while left:
        order.append(min(left, key=lambda c: np.linalg.norm(columns[c])))
        left.remove(order[-1])
        norm = np.linalg.norm(columns[order[-1]])
        q = columns[order[-1]] / norm if norm > 0 else 0 * columns[0]
        for c in left:
            columns[c] -= q * np.vdot(q, columns[c])
    return order


class RealTree:
    """Real-valued search tree y = R s with N = 2 nt PAM symbols s.

    Level N - 1 is the top; levels are numbered from 0 here, from 1 in 004. A path is a tuple of
    indices of PAM symbols, from its lowest level up to the top.

    Args:
        y, h, constellation, noise_var, prior: as for a detector.
        ordering: order of the levels. "stacked" is 004 eq. 3: levels 0..nt-1 are the real parts of
            the layers, nt..N-1 the imaginary parts. "sorted" has the layers in the order of the
            sorted QR decomposition and puts the two axes of a layer on neighbouring levels. The
            entry of R that couples these two levels is 0.
    """

    def __init__(self, y, h, constellation, noise_var=1.0, prior=None, ordering="stacked"):
        self.constellation, self.noise_var, self.known = constellation, noise_var, prior
        self.size = 2 * h.shape[1]
        # The axis of each level: 2 i + 0 (real part) or 1 (imaginary part) of layer i.
        self.axes = [*range(0, self.size, 2), *range(1, self.size, 2)]
        if ordering == "sorted":
            self.axes = [2 * layer + part for layer in sorted_qr_order(spaced(h, constellation))
                         for part in (0, 1)]
        y_real, h_real = real_model(y, turned(h, constellation))
        q, self.r = np.linalg.qr(h_real[:, self.axes])
        self.y = q.T @ y_real
        levels = [axis for grid in grids(constellation, h.shape[1]) for axis in grid.levels]
        self.levels = [levels[axis] for axis in self.axes]
        # -ln P of each symbol minus the smallest value of its level: metrics cannot fall on the way
        # down.
        logits = axis_logits(prior, constellation, h.shape[1])[self.axes]
        self.prior = [noise_var * (np.max(log_p) - log_p[:len(own)])
                      for log_p, own in zip(logits, self.levels, strict=True)]

    def children(self, path, level):
        """Return the metric increments of all symbols at a level, given the path above it."""
        above = [self.levels[level + 1 + i][k] for i, k in enumerate(path)]
        rest = self.y[level] - self.r[level, level + 1:] @ above if path else self.y[level]
        return (rest - self.r[level, level] * self.levels[level]) ** 2 + self.prior[level]

    def labels(self, path):
        """Return the labels of a complete path, by layer."""
        value = np.empty(self.size)
        value[self.axes] = [levels[k] for levels, k in zip(self.levels, path, strict=True)]
        return [np.argmin(np.abs(points.grid.turn * symbol - points.points))
                for symbol, points in zip(value[0::2] + 1j * value[1::2], each_layer(
                    self.constellation, self.size // 2), strict=True)]

    def llr(self, search, soft=False, llr_clip=8.0):
        """Return the LLRs of the leaves that a search has found: +-1, or max-log with ``soft``.

        An LLR differs from the a-priori LLR by at most llr_clip. If all leaves agree on a bit, its
        LLR is at the limit.
        """
        leaves = search.leaves if soft else search.leaves[:1]
        labels = np.array([self.labels(path) for _, path in leaves])
        if not soft:
            return 2.0 * label_bits(labels, self.constellation)[0] - 1
        metric = np.array([metric for metric, _ in leaves]) / self.noise_var
        return clipped(list_llr(labels, metric, self.constellation), self.known, llr_clip)

    def leaf_list(self, soft=False, list_size=32, llr_clip=8.0):
        """Return an empty :class:`LeafList` for ``llr``."""
        if not soft:
            return LeafList()
        strongest = 0.0 if self.known is None else np.max(np.abs(self.known))
        return LeafList(list_size, self.noise_var * (llr_clip + strongest))


def babai(tree):
    """Return (metric, path) of the zero-forcing point of 004 §4.1: the squared ZF radius."""
    zero_forcing = np.linalg.pinv(tree.r) @ tree.y
    path = tuple(np.argmin(np.abs(value - levels))
                 for value, levels in zip(zero_forcing, tree.levels, strict=True))
    metric = 0.0    # summed in the order of the search, to get the same rounding
    for level in range(tree.size - 1, -1, -1):
        metric = metric + tree.children(path[level + 1:], level)[path[level]]
    return metric, path


def sd_search(tree, found, radius="infinite", enumeration="schnorr-euchner", max_nodes=None):
    """Search depth-first (004 Algorithm 1); return a :class:`Search`.

    Algorithm 1 compares each child of an expanded node with the radius, in the order of the PAM
    symbols ("natural"). Schnorr and Euchner visit the children by rising metric. At the first child
    outside the radius, the search then skips the remaining children of the node; this first child
    still counts as visited.

    Args:
        tree: ``RealTree``.
        found: empty ``LeafList``.
        radius: initial radius: "infinite", or "zf" for the metric of :func:`babai`.
        enumeration: order of the children, "schnorr-euchner" or "natural".
        max_nodes: most nodes to visit, or None. With an infinite radius, the search visits at least
            the N nodes of the first leaf.
    """
    natural = enumeration == "natural"
    most = max_nodes or np.inf
    if radius == "infinite":
        most = max(most, tree.size)
    else:
        found.add(*babai(tree))
    visited, truncated = 0, False

    def descend(path, level, metric):
        nonlocal visited, truncated
        steps = metric + tree.children(path, level)
        for k in range(len(steps)) if natural else np.argsort(steps, kind="stable"):
            truncated = truncated or visited == most
            if truncated:
                return
            visited += 1
            if steps[k] >= found.bound:
                if natural:
                    continue
                return
            if level == 0:
                found.add(steps[k], (k, *path))
            else:
                descend((k, *path), level - 1, steps[k])

    descend((), tree.size - 1, 0.0)
    return Search(found.leaves, visited, truncated)


def asd_search(tree, found, max_nodes=None):
    """Search best-first (automatic sphere decoder, [33] of 004); return a :class:`Search`.

    The search always expands the open node with the smallest metric, which minimises the number of
    expanded nodes. Leaves come by rising metric, so the first one is the solution. All children of
    an expanded node count as visited. If ``max_nodes`` does not suffice to expand the node, the
    nearest child at each level below completes its path and that of the root, which are then two
    leaves more.
    """
    def completed(path, metric):
        while len(path) < tree.size:
            steps = tree.children(path, tree.size - 1 - len(path))
            path, metric = (np.argmin(steps), *path), metric + steps.min()
        return metric, path

    visited, serial = 0, 0
    queue = [(0.0, serial, ())]
    while queue and queue[0][0] < found.bound:
        metric, _, path = heapq.heappop(queue)
        level = tree.size - 1 - len(path)
        if level < 0:
            found.add(metric, path)
            continue
        if visited + len(tree.levels[level]) > (max_nodes or np.inf):
            found.add(*completed(path, metric))
            found.add(*completed((), 0.0))
            return Search(found.leaves, visited, True)
        for k, step in enumerate(tree.children(path, level)):
            visited += 1
            serial += 1
            heapq.heappush(queue, (metric + step, serial, (k, *path)))
    return Search(found.leaves, visited, False)


def psd_search(tree, found, levels, expansions, team_size, max_nodes=None):
    """Search as the parallel sphere detector, 004 Algorithms 2 and 3.

    Each stage keeps its nodes in a sorted buffer and expands them in groups. The number of nodes in
    a group is the stage's entry in ``expansions``. After the leaves below a group, the stage
    continues with the next group of its buffer, as in Algorithm 2. Line 18 of Algorithm 3 returns
    to the level above instead, which would leave out the other groups. A whole group is expanded if
    its first node lies inside the radius, as in Algorithm 3.

    Args:
        tree: ``RealTree``.
        found: empty ``LeafList``.
        levels: lvl_1 > lvl_2 > ... > 1, the levels at which partial vectors are evaluated; all
            levels between two of them are expanded at once. They are numbered as in 004: 1 is the
            bottom and N the top.
        expansions: exp_1, exp_2, ..., the number of partial vectors that are expanded at once at
            each of these levels except the last.
        team_size: number of threads tt; thread n mod tt does evaluation n of a round.
        max_nodes: most nodes that all threads together visit, or None. The search visits at least
            those of the rounds that lead to the first leaf.

    Returns:
        A :class:`Search`.
    """
    bounds = [tree.size + 1, *levels]
    visited = np.zeros(team_size, int)
    truncated = False

    def evaluate(parents, stage):
        """Extend the parents down to level bounds[stage]; return a sorted list (metric, path)."""
        nonlocal visited
        nodes = parents
        for _ in range(bounds[stage - 1] - bounds[stage]):
            nodes = [(metric + step, (k, *path)) for metric, path in nodes
                     for k, step in enumerate(tree.children(path, tree.size - 1 - len(path)))]
        visited = visited + np.bincount(np.arange(len(nodes)) % team_size, minlength=team_size)
        return sorted(nodes)

    def traverse(parents, stage):
        nonlocal truncated
        nodes = evaluate(parents, stage)
        if stage == len(levels):
            for leaf in nodes:
                found.add(*leaf)
            return
        together = expansions[stage - 1]
        for first in range(0, len(nodes), together):
            if truncated or nodes[first][0] >= found.bound:
                return
            group = nodes[first:first + together]
            evaluations = len(group) * np.prod(
                [len(own) for own in tree.levels[bounds[stage + 1] - 1:bounds[stage] - 1]])
            truncated = bool(found.leaves) and visited.sum() + evaluations > (max_nodes or np.inf)
            if truncated:
                return
            traverse(group, stage + 1)

    traverse([(0.0, ())], 1)
    return Search(found.leaves, visited, truncated)


def _detector(search):
    """Make a detector from a search."""
    def detector(y, h, noise_var, constellation, prior=None, ordering="sorted", soft=False,
                 list_size=32, llr_clip=8.0, **parameters):
        tree = RealTree(y, h, constellation, noise_var, prior, ordering)
        found = tree.leaf_list(soft, list_size, llr_clip)
        return tree.llr(search(tree, found, **parameters), soft, llr_clip)
    return detector


# The detectors: f(y, h, noise_var, constellation, prior, ordering, soft, list_size, llr_clip,
# **parameters of the search). They return LLRs of +-1, or with ``soft`` max-log LLRs of the
# list_size most likely candidates, which differ from the a-priori LLRs by at most llr_clip.
sd, asd, psd = _detector(sd_search), _detector(asd_search), _detector(psd_search)
