# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Breadth-first tree searches: all survivors of one level move to the next level together."""

import math

from ..checks import positive
from .base import Detector
from .parameters import Parameter


class KBest(Detector):
    """K-best detector: a breadth-first tree search that keeps k paths per level.

    At each level the search extends all survivors and keeps the k children with the smallest
    metric. Source: Z. Guo, P. Nilsson: Algorithm and Implementation of the K-Best Sphere Decoding
    for MIMO Detection, IEEE Journal on Selected Areas in Communications 24 (3), 2006. 001
    compares the N-way detector with this one in fig. 3.

    Columns are sorted by norm, with the strongest at the top of the tree. LLRs are max-log over the
    k paths at the bottom (002 eq. 4, applied to these paths). If all k paths agree on a bit, its
    LLR is +-``llr_clip``, even at low SNR. With k >= M^nt the list is complete and the LLRs are
    exact max-log. A-priori LLRs enter the metrics from the first level on. With square QAM the
    children are sorted per axis.

    Complexity: O(k (nt^2 + sqrt(M) nt)) to O(k M nt log^2 k) per vector. On the CPU, the search
    skips a parent or child if its metric is too large for all vectors in the SIMD register.

    The cpu and cuda backends choose paths by fixed-point metrics of 30 - log2(M) - ceil(log2(k))
    bits, of 23 bits where this is more in a team of threads. If two paths are nearly equal, one
    backend may therefore keep the first and another the second. LLRs come from float32 metrics.

    On a GPU, one thread searches a vector if k is up to 16 with two to four layers of up to 64-QAM.
    In most other cases with k >= 8, a team of 8 to 32 threads searches a vector together. One
    thread searches a vector in all remaining cases, which include all constellations other than
    square QAM.
    """

    name = "kbest"
    summary = "K-best: breadth-first search with k survivors"
    MAX_TX = 32
    MOST_TX_OF_TWO_TEAMS = 16
    SUPPORTS_PRIOR = True
    PARAMETERS = (
        Parameter("k", "Survivors k", 16, "int",
                  "Number of paths kept at each level, 1 to 256. It may change at any time; a GPU "
                  "compiles a program for each value.",
                  least=1, most=256, live=True),
        Parameter("llr_clip", "LLR clipping", None, "float",
                  "LLRs are limited to +- this value (relative to the prior, if there is one). "
                  "Default: 8 if k < M^num_tx, because a bit may then lack candidates of one "
                  "value; no limit if all candidates are kept.", optional=True, check=positive),
    )

    @property
    def candidates(self):
        return self.k * self.constellation.size

    def _complete(self):
        if self.llr_clip is None and self.k < math.prod(points.size for points in self.layers):
            self.llr_clip = 8.0

    def gpu_threads(self):
        # Shared memory has no room for more threads.
        large = self.constellation.size > 16 and self.constellation.square_qam is not None
        return self.GPU_THREADS // 2 if large and 8 < self.k <= 16 else super().gpu_threads()


class Trellis(Detector):
    """Soft-output trellis detector: each symbol of each layer keeps its best path.

    Source: M. Wu, Y. Sun, S. Gupta, J. R. Cavallaro: Implementation of a High Throughput Soft MIMO
    Detector on GPU, Journal of Signal Processing Systems 64, 2011; reference [7] of 001. The
    detector follows the description in 001 (§5) and in the paper's abstract.

    Each layer is a stage of M vertices, one per symbol. Each vertex keeps the incoming path with
    the smallest metric, out of M. The M survivors of the last stage contain every symbol of its
    layer and give the max-log LLRs of that layer. Each layer therefore has its own pass, in which
    it is the last stage; the other layers come before it in order of falling column norm. A-priori
    LLRs enter the metrics from the first stage on. With square QAM the last stage takes M sqrt(M)
    steps instead of M^2.

    Complexity: O(nt^2 M^2) per vector.
    """

    name = "trellis"
    summary = "Soft-output trellis detector: each symbol of each layer keeps its best path"
    SUPPORTS_PRIOR = True

    @property
    def candidates(self):
        return self.num_tx**2 * self.constellation.size**2
