# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on a GPU, timed by CUDA events round many calls in a row; needs CuPy only when made.

A round is queued as a whole and waited for once, so that a call's time in Python does not count
where it is less than the GPU's own.
"""

from functools import cached_property

import numpy as np

from ...cuda.device import cupy
from .limits import bytes_per_vector, count, nodes_per_vector
from .measuring import DetectorRun, Fragile, Run

PILOT_VECTORS = 2**14    # fewer would leave multiprocessors idle

# Multiply-adds and additions in turns, in eight chains so that none waits for another.
CHAINS, UNROLLED, THREADS, BLOCKS = 8, 16, 256, 8    # blocks of a multiprocessor
ARITHMETIC = f"""
extern "C" __global__ void issue(float* out, unsigned turns, float factor, float term)
{{
    float x[{CHAINS}];
    for (int i = 0; i < {CHAINS}; ++i)
        x[i] = threadIdx.x + i;
    for (unsigned turn = 0; turn < turns; ++turn)
#pragma unroll
        for (int step = 0; step < {UNROLLED}; ++step)
#pragma unroll
            for (int i = 0; i < {CHAINS}; ++i)
                x[i] = fmaf(x[i], factor, term) + factor;
    for (int i = 1; i < {CHAINS}; ++i)
        x[0] += x[i];
    if (x[0] == term)    // hardly ever, which the compiler does not know
        out[0] = x[0];
}}
"""


def seconds_of(queue, device=0):
    """Of what ``queue()`` gives the GPU's current stream to do."""
    cuda = cupy().cuda
    with cuda.Device(device):
        start, end = cuda.Event(), cuda.Event()
        start.record()
        queue()
        end.record()
        end.synchronize()
        return 1e-3 * cuda.get_elapsed_time(start, end)


class QueuedRun(Run):
    """A run whose ``queue(n)`` starts n units without waiting."""

    device = 0

    def time(self, n):
        return seconds_of(lambda: self.queue(n), self.device)

    def round(self):
        def queue():
            for _ in range(self.calls):
                self.queue(self.units)

        self.seconds.append(seconds_of(queue, self.device) / self.calls)


class DeviceData:
    """A host's ``Data`` on a GPU, repeated up to so many vectors."""

    def __init__(self, host, vectors, device=0, llr_type=np.float32):
        self.host, self.setting, self.device = host, host.setting, device
        self._copies = max(1, vectors // host.vectors)
        self._llr_type = llr_type
        self.vectors = self._copies * host.vectors
        self.bits = host.bits

    def _repeated(self, array):
        module = cupy()
        with module.cuda.Device(self.device):
            return module.tile(module.asarray(array), (self._copies, *[1] * (array.ndim - 1)))

    @cached_property
    def y(self):
        return self._repeated(self.host.y)

    @cached_property
    def h(self):
        return self._repeated(self.host.h)

    @cached_property
    def llr(self):
        module = cupy()
        with module.cuda.Device(self.device):
            return module.empty((self.vectors, self.setting.bits_per_vector), self._llr_type)


class DeviceRun(Fragile, QueuedRun, DetectorRun):
    """A detector on arrays of the GPU."""

    def __init__(self, detector, data):
        super().__init__(detector, data)
        self.device = data.device
        self.error_vectors = data.host.vectors
        # Whole matrices' vectors
        self.step = self.period
        self.most = data.vectors
        self.least = min(self.most, PILOT_VECTORS - PILOT_VECTORS % self.period)

    def queue(self, n):
        self._detect(n - n % self.period)

    def _decide(self, n):
        return super()._decide(n).get()


class DeviceArithmeticRun(QueuedRun):
    """Multiply-adds and additions without memory; a unit is a turn of the loop."""

    least, most = 100, 2**31

    def __init__(self):
        module = cupy()
        processors = module.cuda.runtime.deviceGetAttribute(
            module.cuda.runtime.cudaDevAttrMultiProcessorCount, 0)
        self._blocks = BLOCKS * processors
        self._kernel = module.RawKernel(ARITHMETIC, "issue")
        self._out = module.zeros(1, np.float32)

    def queue(self, n):
        self._kernel((self._blocks,), (THREADS,), (
            self._out, np.uint32(n), np.float32(0.5), np.float32(0.25)))

    @property
    def instructions_per_s(self):
        """Of single threads, not of warps."""
        return self.rate * 2 * CHAINS * UNROLLED * self._blocks * THREADS


class DeviceCopyRun(QueuedRun):
    """Copies the channel matrices of ``data``; a unit is a byte read and one written."""

    def __init__(self, data):
        self._h, self._room = data.h, cupy().empty_like(data.h)
        self.least = self.most = data.h.nbytes

    def queue(self, n):
        self._room.data.copy_from_device_async(self._h.data, n)

    @property
    def bytes_per_s(self):
        """Read and written together."""
        return 2 * self.rate


class DeviceLimits:
    """As ``limits.Limits``, for a GPU: its threads are the lanes."""

    def __init__(self, data):
        self.arithmetic, self.copy = DeviceArithmeticRun(), DeviceCopyRun(data)

    @property
    def runs(self):
        return [self.arithmetic, self.copy]

    def rates(self):
        return {"thread_instructions_per_s": self.arithmetic.instructions_per_s,
                "copy_bytes_per_s": self.copy.bytes_per_s}

    def of(self, case, detector, data):
        nodes = nodes_per_vector(case.create(backend="cpu"), data.host)
        instructions = count(case, 1, nodes).instructions()
        return {"arithmetic": self.arithmetic.instructions_per_s / instructions,
                "memory": self.copy.bytes_per_s / bytes_per_vector(data.setting)}, instructions
