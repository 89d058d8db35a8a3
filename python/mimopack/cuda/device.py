# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs: detection, compilation of kernels, and pinned host memory."""

import ctypes
import sys
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


def pinned_empty(shape, dtype):
    """Return an uninitialised host array in pinned memory, which a GPU can access directly."""
    size = max(1, int(np.prod(shape)) * np.dtype(dtype).itemsize)
    memory = cupy().cuda.alloc_pinned_memory(size)
    return np.frombuffer(memory, np.uint8, size).view(dtype).reshape(shape)


def address(array):
    """Return the address of a NumPy array; faster than array.ctypes.data."""
    return array.__array_interface__["data"][0]
