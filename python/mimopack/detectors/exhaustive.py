# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact detectors, by enumeration of all candidates."""

from .base import Detector


class _Exhaustive(Detector):
    SUPPORTS_PRIOR = True
    CANONICAL_ORDER = False
    LARGEST_SEARCH = {"reference": 2**18, "cpu": 2**24}

    @property
    def candidates(self):
        return self.constellation.size**self.num_tx

    def _check_size(self):
        limit = self.LARGEST_SEARCH["reference" if self.backend == "reference" else "cpu"]
        if self.candidates > limit:
            raise ValueError(
                f"{self.name}: {self.constellation.size}^{self.num_tx} = {self.candidates:.3g} "
                f"candidates per vector are more than the {limit:.3g} that can be searched "
                f"with backend {self.backend!r}; use nway (num_passes = {self.num_tx}), "
                "which comes close, or mmse")


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

    Takes a-priori LLRs (002 eq. 4), the result is then a-posteriori
    (extrinsic=True subtracts them). Complexity O(M^nt) per vector; more than 2^24 candidates
    are refused.
    """

    name = "mla"
    summary = "Exact max-log LLRs by full search"
