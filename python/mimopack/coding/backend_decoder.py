# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The common parts of decoders that run on CPUs and GPUs."""

from functools import partial

import numpy as np

from ..backends import BACKENDS, BackendChoice
from ..checks import array, choice, flag, integer, thread_count
from .decoder import ArrayDecoder

PRECISIONS = ("float32", "int16")
# Rules of the BCJR algorithm, which join the metrics of several paths. The last rule is exact.
PATH_METRICS = {"max-log": np.maximum, "log-map": np.logaddexp}
# Mean magnitude of the LLRs in a measurement. With this mean, codes of the usual rates need few
# iterations.
_SURE = 8.0
_MOST = float(np.finfo(np.float32).max)


class BackendDecoder(BackendChoice, ArrayDecoder):
    """A decoder with a C++ and a GPU implementation.

    A subclass has the attribute ``isa``, and sets ``num_bits`` and whatever ``_program`` needs
    before it calls this constructor. Its method ``_on_cpu(llr)`` decodes host arrays,
    ``_output(n)`` makes a host array for the result of n codewords, and ``_program()`` makes a
    ``cuda.decoding.DecoderProgram``.

    Args:
        iterations, backend, device, threads: see the decoders.
        allowed: the backends that the decoder supports.
        may_copy: whether backend "auto" may use a GPU for host arrays.
    """

    queues_only = True
    _gpu = None

    def __init__(self, iterations, backend, device, threads, allowed=BACKENDS, may_copy=True):
        self.iterations = integer("iterations", iterations, 1, 10_000)
        self.device = integer("device", device, 0, 1023)
        self.threads = thread_count(threads)
        self._set_backend(backend, allowed)
        self._may_copy = may_copy
        if backend == "cuda":    # refuse now what the GPU cannot do
            self._gpu_program()

    def prepare(self, n):
        def make_batch():
            llr = np.random.default_rng(1).normal(-_SURE, np.sqrt(2 * _SURE), (n, self.num_bits))
            llr = llr.astype(np.float32)    # codewords of zeros
            return partial(self._on_cpu, llr), partial(self._on_cuda, llr)

        sentence = self._prepare(make_batch)
        self.reset()    # no message of the random batch stays
        return sentence

    def _decode(self, llr):
        """Check and decode LLRs; the result is that of ``_output``."""
        if not self._is_on_gpu(llr):
            llr = array("llr", llr, np.float32, ("n", self.num_bits))
            return self._run(partial(self._on_cpu, llr), partial(self._on_cuda, llr))
        llr = array("llr", llr, np.float32, ("n", self.num_bits), self.device)
        out, self.found, self.iterations_taken, self.erasure_count = self._gpu_program().decode(
            llr, None, self._gpu_messages(len(llr)), self.iterations)
        return out

    def _on_cuda(self, llr):
        """Decode host arrays on the GPU."""
        program, out = self._gpu_program(), self._output(len(llr))
        self.found, self.iterations_taken, self.erasure_count = program.decode_from_host(
            llr, out, self._gpu_messages(len(llr)), self.iterations, self.threads)
        return out

    def _gpu_messages(self, n):
        """Return the kept messages on the GPU; None if the decoder keeps none."""

    def _gpu_program(self):
        """Return the GPU program, made on first use."""
        if self._gpu is None:
            self._gpu = self._program()
        return self._gpu


class SoftDecoder(BackendDecoder):
    """A decoder with soft output that may keep its messages between calls.

    A subclass sets ``_core``, its ``_core.SoftDecoder``. Its method ``_reference(llr, messages)``
    decodes in NumPy.

    Args:
        num_bits: number of bits in a codeword.
        num_messages: number of messages that the reference keeps for a codeword.
        algorithm: one of ``algorithms``. Only the reference has the last of them.
        iterations: maximum number of iterations.
        early_stop: whether to stop decoding a codeword when it is found.
        keep_messages: whether the next call continues from the messages of the last one, as long as
            the number of codewords stays the same. Iterative receivers use this. ``reset`` deletes
            the messages. They stay on the CPU or the GPU, so batches cannot change between the two.
        backend: "cpu" (C++), "cuda" (float32), "auto" (see ``backends``; with keep_messages or
            precision "int16" the CPU takes all host arrays) or "reference" (NumPy, float64).
        device: index of the GPU.
        threads: number of CPU threads; 0 takes all cores.
        may_copy: see :class:`BackendDecoder`; False if the CPU works with another precision.

    A decoder is not thread-safe. ``decode`` sets these attributes:
        found: (n,) bool, see the decoders.
        iterations_taken: (n,) int32, number of iterations; 0 for erased codewords.
    """

    _messages = None

    def __init__(self, num_bits, num_messages, algorithm, algorithms, iterations, early_stop,
                 keep_messages, backend, device, threads, may_copy=True):
        self.num_bits = num_bits
        self._num_messages = num_messages
        self.algorithm = choice("algorithm", algorithm, algorithms)
        *fast, exact = algorithms
        if algorithm == exact and backend != "reference":
            raise ValueError(f"algorithm: got {exact!r} with backend {backend!r}, allowed are "
                             f"{', '.join(fast)}, or backend='reference'")
        self.early_stop = flag("early_stop", early_stop)
        self.keep_messages = flag("keep_messages", keep_messages)
        super().__init__(iterations, backend, device, threads,
                         may_copy=may_copy and not keep_messages)

    @property
    def isa(self):
        """The CPU instruction set."""
        return self._core.isa

    def reset(self):
        """Delete the kept messages: the next call starts without any."""
        self._messages = None

    def _output(self, n):
        return np.empty((n, self.num_bits), np.float32)

    def _on_cpu(self, llr):
        """Decode host arrays on the CPU."""
        if self.backend == "reference":
            return self._in_numpy(llr)
        messages = self._kept(len(llr), self._core_messages) if self.keep_messages else None
        out, self.found, self.iterations_taken, self.erasure_count = self._core.decode(
            llr, messages, most=self.iterations, threads=self.threads)
        return out

    def _in_numpy(self, llr):
        """Decode host arrays with the reference."""
        n = len(llr)
        usable = np.flatnonzero(np.all(np.isfinite(llr), axis=1) & np.any(llr, axis=1))
        out, found, taken = np.zeros_like(llr), np.zeros(n, bool), np.zeros(n, np.int32)
        messages = self._kept(n, self._reference_messages)
        if usable.size:
            posterior, messages[usable], found[usable], taken[usable] = self._reference(
                llr[usable].astype(float), messages[usable])
            out[usable] = np.clip(posterior, -_MOST, _MOST)
        self.found, self.iterations_taken, self.erasure_count = found, taken, n - len(usable)
        return out

    def _core_messages(self, n):
        return np.zeros(self._core.num_messages(n), np.float32)

    def _reference_messages(self, n):
        return np.zeros((n, self._num_messages))

    def _gpu_messages(self, n):
        return self._kept(n, self._gpu_program().messages) if self.keep_messages else None

    def _kept(self, n, make):
        """Return the messages of the last call, or new ones.

        The messages of the C++ decoder, the reference and a GPU have different formats.
        """
        if not self.keep_messages or self._messages is None or self._messages[:2] != (n, make):
            self._messages = n, make, make(n)
        return self._messages[2]
