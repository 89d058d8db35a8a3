# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs: detection, compilation of kernels, CUDA graphs, and pinned host memory."""

import ctypes
import sys
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from . import source


class UnusableGpu(ValueError):
    """There is no such GPU, or CuPy does not find the compiler NVRTC."""


def cupy():
    """Return the module CuPy.

    Raises:
        ImportError: CuPy cannot be imported; the message says how to install it.
    """
    try:
        import cupy as module
    except ImportError as error:
        mend = ("scripts/setup.sh --with-cupy" if __package__.startswith("gnuradio.")
                else "pip install 'mimopack[cuda]'")
        raise ImportError(f"backend 'cuda' needs CuPy, which could not be imported ({error}); "
                          f"{mend} installs it") from error
    return module


@cache
def load_nvrtc():
    """Load the compiler NVRTC from a pip package, because CuPy does not search these packages.

    If the system has NVRTC, or if no package has it, nothing happens. In the second case CuPy
    raises an exception when it needs the compiler.
    """
    with suppress(Exception):    # a broken installation may raise anything
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
    """Return the number of GPUs; 0 without CuPy or a driver. The result is cached."""
    try:
        return cupy().cuda.runtime.getDeviceCount()
    except Exception:    # a broken installation may raise anything
        return 0


def check_device(device):
    """Raise UnusableGpu if there is no GPU with this index."""
    module = cupy()
    try:
        there = module.cuda.runtime.getDeviceCount()
    except module.cuda.runtime.CUDARuntimeError as error:
        raise UnusableGpu(f"device: there is no usable NVIDIA GPU ({error})") from error
    if not 0 <= device < there:
        raise UnusableGpu(f"device: got {device}, allowed are 0 to {there - 1}")


@cache
def kernel(text, name, device):
    """Compile a program and return one of its kernels; CuPy caches compiled programs on disk.

    Args:
        text: text of the program.
        name: name of the kernel.
        device: index of the GPU.

    Raises:
        UnusableGpu: there is no NVRTC.
        Exception: CuPy's, if the GPU has failed.
    """
    module = cupy()
    load_nvrtc()
    with current(device):
        try:
            return module.RawModule(code=text, options=source.OPTIONS,
                                    backend="nvrtc").get_function(name)
        except RuntimeError as error:
            if "failed to load" in str(error):
                raise UnusableGpu(str(error)) from error
            raise


def current(device):
    """Return a context in which a GPU is the current one."""
    return cupy().cuda.Device(device)


class Count:
    """A uint64 that kernels increase; int() waits for the GPU and returns the number.

    Args:
        stream: CuPy stream of the kernels, on the current GPU.

    Attributes:
        ptr: address on the GPU.
    """

    def __init__(self, stream):
        self._memory, self._stream = cupy().cuda.alloc(8), stream
        self._memory.memset_async(0, 8, stream)
        self.ptr = self._memory.ptr

    def __int__(self):
        runtime = cupy().cuda.runtime
        value = np.zeros(1, np.uint64)
        with self._memory.device:
            runtime.memcpyAsync(address(value), self.ptr, 8, runtime.memcpyDeviceToHost,
                                self._stream.ptr)
            self._stream.synchronize()
        return int(value[0])


class Recording:
    """Work on the current GPU as a CUDA graph, with memory of its own.

    Args:
        queue: function that queues the work on the current stream and never waits for the GPU. It
            is called twice before it is recorded, so that all is compiled and allocated. Arrays
            that it reads from outside must be ready.

    Attributes:
        result: what ``queue`` returned while it was recorded; each ``play`` writes these arrays.
    """

    def __init__(self, queue):
        module = cupy()
        self._pool = module.cuda.MemoryPool()    # the graph keeps using its memory
        self._branches = []
        stream = module.cuda.Stream(non_blocking=True)
        with module.cuda.using_allocator(self._pool.malloc), stream:
            for _ in range(2):
                self._run(queue)
            stream.begin_capture()
            try:
                self.result = self._run(queue)
            except BaseException:
                with suppress(Exception):    # end_capture() raises because capturing failed
                    stream.end_capture()
                raise
            self._graph = stream.end_capture()
            stream.synchronize()

    def _run(self, queue):
        self._unused, _now.recording = iter(self._branches), self
        try:
            return queue()
        finally:
            _now.recording = None

    def branch(self):
        """Return a stream for a branch of the graph, the same one in each run."""
        stream = next(self._unused, None)
        if stream is None:
            stream = cupy().cuda.Stream(non_blocking=True)
            self._branches.append(stream)
        return stream

    def play(self):
        """Queue the work on the current stream."""
        self._graph.launch(cupy().cuda.get_current_stream())


_now = threading.local()    # recording: the Recording in progress in this thread


def side_by_side(*functions):
    """Call functions whose work on the GPU is independent; return a list of their results.

    In a :class:`Recording`, they become branches of the graph. The caller must hold the arrays
    that they read until this function returns.
    """
    recording = getattr(_now, "recording", None)
    if recording is None:
        return [function() for function in functions]
    first, *others = functions
    stream = cupy().cuda.get_current_stream()
    fork, results, joins = stream.record(), [], []
    for function in others:
        with recording.branch() as branch:
            branch.wait_event(fork)
            results.append(function())
            joins.append(branch.record())
    results.insert(0, first())
    for join in joins:
        stream.wait_event(join)
    return results


def pinned_empty(shape, dtype):
    """Return an uninitialised host array in pinned memory, which a GPU can access directly."""
    size = max(1, int(np.prod(shape)) * np.dtype(dtype).itemsize)
    memory = cupy().cuda.alloc_pinned_memory(size)
    return np.frombuffer(memory, np.uint8, size).view(dtype).reshape(shape)


def address(array):
    """Return the address of a NumPy array; faster than array.ctypes.data."""
    return array.__array_interface__["data"][0]
