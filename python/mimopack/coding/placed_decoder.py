# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decoders that the CPU and a GPU have forms of."""

import hashlib

import numpy as np

from .. import _core
from ..backends import BACKENDS, Placement
from ..checks import integer
from ..crossover import Crossover
from .decoder import Decoder

# What backend "auto" measures: LLRs of the host, at most, and the mean of their magnitudes, with
# which codes of the usual rates need few iterations.
LARGEST_BYTES = 2**26
SURE = 8.0


class PlacedDecoder(Decoder):
    """A decoder in C++ and a program for a GPU; ``backends`` says which of them takes a batch.

    A subclass has ``num_bits`` and ``isa``, ``_program()``, which makes a
    ``cuda.decoding.DecoderProgram``, and ``_ways(llr)``, which returns two functions that decode a
    batch of the host, by the CPU and by the GPU.

    Args:
        iterations, backend, device, threads: as of the decoders.
        allowed: backends that there are.
        measures: whether backend "auto" may take a GPU for batches of the host.
    """

    queues_only = True
    _gpu = None

    def __init__(self, iterations, backend, device, threads, allowed=BACKENDS, measures=True):
        self.iterations = integer("iterations", iterations, 1, 10_000)
        self.device = integer("device", device, 0, 1023)
        self.threads = integer("threads", threads, 0, 1024)
        self._placement = Placement(backend, allowed=allowed, crossover=Crossover(
            type(self).__name__.lower(), [self.device], self._configuration,
            self._problem) if measures else None)
        self._erased = 0

    @property
    def backend(self):
        """As it was asked for."""
        return self._placement.backend

    @property
    def last_backend(self):
        return self._placement.last

    @property
    def on_gpu_failure(self):
        return self._placement.on_failure

    @on_gpu_failure.setter
    def on_gpu_failure(self, report):
        self._placement.on_failure = report

    @property
    def erasure_count(self):
        return self._erased

    def prepare(self, n):
        self._placement.prepare(n, self._gpu_program, self._case())

    def _case(self):
        return self.iterations, self.threads

    def _on_any(self, llr, *arguments):
        """Decode a batch of the host; arguments: of ``_ways``."""
        return self._placement.run(len(llr), *self._ways(llr, *arguments), self._case())

    def _gpu_program(self):
        """The program, made when it is needed."""
        if self._gpu is None:
            self._gpu = self._program()
        return self._gpu

    def _problem(self, n, *case):
        """Two functions for ``crossover``: they decode n codewords of zeros with some noise."""
        if 4 * n * self.num_bits > LARGEST_BYTES:
            return None
        llr = np.random.default_rng(1).normal(-SURE, np.sqrt(2 * SURE), (n, self.num_bits))
        return self._ways(llr.astype(np.float32))

    def _configuration(self, iterations, threads):
        """What else the time depends on, for ``crossover``."""
        program = hashlib.sha256(self._gpu_program().text.encode()).hexdigest()[:16]
        return {**self.configuration(), "iterations": iterations,
                "threads": threads or _core.max_threads(), "isa": self.isa, "program": program}
