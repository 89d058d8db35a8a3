# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hard maximum likelihood by tree search: SD, ASD and PSD (004 §3-4).

All work on the real-valued model of 004 eq. 3, N = 2 nt levels of PAM symbols, and return the
ML solution whatever the channel. A node is *visited* when its metric is evaluated; ``count`` is
how 004's fig. 10 counts. Square QAM.
"""

import heapq

import numpy as np


class RealTree:
    """y = H s of 004 eq. 3: real parts first, then imaginary; R of its QR decomposition."""

    def __init__(self, y, h, constellation):
        qam = constellation.square_qam
        self.levels = qam.scale * (2 * np.arange(qam.side) - (qam.side - 1))
        real = np.block([[h.real, -h.imag], [h.imag, h.real]])
        q, self.r = np.linalg.qr(real)
        self.y = q.T @ np.concatenate([y.real, y.imag])
        self.size = len(self.r)

    def children(self, path, level):
        """Metric increments of all symbols at a level below a path (labels of levels above)."""
        above = self.levels[list(path)] @ self.r[level, level + 1:] if path else 0.0
        return (self.y[level] - above - self.r[level, level] * self.levels) ** 2

    def bits(self, path, constellation):
        """Bits (nt*m,) of a complete path of level indices, level 0 first."""
        nt = self.size // 2
        points = self.levels[list(path[:nt])] + 1j * self.levels[list(path[nt:])]
        label = np.argmin(np.abs(points[:, None] - constellation.points), axis=1)
        return constellation.bits[label].ravel()


def babai(tree):
    """The zero-forcing point of 004 §4.1: its metric is the ZF radius squared."""
    inverse = np.linalg.pinv(tree.r)
    path = np.argmin(np.abs((inverse @ tree.y)[:, None] - tree.levels), axis=1)
    return tuple(path), float(np.sum((tree.y - tree.r @ tree.levels[path]) ** 2))


def sd_search(tree, radius="infinite"):
    """Depth-first search with Schnorr-Euchner enumeration (004 Algorithm 1): (path, visited)."""
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
    """Automatic sphere decoder ([33] of 004): always expand the open node with the smallest
    metric, which visits the fewest; the first leaf to come up is the solution."""
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


def psd_search(tree, levels, expansions, threads):
    """Parallel sphere detector, 004 Algorithms 2-3: (path, visited, visited per thread).

    Args:
        levels: lvl_1 > ... > lvl_nr = 1, the levels (1-based, N the top) where partial vectors
            are evaluated; several levels at once are expanded between two of them.
        expansions: exp_1 ... exp_(nr-1): how many partial vectors of each but the last are
            expanded at once.
        threads: tt; evaluation n of a stage is done by thread n mod tt.
    """
    size = tree.size
    bounds = [size + 1, *levels]
    per_thread = np.zeros(threads, int)
    best, bound = None, np.inf

    def evaluate(parents, stage):
        """All extensions of the parents down to level bounds[stage]: sorted (metric, path)."""
        nonlocal per_thread
        depth = bounds[stage - 1] - bounds[stage]
        nodes = parents
        for _ in range(depth):
            nodes = [(metric + step, (k, *path)) for metric, path in nodes
                     for k, step in enumerate(tree.children(path, size - 1 - len(path)))]
        share = np.bincount(np.arange(len(nodes)) % threads, minlength=threads)
        per_thread = per_thread + share
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
            inside = [node for node in nodes[first:first + together] if node[0] < bound]
            if not inside:
                return
            traverse(inside, stage + 1)

    traverse([(0.0, ())], 1)
    return best, int(per_thread.sum()), per_thread
