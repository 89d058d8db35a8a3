# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The common part of iterative decoders for batches of codewords."""

from functools import partial

import numpy as np

from ..checks import array, flag
from .decoder import BackendDecoder

_MOST = float(np.finfo(np.float32).max)


class SoftDecoder(BackendDecoder):
    """A decoder with soft output that may keep its messages between calls.

    A subclass has these methods: ``_make_core()`` makes its C++ decoder, and ``_core_options()``
    returns additional arguments for decode() of that decoder; ``_reference`` decodes in NumPy;
    ``_program`` makes the GPU program. Its constructor ends with ``_begin``.

    Args:
        num_bits: number of bits in a codeword.
        num_messages: number of messages that the reference keeps for a codeword.
        iterations, early_stop, keep_messages, backend, device, threads: see the decoders.
        may_copy: see :class:`BackendDecoder`; False if the CPU works with another precision.
    """

    _core = None

    def __init__(self, num_bits, num_messages, iterations, early_stop, keep_messages, backend,
                 device, threads, may_copy=True):
        self.num_bits = num_bits
        self._num_messages = num_messages
        self.early_stop = flag("early_stop", early_stop)
        self.keep_messages = flag("keep_messages", keep_messages)
        # Kept messages stay on the CPU or the GPU, so batches cannot change between the two.
        super().__init__(iterations, backend, device, threads,
                         may_copy=may_copy and not keep_messages)
        self.reset()

    def _begin(self):
        """Make what the backend needs immediately; raises an error for unsupported options."""
        if self.backend in ("auto", "cpu"):
            self._core = self._make_core()
        if self.backend == "cuda":
            self._gpu_program()

    @property
    def isa(self):
        """The CPU instruction set in use; None before the CPU is first used."""
        return self._core.isa if self._core else None

    def reset(self):
        """Delete the kept messages: the next call starts without any."""
        self._messages = None

    def decode(self, llr, out=None):
        """Compute a-posteriori LLRs of all bits; the extrinsic LLRs are ``decode(llr) - llr``.

        Args:
            llr: (n, num_bits) float32, ln P(1)/P(0), C-contiguous; 0 for punctured bits. With
                backends "cuda" and "auto" it may be a CuPy array. The decoder then queues its work
                on the current CUDA stream and returns a CuPy array without waiting for the GPU.
            out: (n, num_bits) float32; allocated if None.

        Returns:
            out

        Raises:
            ValueError: an argument does not match its description.
            Exception: CuPy's own, if the GPU fails and the CPU does not take over (see
                ``backends``).
        """
        on_gpu = self._is_on_gpu(llr)
        gpu = self.device if on_gpu else None
        llr = array("llr", llr, np.float32, ("n", self.num_bits), gpu)
        if out is not None:
            out = array("out", out, np.float32, llr.shape, gpu)
        if on_gpu:
            out, self.found, self.iterations_taken, self._erased = self._gpu_program().decode(
                llr, out, self._kept_there(len(llr)), self.iterations)
            return out
        if out is not None and self._copies_to_gpu and np.may_share_memory(llr, out):
            llr = llr.copy()    # if the GPU fails, the CPU needs the input again
        return self._run(partial(self._on_cpu, llr, out), partial(self._on_cuda, llr, out))

    def _on_cpu(self, llr, out=None):
        """Decode host arrays on the CPU."""
        n = len(llr)
        out = np.empty_like(llr) if out is None else out
        found, taken = np.zeros(n, bool), np.zeros(n, np.int32)
        if self.backend != "reference":
            if self._core is None:    # backend "cuda", and the GPU has failed
                self._core = self._make_core()
            messages = (self._kept(n, np.zeros, self._core.num_messages(n), np.float32)
                        if self.keep_messages else None)
            self._erased = self._core.decode(
                llr, out, messages, found.view(np.uint8), taken, most=self.iterations,
                early_stop=self.early_stop, threads=self.threads, **self._core_options())
        else:
            usable = np.flatnonzero(np.all(np.isfinite(llr), axis=1) & np.any(llr, axis=1))
            self._erased = n - len(usable)
            messages = self._kept(n, np.zeros, (n, self._num_messages))
            given = llr[usable].astype(float)
            out[...] = 0    # may be the same array as llr
            if usable.size:
                llr, messages[usable], found[usable], taken[usable] = self._reference(
                    given, messages[usable])
                out[usable] = np.clip(llr, -_MOST, _MOST)
        self.found, self.iterations_taken = found, taken
        return out

    def _on_cuda(self, llr, out=None):
        """Decode host arrays on the GPU."""
        program, out = self._gpu_program(), np.empty_like(llr) if out is None else out
        self.found, self.iterations_taken, self._erased = program.decode_from_host(
            llr, out, self._kept_there(len(llr)), self.iterations, self.threads)
        return out

    def _kept_there(self, n):
        return self._kept(n, self._gpu_program().messages, n) if self.keep_messages else None

    def _kept(self, n, zeros, *shape):
        """Return the messages of the last call, or zeros.

        Messages of the host and of a GPU have different formats.
        """
        if (not self.keep_messages or self._messages is None
                or self._messages[:2] != (n, zeros)):
            self._messages = n, zeros, zeros(*shape)
        return self._messages[2]
