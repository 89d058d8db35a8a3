# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Count the SIMD instructions that a detector's algorithm needs for one vector in each lane.

The count includes arithmetic, comparisons, minima, selections, and the shuffles that move arrays
into lanes and LLRs out of lanes. It excludes loads, stores, copies, address computations, branches
and checks for erasures. It assumes the shortest known form of each detector and an unlimited number
of registers:

- A complex multiply-add is 4 fused multiply-adds, a squared magnitude is 2.
- Slicing an axis of square QAM is a clamp, a rounding and a multiply-add (AVX-512; other
  instruction sets need more).
- A bit's metric is a test and a conditional minimum.
- Sorting is one comparison and one selection for each value examined.

Work that depends only on H is shared by the vectors of a channel matrix. Searches whose length
depends on the data are counted by the nodes that they visit on these data, if the detector counts
its nodes (``sd``, ``asd``, ``psd``). For ``softsphere``, see the function below.

Each detector has a function with its name and the decorator ``counted``. Sizes and parameters are
those of the detector object. A count is a pair: fused multiply-adds, and other instructions.
"""

from math import ceil, sqrt

import numpy as np

COUNTED = {}    # {name of a detector: function that counts its instructions}


def counted(function):
    """Decorate the function that counts the instructions of the detector of the same name."""
    COUNTED[function.__name__] = function
    return function


class Problem:
    """Problem size: nt layers, nr antennas, M points, T vectors per channel matrix.

    If H has at least twice as many rows as columns, it is tall: R takes its place after one
    decomposition. ``rows`` is the number of rows of the matrix whose columns are sorted.
    """

    def __init__(self, detector, per_channel):
        self.detector, self.per_channel = detector, per_channel
        self.num_tx, self.num_rx = detector.num_tx, detector.num_rx
        self.points = detector.constellation.size
        self.bits = detector.constellation.bits_per_symbol
        self.side = round(sqrt(self.points))
        self.is_tall = self.num_rx >= 2 * self.num_tx
        self.rows = self.num_tx if self.is_tall else self.num_rx


FMA, OTHER = np.eye(2)
COMPLEX_FMA = 4 * FMA
ROOT = FMA + 4 * OTHER              # 1 / sqrt(x): an estimate and a Newton step
SLICE = 2 * FMA + 4 * OTHER         # both axes
DISTANCE = 2 * FMA + 3 * OTHER      # d + w |u - k|^2
EXPONENTIAL = 6 * FMA + 5 * OTHER


def layout(p, lanes):
    """Move arrays to lanes and back: log2(lanes) shuffles for each float."""
    floats = (2 * p.num_rx * (1 + p.num_tx / p.per_channel) + p.num_tx * p.bits)
    return floats * (lanes - 1).bit_length() * OTHER


def qr(nt, nr):
    """Modified Gram-Schmidt (001 Algorithm 1)."""
    pairs = nt * (nt - 1) / 2
    return nt * (2 * nr * (FMA + OTHER) + ROOT) + pairs * 2 * nr * COMPLEX_FMA


def unit_diagonal(nt):
    """Scale R to a diagonal of ones, and compute the offsets of its rows."""
    return nt * (nt - 1) / 2 * 4 * OTHER + nt * 5 * OTHER


def rotate(nt, nr):
    """Q^H y."""
    return nt * nr * COMPLEX_FMA


def nearest(p):
    """Add the squared distance to the nearest point to a metric, without finding the point.

    Up to four levels of an axis are folded onto one another.
    """
    if p.side > 4:
        return SLICE + DISTANCE
    return 2 * (FMA + (2 if p.side == 2 else 4) * OTHER)


def sic(above, layers):
    """Extend one path by `layers` levels.

    Each level needs the interference of all levels above, a slice, a distance, and an update of the
    word that stores the symbols.
    """
    return sum(k * COMPLEX_FMA + SLICE + DISTANCE + 2 * FMA
               for k in range(above, above + layers))


def collect(candidates, layers, bits):
    """Max-log LLRs of a list: the best candidate, then differing bits and minima for each layer.

    22 bits of a float hold the symbols of several layers, so one conversion to Gray code serves
    them all.
    """
    words = ceil(layers * bits / 22)
    return candidates * ((2 + 4 * words) * OTHER + layers * 2 * bits * OTHER)


def collect_top(p):
    """Max-log LLRs of the fully expanded layer: minima per axis level, then per bit."""
    width = p.bits / 2
    return 2 * p.points * OTHER + 2 * p.side * width * OTHER


def finish(p):
    """Scale the differences by the noise, and limit them."""
    return ROOT + p.num_tx * p.bits * 4 * OTHER


def gram(p):
    """One half of H^H H."""
    return p.num_rx * p.num_tx * (p.num_tx + 1) / 2 * COMPLEX_FMA


def hermitian_inverse(n):
    """Invert by Cholesky: n^3/6 complex products each for factor, inverse and their product."""
    return n**3 / 2 * COMPLEX_FMA + n * ROOT


def norm_order(p):
    """Sort columns by norm with a network of n (n - 1) / 2 comparators that move them."""
    pairs = p.num_tx * (p.num_tx - 1) / 2
    return 2 * p.rows * p.num_tx * FMA + pairs * (4 * p.rows + 3) * OTHER


def inversion_order(p):
    """Order columns by noise amplification, recomputed after each choice (V-BLAST, FSD)."""
    nt = p.num_tx
    updates = sum(k * k for k in range(1, nt)) * COMPLEX_FMA
    moves = nt * (nt - 1) / 2 * (2 + 2 * p.rows) * OTHER
    return gram(p) + hermitian_inverse(nt) + updates + moves


def demap_axes(p):
    """Max-log LLRs of all layers separately, per axis."""
    return p.num_tx * 2 * (p.side * 2 + p.side * p.bits / 2 + p.bits) * OTHER


def tree(p):
    """QR decomposition, its scaling, and the rotation of y.

    If H is tall, R is the Cholesky factor of H^H H, and R^-H H^H y is the rotated vector.
    """
    nt, nr = p.num_tx, p.num_rx
    once, each = qr(nt, nr), rotate(nt, nr) + 2 * nt * FMA
    if p.is_tall:
        once = gram(p) + nt**3 / 6 * COMPLEX_FMA + nt * ROOT
        each = each + nt * (nt + 1) / 2 * COMPLEX_FMA
    return (once + unit_diagonal(nt)) * (1 / p.per_channel) + each


def expansion(p, levels):
    """Expand the first levels fully, by increments: a node needs no multiplication by R."""
    return sum(p.points**(level + 1) * (DISTANCE + 2 * (p.num_tx - level - 1) * OTHER)
               for level in range(levels))


def least(*counts):
    """Return the count with the fewest instructions."""
    return min(counts, key=sum)


@counted
def zf(p):
    """QR decomposition and inverse of R, or the inverse of H^H H."""
    inverse = p.num_tx**3 / 6 * COMPLEX_FMA + p.num_tx**2 * 2 * FMA
    once = least(qr(p.num_tx, p.num_rx) + inverse,
                 gram(p) + hermitian_inverse(p.num_tx)) * (1 / p.per_channel)
    apply = p.num_tx * (p.num_tx + 1) / 2 * COMPLEX_FMA
    return once + rotate(p.num_tx, p.num_rx) + apply + demap_axes(p)


@counted
def mmse(p):
    """QR decomposition of [H; sigma I], whose lower part fills up as a triangle, or the inverse of
    H^H H + sigma^2 I. Vectors of a matrix share it, as they have the same noise.
    """
    nt = p.num_tx
    once = (least(qr(nt, p.num_rx + nt / 3), gram(p) + hermitian_inverse(nt))
            + nt * (nt + 1) * FMA) * (1 / p.per_channel)
    return (once + rotate(nt, p.num_rx) + nt * (nt + 1) / 2 * COMPLEX_FMA + 8 * nt * OTHER
            + demap_axes(p))


def reordered(p):
    """Change the order of the columns, by Givens rotations of R and of Q^H y."""
    turns = p.num_tx - 1
    turn = 8 * FMA + 2 * OTHER
    once = turns * (3 * FMA + ROOT + 6 * OTHER) + turns * (turns - 1) / 2 * turn
    return once * (1 / p.per_channel) + turns * turn


@counted
def nway(p):
    return rotated_passes(p, p.detector.num_passes)


def rotated_passes(p, passes):
    """N-way: each pass expands another layer."""
    below = p.num_tx - 1
    candidates = p.points * (OTHER + 2 * below * OTHER + sic(0, below))
    one = candidates + collect(p.points, below, p.bits) + collect_top(p)
    return tree(p) + (passes - 1) * reordered(p) + passes * one + finish(p)


@counted
def fpfsd(p):
    return rotated_passes(p, p.num_tx) + norm_order(p) * (1 / p.per_channel)


@counted
def hfsd(p):
    expanded = p.detector.levels
    paths = p.points**expanded
    search = expansion(p, expanded) + paths * sic(0, p.num_tx - expanded)
    best = paths * (2 + p.num_tx - 1) * OTHER
    return inversion_order(p) * (1 / p.per_channel) + tree(p) + search + best


@counted
def sfsd(p):
    """HFSD, then flip each bit of the N_iter best paths below the expanded levels."""
    nt, expanded, best = p.num_tx, p.detector.levels, p.detector.num_paths
    choose = p.points**expanded * 4 * best * OTHER
    extension = sum(2 * OTHER + DISTANCE + sic(level, nt - level - 1)
                    for level in range(expanded, nt)) * (best * p.bits)
    paths = p.points**expanded + best * p.bits * (nt - expanded)
    tops = expanded * (collect_top(p) + best * (4 + 2 * p.bits) * OTHER)
    return (hfsd(p) + choose + extension + collect(paths, nt - expanded, p.bits) + tops
            + finish(p))


@counted
def zfsic(p):
    return inversion_order(p) * (1 / p.per_channel) + tree(p) + sic(0, p.num_tx)


@counted
def bitflip(p):
    nt = p.num_tx
    flips = sum(2 * OTHER + DISTANCE + sic(level, nt - level - 1) for level in range(nt)) * p.bits
    return zfsic(p) + flips + collect(1 + nt * p.bits, nt, p.bits) + finish(p)


def _full(p, leaf):
    """Exact max-log: inner nodes need a distance and one update of each bit, leaves ``leaf``."""
    inner = sum(p.points**level * (DISTANCE + 2 * OTHER + (1 + p.bits) * OTHER)
                for level in range(1, p.num_tx))
    return tree(p) + inner + p.points**p.num_tx * leaf + finish(p)


@counted
def mla(p):
    method = p.detector.method
    if method == "sliced":     # two column orders: each layer is once not the last
        orders = 2 if p.num_tx > 1 else 1
        parents = p.points**(p.num_tx - 1)
        above = sum(p.points**level * (DISTANCE + (3 + p.bits) * OTHER)
                    for level in range(1, p.num_tx - 1))
        leaf = 2 * OTHER + nearest(p) + OTHER
        return orders * (tree(p) + above + parents * leaf) + finish(p)
    # 000 kernels 1 and 3: each path separately, compared with the hypotheses of all its bits
    nt = p.num_tx
    terms = nt * (nt + 1) // 2
    product = 4 * FMA if method == "plain" else 2 * OTHER      # algorithm 1 looks it up
    path = terms * product + nt * 2 * FMA + nt * p.bits * OTHER
    table = 4 * terms * p.points * OTHER if method == "table" else 0
    return tree(p) + table + p.points**nt * path + finish(p)


@counted
def omap(p):
    """Exact LLRs: a sum per point of the last layer, and one exponential per candidate."""
    return _full(p, DISTANCE + EXPONENTIAL + 2 * OTHER)


# For each column order of a 4x4 Rayleigh channel at 20 dB per receive antenna, by M: nodes below
# the top level whose children are examined, and children that are completed.
SOFTSPHERE_NODES = {16: (9.6, 23.9), 64: (26.3, 78.1)}


@counted
def softsphere(p):
    """N-way with all passes, then a search in each of two column orders.

    For 4x4 channels, the search is counted with the mean number of nodes at 20 dB, the setting of
    the suites, without llr_clip. For other sizes only the start is counted, which makes the limit
    an upper bound.
    """
    if p.num_tx != 4 or p.points not in SOFTSPHERE_NODES:
        return rotated_passes(p, p.num_tx)
    parents, finished = SOFTSPHERE_NODES[p.points]
    compare = nearest(p) + 3 * OTHER          # with the least increment of the next level
    top = p.points * (3 * COMPLEX_FMA + 4 * FMA + compare)
    child = 4 * OTHER + 2 * FMA + compare
    leaf = OTHER + COMPLEX_FMA + nearest(p) + OTHER
    last = 4 * COMPLEX_FMA + SLICE + 2 * FMA + 4 * leaf + 2 * OTHER
    search = top + parents * p.points * child + finished * last
    return rotated_passes(p, p.num_tx) + 2 * (tree(p) + search)


@counted
def sd(p, nodes):
    """A node of the real-valued tree needs a distance and a comparison.

    Half of the nodes are parents. A parent cancels the levels above, on average half of the 2 nt
    axes.
    """
    return tree(p) + nodes * ((1 + p.num_tx / 2) * FMA + 2 * OTHER)


@counted
def asd(p, nodes):
    """As ``sd``; the queue of nodes is not counted."""
    return sd(p, nodes)


@counted
def psd(p, nodes):
    """As ``sd``; nodes of a whole level share the cancellation."""
    return tree(p) + nodes * (2 * FMA + 2 * OTHER)


@counted
def kbest(p):
    kept, total = 1, tree(p) + norm_order(p) * (1 / p.per_channel)
    for level in range(p.num_tx):
        children = kept * p.points
        total += kept * (level * COMPLEX_FMA + 2 * p.side * 2 * OTHER) + children * 3 * OTHER
        kept = min(p.detector.k, children)
    return total + collect(kept, p.num_tx, p.bits) + finish(p)


@counted
def trellis(p):
    """nt passes of nt stages; in each stage M^2 paths arrive at M vertices."""
    stages = sum((p.points if level else 1) * (level * COMPLEX_FMA + 4 * p.side * OTHER)
                 + (p.points**2 if level else p.points) * 3 * OTHER
                 for level in range(p.num_tx))
    one = tree(p) + stages + collect(p.points, p.num_tx - 1, p.bits) + collect_top(p)
    return p.num_tx * one + finish(p)


@counted
def ep(p):
    """Real-valued model with 2 nt axes: an inverse, and the moments of a PAM symbol per axis."""
    axes = 2 * p.num_tx
    inverse = axes**3 / 2 * FMA + axes * ROOT + 2 * axes**2 * FMA
    moments = axes * (p.side * (EXPONENTIAL + 2 * OTHER + 2 * FMA) + 12 * OTHER)
    once = gram(p) * (1 / p.per_channel)
    return (once + rotate(p.num_tx, p.num_rx)
            + p.detector.num_iterations * (inverse + moments) + demap_axes(p))


@counted
def mmsepic(p):
    """Soft symbols, cancellation, one filter for all layers, demapping with the prior.

    Vectors of a matrix share the first filter, which no soft symbol changes.
    """
    nt, iterations = p.num_tx, p.detector.num_iterations
    soft = 2 * nt * p.side * (EXPONENTIAL + 3 * FMA)
    matrix = hermitian_inverse(nt) + nt * nt * 3 * COMPLEX_FMA
    matrices = matrix * (iterations - 1 + 1 / p.per_channel)
    one = soft * (iterations > 1) + 8 * nt * OTHER + demap_axes(p)
    return (gram(p) * (1 / p.per_channel) + rotate(nt, p.num_rx) + matrices
            + iterations * one)


def count(detector, per_channel, lanes, nodes=None):
    """Return the instructions for a vector as (fused multiply-adds, others).

    Args:
        detector: the detector object.
        per_channel: vectors that share a channel matrix.
        lanes: lanes of a SIMD register.
        nodes: mean number of nodes that a search visits for a vector, if the detector counts them.

    Raises:
        ValueError: no function here counts the instructions of this detector.
    """
    if detector.name not in COUNTED:
        raise ValueError(f"{detector.name}: add a function of this name, with @counted, to "
                         "bench/suites/operations.py, to count its instructions")
    problem = Problem(detector, per_channel)
    own = () if nodes is None else (nodes,)
    return COUNTED[detector.name](problem, *own) + layout(problem, lanes)
