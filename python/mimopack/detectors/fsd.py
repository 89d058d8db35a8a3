# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixed-complexity sphere decoders with the layer order of Barbero and Thompson."""

import math

from ..checks import integer
from .base import Detector
from .nway import LLR_CLIP
from .parameters import SOFT, Parameter


class _FixedSphere(Detector):
    family = "fsd"
    MAX_TX = 32
    MOST_TX_OF_TWO_TEAMS = 16
    SUPPORTS_PRIOR = True
    NEEDS_GRID = True
    LEVELS = Parameter(
        "levels", "Expanded levels L", None, "int",
        "Number of tree levels that are fully expanded, 1 to num_tx. Default: ceil(sqrt(num_tx)) - "
        "1, at least 1, the number that maximum-likelihood diversity requires (000 eq. 15).",
        optional=True,
        least=1, most="num_tx")

    @property
    def paths(self):
        """Number of paths of the full expansion, M^L; M is 4 for BPSK, as for QPSK."""
        return self._size**self.levels

    @property
    def _size(self):
        return self.constellation.grid.side**2

    @property
    def candidates(self):
        return self.paths

    def _complete(self):
        got = f"got {self.levels}"
        if self.levels is None:
            self.levels = max(1, math.isqrt(self.num_tx - 1))
            got = f"the default for num_tx = {self.num_tx} is {self.levels}"
        limit = self.largest_search
        if self.paths > limit:
            raise ValueError(
                f"levels: {got}, but {self._size}^{self.levels} = "
                f"{self.paths:.3g} paths per vector exceed the limit of {limit:.3g} "
                f"for backend {self.backend!r}; use fewer levels")


class HFSD(_FixedSphere):
    """Fixed-complexity sphere decoder (000 §4.2, 003).

    The top L levels of the tree are fully expanded (L is the parameter ``levels``), which gives M^L
    paths. Each path continues to the bottom by successive interference cancellation (000 eq. 14).
    The output is the decision for the best path, as LLRs of +-1. With ``soft=True`` LLRs are
    max-log over all M^L paths; if these agree on a bit, its LLR is +-``llr_clip``. ``SFSD`` adds
    paths for such bits.

    The layer order is that of L. G. Barbero and J. S. Thompson (Fixing the Complexity of the Sphere
    Decoder for MIMO Detection, IEEE Transactions on Wireless Communications 7 (6), 2008). Layers
    are assigned from the top level down. A fully expanded level takes the remaining layer with the
    largest noise amplification (row norm of the pseudo-inverse); any other level takes the
    remaining layer with the smallest.

    A-priori LLRs enter the metrics of the paths (002 eq. 4), not the slicing.

    Complexity: O(M^L nt^2) per vector and O(nr nt^2 + nt^3) per matrix; more than 2^24 paths are
    refused.
    """

    name = "hfsd"
    summary = "Fixed-complexity sphere decoder"
    HARD = True
    PARAMETERS = (
        _FixedSphere.LEVELS,
        *SOFT,
    )


class SFSD(_FixedSphere):
    """Fixed-complexity sphere decoder with soft output (000 §4.2, 003).

    The detector finds the M^L paths of HFSD and extends the N_iter best ones; L is the parameter
    ``levels``, N_iter the parameter ``num_paths``. From an extended path it makes m new paths at
    each level below the fully expanded ones: each has one bit of the symbol flipped, and its lower
    levels are completed by successive interference cancellation (003 fig. 2 b). LLRs are max-log
    over all M^L + N_iter m (nt - L) paths (000 eq. 12, applied to these paths), among which each
    bit has both values. Kernel 6 of 000 compares with the best path of HFSD instead, even where an
    added path is nearer; this loses a little (docs/papers.md). With levels = num_tx the list is
    complete, and without clipping the result equals MLA's.

    A-priori LLRs enter the metrics of the paths (002 eq. 4), not the slicing.

    Complexity: O(M^L nt^2 + N_iter m nt^3) per vector and O(nr nt^2 + nt^3) per matrix; more than
    2^24 paths are refused.
    """

    name = "sfsd"
    summary = "Fixed-complexity sphere decoder, soft output, near max-log"
    PARAMETERS = (
        _FixedSphere.LEVELS,
        Parameter("num_paths", "Extended paths N_iter", None, "int",
                  "Number of best paths that are extended, 1 to M^L and at most 64. Default: m, "
                  "the bits per symbol, which is 2, 4 and 6 for QPSK, 16- and 64-QAM as in the "
                  "paper.",
                  optional=True, least=1, most=64),
        LLR_CLIP,
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
