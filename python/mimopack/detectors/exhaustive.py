# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact detectors: enumeration of all candidates, or of all but what slicing saves."""

from .base import Detector
from .parameters import Parameter

METHODS = ("sliced", "plain", "table")


def sliced_candidates(size, num_tx):
    """Candidates of two searches that slice the last layer: 2 M^(nt-1), M with one layer."""
    return 2 * size**(num_tx - 1) if num_tx > 1 else size


class _Exhaustive(Detector):
    family = "exhaustive"
    SUPPORTS_PRIOR = True
    LARGEST_SEARCH = {"reference": 2**18, "cpu": 2**24}

    @property
    def candidates(self):
        return self.constellation.size**self.num_tx

    def _largest_search(self):
        return self.LARGEST_SEARCH["reference" if self.backend == "reference" else "cpu"]

    def _formula(self):
        return f"{self.constellation.size}^{self.num_tx}"

    def _complete(self):
        limit = self._largest_search()
        if self.candidates > limit:
            raise ValueError(
                f"{self.name}: {self._formula()} = {self.candidates:.3g} "
                f"candidates per vector are more than the {limit:.3g} that can be searched "
                f"with backend {self.backend!r}; use {self._instead()}")

    def _instead(self):
        if self.constellation.square_qam is None:
            return "kbest, which comes close, or mmse"
        return (f"nway (num_passes = {self.num_tx}), which comes close, softsphere, which finds "
                "the max-log LLRs by a search that may take long, or mmse")


class OMAP(_Exhaustive):
    """Optimum soft MAP: the exact LLR, by a sum over all M^nt candidates (000 §4.1, eq. 11).

    Log-sum-exp with a running reference, stable at any SNR. Takes a-priori LLRs (002 eq. 3),
    the result is then a-posteriori (extrinsic=True subtracts them). Complexity O(M^nt) per
    vector; more than 2^24 candidates are refused.
    """

    name = "omap"
    summary = "Exact MAP LLRs by full search"


class MLA(_Exhaustive):
    """Max-log approximation: the exact max-log LLR over all M^nt candidates (000 §4.1, eq. 12).

    Takes a-priori LLRs (002 eq. 4), the result is then a-posteriori (extrinsic=True subtracts
    them). All methods give the same LLRs, to what float32 holds:

    - sliced: R's diagonal is real, so the best symbol of the last layer is the nearest level on
      each axis by itself, or with a-priori LLRs the likeliest of its sqrt(M) levels. Two searches
      in different column orders cover all bits; O(2 M^(nt-1)) per vector, more than 2^25
      candidates are refused. Constellations that are no square QAM with Gray labels per axis have
      no axes: there all leaves of the tree are visited, O(M^nt), at most 2^24.
    - plain: the paper's enumeration; the distance of each path is computed by itself, and compared
      with the hypotheses of all its bits. O(M^nt nt^2) per vector, at most 2^24 candidates.
    - table: the same with the products of R and the constellation from the paper's table T
      (000 §3.3, eq. 7, Algorithm 1).

    SoftSphere finds the same faster from 4x4 16-QAM on, and has no limit. The reference backend
    enumerates, whatever the method.
    """

    name = "mla"
    summary = "Exact max-log LLRs by full search"
    LARGEST_SLICED = 2**25
    PARAMETERS = (
        Parameter("method", "Method", "sliced", "enum",
                  "How the cpu backend searches: sliced, the fastest, computes the last layer "
                  "instead of enumerating it where the constellation allows; plain and table are "
                  "the enumerations of 000, for comparison.", METHODS, in_reference=False),
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
            return sliced_candidates(self.constellation.size, self.num_tx)
        return super().candidates

    def _largest_search(self):
        return self.LARGEST_SLICED if self._slices else super()._largest_search()

    def _formula(self):
        if self._slices:
            return f"2 * {self.constellation.size}^{self.num_tx - 1}"
        return super()._formula()
