# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact detectors: search of all candidates, with or without slicing the last layer."""

import math

from .base import Detector
from .parameters import Parameter

METHODS = ("sliced", "plain", "table")


def sliced_candidates(size, num_tx):
    """Return the number of candidates when slicing replaces the search of the last layer.

    Two searches in different column orders take 2 M^(nt-1) candidates, or M with one layer.
    """
    return 2 * size**(num_tx - 1) if num_tx > 1 else size


class _Exhaustive(Detector):
    family = "exhaustive"
    NEEDS_RANK = False
    SUPPORTS_PRIOR = True

    @property
    def candidates(self):
        return math.prod(self._sizes)

    @property
    def _sizes(self):
        """The layers' numbers of points, the smallest first."""
        return sorted(points.size for points in self.layers)

    def _complete(self):
        limit = self.largest_search
        if self.candidates > limit:
            instead = "kbest (nearly as accurate) or mmse"
            if self.constellation.square_qam is not None:
                instead = (f"nway with num_passes = {self.num_tx} (nearly as accurate), softsphere "
                           "(exact max-log LLRs, but the search may take long) or mmse")
            raise ValueError(f"{self.name}: {self.candidates:.3g} candidates per vector exceed the "
                             f"limit of {limit:.3g} for backend {self.backend!r}; use {instead}")


class OMAP(_Exhaustive):
    """Optimal soft MAP: the exact LLR, a sum over all M^nt candidates (000 §4.1, eq. 11).

    The log-sum-exp is scaled, so it neither overflows nor underflows at any SNR. 002 eq. 3 adds
    a-priori LLRs.

    Complexity: O(M^nt) per vector; searches of more than 2^24 candidates are refused.
    """

    name = "omap"
    summary = "Exact MAP LLRs by full search"


class MLA(_Exhaustive):
    """Max-log approximation: the exact max-log LLR over all M^nt candidates (000 §4.1, eq. 12).

    002 eq. 4 adds a-priori LLRs. All methods give the same LLRs to float32 precision:

    - sliced: the triangular factor R of the QR decomposition has a real diagonal, so each axis of
      the last layer has its own best level: the nearest one, or with a-priori LLRs the likeliest of
      the sqrt(M) levels. Two searches in different column orders cover all bits. The complexity is
      O(2 M^(nt-1)) per vector; more than 2^25 candidates are refused. Only square QAM with Gray
      labels per axis can be sliced. With other constellations the search visits all M^nt leaves
      of the tree; more than 2^24 leaves are refused.
    - plain: the enumeration of 000. It computes the distance of each candidate separately. For each
      bit of the candidate, it compares the distance with the smallest one so far among candidates
      with the same bit value. Complexity O(M^nt nt^2) per vector, at most 2^24 candidates.
    - table: the same as plain, but the products of R and the constellation points are looked up in
      table T of 000 (§3.3, eq. 7, Algorithm 1). This is not faster (docs/papers.md), so no other
      detector has the table.

    From 4x4 16-QAM on, SoftSphere finds the same LLRs faster, and it has no limit on the number of
    candidates. The reference backend always enumerates.
    """

    name = "mla"
    summary = "Exact max-log LLRs by full search"
    LARGEST_SLICED = 2**25
    PARAMETERS = (
        Parameter("method", "Method", "sliced", "enum",
                  "Search method of the cpu backend. sliced is the fastest: it computes the last "
                  "layer instead of enumerating it, if the constellation allows. plain and table "
                  "are the enumerations of 000, for comparison.", METHODS, in_reference=False),
    )

    @property
    def CANONICAL_ORDER(self):
        return self.method == "sliced"

    @property
    def _slices(self):
        return (self.method == "sliced" and self.backend != "reference"
                and self.constellation.square_qam is not None)

    @property
    def candidates(self):
        if self._slices:
            return 2 * math.prod(self._sizes[1:]) if self.num_tx > 1 else self.constellation.size
        return super().candidates

    @property
    def largest_search(self):
        return self.LARGEST_SLICED if self._slices else super().largest_search
