# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What iterative decoders of batches of codewords have in common."""

import numpy as np

from ..checks import array, choice, flag, integer
from ..cuda import is_device_array

BACKENDS = ("auto", "cuda", "cpu", "reference")


class SoftDecoder:
    """LLRs in, a-posteriori LLRs out, messages kept between calls where asked for.

    A subclass sets ``_core``, its decoder in C++, where that is to be used, whose decode() also
    takes what ``_core_options`` returns; it has ``_reference``, and ``_program`` for a GPU.

    Args:
        num_bits: of a codeword.
        num_messages: numbers that the reference keeps for a codeword.
    """

    _core = _gpu = None

    def __init__(self, num_bits, num_messages, iterations, early_stop, keep_messages, backend,
                 device, threads):
        self.num_bits = num_bits
        self._num_messages = num_messages
        self.iterations = integer("iterations", iterations, 1, 10_000)
        self.early_stop = flag("early_stop", early_stop)
        self.keep_messages = flag("keep_messages", keep_messages)
        self.backend = choice("backend", backend, BACKENDS)
        self.device = integer("device", device, 0, 1023)
        self.threads = integer("threads", threads, 0, 1024)
        self.reset()
        self.found, self.iterations_taken = np.zeros(0, bool), np.zeros(0, np.int32)
        self._erased = 0

    @property
    def erasures(self):
        """How many codewords of the last ``decode`` had an LLR that is NaN or infinite, or only
        zeros; their LLRs are 0. Waits for the GPU where it has to."""
        return int(self._erased)

    @property
    def erasure_count(self):
        """``erasures``, or what int() makes that of, waiting for the GPU."""
        return self._erased

    def reset(self):
        """Forgets kept messages: the next call begins anew."""
        self._messages = None

    def decode(self, llr, out=None):
        """A-posteriori LLRs of all bits; the extrinsic ones are ``decode(llr) - llr``.

        Args:
            llr: (n, num_bits) float32, ln P(1)/P(0), C-contiguous; 0 for punctured bits. With
                backends "cuda" and "auto" arrays may be CuPy's: it then works on the current
                stream, without waiting, and returns one.
            out: (n, num_bits) float32; made if None.

        Returns:
            out

        Raises:
            ValueError: an argument is not as above.
            Exception: what CuPy raises where a GPU fails.
        """
        on_gpu = self.backend in ("auto", "cuda") and is_device_array(llr)
        gpu = self.device if on_gpu else None
        llr = array("llr", llr, np.float32, ("n", self.num_bits), gpu)
        if out is not None:
            out = array("out", out, np.float32, llr.shape, gpu)
        if on_gpu:
            return self._decode_there(llr, out)
        if out is None:
            out = np.empty_like(llr)
        return self._send(llr, out) if self.backend == "cuda" else self._decode(llr, out)

    def _decode(self, llr, out):
        """Arrays of the host, there."""
        n = len(llr)
        found, taken = np.zeros(n, bool), np.zeros(n, np.int32)
        if self._core:
            messages = (self._kept(n, np.zeros, self._core.num_messages(n), np.float32)
                        if self.keep_messages else None)
            self._erased = self._core.decode(
                llr, out, messages, found.view(np.uint8), taken, most=self.iterations,
                early_stop=self.early_stop, threads=self.threads, **self._core_options())
        else:
            usable = np.flatnonzero(np.all(np.isfinite(llr), axis=1) & np.any(llr, axis=1))
            self._erased = n - len(usable)
            messages = self._kept(n, np.zeros, (n, self._num_messages))
            posterior, messages[usable], found[usable], taken[usable] = self._reference(
                llr[usable].astype(float), messages[usable])
            out[...] = 0
            out[usable] = posterior
        self.found, self.iterations_taken = found, taken
        return out

    def _decode_there(self, llr, out):
        """Arrays of the GPU."""
        self._gpu = self._gpu or self._program()
        out, self.found, self.iterations_taken, self._erased = self._gpu.decode(
            llr, out, self._kept_there(len(llr)), self.iterations)
        return out

    def _send(self, llr, out):
        """Arrays of the host to the GPU and back."""
        self.found, self.iterations_taken, self._erased = self._gpu.decode_from_host(
            llr, out, self._kept_there(len(llr)), self.iterations, self.threads)
        return out

    def _kept_there(self, n):
        return self._kept(n, self._gpu.messages, n) if self.keep_messages else None

    def _kept(self, n, zeros, *shape):
        """Messages of the last call, or zeros; those of the host and of a GPU differ in form."""
        if (not self.keep_messages or self._messages is None
                or self._messages[:2] != (n, zeros)):
            self._messages = n, zeros, zeros(*shape)
        return self._messages[2]
