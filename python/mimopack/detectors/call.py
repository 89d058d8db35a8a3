# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A call of a detector, as every layer below hands it on."""

from typing import Any, NamedTuple


class Call(NamedTuple):
    """A batch of n vectors, checked, with arrays that are all on the host or all on one GPU.

    The order is that of ``_core.Detector.detect``.

    Attributes:
        y: (n, nr) complex64.
        h: (n/T, nr, nt) complex64.
        noise_var: float32, (n,), or (1,) on the host where all vectors have the same.
        prior: (n, nt*m) float32, or None.
        out: (n, nt*m) float32 or int8, to be written.
        llr_scale: steps of an LLR of 1, for int8.
        threads: of the CPU, 0 for all cores.
        hard: (iterations, n, nt*m) uint8 hard solutions that the detector starts from, or None.
        nodes: (n, k) uint32 to which visited nodes are added, or None.
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
        """Vectors."""
        return len(self.y)

    @property
    def per_channel(self):
        """T, the vectors that share a matrix; 1 for an empty batch."""
        return max(1, len(self.y) // max(1, len(self.h)))

    @property
    def has_prior(self):
        """Whether there are a-priori LLRs."""
        return self.prior is not None

    @property
    def num_hard(self):
        """Hard solutions of each vector."""
        return 0 if self.hard is None else len(self.hard)
