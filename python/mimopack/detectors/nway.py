# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors that run several greedy tree searches."""

from ..checks import positive
from .base import Detector
from .parameters import Parameter

LLR_METHODS = ("maxlog", "logsum")
_LIMITED = ("LLRs are limited to +- this value (relative to the prior, if there is one), because "
            "the candidates for one value of a bit may be missing or far too bad. None: ")
LLR_CLIP = Parameter("llr_clip", "LLR clipping", 8.0, "float",
                     _LIMITED + "no limit, as in the paper.", optional=True, check=positive)
LLR_METHOD = Parameter(
    "llr_method", "LLRs", "maxlog", "enum",
    "maxlog compares the best candidate for each of the two values of a bit (000 eq. 12). logsum "
    "adds the probabilities of all candidates (000 eq. 11). It takes longer, and it improves "
    "receivers that feed the decoder's LLRs back to the detector. A-posteriori LLRs beyond 80 are "
    "max-log with either method.",
    LLR_METHODS)


class NWay(Detector):
    """N-way detector of Wu, Yin and Cavallaro (001): N greedy tree searches.

    N is the parameter ``num_passes``. Each search has a different layer at the top of the tree.
    Before each search the detector rotates the columns of H cyclically and computes a QR
    decomposition (modified Gram-Schmidt). It fully expands the top layer and slices the layers
    below, which gives M candidates. LLRs are max-log over all N*M candidates (001 eq. 6), or
    log-sum over the distinct candidates (parameter ``llr_method``).

    N = 1 is SSFE (selective spanning with fast enumeration). N = nt comes close to exact max-log,
    because every layer is expanded once and each bit has candidates of both values. A-priori LLRs
    enter the metrics of the candidates (002 eq. 4) and the slicing, which takes the symbol with the
    smallest metric.

    Complexity: O(N M nt^2) per vector.
    """

    name = "nway"
    summary = "N-way detector: N greedy tree searches, near max-log for N = nt"
    MAX_TX = 32
    MOST_POINTS = 4096
    MOST_TX_OF_TWO_TEAMS = 16
    SUPPORTS_PRIOR = True
    NEEDS_GRID = True
    PARAMETERS = (
        Parameter("num_passes", "Passes N", None, "int",
                  "Number of tree searches, 1 to num_tx. Default: num_tx, the most accurate. It "
                  "may change at any time; a GPU compiles a program for each value.",
                  optional=True, least=1, most="num_tx", live=True),
        Parameter("llr_clip", "LLR clipping", 8.0, "float",
                  _LIMITED + "as in 001, no limit if num_passes = num_tx, otherwise 8.",
                  optional=True, check=positive),
        LLR_METHOD,
    )

    def _complete(self):
        if self.num_passes is None:
            self.num_passes = self.num_tx
        if self.llr_clip is None and self.num_passes < self.num_tx:
            self.llr_clip = 8.0

    @property
    def candidates(self):
        return self.num_passes * self.constellation.size


class FPFSD(Detector):
    """Fully parallel fixed-complexity sphere decoder (000 §4.3).

    The detector runs nt searches, each with a different layer at the top of the tree. The top layer
    is fully expanded. The other layers follow in order of falling column norm (000 table 1); each
    path continues by successive interference cancellation (000 eq. 14). LLRs are max-log over the
    nt*M candidates (000 eq. 12, applied to these), or log-sum over the distinct candidates
    (parameter ``llr_method``). Each bit has candidates of both values. A-priori LLRs enter the
    metrics of the candidates (002 eq. 4) and the slicing, which takes the symbol with the smallest
    metric.

    Complexity: O(nt^3 M) per vector.
    """

    name = "fpfsd"
    family = "nway"
    summary = "Fully parallel fixed sphere decoder: nt searches, near max-log"
    MAX_TX = 32
    MOST_POINTS = 4096
    MOST_TX_OF_TWO_TEAMS = 16
    SUPPORTS_PRIOR = True
    NEEDS_GRID = True
    PARAMETERS = (LLR_CLIP, LLR_METHOD)

    @property
    def candidates(self):
        return self.num_tx * self.constellation.size
