# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Successive interference cancellation, and bit flipping from hard solutions."""

import numpy as np

from ..checks import array
from .base import Detector
from .parameters import SOFT, Parameter

ORDERINGS = ("sinr", "norm", "none")
ORDERING = Parameter(
    "ordering", "Ordering", "sinr", "enum",
    "Which of the remaining layers is detected next. sinr: the layer with the smallest noise "
    "amplification (V-BLAST); norm: the layer with the largest column norm; none: the last layer.",
    ORDERINGS)


class _Cancelling(Detector):
    family = "sic"
    NEEDS_GRID = True
    PARAMETERS = (ORDERING,)


class ZFSIC(_Cancelling):
    """Zero forcing with ordered successive interference cancellation (002 §2.2; 000 eq. 14).

    The detector decides one layer after another. For each layer it nulls the undecided layers (QR
    decomposition) and subtracts the decided ones. The output is the decisions, as LLRs of +-1. With
    ``soft=True`` they are max-log LLRs of each layer alone, as if all decisions before it were
    right, and limited to +-``llr_clip``: without the limit, wrong decisions make large wrong LLRs.
    A-priori LLRs are not supported: with a single path there are no metrics to compare, and slicing
    with a-priori LLRs would make a different detector.

    Complexity: O(nt^2) per vector and O(nr nt^2 + nt^3) per matrix.
    """

    name = "zfsic"
    summary = "Zero forcing with successive interference cancellation"
    HARD = True
    PARAMETERS = (ORDERING, *SOFT)


class BitFlip(_Cancelling):
    """Candidate list made by flipping bits of hard solutions (002 §2.2, fig. 5-6).

    The list starts from a hard solution. At each level of the tree, starting with the layer
    detected first, the detector flips each bit of the solution's symbol and completes the lower
    levels by successive interference cancellation (fig. 6). The list then has 1 + nt m candidates,
    in which each bit occurs with both values.

    The first hard solution comes from ZF-SIC. An iterative receiver can pass the decoder's
    solutions of all iterations, in Python to ``detect`` as ``hard``, and to the block at its inputs
    ``hard``; their lists are then combined (fig. 5). LLRs are max-log over the combined list.
    A-priori LLRs enter the metrics (002 eq. 3, 4), not the slicing.

    Complexity: O(nt^3 m) per vector and hard solution, and O(nr nt^2 + nt^3) per matrix.
    """

    name = "bitflip"
    summary = "Candidate list by bit flipping from ZF-SIC or given hard solutions"
    SUPPORTS_PRIOR = True
    TAKES_HARD = True

    @property
    def candidates(self):
        return 1 + self.bits_per_vector

    def detect(self, y, h, noise_var=None, prior=None, out=None, hard=None, *, noise_cov=None,
               split_layers=False, strict=False):
        """Compute the LLRs of a batch of received vectors; see ``Detector.detect``.

        Args:
            y, h, noise_var, prior, out, noise_cov, split_layers, strict: see ``Detector.detect``.
            hard: (iterations, ..., nt*m) uint8 bits in the order of the LLRs: all hard solutions so
                far. Allowed values are 0 and 1; in arrays on a GPU any other
                value counts as 1. Each call makes the candidate lists of all solutions and combines
                them; the detector keeps no lists between calls. None stands for ZF-SIC's solution.
                To include ZF-SIC's list, pass its decisions as the first solution:
                ``hard_decisions`` of the LLRs of ``ZFSIC``.

        Returns:
            out: as in ``Detector.detect``.

        Raises:
            ValueError: an argument does not match its description.
            Exception, KeyboardInterrupt: as in ``Detector.detect``.
        """
        extras = {} if hard is None else {"hard": hard}
        return self._detect_any(y, h, noise_var, prior, out, noise_cov, split_layers, strict,
                                **extras)

    def _batch(self, y, h, noise_var, prior, out, noise_cov=None, hard=None):
        batch = super()._batch(y, h, noise_var, prior, out, noise_cov)
        if hard is None:
            return batch
        gpu = self._gpu_of(y)
        hard = array("hard", hard, np.uint8, ("iterations", len(y), self.bits_per_vector), gpu)
        if len(hard) == 0:
            raise ValueError("hard: got 0 hard solutions, must be at least 1, or None")
        if gpu is None and hard.size and hard.max() > 1:    # max() on a GPU would wait
            raise ValueError(f"hard: got {hard.max()}, allowed are 0 and 1")
        return batch._replace(hard=hard)

    def reference(self, y, h, noise_var, constellation, hard=None, **prior):
        starts = {}
        if hard is not None:
            ends = np.cumsum([points.bits_per_symbol for points in self.layers])
            starts["starts"] = np.stack([
                bits @ (1 << np.arange(bits.shape[1])[::-1])
                for bits in np.split(hard.astype(int), ends[:-1], axis=1)], axis=1)
        return super().reference(y, h, noise_var, constellation, **starts, **prior)
