# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decoders with implementations for the CPU and for a GPU."""

import hashlib

import numpy as np

from .. import _core
from ..backends import BACKENDS, Placed, Placement
from ..checks import integer, thread_count
from ..crossover import Crossover
from .decoder import Decoder

# Measurements for backend "auto": the largest size of the LLRs in bytes, and the mean of their
# magnitudes. With this mean, codes of the usual rates need few iterations.
LARGEST_BYTES = 2**26
SURE = 8.0


class PlacedDecoder(Placed, Decoder):
    """A decoder with a C++ and a GPU implementation; ``backends`` chooses one for each batch.

    A subclass has the attributes ``num_bits`` and ``isa`` and two methods. ``_program()`` makes a
    ``cuda.decoding.DecoderProgram``. ``_ways(llr)`` returns two functions that decode a batch of
    host arrays, on the CPU and on the GPU.

    Args:
        iterations, backend, device, threads: see the decoders.
        allowed: the backends that the decoder supports.
        measures: whether backend "auto" may use a GPU for host arrays.
    """

    queues_only = True
    _gpu = None

    def __init__(self, iterations, backend, device, threads, allowed=BACKENDS, measures=True):
        self.iterations = integer("iterations", iterations, 1, 10_000)
        self.device = integer("device", device, 0, 1023)
        self.threads = thread_count(threads)
        self._placement = Placement(backend, allowed=allowed, crossover=Crossover(
            type(self).__name__.lower(), [self.device], self._configuration,
            self._problem) if measures else None)
        self._erased = 0

    @property
    def backend(self):
        """The backend that the user requested."""
        return self._placement.backend

    @property
    def erasure_count(self):
        return self._erased

    def prepare(self, n):
        self._placement.prepare(n, self._gpu_program, self._case())

    def _case(self):
        return self.iterations, self.threads

    def _on_any(self, llr, *arguments):
        """Decode a batch of host arrays; the arguments are those of ``_ways``."""
        return self._placement.run(len(llr), *self._ways(llr, *arguments), self._case())

    def _gpu_program(self):
        """Return the GPU program, made on first use."""
        if self._gpu is None:
            self._gpu = self._program()
        return self._gpu

    def _problem(self, n, *case):
        """Return two functions for ``crossover`` that decode n noisy codewords of zeros."""
        if 4 * n * self.num_bits > LARGEST_BYTES:
            return None
        llr = np.random.default_rng(1).normal(-SURE, np.sqrt(2 * SURE), (n, self.num_bits))
        return self._ways(llr.astype(np.float32))

    def _configuration(self, iterations, threads):
        """Return everything else that affects the run time, for ``crossover``."""
        program = hashlib.sha256(self._gpu_program().text.encode()).hexdigest()[:16]
        return {**self.configuration(), "iterations": iterations,
                "threads": threads or _core.max_threads(), "isa": self.isa, "program": program}
