# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hard maximum likelihood by tree search: SD, ASD and PSD (004 §3-4).

All work on the real-valued model of 004 eq. 3, N = 2 nt levels of PAM symbols, and return the
ML solution whatever the channel; with a-priori LLRs that of maximum a-posteriori probability.
A node is *visited* when its metric is evaluated, which is how 004's fig. 10 counts. Square QAM.
"""

import heapq

import numpy as np

ORDERINGS = ("sorted", "stacked")


def sorted_qr_order(h):
    """Column order of the sorted QR decomposition: next comes the column of which projection on
    those before it leaves least, so that the strong ones are left for the top of the tree."""
    h = np.array(h, complex)
    left = list(range(h.shape[1]))
    order = []
    while left:
        order.append(min(left, key=lambda c: np.linalg.norm(h[:, c])))
        left.remove(order[-1])
        norm = np.linalg.norm(h[:, order[-1]])
        q = h[:, order[-1]] / norm if norm > 0 else 0 * h[:, 0]
        for c in left:
            h[:, c] -= q * np.vdot(q, h[:, c])
    return order


class RealTree:
    """y = R s, s the N = 2 nt PAM symbols, level N - 1 on top (0-based here, 1-based in 004).

    ``ordering`` "stacked" is 004 eq. 3: levels 0..nt-1 are the antennas' real parts, nt..N-1
    their imaginary parts. "sorted" has the axes of an antenna next to each other, R being zero
    between them, and the antennas in the order of the sorted QR decomposition.
    """

    def __init__(self, y, h, constellation, noise_var=1.0, prior=None, ordering="stacked"):
        self.constellation = constellation
        qam = constellation.square_qam
        self.levels = qam.scale * (2 * np.arange(qam.side) - (qam.side - 1))
        nt = h.shape[1]
        stacked = np.block([[h.real, -h.imag], [h.imag, h.real]])
        self.column = np.arange(2 * nt)    # of the stacked matrix, by level
        if ordering == "sorted":
            self.column = np.array([i + axis * nt for i in sorted_qr_order(h) for axis in (0, 1)])
        q, self.r = np.linalg.qr(stacked[:, self.column])
        self.y = q.T @ np.concatenate([y.real, y.imag])
        self.size = 2 * nt
        self.prior = np.zeros((self.size, qam.side))
        if prior is not None:
            self.prior = noise_var * self._prior_terms(np.asarray(prior), qam)

    def _prior_terms(self, prior, qam):
        """-ln P(symbol) of each level's symbols, less the smallest of them: a bit that differs
        from the sign of its LLR costs |LLR|. They are never negative, so that metrics cannot
        fall on the way down."""
        nt, width = self.size // 2, qam.side.bit_length() - 1
        k = np.arange(qam.side)
        gray = k ^ (k >> 1)
        terms = np.zeros((2 * nt, qam.side))
        for llr, (axis, g, invert) in zip(prior.reshape(nt, -1).T, qam.bits, strict=True):
            value = (gray >> (width - 1 - g) & 1) ^ invert
            cost = np.where(value, np.maximum(-llr, 0)[:, None], np.maximum(llr, 0)[:, None])
            terms[axis * nt:(axis + 1) * nt] += cost
        return terms[self.column]

    def children(self, path, level):
        """Metric increments of all symbols at a level below a path (symbols of levels above)."""
        above = self.levels[list(path)] @ self.r[level, level + 1:] if path else 0.0
        return ((self.y[level] - above - self.r[level, level] * self.levels) ** 2
                + self.prior[level])

    def bits(self, path):
        """Bits (nt*m,) of a complete path."""
        value = np.empty(self.size)
        value[self.column] = self.levels[list(path)]
        points = value[:self.size // 2] + 1j * value[self.size // 2:]
        label = np.argmin(np.abs(points[:, None] - self.constellation.points), axis=1)
        return self.constellation.bits[label].ravel()


def babai(tree):
    """The zero-forcing point of 004 §4.1, of which the ZF radius is the distance."""
    zero_forcing = np.linalg.pinv(tree.r) @ tree.y
    path = tuple(np.argmin(np.abs(zero_forcing[:, None] - tree.levels), axis=1))
    metric = 0.0    # summed as the search does, so that rounding does not tell them apart
    for level in range(tree.size - 1, -1, -1):
        metric = metric + tree.children(path[level + 1:], level)[path[level]]
    return path, metric


def sd_search(tree, radius="infinite"):
    """Depth-first search of 004 Algorithm 1, the children of a node by rising metric (Schnorr
    and Euchner): (path, visited). The first of them outside the radius ends a level; it counts."""
    best, bound = (None, np.inf) if radius == "infinite" else babai(tree)
    visited = 0

    def descend(path, level, metric):
        nonlocal best, bound, visited
        steps = metric + tree.children(path, level)
        for k in np.argsort(steps, kind="stable"):
            visited += 1
            if steps[k] >= bound:
                return
            if level == 0:
                best, bound = (k, *path), steps[k]
            else:
                descend((k, *path), level - 1, steps[k])

    descend((), tree.size - 1, 0.0)
    return best, visited


def asd_search(tree):
    """Automatic sphere decoder ([33] of 004): (path, visited). Always expands the open node with
    the smallest metric, which expands the fewest; the first leaf to come up is the solution. All
    children of an expanded node are visited."""
    visited, serial = 0, 0
    queue = [(0.0, serial, ())]
    while True:
        metric, _, path = heapq.heappop(queue)
        level = tree.size - 1 - len(path)
        if level < 0:
            return path, visited
        for k, step in enumerate(tree.children(path, level)):
            visited += 1
            serial += 1
            heapq.heappush(queue, (metric + step, serial, (k, *path)))


def psd_search(tree, levels, expansions, team_size):
    """Parallel sphere detector, 004 Algorithms 2 and 3: (path, visited by each thread (tt,)).

    As Algorithm 2 says, a stage goes on with the rest of its buffer after the leaves below the
    last nodes; the return to the level above in Algorithm 3, line 18, would leave them out. As in
    Algorithm 3, all exp nodes are expanded where the first of them lies inside the radius.

    Args:
        levels: lvl_1 > ... > lvl_nr = 1, the levels (1-based, N the top) where partial vectors
            are evaluated; all levels between two of them are expanded at once.
        expansions: exp_1 ... exp_(nr-1): how many partial vectors of each but the last are
            expanded at once.
        team_size: tt; evaluation n of a round is done by thread n mod tt.
    """
    bounds = [tree.size + 1, *levels]
    visited = np.zeros(team_size, int)
    best, bound = None, np.inf

    def evaluate(parents, stage):
        """All extensions of the parents down to level bounds[stage]: sorted (metric, path)."""
        nonlocal visited
        nodes = parents
        for _ in range(bounds[stage - 1] - bounds[stage]):
            nodes = [(metric + step, (k, *path)) for metric, path in nodes
                     for k, step in enumerate(tree.children(path, tree.size - 1 - len(path)))]
        visited = visited + np.bincount(np.arange(len(nodes)) % team_size, minlength=team_size)
        return sorted(nodes)

    def traverse(parents, stage):
        nonlocal best, bound
        nodes = evaluate(parents, stage)
        if stage == len(levels):
            if nodes[0][0] < bound:
                bound, best = nodes[0]
            return
        together = expansions[stage - 1]
        for first in range(0, len(nodes), together):
            if nodes[first][0] >= bound:
                return
            traverse(nodes[first:first + together], stage + 1)

    traverse([(0.0, ())], 1)
    return best, visited


def _decided(search):
    """A search as a detector: LLRs +-1 by the bits of its path."""
    def detector(y, h, noise_var, constellation, prior=None, ordering="sorted", **parameters):
        tree = RealTree(y, h, constellation, noise_var, prior, ordering)
        return 2.0 * tree.bits(search(tree, **parameters)[0]) - 1
    return detector


sd, asd, psd = _decided(sd_search), _decided(asd_search), _decided(psd_search)
