# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Successive interference cancellation, and bit flipping from hard solutions."""

import numpy as np

from ..checks import array
from .base import Detector
from .parameters import Parameter

ORDERINGS = ("sinr", "norm", "none")
ORDERING = Parameter(
    "ordering", "Ordering", "sinr", "enum",
    "Which layer is detected first. sinr: the one with the smallest noise amplification of those "
    "left (V-BLAST); norm: the one with the largest column norm; none: the last.", ORDERINGS)


class _Cancelling(Detector):
    family = "sic"
    NEEDS_SQUARE_QAM = True
    PARAMETERS = (ORDERING,)


class ZFSIC(_Cancelling):
    """Zero forcing with ordered successive interference cancellation (002 §2.2; 000 eq. 14).

    Layer after layer is decided with those not yet decided nulled (QR decomposition) and those
    decided subtracted; hard output, LLRs of +-1. No a-priori LLRs: a single path has no metric
    to compare, and slicing with them would be another detector. Needs square QAM with Gray
    labels per axis, as it slices each axis by rounding. Complexity O(nt^2) per vector, and
    O(nr nt^2 + nt^3) per matrix.
    """

    name = "zfsic"
    summary = "Zero forcing with successive interference cancellation, hard output"
    HARD = True


class BitFlip(_Cancelling):
    """Candidate list by flipping the bits of hard solutions (002 §2.2, fig. 5-6).

    From a hard solution, at each level of the tree, from the first detected layer on, each bit
    of its symbol is flipped and the levels below are completed by successive interference
    cancellation (fig. 6): 1 + nt m candidates, in which each bit occurs with either value. The
    first hard solution is ZF-SIC's; an iterative receiver gives ``detect`` the decoder's of each
    iteration as ``hard`` (in Python), and the list is that of all of them (fig. 5). LLRs are
    max-log over the list, with a-priori LLRs in the metrics (eq. 3-4), not in the slicing. Needs
    square QAM with Gray labels per axis, as it slices each axis by rounding. Complexity O(nt^3 m)
    per vector and hard solution, and O(nr nt^2 + nt^3) per matrix.
    """

    name = "bitflip"
    summary = "Candidate list by bit flipping from ZF-SIC or given hard solutions"
    SUPPORTS_PRIOR = True

    @property
    def candidates(self):
        return 1 + self.bits_per_vector

    def detect(self, y, h, noise_var, prior=None, out=None, hard=None):
        """LLRs of a batch of received vectors; see ``Detector.detect``.

        Args:
            y, h, noise_var, prior, out: as there.
            hard: (iterations, n, nt*m) uint8 bits, 0 or 1 (in CuPy arrays others count as 1), in
                the order of the LLRs: the hard solutions so far, whose lists are put together (to
                keep ZF-SIC's list, give its decisions as the first: ``hard_decisions`` of
                ``ZFSIC``). They are made anew in each call, so nothing has to be kept between
                calls. None: ZF-SIC's.

        Raises:
            ValueError: an argument is not as above.
        """
        extras = {}
        if hard is not None:
            n = len(y) if np.ndim(y) else "n"
            gpu = self._gpu_of(y)
            hard = array("hard", hard, np.uint8, ("iterations", n, self.bits_per_vector), gpu)
            if len(hard) == 0:
                raise ValueError("hard: got 0 hard solutions, must be at least 1, or None")
            if gpu is None and hard.size and hard.max() > 1:    # there it would have to wait
                raise ValueError(f"hard: got {hard.max()}, allowed are 0 and 1")
            extras["hard"] = hard
        return self._detect(self._call(y, h, noise_var, prior, out, **extras))

    def reference(self, y, h, noise_var, constellation, hard=None, **prior):
        starts = {}
        if hard is not None:
            bits = hard.reshape(len(hard), self.num_tx, -1)
            starts["starts"] = bits @ (1 << np.arange(bits.shape[2])[::-1])
        return super().reference(y, h, noise_var, constellation, **starts, **prior)
