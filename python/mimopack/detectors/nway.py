# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors of several greedy tree searches."""

from ..checks import positive
from .base import Detector
from .parameters import Parameter

LLR_METHODS = ("maxlog", "logsum")
LLR_METHOD = Parameter(
    "llr_method", "LLRs", "maxlog", "enum",
    "maxlog takes each bit's best candidate of either value (000 eq. 12), logsum adds the "
    "probabilities of all (000 eq. 11 on the list), which takes longer and gains where a decoder "
    "tells the detector what it found; an a-posteriori LLR beyond 80 is max-log all the same.",
    LLR_METHODS)


class NWay(Detector):
    """N-way detector of Wu, Yin and Cavallaro (001): N tree searches, each with another layer
    on top.

    Each pass rotates H's columns cyclically, QR-decomposes them (modified Gram-Schmidt),
    expands the top layer fully and slices the layers below, which gives M candidates; LLRs are
    max-log over all N*M candidates (eq. 6), or the log-sum over the different ones (llr_method).
    N = 1 is SSFE. N = nt comes close to max-log, as
    every layer is expanded once and each bit has candidates of either value. A-priori LLRs
    count in the candidates' metrics (002 eq. 4) and in the slicing, which takes the symbol with
    the least metric. Needs square QAM with Gray labels per axis. Complexity O(N M nt^2) per
    vector.
    """

    name = "nway"
    summary = "N-way detector: N greedy tree searches, near max-log for N = nt"
    SUPPORTS_PRIOR = True
    NEEDS_SQUARE_QAM = True
    PARAMETERS = (
        Parameter("num_passes", "Passes N", None, "int",
                  "Tree searches, 1 to num_tx; default num_tx, the most accurate.",
                  optional=True, least=1, most="num_tx"),
        Parameter("llr_clip", "LLR clipping", None, "float",
                  "LLRs are limited to +- this (from the prior, if any); default 8 where "
                  "num_passes < num_tx (there a bit may lack candidates of one value), no limit "
                  "where they are equal.",
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

    nt searches, each with another layer on top, fully expanded, and the others below it by
    falling column norm (table 1), one path each (SIC, eq. 14). LLRs are max-log over the nt*M
    candidates (eq. 12 on the list), or the log-sum over the different ones (llr_method); each bit
    has candidates of either value. A-priori LLRs count in the candidates' metrics (002 eq. 4) and
    in the slicing, which takes the symbol with the least metric. Needs square QAM with Gray labels
    per axis. Complexity O(nt^3 M) per vector.
    """

    name = "fpfsd"
    family = "nway"
    summary = "Fully parallel fixed sphere decoder: nt searches, near max-log"
    SUPPORTS_PRIOR = True
    NEEDS_SQUARE_QAM = True
    PARAMETERS = (LLR_METHOD,)

    @property
    def candidates(self):
        return self.num_tx * self.constellation.size
