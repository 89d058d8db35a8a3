# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphere detectors: maximum likelihood by tree search (004), and list sphere detection."""

import operator

import numpy as np

from .. import reference
from ..arrays import is_device_array, on_host
from ..cuda.device import cupy
from .base import Detector
from .parameters import MAX_NODES, SOFT, Parameter

ORDERING = Parameter(
    "ordering", "Ordering", "sorted", "enum",
    "Order of the tree's levels. sorted: layers in the order of the sorted QR decomposition "
    "(Wübben et al., 2001), with the two axes (real and imaginary part) of a layer on adjacent "
    "levels; visits the fewest nodes. stacked: all real parts, then all imaginary parts, as in 004 "
    "eq. 3. Both give the same solution.", reference.sphere.ORDERINGS)
RADII = ("infinite", "zf")
ENUMERATIONS = ("schnorr-euchner", "natural")
PRESETS = ("auto", "table5")
LIST = (
    *SOFT,
    Parameter("list_size", "List size", 32, "int",
              "With soft=True: number of candidates from which the LLRs come, 1 to 512.",
              least=1, most=512),
)

# 004 table 5: {(nt, side): ((lvl_1, ...), (exp_1, ...), tt)}.
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
    NEEDS_GRID = True
    HARD = True

    @property
    def candidates(self):
        """Number of candidates of a full search, at most 2^16.

        The search usually visits only a few of them, and about 2^16 in a hard case.
        """
        return min(self.constellation.size**self.num_tx, 2**16)

    def gpu_threads(self):
        # Shared memory has no room for the stacks and lists of more threads
        # (lib/cuda/team_search.h).
        large = (self.constellation.size > (64 if self.num_tx <= 4 else 16)
                 or self.soft and self.list_size > 128)
        return self.GPU_THREADS // 2 if large else self.GPU_THREADS

    def count_nodes(self, y, h, noise_var, prior=None):
        """Count the nodes that the search visits (004 fig. 10).

        The CPU searches, also for arrays on a GPU. The search visits a node when it evaluates the
        node's metric. Arguments and errors are those of ``detect``.

        Returns:
            (n,) uint32, modulo 2^32; 0 for a vector that cannot be detected.
        """
        return self._count(y, h, noise_var, prior, 1)[:, 0]

    def _count(self, y, h, noise_var, prior, width):
        if self.backend == "reference":
            y, h, noise_var, prior, _ = self.checked(y, h, noise_var, prior)
            visited, erased = reference.run(self._visited, y, h, noise_var, self.constellation,
                                            prior, width=width)
            self._erased = int(erased.sum())
            return visited.astype(np.uint32)
        batch = self._batch(y, h, noise_var, prior, None)
        if is_device_array(y):
            with y.device:
                return cupy().asarray(self._count(
                    *map(on_host, (y, h, noise_var, prior)), width))
        nodes = np.zeros((batch.n, width), np.uint32)
        self._erased = self._on_cpu(batch._replace(nodes=nodes))
        return nodes

    def _on_cpu(self, batch):
        self._truncated = 0
        return super()._on_cpu(batch)

    def reference(self, y, h, noise_var, constellation, prior=None):
        tree, search = self._search(y, h, noise_var, constellation, prior)
        self._truncated += search.truncated
        return tree.llr(search, self.soft, self.llr_clip)

    def _visited(self, y, h, noise_var, constellation, prior=None):
        return self._search(y, h, noise_var, constellation, prior)[1].visited

    def _search(self, y, h, noise_var, constellation, prior):
        """Return the tree of one vector and the result of its search, by the NumPy reference."""
        tree = reference.sphere.RealTree(y, h, constellation, noise_var, prior, self.ordering)
        own = {p.name: getattr(self, p.name) for p in self.PARAMETERS
               if p.in_reference and p not in (ORDERING, *LIST)}
        found = tree.leaf_list(self.soft, self.list_size, self.llr_clip)
        return tree, getattr(reference.sphere, f"{self.name}_search")(tree, found, **own)


class SD(_Sphere):
    """Sphere detector: hard maximum likelihood, depth first (004 §3, Algorithm 1).

    The detector always returns the closest of all M^nt candidates (004 eq. 4), as LLRs of +-1. It
    searches a tree of the real-valued model with 2 nt levels of PAM symbols, and the radius shrinks
    with each better leaf. Algorithm 1 visits the children of a node in the order of the PAM symbols
    (``enumeration="natural"``). By default they are visited in order of rising metric, which visits
    far fewer nodes (C. P. Schnorr, M. Euchner: Lattice Basis Reduction: Improved Practical
    Algorithms and Solving Subset Sum Problems, Mathematical Programming 66, 1994). A-priori LLRs
    add a nonnegative term to the metric of each symbol (002 eq. 4); the solution then has the
    maximum a-posteriori probability.

    With ``soft=True`` LLRs are max-log over the ``list_size`` most likely candidates: list sphere
    detection (B. M. Hochwald, S. ten Brink: Achieving Near-Capacity on a Multiple-Antenna Channel,
    IEEE Transactions on Communications 51 (3), 2003). The radius is then the metric of the last
    candidate in the list; it is no farther from the best one than ``llr_clip`` (plus the largest
    a-priori LLR) in units of the noise, where LLRs are at their limit anyway. If all candidates
    agree on a bit, its LLR is +-``llr_clip``. With M^nt candidates, LLRs are exact max-log within
    the limit. The result does not depend on the order of the search: SD, ASD and PSD have the same
    LLRs.

    Complexity: one QR decomposition plus a search that depends on channel and noise. The search
    takes time exponential in nt at low SNR, and visits 2 nt nodes, with O(nt) operations each, at
    high SNR. From about 8 layers on, a vector can take seconds at low SNR, and a flowgraph stops
    only after the current work() call. ``max_nodes`` limits the search; with an infinite radius it
    still visits the 2 nt nodes of the first leaf. In Python ``count_nodes`` returns the number of
    visited nodes. A node counts as visited when its metric is compared with
    the radius. With Schnorr-Euchner enumeration, the first child outside the radius counts too; the
    search skips the remaining children of the same node.

    On a GPU a thread searches a vector of two to four layers of up to 64-QAM without a-priori LLRs
    for hard output. For others, a team of 8, 16 or 32 threads searches the tree whose levels are
    the nt layers; with ``soft=True`` the team shares the list. Its first radius comes from
    noise_var; a value that is far from the noise's variance costs time, but does not change the
    result. Here ``max_nodes`` counts nodes whose children are computed. A search that it ends
    without a leaf completes its last nodes by slicing. Without ``soft``, a search of more than 200
    nodes begins again in a warp of 32 threads, with its whole budget, unless ``max_nodes`` is at
    most 400. Without ``max_nodes``, warps that have no vector share such searches.
    """

    name = "sd"
    summary = "Sphere detector, maximum likelihood"
    PARAMETERS = (
        Parameter("radius", "Initial radius", "infinite", "enum",
                  "Initial radius of the search: infinite, or the distance of the zero-forcing "
                  "point (004 §4.1).", RADII),
        Parameter("enumeration", "Enumeration", "schnorr-euchner", "enum",
                  "Order in which the children of a node are visited. schnorr-euchner: by rising "
                  "metric; visits the fewest nodes. natural: in the order of the symbols, as in "
                  "004 Algorithm 1. Both give the same solution.", ENUMERATIONS),
        MAX_NODES,
        *LIST,
        ORDERING,
    )

    def _complete(self):
        super()._complete()
        if self.soft and self.radius != "infinite":
            raise ValueError(f"radius: got {self.radius!r} with soft=True, must be 'infinite': the "
                             "list has candidates beyond the zero-forcing point")


class ASD(_Sphere):
    """Automatic sphere decoder: hard maximum likelihood, best first (004 §7).

    The detector always expands the open node with the smallest metric. It therefore expands the
    fewest nodes and needs no radius. Once the node with the smallest metric is a leaf, this leaf is
    the solution, which equals that of ``SD``. For a-priori LLRs, soft output and complexity see
    ``SD``. Source: K. Su: Efficient Maximum Likelihood Detection for Communication over Multiple
    Input Multiple Output Channels, University of Cambridge, 2005 (reference [33] of 004).

    A heap holds the open nodes. Its capacity per vector is 2^21 nodes; when it is full, the search
    starts again depth first. A GPU searches as it does for ``SD``. In Python
    ``count_nodes`` counts all children of each expanded node. If ``max_nodes`` does not suffice to
    expand the node with the smallest metric, the nearest child at each level below completes its
    path and that of the root, and the better of the two paths is the result; these children do not
    count.
    """

    name = "asd"
    summary = "Automatic sphere decoder, maximum likelihood with the fewest expansions"
    PARAMETERS = (MAX_NODES, *LIST, ORDERING)


class PSD(_Sphere):
    """Parallel sphere detector: hard maximum likelihood by rounds (004 §4, Algorithms 2 and 3).

    The parameter ``levels`` lists the levels lvl_1 > lvl_2 > ... > 1 at which nodes are evaluated;
    all levels between two of them are expanded at once. A round takes the e best open nodes of a
    listed level, where e is the level's entry in the parameter ``expansions``. The round evaluates
    all extensions of these nodes at the next listed level. If this level is d levels lower, there
    are e M^(d/2) extensions. The search continues with the best of them. The search ends when no
    open node is inside the radius; the radius is the metric of the best leaf so far. The solution
    equals that of ``SD`` for all parameters, with a-priori LLRs too. For soft output see ``SD``:
    the radius is then that of the list.

    On the CPU each SIMD lane processes one vector, and all lanes run in lockstep. A GPU searches as
    it does for ``SD``: the search finds the same solution and is 3 to 8 times as fast as the teams
    of threads of 004 §4.3.

    In Python ``count_nodes`` counts the nodes that each of the tt threads evaluates: thread n mod
    tt takes evaluation n of a round. Levels that are skipped are not counted. ``max_nodes`` limits
    the sum over all threads, but the search always visits the nodes of its first leaf, those of one
    round on each level (the sum of ``evaluations``). If the metrics of two
    nodes are equal to float32 precision, the counts may differ from those of backend "reference".
    """

    name = "psd"
    family = "psd"
    summary = "Parallel sphere detector, maximum likelihood at speed"
    LARGEST_BUFFER = 2**16    # nodes evaluated in a round on any level but the last
    LARGEST_ROUND = 2**24     # nodes evaluated in a round on the last level
    PARAMETERS = (
        Parameter("preset", "Preset", "auto", "enum",
                  "Source of levels, expansions and team_size that are not given. auto: the values "
                  "that were fastest in measurements; table5: the row of 004 table 5 for this "
                  "number of layers and constellation (2 or 4 layers of QPSK, 16- or 64-QAM).",
                  PRESETS, in_core=False, in_reference=False),
        Parameter("levels", "Levels", None, "ints",
                  "Levels at which nodes are evaluated, lvl_1 > lvl_2 > ... > 1; the top level is "
                  "2 num_tx. Default: the preset's.",
                  optional=True, advanced=True),
        Parameter("expansions", "Expansions", None, "ints",
                  "Number of nodes that are expanded at once, exp_1, exp_2, ..., one for each of "
                  "the levels except the last. Default: the preset's, or all 1 if levels is "
                  "given.", optional=True, advanced=True),
        Parameter("team_size", "Team size", None, "int",
                  "tt, the number of threads that share the nodes of a vector in 004, 1 to 1024. "
                  "count_nodes has a count for each of them; detect does not depend on it. "
                  "Default: the preset's, which is 1 with auto.",
                  optional=True, least=1, most=1024, advanced=True),
        Parameter("streams", "CUDA streams", None, "int",
                  "Number of CUDA streams on each GPU, 1 to 32, among which the parts of a batch "
                  "are shared (004 §6). A part has at least 2 MiB. Only the cuda backend uses it, "
                  "for arrays in host memory as those of a block. Default: 3, with 2 parts for a "
                  "batch of up to 32 MiB.",
                  optional=True, least=1, most=32, in_core=False, in_reference=False,
                  advanced=True),
        MAX_NODES,
        *LIST,
        ORDERING,
    )

    def _complete(self):
        """Set the shape of the search from the sizes and the preset."""
        super()._complete()
        nt, side = self.num_tx, self.constellation.grid.side
        if self.expansions is not None and self.levels is None:
            raise ValueError("expansions: got expansions without levels, must be given with levels")
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
                raise ValueError(f"levels: got {list(levels)}, must decrease from at most {2 * nt} "
                                 "to 1")
            expansions = (1,) * (len(levels) - 1)
            if self.expansions is not None:
                expansions = _integers("expansions", self.expansions)
        self.levels, self.expansions = levels, expansions
        if self.team_size is None:
            self.team_size = team
        self._check_rounds()

    def _check_rounds(self):
        if len(self.expansions) != len(self.levels) - 1:
            raise ValueError(f"expansions: got {list(self.expansions)}, must have length "
                             f"{len(self.levels) - 1}, one number for each level but the last")
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
        """Number of nodes that a round evaluates on each listed level (eval in 004 table 1)."""
        side = self.constellation.grid.side
        bounds = (2 * self.num_tx + 1, *self.levels)
        return tuple(parents * side**(above - level) for parents, above, level in zip(
            (1, *self.expansions), bounds, self.levels, strict=False))

    def count_nodes(self, y, h, noise_var, prior=None):
        """Count the nodes that each thread evaluates (004 fig. 10).

        The CPU searches, also for arrays on a GPU. Arguments and errors are those of ``detect``.

        Returns:
            (n, team_size) uint32, modulo 2^32; 0 for a vector that cannot be detected.
        """
        return self._count(y, h, noise_var, prior, self.team_size)

    def plan(self):
        return {**super().plan(), "streams": self.streams}


def _automatic_shape(num_tx, side):
    """Return (levels, expansions, team size) that were fastest in measurements.

    The search takes one antenna at a time; with QPSK, which has few nodes, it takes the first two
    antennas at once. The more antennas there are, the more nodes of the first levels it expands at
    once: a better first leaf saves rounds (4 times the rate with 8 layers of 16-QAM).
    """
    first = 2 * num_tx - (3 if side == 2 and num_tx > 1 else 1)
    levels = tuple(range(first, 0, -2))
    together = min(8, 2 ** max(0, len(levels) // 2 - 1))
    return levels, tuple(max(1, together >> i) for i in range(len(levels) - 1)), 1


def _integers(name, values):
    try:
        return tuple(operator.index(value) for value in values)
    except TypeError:
        raise ValueError(f"{name}: got {values!r}, must be a list of integers") from None
