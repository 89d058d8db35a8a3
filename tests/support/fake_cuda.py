# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replace CuPy for the GPU backend, without a GPU.

A stream does nothing until a caller waits for it, which reveals data that are read or overwritten
too early. GPU memory is host memory, and kernels are the CPU's detectors.
"""

import ctypes
from itertools import cycle
from types import SimpleNamespace

import numpy as np
from gnuradio.mimopack import _core, backends
from gnuradio.mimopack.cuda import device
from gnuradio.mimopack.cuda import program as programs


def view(at, dtype, *shape):
    """Return the memory at an address as an array."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(at), dtype).reshape(shape)


class GpuError(RuntimeError):
    """An error of the GPU, which counts as CuPy's."""

    __module__ = "cupy_backends.cuda.api.runtime"


def let_gpu_win(monkeypatch, wins=True):
    """Let measurements for backend "auto" say that the GPU is faster, or slower."""
    times = cycle((2.0, 1.0) if wins else (1.0, 2.0))    # the CPU's, the GPU's
    monkeypatch.setattr(backends, "seconds", lambda function: (function(), next(times))[1])


class Stream:
    """Queue of pending work on the current GPU."""

    all = {}
    now = None    # the stream of the last ``with``

    def __init__(self, non_blocking=False):
        self.ptr = len(Stream.all) + 1
        self.device = Device.now
        self.work = []
        Stream.all[self.ptr] = self

    def __enter__(self):
        Stream.now = self
        return self

    def __exit__(self, *_):
        pass

    def synchronize(self):
        Fake.log.append(("wait", self.device))
        for step in self.work:
            step()
        self.work.clear()


class Device:
    now = 0

    def __init__(self, number):
        self.number = number

    def __enter__(self):
        self._before, Device.now = Device.now, self.number

    def __exit__(self, *_):
        Device.now = self._before


class _Memory:
    def __init__(self, size):
        self.array = np.full(size, 0xA5, np.uint8)
        self.ptr = self.array.ctypes.data


class Fake:
    """Stand-in for the module cupy; ``install`` puts it in place."""

    log = []             # ("launch", "wait", "free", "pin" or "unpin", GPU), in order
    pinned = []          # arrays
    registered = {}      # {address: size} of other pinned memory
    count = 1            # number of GPUs
    launches_left = -1   # launches before a failure; -1: no failure

    def __init__(self):
        self.get_default_memory_pool = lambda: SimpleNamespace(
            free_all_blocks=lambda stream: Fake.log.append(("free", stream.device)))
        self.cuda = SimpleNamespace(
            Device=Device, Stream=Stream, alloc=_Memory,
            alloc_pinned_memory=self.pinned_memory,
            driver=SimpleNamespace(launchKernel=self._launch),
            runtime=SimpleNamespace(
                CUDARuntimeError=GpuError,
                getDevice=lambda: Device.now,
                memcpyHostToDevice=1, memcpyDeviceToHost=2, memoryTypeHost=1,
                cudaDevAttrMultiProcessorCount=16,
                getDeviceCount=lambda: Fake.count, deviceGetAttribute=lambda *_: 3,
                getDeviceProperties=lambda number: {"name": b"Fake %d" % number},
                memcpyAsync=lambda to, source, size, kind, stream: Stream.all[stream].work.append(
                    lambda: ctypes.memmove(to, source, size)),
                memsetAsync=lambda to, value, size, stream: Stream.all[stream].work.append(
                    lambda: ctypes.memset(to, value, size)),
                pointerGetAttributes=lambda at: SimpleNamespace(
                    type=int(any(0 <= at - first < size for first, size in (
                        *((array.ctypes.data, array.size) for array in Fake.pinned),
                        *Fake.registered.items())))),
                hostRegister=self._register, hostUnregister=self._unregister))

    @staticmethod
    def _register(at, size, flags):
        if flags != 1 or any(first < at + size and at < first + length
                             for first, length in Fake.registered.items()):
            raise GpuError("already mapped")
        Fake.registered[at] = size
        Fake.log.append(("pin", Device.now))

    @staticmethod
    def _unregister(at):
        del Fake.registered[at]
        Fake.log.append(("unpin", Device.now))

    @staticmethod
    def pinned_memory(size):
        array = np.full(size, 0x5A, np.uint8)
        Fake.pinned.append(array)
        return array

    kernels = []

    @staticmethod
    def compile(program, variant):
        """Replace ``Program._compile``."""
        plan = program._plan
        core = _core.Detector(plan)
        Fake.kernels.append((core, plan, variant))
        return programs._Compiled(None, len(Fake.kernels) - 1, arena=0, is_global=False, blocks=2,
                                  most_threads=1, team=1, whitens=True, second=None)

    @staticmethod
    def _launch(function, blocks, *rest):
        assert blocks <= 3 * 2    # those that run at a time; a search by teams may launch more
        stream, arguments = Stream.all[rest[-3]], rest[-2]
        assert stream.device == Device.now
        if Fake.launches_left == 0:
            raise GpuError("an illegal memory access was encountered")
        Fake.launches_left -= 1
        Fake.log.append(("launch", stream.device))
        core, plan, variant = Fake.kernels[function]
        places = view(arguments, np.uint64, 17)
        (n, _, chunk, per_matrix, y, h, noise, common, covariance, prior, out, scale, hard, _,
         erased, truncated, _) = programs._ARGUMENTS.unpack(b"".join(ctypes.string_at(int(at), 8)
                                                     for at in places))
        nt, nr = plan["num_tx"], plan["num_rx"]
        bits = sum(len(layer["bit_source"]) for layer in plan["layers"]) or nt * len(
            plan["bit_source"])

        def run():
            llr = view(out, np.int8 if variant.as_int8 else np.float32, n, bits)
            matrices = n // (per_matrix * chunk)
            lost = core.detect(
                view(y, np.complex64, n, nr), view(h, np.complex64, matrices, nr, nt),
                view(noise, np.float32, n) if noise else np.array([common], np.float32),
                view(prior, np.float32, n, bits) if prior else None, llr, scale, 1,
                hard=(np.ascontiguousarray(np.moveaxis(
                    view(hard, np.uint8, n, variant.num_hard, bits), 0, 1)) if hard else None),
                noise_cov=(view(covariance, np.complex64,
                                matrices if variant.covariance == 2 else 1, nr, nr)
                           if covariance else None))
            for count, number in ((erased, lost), (truncated, core.truncated)):
                assert view(count, np.uint64, 1)[0] == 0
                view(count, np.uint64, 1)[0] = number

        stream.work.append(run)


def install(monkeypatch, count=1):
    """Replace CuPy as if the machine had ``count`` GPUs."""
    monkeypatch.setattr(Fake, "registered", {})
    monkeypatch.setattr(Stream, "all", {})
    fake = Fake()
    monkeypatch.setattr(device, "cupy", lambda: fake)
    for module in ("transfer", "pinning", "program", "decoding"):
        monkeypatch.setattr(f"gnuradio.mimopack.cuda.{module}.cupy", lambda: fake)
    monkeypatch.setattr(device, "count", lambda: Fake.count)
    monkeypatch.setattr(programs.Program, "_compile", Fake.compile)
    monkeypatch.setattr(Fake, "count", count)
    monkeypatch.setattr(Fake, "launches_left", -1)
    monkeypatch.setattr(Fake, "log", [])
    monkeypatch.setattr(Fake, "pinned", [])
    return fake
