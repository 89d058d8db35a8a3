# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Breadth-first tree searches: all survivors of a level go to the next one together."""

from .. import reference
from ..checks import integer, positive
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
                  allowed="1 <= k <= 256"),
        Parameter("llr_clip", "LLR clipping", None, "float",
                  "LLRs are limited to +- this (from the prior, if any); default 8 where "
                  "k < M^num_tx (there a bit may lack candidates of one value), no limit where "
                  "all candidates are kept.", optional=True, allowed="llr_clip > 0"),
    )

    def __init__(self, num_tx=4, num_rx=4, constellation="qam16", k=16, llr_clip=None, **common):
        self.k = integer("k", k, 1, 256)
        self.llr_clip = None if llr_clip is None else positive("llr_clip", llr_clip)
        super().__init__(num_tx, num_rx, constellation, **common)

    @property
    def candidates(self):
        return self.k * self.constellation.size

    def _check_size(self):
        if self.llr_clip is None and self.k < self.constellation.size**self.num_tx:
            self.llr_clip = 8.0

    def _reference(self, y, h, noise_var, constellation, **prior):
        return reference.kbest(y, h, noise_var, constellation, k=self.k, llr_clip=self.llr_clip,
                               **prior)

    def _core_options(self):
        clip = {} if self.llr_clip is None else {"llr_clip": self.llr_clip}
        return {"k": self.k, **clip}


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
