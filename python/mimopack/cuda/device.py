# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs: whether there are any, compiling for them, and memory that they read."""

import ctypes
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from . import source


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
