# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decoder programs on one GPU, for GPU arrays and, in parts, for host arrays."""

import numpy as np

from .device import Count, check_device, cupy, current, kernel
from .transfer import HostArray, HostBatch, HostPipeline

# Largest number of blocks per launch.
GRID = 2**31 - 1
# Bytes of shared memory that a block gets without a request.
ORDINARY_SHARED = 48 * 1024


class DecoderProgram:
    """A decoder on a GPU, compiled by the constructor; a subclass supplies the program text.

    The arguments of its kernel ``decode`` are the number of codewords, the maximum number of
    iterations, and the addresses of: the LLRs, the output, the messages (or 0), whether each
    codeword was found, the iterations it took, and the number of erasures. The subclass's own
    arguments follow.

    Args:
        device: index of the GPU.
        num_bits, num_messages: number of bits and of messages per codeword.
        threads: number of threads per block.
        words: number of codewords per block.

    Attributes:
        text: the text of the program.
    """

    def __init__(self, device, num_bits, num_messages, threads, words=1):
        check_device(device)
        self.device = device
        self._num_bits, self._num_messages = num_bits, num_messages
        self._threads, self._words = threads, words
        self._more = ()               # the subclass's arguments
        self._at_once = GRID          # codewords per launch
        self._needs_messages = False
        self._out_bytes = 4 * num_bits    # per codeword
        self._pipeline = None

    def _compile(self, text, shared=None):
        """Compile the program.

        shared is the size of a block's shared memory in bytes; None asks the kernel
        ``shared_size``.
        """
        self.text = text
        with current(self.device):
            if shared is None:
                size = cupy().empty(1, np.uint32)
                kernel(text, "shared_size", self.device)((1,), (1,), (size,))
                shared = int(size[0])
            self._shared = shared
            self._kernel = kernel(text, "decode", self.device)
            if shared > ORDINARY_SHARED:
                self._kernel.max_dynamic_shared_size_bytes = shared

    def _room(self):
        """Return the bytes of shared memory that a block may request."""
        runtime = cupy().cuda.runtime
        return runtime.deviceGetAttribute(runtime.cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                          self.device)

    def messages(self, n):
        """Return the initial messages of n codewords: zeros."""
        with current(self.device):
            return cupy().zeros((n, self._num_messages), np.float32)

    def _made(self, llr):
        """Allocate the output for LLRs: posterior LLRs, unless a subclass overrides this."""
        return cupy().empty_like(llr)

    def decode(self, llr, out, messages, iterations):
        """Decode on the current stream without waiting.

        Args:
            llr: (n, num_bits) float32, on the GPU.
            out: (n, num_bits) float32, or the shape and type that a subclass makes, on the GPU;
                allocated if None.
            messages: ``messages(n)``, read and updated; or None.
            iterations: maximum number of iterations.

        Returns:
            (out, found: (n,) bool, taken: (n,) int32, a ``Count`` of the erased codewords).
        """
        module = cupy()
        with current(self.device):
            n = len(llr)
            if out is None:
                out = self._made(llr)
            elif module.may_share_memory(llr, out):
                llr = llr.copy()    # a block may write out while another still reads llr
            found, taken = module.empty(n, bool), module.empty(n, np.int32)
            erased = Count(module.cuda.get_current_stream())
            self._launch(n, iterations, *(array.data.ptr for array in (llr, out)), messages,
                         *(array.data.ptr for array in (found, taken)), erased.ptr)
        return out, found, taken, erased

    def _launch(self, n, iterations, llr, out, messages, found, taken, erased):
        """Queue the kernels for n codewords on the current stream.

        Args:
            messages: CuPy array with a row per codeword, or None.
            llr, out, found, taken, erased: addresses on the GPU.
        """
        row_bytes = (4 * self._num_bits, self._out_bytes, 1, 4)
        for first in range(0, n, self._at_once):
            count = min(self._at_once, n - first)
            own = (messages[first:first + count] if messages is not None
                   else self.messages(count) if self._needs_messages else np.uint64(0))
            llr_at, out_at, found_at, taken_at = (
                np.uint64(at + first * size)
                for at, size in zip((llr, out, found, taken), row_bytes, strict=True))
            self._kernel((-(-count // self._words),), (self._threads,),
                         (np.uint64(count), np.int32(iterations), llr_at, out_at, own, found_at,
                          taken_at, np.uint64(erased), *self._more), shared_mem=self._shared)

    def decode_from_host(self, llr, out, messages, iterations, threads):
        """Decode host arrays, in parts.

        Args:
            llr, out: host arrays of the shapes and types for ``decode``.
            messages, iterations: as for ``decode``; messages are on the GPU.
            threads: number of CPU threads that copy between pageable and pinned memory.

        Returns:
            (found: (n,) bool, taken: (n,) int32, number of erased codewords)
        """
        n = len(llr)
        found, taken = np.empty(n, bool), np.empty(n, np.int32)
        if not n:
            return found, taken, 0

        def launch(_gpu, part, at, stream):
            with stream:
                self._launch(part.stop - part.start, iterations, at["llr"], at["out"],
                             None if messages is None else messages[part], at["found"],
                             at["taken"], at["counts"])

        if self._pipeline is None:
            self._pipeline = HostPipeline([self.device], self._at_once)
        results = {"out": out, "found": found, "taken": taken}
        counts = self._pipeline.run(HostBatch(
            n, [HostArray("llr", llr)], [HostArray(*item) for item in results.items()], launch,
            threads))
        return found, taken, int(counts[0])
