# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Breadth-first tree searches: all survivors of a level go to the next one together."""

from ..checks import positive
from .base import Detector
from .parameters import Parameter


class KBest(Detector):
    """K-best (Z. Guo, P. Nilsson: Algorithm and Implementation of the K-Best Sphere Decoding for
    MIMO Detection, IEEE Journal on Selected Areas in Communications 24 (3), 2006; a comparator of
    001's Fig. 3): of all children of a level's survivors, the k with the smallest metric go on.

    Columns in the order of their norms, the strongest on top. LLRs are max-log over the k paths
    at the bottom (002 eq. 4 on the list); a bit of which they have one value only gets the limit
    ``llr_clip``, however low the SNR. With k >= M^nt the list is complete and the LLRs are
    exact max-log. A-priori LLRs count in the metrics from the first level on. Any constellation;
    with square QAM, children come sorted per axis. Complexity O(k (nt^2 + sqrt(M) nt)) to
    O(k M nt log^2 k) per vector: parents and children that are too far for all vectors in a SIMD
    register are not looked at.

    The cpu and cuda backends compare metrics in fixed point, with 30 bits less those of k and of
    M: which of two nearly equal paths survives may differ from one to another. The metrics of the
    last survivors are those of float32. On a GPU a thread has a vector for k to 16 and up to 4
    layers; for longer lists, and from k = 8 on with more layers, a warp shares it. Constellations
    that are not square QAM always have a thread for a vector.
    """

    name = "kbest"
    summary = "K-best: breadth-first search with k survivors"
    SUPPORTS_PRIOR = True
    PARAMETERS = (
        Parameter("k", "Survivors k", 16, "int", "Paths kept at each level, 1 to 256.",
                  least=1, most=256),
        Parameter("llr_clip", "LLR clipping", None, "float",
                  "LLRs are limited to +- this (from the prior, if any); default 8 where "
                  "k < M^num_tx (there a bit may lack candidates of one value), no limit where "
                  "all candidates are kept.", optional=True, check=positive),
    )

    @property
    def candidates(self):
        return self.k * self.constellation.size

    def _complete(self):
        if self.llr_clip is None and self.k < self.constellation.size**self.num_tx:
            self.llr_clip = 8.0

    def gpu_threads(self):
        # Shared memory has room for no more.
        large = self.constellation.size > 16 and self.constellation.square_qam is not None
        return self.GPU_THREADS // 2 if large and 8 < self.k <= 16 else self.GPU_THREADS


class Trellis(Detector):
    """Soft-output trellis detector (M. Wu, Y. Sun, S. Gupta, J. R. Cavallaro: Implementation of a
    High Throughput Soft MIMO Detector on GPU, Journal of Signal Processing Systems 64, 2011:
    reference [7] of 001), as far as 001 (§5) and its abstract describe it.

    The layers are stages of M vertices, one for each symbol; of the M paths that come in, each
    vertex keeps the one with the smallest metric. The M survivors of the last stage hold all
    symbols of its layer and give its LLRs, max-log; each layer is last in a pass of its own, the
    others by falling column norm before it. A-priori LLRs count in the metrics from the first
    stage on. Any constellation; with square QAM the last stage takes M sqrt(M) steps instead of
    M^2. Complexity O(nt^2 M^2) per vector.
    """

    name = "trellis"
    summary = "Soft-output trellis detector: each symbol of each layer keeps its best path"
    SUPPORTS_PRIOR = True

    @property
    def candidates(self):
        return self.num_tx**2 * self.constellation.size**2
