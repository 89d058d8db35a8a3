# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A detector's program on one GPU, on arrays of the device or of the host."""

from contextlib import suppress
from functools import cache, lru_cache
from math import isqrt

import numpy as np

from . import is_device_array, source

# Vectors from the host travel in parts of about so many bytes, two of them under way at a time.
PART_BYTES = 2**25
# Where a thread's arrays are in global memory, they take at most this.
SCRATCH_BYTES = 2**31
# Threads that a multiprocessor should have to do before a thread takes several vectors.
THREADS_WANTED = 512


def cupy():
    """The module, or ImportError that says what to do."""
    try:
        import cupy as module
    except ImportError as error:
        raise ImportError(f"backend 'cuda' needs CuPy, which could not be imported ({error}); "
                          "scripts/setup.sh --with-cupy installs it") from error
    return module


def check_device(device):
    """ValueError where there is no such GPU."""
    module = cupy()
    try:
        count = module.cuda.runtime.getDeviceCount()
    except module.cuda.runtime.CUDARuntimeError as error:
        raise ValueError(f"device: there is no usable NVIDIA GPU ({error})") from error
    if not 0 <= device < count:
        raise ValueError(f"device: got {device}, allowed are 0 to {count - 1}")


@cache
def _kernel(text, name, device):
    """A program's kernel; CuPy keeps what it compiled on disk."""
    module = cupy()
    with module.cuda.Device(device):
        return module.RawModule(code=text, options=source.OPTIONS,
                                backend="nvrtc").get_function(name)


class Program:
    """A detector's kernels, specialised for its sizes and parameters and compiled at first use.

    Args:
        plan: ``Detector.plan()``.
        device: number of the GPU.
    """

    def __init__(self, plan, device):
        check_device(device)
        self.device = device
        self._plan = plan
        self._processors = cupy().cuda.runtime.deviceGetAttribute(
            cupy().cuda.runtime.cudaDevAttrMultiProcessorCount, device)
        self._compiled = {}
        self._slots = None

    def _compile(self, *key):
        """(kernel, floats of a thread's arena, blocks that a multiprocessor works on at a time);
        key: what ``source.program`` takes beyond them."""
        if key not in self._compiled:
            module = cupy()
            arena_size = _kernel(source.program(self._plan, None, *key), "arena_size", self.device)
            floats = module.empty(1, np.uint64)
            arena_size((1,), (1,), (floats,))
            arena = int(floats.get()[0])
            kernel = _kernel(source.program(self._plan, arena, *key), "detect", self.device)
            per_processor = module.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
                kernel.kernel.ptr, source.THREADS, 0)
            self._compiled[key] = kernel, arena, max(1, per_processor)
        return self._compiled[key]

    def detect(self, y, h, noise_var, prior, out, int8_scale, hard=None, nodes=None):
        """As ``_core.Detector.detect``, with arrays that are all on the device, where it works on
        the current stream and does not wait, or all on the host. noise_var of the host may be
        one number for all.

        Returns:
            How many vectors were erased: an int, or a ``Count``.
        """
        with cupy().cuda.Device(self.device):
            if is_device_array(y):
                return self._launch(y, h, noise_var, prior, out, int8_scale, hard, nodes)
            try:
                return self._detect_from_host(y, h, noise_var, prior, out, int8_scale, hard, nodes)
            except BaseException:    # KeyboardInterrupt too: nothing may arrive later
                for slot in self._slots or ():
                    slot.abandon()
                self._slots = None
                raise

    def empty(self, shape, dtype):
        """A CuPy array on this GPU."""
        module = cupy()
        with module.cuda.Device(self.device):
            return module.empty(shape, dtype)

    def zeros(self, shape, dtype):
        array = self.empty(shape, dtype)
        array.fill(0)
        return array

    def _launch(self, y, h, noise_var, prior, out, int8_scale, hard, nodes):
        module = cupy()
        erased = module.empty(1, np.uint64)
        erased.data.memset_async(0, erased.nbytes)
        count = Count(erased, module.cuda.get_current_stream())
        n = len(y)
        if n == 0:
            return count
        kernel, arena, per_processor = self._compile(
            prior is not None, n == len(h), out.dtype == np.int8,
            0 if hard is None else len(hard), nodes is not None)
        common = not is_device_array(noise_var)
        per_channel = n // len(h)
        chunk = _chunk(n, per_channel, self._processors * THREADS_WANTED)
        blocks = min(-(-(n // chunk) // source.THREADS), self._processors * per_processor)
        null = scratch = np.uintp(0)
        if arena > source.LARGEST_LOCAL_ARENA:
            block_bytes = 4 * arena * source.THREADS
            blocks = min(blocks, max(1, SCRATCH_BYTES // block_bytes))
            scratch = module.empty(blocks * block_bytes, np.uint8)
        target = out if out.data.ptr % 16 == 0 else module.empty_like(out)
        kernel((blocks,), (source.THREADS,), (
            np.uint64(n), np.uint64(n // chunk), np.uint32(chunk),
            np.uint32(per_channel // chunk), _aligned(y), _aligned(h),
            null if common else noise_var, np.float32(noise_var[0] if common else 0),
            null if prior is None else _aligned(prior),
            target, np.float32(int8_scale),
            null if hard is None else hard, null if nodes is None else nodes,
            np.uint32(0 if nodes is None else nodes.shape[1]),
            scratch, erased))
        if target is not out:
            out[...] = target
        return count

    def _detect_from_host(self, y, h, noise_var, prior, out, int8_scale, hard, nodes):
        n = len(y)
        if n == 0:
            return 0
        per_channel = n // len(h)
        row = sum(array[0].nbytes for array in (y, h, out, prior, nodes) if array is not None)
        row += 0 if hard is None else hard[:, 0].nbytes
        if self._slots is None:
            self._slots = [_Slot() for _ in range(2)]
        common = noise_var.size == 1
        erased = 0
        for number, (rows, matrices) in enumerate(_parts(n, per_channel, PART_BYTES // row)):
            slot = self._slots[number % len(self._slots)]
            erased += slot.finish()
            with slot.stream:
                inputs = [slot.send(name, array) for name, array in (
                    ("y", y[rows]), ("h", h[matrices]),
                    ("noise_var", None if common else noise_var[rows]),
                    ("prior", None if prior is None else prior[rows]))]
                if common:
                    inputs[2] = noise_var
                hard_part = slot.send("hard", None if hard is None else hard[:, rows])
                found = slot.room("out", out[rows])
                counted = slot.room("nodes", None if nodes is None else nodes[rows])
                if counted is not None:
                    counted[...] = 0
                erased_part = self._launch(*inputs, found, int8_scale, hard_part, counted)
                slot.fetch([(found, out[rows]), (counted, None if nodes is None else nodes[rows])],
                           erased_part)
        return erased + sum(slot.finish() for slot in self._slots)


class Count:
    """A number on the device, there when its stream is so far; int() waits for it."""

    def __init__(self, array, stream):
        self._array, self._stream = array, stream

    def __int__(self):
        return int(self._array.get(self._stream)[0])


class _Slot:
    """A stream with its pinned and device buffers: half of a double buffer."""

    def __init__(self):
        self.stream = cupy().cuda.Stream(non_blocking=True)
        self._pinned, self._arrays = {}, {}
        self._results, self._erased = [], None

    def _pair(self, name, shape, dtype):
        """Pinned and device arrays of at least this size, as views of this shape."""
        module = cupy()
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if name not in self._pinned or self._pinned[name].nbytes < size:
            self._pinned[name] = np.frombuffer(
                module.cuda.alloc_pinned_memory(max(size, 1)), np.uint8, max(size, 1))
            self._arrays[name] = module.empty(max(size, 1), np.uint8)
        return (self._pinned[name][:size].view(dtype).reshape(shape),
                self._arrays[name][:size].view(dtype).reshape(shape))

    def send(self, name, array):
        """The array on the device, once the stream is there."""
        if array is None:
            return None
        pinned, there = self._pair(name, array.shape, array.dtype)
        np.copyto(pinned, array)
        there.set(pinned, self.stream)
        return there

    def room(self, name, like):
        return None if like is None else self._pair(name, like.shape, like.dtype)[1]

    def fetch(self, pairs, erased):
        """Starts copying results back; finish() hands them over."""
        for index, (there, destination) in enumerate(pairs):
            if there is not None:
                pinned, _ = self._pair("out" if index == 0 else "nodes", there.shape, there.dtype)
                there.get(self.stream, out=pinned, blocking=False)
                self._results.append((pinned, destination))
        self._erased = erased

    def finish(self):
        """Waits for what was started, and returns how many of it were erased."""
        if self._erased is None:
            return 0
        self.stream.synchronize()
        for pinned, destination in self._results:
            np.copyto(destination, pinned)
        erased = int(self._erased)
        self._results, self._erased = [], None
        return erased

    def abandon(self):
        """Waits for what is under way, and forgets it."""
        with suppress(Exception):    # a GPU that failed does nothing any more
            self.stream.synchronize()


def _parts(n, per_channel, most):
    """(rows, matrices) of parts of about so many vectors, slices: whole matrices' vectors, or a
    share of one's."""
    if per_channel <= most:
        step = most // per_channel * per_channel
        for first in range(0, n, step):
            rows = slice(first, min(first + step, n))
            yield rows, slice(first // per_channel, rows.stop // per_channel)
        return
    for matrix in range(n // per_channel):
        end = (matrix + 1) * per_channel
        for first in range(matrix * per_channel, end, max(most, 1)):
            yield slice(first, min(first + max(most, 1), end)), slice(matrix, matrix + 1)


@lru_cache
def _chunk(n, per_channel, threads):
    """Vectors of a matrix that a thread takes: all, or fewer where threads would be idle."""
    most = max(1, n // threads)
    divisors = (size for i in range(1, isqrt(per_channel) + 1) if per_channel % i == 0
                for size in (i, per_channel // i))
    return max(size for size in divisors if size <= most)


def _aligned(array):
    """Kernels move 16 bytes at a time."""
    return array if array.data.ptr % 16 == 0 else array.copy()
