# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many SIMD instructions a detector's algorithm takes for one vector in each lane.

Counted are arithmetic, comparisons, minima, selections and the shuffles that bring arrays into
lanes and LLRs out of them; loads, stores, copies, addresses, branches and checks for erasures are
not. Each detector is counted in the shortest form that we know, for registers without end: a
complex multiply-and-add is 4 fused multiply-adds, a squared magnitude 2, slicing an axis of square
QAM a clamp, a rounding and a multiply-add (AVX-512; others need more), a bit's metric a test and a
conditional minimum.
What depends on H alone is shared by the vectors of a channel matrix. Sorting is counted as one
comparison and selection for each value looked at. Searches whose length depends on the data are
counted by the nodes that they visit on these data, where the detector tells them (``sd``, ``asd``,
``psd``); ``softsphere`` does not, see there.

Sizes, parameters and their defaults are those of the detector object. A count is a pair: fused
multiply-adds, and other instructions.
"""

from math import ceil, sqrt

import numpy as np


class Problem:
    """A detector on vectors of which T share a channel matrix: nt layers, nr antennas, M points."""

    def __init__(self, detector, per_channel):
        self.detector, self.per_channel = detector, per_channel
        self.num_tx, self.num_rx = detector.num_tx, detector.num_rx
        self.points = detector.constellation.size
        self.bits = detector.constellation.bits_per_symbol
        self.side = round(sqrt(self.points))


FMA, OTHER = np.eye(2)
COMPLEX_FMA = 4 * FMA
ROOT = FMA + 4 * OTHER              # 1 / sqrt(x): an estimate and a Newton step
SLICE = 2 * FMA + 4 * OTHER         # both axes
DISTANCE = 2 * FMA + 3 * OTHER      # d + w |u - k|^2
EXPONENTIAL = 6 * FMA + 5 * OTHER


def layout(p, lanes):
    """Arrays to lanes and back: log2(lanes) shuffles for each float."""
    floats = (2 * p.num_rx * (1 + p.num_tx / p.per_channel) + p.num_tx * p.bits)
    return floats * (lanes - 1).bit_length() * OTHER


def qr(nt, nr):
    """Modified Gram-Schmidt (001 Algorithm 1)."""
    pairs = nt * (nt - 1) / 2
    return nt * (2 * nr * (FMA + OTHER) + ROOT) + pairs * 2 * nr * COMPLEX_FMA


def unit_diagonal(nt):
    """R scaled to a diagonal of ones, and the offsets of its rows."""
    return nt * (nt - 1) / 2 * 4 * OTHER + nt * 5 * OTHER


def rotate(nt, nr):
    """Q^H y."""
    return nt * nr * COMPLEX_FMA


def nearest(p):
    """Squared distance to the nearest point, added to a metric; the point itself is not needed. Up
    to four levels of an axis are folded onto one another."""
    if p.side > 4:
        return SLICE + DISTANCE
    return 2 * (FMA + (2 if p.side == 2 else 4) * OTHER)


def sic(above, layers):
    """One path through `layers` more levels: interference of all above, slice, distance, and the
    symbol added to a word of them."""
    return sum(k * COMPLEX_FMA + SLICE + DISTANCE + 2 * FMA
               for k in range(above, above + layers))


def collect(candidates, layers, bits):
    """Max-log over a list: its best, then for each layer which bits differ and their minima.

    A float's 22 bits hold the symbols of several layers, so that Gray codes cost once for all.
    """
    words = ceil(layers * bits / 22)
    return candidates * ((2 + 4 * words) * OTHER + layers * 2 * bits * OTHER)


def collect_top(p):
    """Max-log for the layer that is expanded fully: minima per axis level, then per bit."""
    width = p.bits / 2
    return 2 * p.points * OTHER + 2 * p.side * width * OTHER


def finish(p):
    """Differences in units of the noise, limited."""
    return ROOT + p.num_tx * p.bits * 4 * OTHER


def gram(p):
    """H^H H, one half of it."""
    return p.num_rx * p.num_tx * (p.num_tx + 1) / 2 * COMPLEX_FMA


def hermitian_inverse(n):
    """By Cholesky: n^3/6 complex products each for the factor, its inverse and their product."""
    return n**3 / 2 * COMPLEX_FMA + n * ROOT


def norm_order(p):
    """Columns sorted by norm: a network of n (n - 1) / 2 comparators that move them."""
    pairs = p.num_tx * (p.num_tx - 1) / 2
    return 2 * p.num_rx * p.num_tx * FMA + pairs * (4 * p.num_rx + 3) * OTHER


def inversion_order(p):
    """Columns by noise amplification, anew after each choice (V-BLAST, FSD)."""
    nt = p.num_tx
    updates = sum(k * k for k in range(1, nt)) * COMPLEX_FMA
    moves = nt * (nt - 1) / 2 * (2 + 2 * p.num_rx) * OTHER
    return gram(p) + hermitian_inverse(nt) + updates + moves


def demap_axes(p):
    """Max-log of all layers by themselves, per axis."""
    return p.num_tx * 2 * (p.side * 2 + p.side * p.bits / 2 + p.bits) * OTHER


def tree(p):
    """QR, its scaling and the rotation of y."""
    nt, nr = p.num_tx, p.num_rx
    return (qr(nt, nr) + unit_diagonal(nt)) * (1 / p.per_channel) + rotate(nt, nr) + 2 * nt * FMA


def expansion(p, levels):
    """All points on the first levels: increments, so that a node costs no multiplication by R."""
    return sum(p.points**(level + 1) * (DISTANCE + 2 * (p.num_tx - level - 1) * OTHER)
               for level in range(levels))


def zf(p):
    inverse = p.num_tx**3 / 6 * COMPLEX_FMA + p.num_tx**2 * 2 * FMA
    once = (qr(p.num_tx, p.num_rx) + inverse) * (1 / p.per_channel)
    apply = p.num_tx * (p.num_tx + 1) / 2 * COMPLEX_FMA
    return once + rotate(p.num_tx, p.num_rx) + apply + demap_axes(p)


def mmse(p):
    """QR of [H; sigma I], whose lower part fills up as a triangle."""
    nt = p.num_tx
    return (qr(nt, p.num_rx + nt / 3) + rotate(nt, p.num_rx)
            + nt * (nt + 1) / 2 * (COMPLEX_FMA + 2 * FMA) + 8 * nt * OTHER + demap_axes(p))


def reordered(p):
    """From one order of the columns to the next, by Givens rotations of R and of Q^H y."""
    turns = p.num_tx - 1
    turn = 8 * FMA + 2 * OTHER
    once = turns * (3 * FMA + ROOT + 6 * OTHER) + turns * (turns - 1) / 2 * turn
    return once * (1 / p.per_channel) + turns * turn


def nway(p):
    return rotated_passes(p, p.detector.num_passes)


def rotated_passes(p, passes):
    """N-way's passes, in each of which another layer is expanded."""
    below = p.num_tx - 1
    candidates = p.points * (OTHER + 2 * below * OTHER + sic(0, below))
    one = candidates + collect(p.points, below, p.bits) + collect_top(p)
    return tree(p) + (passes - 1) * reordered(p) + passes * one + finish(p)


def fpfsd(p):
    return rotated_passes(p, p.num_tx) + norm_order(p) * (1 / p.per_channel)


def hfsd(p):
    expanded = p.detector.levels
    paths = p.points**expanded
    search = expansion(p, expanded) + paths * sic(0, p.num_tx - expanded)
    best = paths * (2 + p.num_tx - 1) * OTHER
    return inversion_order(p) * (1 / p.per_channel) + tree(p) + search + best


def sfsd(p):
    """HFSD, then each bit of the N_iter best paths negated below the expanded levels."""
    nt, expanded, best = p.num_tx, p.detector.levels, p.detector.num_paths
    choose = p.points**expanded * 4 * best * OTHER
    extension = sum(2 * OTHER + DISTANCE + sic(level, nt - level - 1)
                    for level in range(expanded, nt)) * (best * p.bits)
    paths = p.points**expanded + best * p.bits * (nt - expanded)
    tops = expanded * (collect_top(p) + best * (4 + 2 * p.bits) * OTHER)
    return (hfsd(p) + choose + extension + collect(paths, nt - expanded, p.bits) + tops
            + finish(p))


def zfsic(p):
    return inversion_order(p) * (1 / p.per_channel) + tree(p) + sic(0, p.num_tx)


def bitflip(p):
    nt = p.num_tx
    flips = sum(2 * OTHER + DISTANCE + sic(level, nt - level - 1) for level in range(nt)) * p.bits
    return zfsic(p) + flips + collect(1 + nt * p.bits, nt, p.bits) + finish(p)


def _full(p, leaf):
    """Inner nodes cost a distance and one update of each bit; leaves cost ``leaf``."""
    inner = sum(p.points**level * (DISTANCE + 2 * OTHER + (1 + p.bits) * OTHER)
                for level in range(1, p.num_tx))
    return tree(p) + inner + p.points**p.num_tx * leaf + finish(p)


def mla(p):
    method = p.detector.method
    if method == "sliced":     # two column orders, so that each layer is once not the last
        orders = 2 if p.num_tx > 1 else 1
        parents = p.points**(p.num_tx - 1)
        above = sum(p.points**level * (DISTANCE + (3 + p.bits) * OTHER)
                    for level in range(1, p.num_tx - 1))
        leaf = 2 * OTHER + nearest(p) + OTHER
        return orders * (tree(p) + above + parents * leaf) + finish(p)
    # 000 kernels 1 and 3: each path by itself, compared with the hypotheses of all its bits
    nt = p.num_tx
    terms = nt * (nt + 1) // 2
    product = 4 * FMA if method == "plain" else 2 * OTHER      # algorithm 1 looks it up
    path = terms * product + nt * 2 * FMA + nt * p.bits * OTHER
    table = 4 * terms * p.points * OTHER if method == "table" else 0
    return tree(p) + table + p.points**nt * path + finish(p)


def omap(p):
    """A sum per point of the last layer, and one exponential per candidate."""
    return _full(p, DISTANCE + EXPONENTIAL + 2 * OTHER)


# Per column order of a 4x4 Rayleigh channel at 20 dB per receive antenna, by M: nodes whose
# children are looked at below the top level, and those of the children that are finished.
SOFTSPHERE_NODES = {16: (9.6, 23.9), 64: (26.3, 78.1)}


def softsphere(p):
    """N-way with all passes, then a search in each of two column orders.

    The search is counted for 4x4 channels with the mean of the nodes that it visits at 20 dB, the
    suites' setting; for other sizes the start alone is, which is a limit from above.
    """
    if p.num_tx != 4 or p.points not in SOFTSPHERE_NODES:
        return rotated_passes(p, p.num_tx)
    parents, finished = SOFTSPHERE_NODES[p.points]
    compare = nearest(p) + 3 * OTHER          # with what the next level adds at least
    top = p.points * (3 * COMPLEX_FMA + 4 * FMA + compare)
    child = 4 * OTHER + 2 * FMA + compare
    leaf = OTHER + COMPLEX_FMA + nearest(p) + OTHER
    last = 4 * COMPLEX_FMA + SLICE + 2 * FMA + 4 * leaf + 2 * OTHER
    search = top + parents * p.points * child + finished * last
    return rotated_passes(p, p.num_tx) + 2 * (tree(p) + search)


def sd(p, nodes):
    """A node of the real-valued tree: distance, comparison, and half of them are parents, who
    cancel what lies above them: half of the 2 nt axes in the mean."""
    return tree(p) + nodes * ((1 + p.num_tx / 2) * FMA + 2 * OTHER)


def asd(p, nodes):
    """As ``sd``; the queue, in which each node is kept, is not counted."""
    return sd(p, nodes)


def psd(p, nodes):
    """As ``sd``; whole levels at once share what is cancelled."""
    return tree(p) + nodes * (2 * FMA + 2 * OTHER)


def kbest(p):
    kept, total = 1, tree(p) + norm_order(p) * (1 / p.per_channel)
    for level in range(p.num_tx):
        children = kept * p.points
        total += kept * (level * COMPLEX_FMA + 2 * p.side * 2 * OTHER) + children * 3 * OTHER
        kept = min(p.detector.k, children)
    return total + collect(kept, p.num_tx, p.bits) + finish(p)


def trellis(p):
    """nt passes of nt stages, in which M^2 paths arrive at M vertices."""
    stages = sum((p.points if level else 1) * (level * COMPLEX_FMA + 4 * p.side * OTHER)
                 + (p.points**2 if level else p.points) * 3 * OTHER
                 for level in range(p.num_tx))
    one = tree(p) + stages + collect(p.points, p.num_tx - 1, p.bits) + collect_top(p)
    return p.num_tx * one + finish(p)


def ep(p):
    """On the real model, 2 nt axes: an inverse and the moments of a PAM symbol per axis."""
    axes = 2 * p.num_tx
    inverse = axes**3 / 2 * FMA + axes * ROOT + 2 * axes**2 * FMA
    moments = axes * (p.side * (EXPONENTIAL + 2 * OTHER + 2 * FMA) + 12 * OTHER)
    once = gram(p) * (1 / p.per_channel)
    return (once + rotate(p.num_tx, p.num_rx)
            + p.detector.num_iterations * (inverse + moments) + demap_axes(p))


def mmsepic(p):
    """Soft symbols, cancellation, one filter for all layers, demapping with the prior."""
    nt, iterations = p.num_tx, p.detector.num_iterations
    soft = 2 * nt * p.side * (EXPONENTIAL + 3 * FMA)
    matrix = hermitian_inverse(nt) + nt * nt * 3 * COMPLEX_FMA
    one = soft * (iterations > 1) + matrix + 8 * nt * OTHER + demap_axes(p)
    return gram(p) * (1 / p.per_channel) + rotate(nt, p.num_rx) + iterations * one


COUNTED = {function.__name__: function for function in (
    zf, mmse, nway, fpfsd, hfsd, sfsd, zfsic, bitflip, mla, omap, softsphere, sd, asd, psd, kbest,
    trellis, ep, mmsepic)}


def count(detector, per_channel, lanes, nodes=None):
    """Return the instructions for a vector as (fused multiply-adds, others).

    Args:
        per_channel: vectors that share a channel matrix.
        lanes: of a SIMD register.
        nodes: mean number of nodes that a search visits for a vector, for detectors that count
            them.
    """
    problem = Problem(detector, per_channel)
    own = () if nodes is None else (nodes,)
    return COUNTED[detector.name](problem, *own) + layout(problem, lanes)
