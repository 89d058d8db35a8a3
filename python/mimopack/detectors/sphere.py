# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphere detectors: hard maximum likelihood by tree search (004)."""

import operator

import numpy as np

from .. import reference
from ..checks import integer
from .base import Detector
from .parameters import Parameter

ORDERING = Parameter(
    "ordering", "Ordering", "sorted", "enum",
    "Levels of the tree. sorted: antennas by sorted QR decomposition (Wübben et al., 2001), the "
    "axes of each next to each other, which takes the fewest nodes; stacked: all real parts, then "
    "all imaginary parts, as in 004 eq. 3. The solution is the same.", reference.sphere.ORDERINGS)
RADII = ("infinite", "zf")
PRESETS = ("auto", "table5")

# 004 table 5, by nt and side: lvl_1 ..., exp_1 ..., tt
TABLE_5 = {
    (2, 2): ((1,), (), 16),
    (2, 4): ((1,), (), 128),
    (2, 8): ((3, 1), (1,), 64),
    (4, 2): ((7, 1), (1,), 64),
    (4, 4): ((6, 4, 1), (4, 1), 64),
    (4, 8): ((7, 5, 3, 1), (4, 4, 2), 128),
}


class _Sphere(Detector):
    family = "sphere"
    SUPPORTS_PRIOR = True
    NEEDS_SQUARE_QAM = True
    HARD = True
    UNEQUAL_TIME = True

    @property
    def candidates(self):
        """Those of a full search, of which few are looked at; no more than a hard case takes."""
        return min(self.constellation.size**self.num_tx, 2**16)

    def count_nodes(self, y, h, noise_var, prior=None):
        """The nodes that the search visits, whose metric it evaluates (004 fig. 10).

        Arguments and errors are those of ``detect``.

        Returns:
            (n,) uint32, modulo 2^32; 0 for a vector that cannot be detected.
        """
        return self._count(y, h, noise_var, prior, 1)[:, 0]

    def _count(self, y, h, noise_var, prior, width):
        if self.backend != "reference":
            shape = (len(y) if np.ndim(y) else 0, width)
            gpu = self._gpu_of(y)
            nodes = (np.zeros(shape, np.uint32) if gpu is None
                     else self._engines.gpus().zeros(shape, np.uint32, gpu))
            self._detect(self._call(y, h, noise_var, prior, None, nodes=nodes))
            return nodes
        y, h, noise_var, prior = self.checked(y, h, noise_var, prior)
        visited, erased = reference.run(self._visited, y, h, noise_var, self.constellation, prior,
                                        width=width)
        self._erased = int(erased.sum())
        return visited.astype(np.uint32)

    def _visited(self, y, h, noise_var, constellation, prior=None):
        tree = reference.sphere.RealTree(y, h, constellation, noise_var, prior, self.ordering)
        own = {p.name: getattr(self, p.name) for p in self.PARAMETERS
               if p.in_reference and p is not ORDERING}
        return getattr(reference.sphere, f"{self.name}_search")(tree, **own)[1]


class SD(_Sphere):
    """Sphere detector (004 §3, Algorithm 1; C. P. Schnorr, M. Euchner: Lattice Basis Reduction:
    Improved Practical Algorithms and Solving Subset Sum Problems, Mathematical Programming 66,
    1994): hard maximum likelihood, depth first.

    Returns the closest of all M^nt candidates (004 eq. 4), always, as LLRs of +-1. On the
    real-valued model, 2 nt levels of PAM symbols; the children of a node come by rising metric
    (Schnorr and Euchner), and the radius shrinks with each better leaf. A-priori LLRs add a term
    per symbol, never negative, to the metric (002 eq. 4): the solution is then the one of
    maximum a-posteriori probability. Needs square QAM with Gray labels per axis.

    Complexity: QR decomposition, and then it depends on channel and noise: exponential in nt at
    low SNR, 2 nt nodes of O(nt) at high SNR. Nothing cuts a long search short: from about 8
    layers on it can take seconds for a vector at low SNR, and a flowgraph stops only after the
    work() call it is in. In Python ``count_nodes`` tells the cost: a node counts when its metric is
    compared with the radius, and the first sibling outside, which ends its level, counts too.
    """

    name = "sd"
    summary = "Sphere detector, hard maximum likelihood"
    PARAMETERS = (
        Parameter("radius", "Initial radius", "infinite", "enum",
                  "Where the search starts from: infinite, or the distance of the zero-forcing "
                  "point (004 §4.1).", RADII),
        ORDERING,
    )


class ASD(_Sphere):
    """Automatic sphere decoder (004 §7; K. Su: Efficient Maximum Likelihood Detection for
    Communication over Multiple Input Multiple Output Channels, University of Cambridge, 2005, its
    reference [33]): hard maximum likelihood, best first.

    Always expands the open node with the smallest metric, so that it expands the fewest nodes
    and needs no radius; the first leaf that comes up is the solution, the same as that of ``SD``.
    What is said there of a-priori LLRs, constellations and complexity holds here too. The open
    nodes are kept in a heap: the cpu backend holds 2^21 of them for a vector, the cuda backend
    2^13, and starts again depth first where these are not enough. In Python ``count_nodes`` counts
    all children of each expanded node.
    """

    name = "asd"
    summary = "Automatic sphere decoder, hard maximum likelihood with the fewest expansions"
    PARAMETERS = (ORDERING,)


class PSD(_Sphere):
    """Parallel sphere detector (004 §4, Algorithms 2 and 3): hard maximum likelihood by rounds.

    Between two of the levels lvl_1 > ... > lvl_nr = 1 all levels are expanded at once: a round
    evaluates all eval = exp M^((lvl_above - lvl)/2) extensions of exp nodes, then goes on with
    the best of them, until none lies inside the radius, which is the best leaf so far. The
    solution is that of ``SD``, whatever the parameters, and so is what is said there of a-priori
    LLRs and constellations. Rounds are what runs in parallel: on the CPU one vector per SIMD
    lane, all lanes in step; on a GPU tt threads evaluate and sort a vector's nodes as in 004
    §4.3, where tt is 2, 4 ... 128 and a round's nodes fit into shared memory. With tt = 1, two to
    four layers of up to 64-QAM and no a-priori LLRs, a thread of the GPU searches depth first in
    place of rounds, which is faster.

    In Python ``count_nodes`` counts what each of the tt threads evaluates (evaluation n of a round
    is thread n mod tt's); levels that are skipped count nothing. Where nodes are equally far to
    what float32 holds, backends may count differently.
    """

    name = "psd"
    family = "psd"
    summary = "Parallel sphere detector, hard maximum likelihood at speed"
    LARGEST_BUFFER = 2**16    # nodes of a round that are kept, and the leaves of a round
    LARGEST_ROUND = 2**24
    PARAMETERS = (
        Parameter("preset", "Preset", "auto", "enum",
                  "levels, expansions and team_size where not given. auto: what was fastest; "
                  "table5: those of 004 table 5 (2 or 4 layers of QPSK, 16- or 64-QAM).",
                  PRESETS, core="", in_reference=False),
        Parameter("levels", "Levels", None, "ints",
                  "lvl_1 > lvl_2 > ... > 1, where nodes are evaluated; the top is 2 num_tx.",
                  optional=True),
        Parameter("expansions", "Expansions", None, "ints",
                  "exp_1, ...: how many nodes are expanded at once on each level but the last; "
                  "1 each where only levels is given.", optional=True),
        Parameter("team_size", "Team size", None, "int",
                  "tt, the threads that share the nodes of a vector, of which count_nodes counts "
                  "each one's; 1 where the preset does not say.", optional=True,
                  in_blocks=False),
        ORDERING,
    )

    def _complete(self):
        """Sets the shape of the search, now that sizes are known."""
        nt, side = self.num_tx, self.constellation.square_qam.side
        if self.expansions is not None and self.levels is None:
            raise ValueError("expansions: got some without levels, must come with levels")
        levels, expansions, team = _automatic_shape(nt, side)
        if self.preset == "table5":
            if (nt, side) not in TABLE_5:
                raise ValueError(f"preset: got 'table5' for {nt} layers of {side**2}-QAM, allowed "
                                 "are 2 or 4 layers of QPSK, 16- or 64-QAM")
            levels, expansions, team = TABLE_5[nt, side]
        if self.levels is not None:
            levels = _integers("levels", self.levels)
            if not levels or levels[0] > 2 * nt or levels[-1] != 1 or any(
                    a <= b for a, b in zip(levels, levels[1:], strict=False)):
                raise ValueError(f"levels: got {list(levels)}, must fall from {2 * nt} or below "
                                 "to 1")
            expansions = (1,) * (len(levels) - 1)
            if self.expansions is not None:
                expansions = _integers("expansions", self.expansions)
        self.levels, self.expansions = levels, expansions
        if self.team_size is None:
            self.team_size = team
        self.team_size = integer("team_size", self.team_size, 1, 1024)
        self._check_rounds(side)

    def _check_rounds(self, side):
        if len(self.expansions) != len(self.levels) - 1:
            raise ValueError(f"expansions: got {list(self.expansions)}, must be "
                             f"{len(self.levels) - 1}, one for each level but the last")
        for i, nodes in enumerate(self.evaluations):
            last = i == len(self.expansions)
            if not last and not 1 <= self.expansions[i] <= nodes:
                raise ValueError(f"expansions: got {self.expansions[i]} on level "
                                 f"{self.levels[i]}, allowed are 1 to {nodes}")
            limit = self.LARGEST_ROUND if last else self.LARGEST_BUFFER
            if nodes > limit:
                raise ValueError(f"levels: a round on level {self.levels[i]} would evaluate "
                                 f"{nodes:.3g} nodes, allowed are {limit}: use more levels or "
                                 "fewer expansions")

    @property
    def evaluations(self):
        """eval, the nodes of a round on each level (004 table 1)."""
        side = self.constellation.square_qam.side
        bounds = (2 * self.num_tx + 1, *self.levels)
        return tuple(parents * side**(above - level) for parents, above, level in zip(
            (1, *self.expansions), bounds, self.levels, strict=False))

    def count_nodes(self, y, h, noise_var, prior=None):
        """The nodes that each thread evaluates (004 fig. 10).

        Arguments and errors are those of ``detect``.

        Returns:
            (n, team_size) uint32, modulo 2^32; 0 for a vector that cannot be detected.
        """
        return self._count(y, h, noise_var, prior, self.team_size)

    def gpu_threads(self):
        """At least as many as a team has."""
        wider = self.GPU_THREADS < self.team_size <= 2 * self.GPU_THREADS
        return 2 * self.GPU_THREADS if wider else self.GPU_THREADS


def _automatic_shape(num_tx, side):
    """(levels, expansions, team size): an antenna at a time; with QPSK, where that is few nodes,
    the first two at once. The more antennas, the more of the first nodes are expanded at once:
    a better first leaf saves rounds (4 times the rate with 8 layers of 16-QAM)."""
    first = 2 * num_tx - (3 if side == 2 and num_tx > 1 else 1)
    levels = tuple(range(first, 0, -2))
    together = min(8, 2 ** max(0, len(levels) // 2 - 1))
    return levels, tuple(max(1, together >> i) for i in range(len(levels) - 1)), 1


def _integers(name, values):
    try:
        return tuple(operator.index(value) for value in values)
    except TypeError:
        raise ValueError(f"{name}: got {values!r}, must be a list of integers") from None
