# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checked arguments of one ``Detector.detect`` call."""

from typing import Any, NamedTuple


class Call(NamedTuple):
    """A checked batch of n vectors, with all arrays on the host or all on one GPU.

    The fields have the order of the arguments of ``_core.Detector.detect``.

    Attributes:
        y: (n, nr) complex64.
        h: (n/T, nr, nt) complex64.
        noise_var: (n,) float32; or (1,) float32 on the host if all vectors have the same value.
        prior: (n, nt*m) float32, or None.
        out: (n, nt*m) float32 or int8, written by the detector.
        llr_scale: number of int8 steps for an LLR of 1.
        threads: number of CPU threads; 0 takes all cores.
        hard: (iterations, n, nt*m) uint8 hard solutions that the detector starts from, or None.
        nodes: (n, team_size) uint32 counters of visited nodes, which the detector adds to; or None.
            Only PSD has a team_size other than 1.
    """

    y: Any
    h: Any
    noise_var: Any
    prior: Any
    out: Any
    llr_scale: float
    threads: int
    hard: Any = None
    nodes: Any = None

    @property
    def n(self):
        """Number of vectors."""
        return len(self.y)

    @property
    def per_channel(self):
        """T, the number of vectors that share a matrix; 1 for an empty batch."""
        return max(1, len(self.y) // max(1, len(self.h)))

    @property
    def has_prior(self):
        """True if the call has a-priori LLRs."""
        return self.prior is not None

    @property
    def num_hard(self):
        """Number of hard solutions per vector."""
        return 0 if self.hard is None else len(self.hard)
