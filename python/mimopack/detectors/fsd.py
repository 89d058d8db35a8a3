# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixed-complexity sphere decoders in the order of Barbero and Thompson."""

import math

from ..checks import integer
from .base import Detector
from .parameters import Parameter


class _FixedSphere(Detector):
    family = "fsd"
    SUPPORTS_PRIOR = True
    NEEDS_SQUARE_QAM = True
    LARGEST_SEARCH = {"reference": 2**18, "cpu": 2**24}
    LEVELS = Parameter(
        "levels", "Expanded levels L", None, "int",
        "Levels of the tree that are expanded fully, 1 to num_tx; default ceil(sqrt(num_tx)) - 1, "
        "at least 1, which is what maximum-likelihood diversity takes (000 eq. 15).", optional=True,
        least=1, most="num_tx")

    @property
    def paths(self):
        """M^L, the paths of the full expansion."""
        return self.constellation.size**self.levels

    @property
    def candidates(self):
        return self.paths

    def _complete(self):
        if self.levels is None:
            self.levels = max(1, math.isqrt(self.num_tx - 1))
        limit = self.LARGEST_SEARCH["reference" if self.backend == "reference" else "cpu"]
        if self.paths > limit:
            raise ValueError(
                f"levels: got {self.levels}, whose {self.constellation.size}^{self.levels} = "
                f"{self.paths:.3g} paths per vector are more than the {limit:.3g} that can be "
                f"searched with backend {self.backend!r}; allowed are fewer levels")


class HFSD(_FixedSphere):
    """Fixed-complexity sphere decoder with hard output (000 §4.2, 003).

    The L topmost levels of the tree are expanded fully (M^L paths), each path goes on down by
    successive interference cancellation (eq. 14); the best path is the decision, as LLRs of +-1.
    Order of L. G. Barbero and J. S. Thompson (Fixing the Complexity of the Sphere Decoder for MIMO
    Detection, IEEE Transactions on Wireless Communications 7 (6), 2008): from the top, an expanded
    level takes the layer with the largest noise amplification (row of the pseudo-inverse) of those
    left, any other the one with the smallest. A-priori LLRs count in the paths' metrics (002
    eq. 4), not in the slicing. Needs square QAM with Gray labels per axis. Complexity O(M^L nt^2)
    per vector, and O(nr nt^2 + nt^3) per matrix; more than 2^24 paths are refused.
    """

    name = "hfsd"
    summary = "Fixed-complexity sphere decoder, hard output"
    HARD = True
    PARAMETERS = (_FixedSphere.LEVELS,)


class SFSD(_FixedSphere):
    """Fixed-complexity sphere decoder with soft output (000 §4.2, 003).

    HFSD's paths, and its soft-output extension: of the N_iter best paths, at each level below
    the expanded ones, each bit of the symbol is negated and the levels below are completed by
    successive interference cancellation (fig. 2 b). LLRs are max-log over all
    M^L + N_iter m (nt - L) paths (eq. 12 on the list; kernel 6), each bit has candidates of
    either value. With levels = num_tx the list is complete and the result that of MLA.
    A-priori LLRs count in the paths' metrics (002 eq. 4), not in the slicing. Needs square QAM
    with Gray labels per axis. Complexity O(M^L nt^2 + N_iter m nt^3) per vector, and
    O(nr nt^2 + nt^3) per matrix; more than 2^24 paths are refused.
    """

    name = "sfsd"
    summary = "Fixed-complexity sphere decoder, soft output, near max-log"
    PARAMETERS = (
        _FixedSphere.LEVELS,
        Parameter("num_paths", "Extended paths N_iter", None, "int",
                  "How many of the best paths are extended, 1 to M^L and at most 64; default m, "
                  "the bits of a symbol: 2, 4, 6 for QPSK, 16- and 64-QAM, as the paper.",
                  optional=True, least=1, most=64),
    )
    MOST_PATHS = 64

    def _complete(self):
        super()._complete()
        self.num_paths = (
            self.constellation.bits_per_symbol if self.num_paths is None
            else integer("num_paths", self.num_paths, 1, min(self.paths, self.MOST_PATHS)))

    @property
    def candidates(self):
        added = self.num_paths * self.bits_per_vector // self.num_tx * (self.num_tx - self.levels)
        return self.paths + added
