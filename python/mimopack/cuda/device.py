# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A detector's programs on one GPU or several: compiled, and launched on arrays of the device."""

import ctypes
import sys
from collections import namedtuple
from contextlib import suppress
from functools import cache, lru_cache
from math import isqrt
from pathlib import Path
from struct import Struct

import numpy as np

from . import is_device_array, source

# Where a thread's arrays are in global memory, they take at most this, and an eighth of what is
# free: several launches may be under way.
SCRATCH_BYTES = 2**31
# Threads that a multiprocessor should have to do before a thread takes several vectors.
THREADS_WANTED = 512
# What a launch counts: vectors that it erased, chunks of vectors that its threads took
COUNTERS_BYTES = 16
# detect() in lib/cuda/detect.h: each argument in 8 bytes of its own
_ARGUMENTS = Struct("=2Q I4x I4x 3Q f4x 2Q f4x 2Q I4x 2Q")

# What the program of a call depends on; see ``source.program``.
Variant = namedtuple("Variant", "has_prior matrix_each as_int8 num_hard counts")
# The kernel and its handle, floats of a thread's arena, blocks that a multiprocessor works on at a
# time, chunks of vectors that keep a block busy
_Compiled = namedtuple("_Compiled", "kernel function arena blocks least_chunks")


def cupy():
    """The module, or ImportError that says what to do."""
    try:
        import cupy as module
    except ImportError as error:
        raise ImportError(f"backend 'cuda' needs CuPy, which could not be imported ({error}); "
                          "scripts/setup.sh --with-cupy installs it") from error
    return module


@cache
def load_nvrtc():
    """Loads the compiler from a package that pip has installed, where CuPy does not look, unless
    the system has it. Does nothing where there is none: CuPy says so when it needs it."""
    with suppress(Exception):    # whatever an installation that does not work raises
        library = f"libnvrtc.so.{cupy().cuda.runtime.runtimeGetVersion() // 1000}"
        try:
            ctypes.CDLL(library)
        except OSError:
            for folder in sys.path:
                for path in Path(folder).glob(f"nvidia/*/lib/{library}"):
                    ctypes.CDLL(str(path))
                    return


@cache
def count():
    """How many GPUs there are; 0 without CuPy or a driver. Looks once."""
    try:
        return cupy().cuda.runtime.getDeviceCount()
    except Exception:    # whatever an installation that does not work raises
        return 0


def check_device(device):
    """ValueError where there is no such GPU."""
    module = cupy()
    try:
        there = module.cuda.runtime.getDeviceCount()
    except module.cuda.runtime.CUDARuntimeError as error:
        raise ValueError(f"device: there is no usable NVIDIA GPU ({error})") from error
    if not 0 <= device < there:
        raise ValueError(f"device: got {device}, allowed are 0 to {there - 1}")


def device_name(device):
    """What its vendor calls it."""
    return cupy().cuda.runtime.getDeviceProperties(device)["name"].decode()


@cache
def kernel(text, name, device):
    """A program's kernel; CuPy keeps what it compiled on disk."""
    module = cupy()
    load_nvrtc()
    with module.cuda.Device(device):
        return module.RawModule(code=text, options=source.OPTIONS,
                                backend="nvrtc").get_function(name)


class Program:
    """A detector's kernels on one GPU, specialised for its sizes and parameters and compiled at
    first use.

    Args:
        plan: ``Detector.plan()``.
        device: number of the GPU.
    """

    def __init__(self, plan, device):
        check_device(device)
        self.device = device
        self._plan = plan
        self._threads = source.threads(plan)
        self._processors = cupy().cuda.runtime.deviceGetAttribute(
            cupy().cuda.runtime.cudaDevAttrMultiProcessorCount, device)
        self._compiled = {}
        self._values = np.zeros(_ARGUMENTS.size // 8, np.uint64)
        self._arguments = (address(self._values)
                           + 8 * np.arange(len(self._values))).astype(np.uint64)

    def current(self):
        """A context in which this GPU is the current one."""
        return cupy().cuda.Device(self.device)

    def _compile(self, variant):
        if variant not in self._compiled:
            module = cupy()
            arena_size = kernel(source.program(self._plan, None, *variant), "arena_size",
                                self.device)
            sizes = module.empty(2, np.uint64)
            arena_size((1,), (1,), (sizes,))
            arena, teams = map(int, sizes.get())
            detect = kernel(source.program(self._plan, arena, *variant), "detect", self.device)
            function = detect.kernel.ptr
            blocks = module.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
                function, self._threads, 0)
            self._compiled[variant] = _Compiled(detect, function, arena, max(1, blocks),
                                                self._threads // 32 if teams else self._threads)
        return self._compiled[variant]

    def launch(self, variant, n, per_channel, y, h, noise_var, common_noise_var, prior, out,
               int8_scale, hard, nodes, nodes_per_vector, counters, stream):
        """The kernel on a stream of this GPU, which is the current one.

        Args:
            variant: the program.
            n: vectors, of which per_channel each have a matrix.
            y, h, noise_var, prior, out, hard, nodes, counters: addresses on the device, those of
                complex numbers and LLRs multiples of 16; 0 where there is none. counters:
                COUNTERS_BYTES of zeros, of which the first 8 become the erased vectors.
        """
        compiled = self._compile(variant)
        chunk = _chunk(n, per_channel, self._processors * THREADS_WANTED)
        blocks = min(-(-(n // chunk) // compiled.least_chunks), self._processors * compiled.blocks)
        scratch = None
        if compiled.arena > source.LARGEST_LOCAL_ARENA:
            with stream:
                blocks, scratch = self._scratch(blocks, 4 * compiled.arena * self._threads)
        _ARGUMENTS.pack_into(
            self._values, 0, n, n // chunk, chunk, per_channel // chunk, y, h, noise_var,
            common_noise_var, prior, out, int8_scale, hard, nodes, nodes_per_vector,
            scratch.ptr if scratch else 0, counters)
        cupy().cuda.driver.launchKernel(compiled.function, blocks, 1, 1, self._threads, 1, 1,
                                        0, stream.ptr, address(self._arguments), 0)

    def _scratch(self, blocks, block_bytes):
        """(blocks, memory for them), as many as there is room for."""
        module = cupy()
        pool = module.get_default_memory_pool()
        room = module.cuda.runtime.memGetInfo()[0] + pool.free_bytes()
        blocks = min(blocks, max(1, min(SCRATCH_BYTES, room // 8) // block_bytes))
        while True:
            try:
                return blocks, module.cuda.alloc(blocks * block_bytes)
            except module.cuda.memory.OutOfMemoryError:
                if blocks == 1:
                    raise
                blocks //= 2

    def resources(self):
        """What each kernel so far takes of a multiprocessor, for measurements."""
        return [{"registers": it.kernel.num_regs, "local_bytes": it.kernel.local_size_bytes,
                 "shared_bytes": it.kernel.shared_size_bytes, "blocks_per_processor": it.blocks}
                for it in self._compiled.values()]

    def detect(self, y, h, noise_var, prior, out, int8_scale, hard=None, nodes=None):
        """As ``_core.Detector.detect``, with arrays that are all on this GPU; noise_var may be one
        number of the host. Works on the current stream and does not wait.

        Returns:
            A ``Count`` of the vectors that were erased.
        """
        module = cupy()
        with self.current():
            stream = module.cuda.get_current_stream()
            counters = module.cuda.alloc(COUNTERS_BYTES)
            counters.memset_async(0, COUNTERS_BYTES, stream)
            n = len(y)
            if n:
                common = not is_device_array(noise_var)
                # copies of arrays that begin anywhere live until the kernel has its place
                aligned = [None if array is None else _aligned(array) for array in (y, h, prior)]
                target = out if out.data.ptr % 16 == 0 else module.empty_like(out)
                y_at, h_at, prior_at, noise_at, out_at, hard_at, nodes_at = (
                    0 if array is None else array.data.ptr
                    for array in (*aligned, None if common else noise_var, target, hard, nodes))
                self.launch(
                    Variant(prior is not None, n == len(h), out.dtype == np.int8,
                            0 if hard is None else len(hard), nodes is not None),
                    n, n // len(h), y_at, h_at, noise_at, float(noise_var[0]) if common else 0,
                    prior_at, out_at, int8_scale, hard_at, nodes_at,
                    0 if nodes is None else nodes.shape[1], counters.ptr, stream)
                if target is not out:
                    out[...] = target
        return Count(counters, stream)


class Gpus:
    """A detector's programs on its GPUs.

    Arrays of a GPU are worked on there; those of the host are shared among all.

    Args:
        plan: ``Detector.plan()``.
        devices: their numbers.
        candidates: that are looked at for one vector.
    """

    def __init__(self, plan, devices, candidates=1):
        from .pinning import Pins
        from .transfer import Pipeline

        self.programs = {device: Program(plan, device) for device in devices}
        self._pipeline = Pipeline(list(self.programs.values()), candidates)
        self._pins = Pins()

    def detect(self, y, h, noise_var, prior, out, int8_scale, threads=0, hard=None, nodes=None):
        """As ``Program.detect`` on arrays of one of the GPUs, or as ``Pipeline.detect`` on arrays
        of the host."""
        if is_device_array(y):
            return self.programs[y.device.id].detect(y, h, noise_var, prior, out, int8_scale,
                                                     hard, nodes)
        return self._pipeline.detect(y, h, noise_var, prior, out, int8_scale, threads, hard, nodes)

    def in_pinned_memory(self, array):
        """A copy there, of an array of the host."""
        with next(iter(self.programs.values())).current():
            copy = pinned_empty(array.shape, array.dtype)
        copy[...] = array
        return copy

    def pin(self, *arrays):
        """As ``Detector.pin``."""
        with next(iter(self.programs.values())).current():
            return self._pins.add(*arrays)

    def unpin(self):
        """What ``pin`` has pinned."""
        with next(iter(self.programs.values())).current():
            self._pins.release()

    def release(self):
        """Gives back what is held for arrays of the host between calls."""
        self._pipeline.release()

    def empty(self, shape, dtype, device):
        """A CuPy array on one of the GPUs."""
        with self.programs[device].current():
            return cupy().empty(shape, dtype)

    def zeros(self, shape, dtype, device):
        with self.programs[device].current():
            return cupy().zeros(shape, dtype)


class Count:
    """A number on the device, there when its stream is so far; int() waits for it."""

    def __init__(self, memory, stream):
        self._memory, self._stream = memory, stream

    def __int__(self):
        runtime = cupy().cuda.runtime
        value = np.zeros(1, np.uint64)
        with self._memory.device:
            runtime.memcpyAsync(address(value), self._memory.ptr, 8, runtime.memcpyDeviceToHost,
                                self._stream.ptr)
            self._stream.synchronize()
        return int(value[0])


def pinned_empty(shape, dtype):
    """An array of the host that a GPU reads and writes where it is."""
    size = max(1, int(np.prod(shape)) * np.dtype(dtype).itemsize)
    memory = cupy().cuda.alloc_pinned_memory(size)
    return np.frombuffer(memory, np.uint8, size).view(dtype).reshape(shape)


def address(array):
    """Where a NumPy array lies; faster than array.ctypes.data."""
    return array.__array_interface__["data"][0]


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
