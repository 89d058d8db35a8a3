# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decoder programs on one GPU, for GPU arrays and, in parts, for host arrays."""

import numpy as np

from .device import Count, address, check_device, cupy, kernel, pinned_empty
from .transfer import SLOTS, copy
from .waiting import abandon, current, keep_while_busy, wait

# Bytes of LLRs that are copied from the host in one part.
PART_BYTES = 2**24
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
        self._slots = None

    def _compile(self, text, shared):
        """Compile the program; shared is the size of a block's shared memory in bytes."""
        self.text = text
        self._shared = shared
        with self._current():
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
        with self._current():
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
        with self._current():
            stream = module.cuda.get_current_stream()
            n = len(llr)
            if out is None:
                out = self._made(llr)
            elif module.may_share_memory(llr, out):
                llr = llr.copy()    # a block may write out while another still reads llr
            found, taken = module.empty(n, bool), module.empty(n, np.int32)
            erased = module.cuda.alloc(8)
            erased.memset_async(0, 8, stream)
            for first in range(0, n, self._at_once):
                part = slice(first, min(n, first + self._at_once))
                count = part.stop - part.start
                own = (messages[part] if messages is not None
                       else self.messages(count) if self._needs_messages else np.uint64(0))
                self._kernel((-(-count // self._words),), (self._threads,),
                             (np.uint64(count), np.int32(iterations), llr[part], out[part], own,
                              found[part], taken[part], np.uint64(erased.ptr), *self._more),
                             shared_mem=self._shared)
        return out, found, taken, Count(erased, stream)

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
        rows = max(1, PART_BYTES // (4 * self._num_bits))
        erased = 0
        with self._current():
            if self._slots is None:
                self._slots = [_Slot() for _ in range(SLOTS)]
            slots = self._slots
            try:
                for number in range(-(-n // rows) + SLOTS):
                    slot = slots[number % SLOTS]
                    erased += slot.finish(threads)
                    part = slice(number * rows, min(n, (number + 1) * rows))
                    if part.start < n:
                        slot.send(self, llr[part],
                                  None if messages is None else messages[part], iterations,
                                  (out[part], found[part], taken[part]), threads)
            except BaseException as error:    # even KeyboardInterrupt: no result may arrive later
                self._slots = None
                abandon(slots, error)
                keep_while_busy(self)    # kernels read the program's tables
                raise
        return found, taken, erased

    def _current(self):
        return current(self.device)


class _Slot:
    """A stream, and pinned memory for the input and the results of a part of a batch."""

    def __init__(self):
        self.stream = cupy().cuda.Stream(non_blocking=True)
        self._here = np.empty(0, np.uint8)
        self._under_way = None

    def send(self, program, llr, messages, iterations, results, threads):
        """Queue a part: copy LLRs to the GPU, decode, copy the results to pinned memory."""
        module = cupy()
        runtime, stream = module.cuda.runtime, self.stream
        sizes = [array.nbytes for array in results]
        ends = np.cumsum([-(-size // 16) * 16 for size in sizes])
        room = max(int(ends[-1]), llr.nbytes)
        if room > len(self._here):
            self._here = pinned_empty(room, np.uint8)
        copy(self._here[:llr.nbytes], _bytes(llr), threads)
        with stream:
            there = module.empty(llr.shape, np.float32)
            runtime.memcpyAsync(there.data.ptr, address(self._here), llr.nbytes,
                                runtime.memcpyHostToDevice, stream.ptr)
            *arrays, erased = program.decode(there, None, messages, iterations)
            for array, size, end in zip(arrays, sizes, ends, strict=True):
                begin = end - -(-size // 16) * 16
                runtime.memcpyAsync(address(self._here) + int(begin), array.data.ptr, size,
                                    runtime.memcpyDeviceToHost, stream.ptr)
        self._under_way = results, ends, erased

    def finish(self, threads):
        """Wait for the part, copy its results to their arrays and return the number of erasures."""
        if self._under_way is None:
            return 0
        (results, ends, erased), self._under_way = self._under_way, None
        wait(self.stream)
        count = int(erased)
        for array, end in zip(results, ends, strict=True):
            begin = end - -(-array.nbytes // 16) * 16
            copy(_bytes(array), self._here[begin:begin + array.nbytes], threads)
        return count


def _bytes(array):
    return array.reshape(-1).view(np.uint8)
