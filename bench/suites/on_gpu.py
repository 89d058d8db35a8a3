# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time runs on a GPU, with CUDA events around many calls in a row.

A round is queued as a whole and waited for once: the time of a call in Python does not count if it
is shorter than the call on the GPU. The module needs CuPy only when a run is made.
"""

from functools import cached_property

import numpy as np
from gnuradio.mimopack.apps.bench.detector import DetectorRun
from gnuradio.mimopack.apps.bench.measuring import Run
from gnuradio.mimopack.cuda.device import cupy, pinned_empty

from .failures import Fragile
from .sweeps import CallRun

PILOT_VECTORS = 2**14    # fewer would leave multiprocessors idle
LONG_SECONDS = 0.1       # duration of a long call
ROOMS = {"pinned": pinned_empty, "ordinary": np.empty}


def speed(case, n, seconds):
    return {"seconds": seconds, "vectors": n, "vectors_per_s": n / seconds,
            "mbit_per_s": n / seconds * case.setting.bits_per_vector / 1e6}


class QueuedRun(Run):
    """Base class of runs whose ``queue(n)`` starts n or ``repeats`` * n units without waiting."""

    device, stream, repeats = 0, None, 1

    def time(self, n, calls=1):
        cuda = cupy().cuda
        with cuda.Device(self.device), self.stream or cuda.get_current_stream(self.device):
            start, end = cuda.Event(), cuda.Event()
            start.record()
            for _ in range(calls):
                self.queue(n)
            end.record()
            end.synchronize()
            return 1e-3 * cuda.get_elapsed_time(start, end) / (calls * self.repeats)

    def round(self):
        self.seconds.append(self.time(self.units, max(1, self.calls // self.repeats)))


class HostData:
    """A ``Data`` repeated up to a number of vectors, in arrays from ``room(shape, dtype)``."""

    def __init__(self, host, vectors, room=np.empty, llr_type=np.float32):
        self.host, self.setting, self.bits = host, host.setting, host.bits
        self._copies = max(1, vectors // host.vectors)
        self._make_room, self._llr_type = room, llr_type
        self.vectors = self._copies * host.vectors

    def _room(self, shape, dtype):
        return self._make_room(shape, dtype)

    def _repeated(self, array):
        room = self._room((self._copies, *array.shape), array.dtype)
        room[...] = array
        return room.reshape(-1, *array.shape[1:])

    @cached_property
    def y(self):
        return self._repeated(self.host.y)

    @cached_property
    def h(self):
        return self._repeated(self.host.h)

    @cached_property
    def llr(self):
        """Output array for LLRs, written once so that its pages are in memory."""
        return self._zeros((self.vectors, self.setting.bits_per_vector), self._llr_type)

    def _zeros(self, shape, dtype):
        room = self._room(shape, dtype)
        room[...] = 0
        return room


class DeviceData(HostData):
    """A ``Data`` repeated in GPU arrays."""

    def __init__(self, host, vectors, device=0):
        super().__init__(host, vectors)
        self.device = device

    def _room(self, shape, dtype):
        with cupy().cuda.Device(self.device):
            return cupy().empty(shape, dtype)

    def _zeros(self, shape, dtype):
        with cupy().cuda.Device(self.device):
            return super()._zeros(shape, dtype)

    def _repeated(self, array):
        with cupy().cuda.Device(self.device):
            return super()._repeated(cupy().asarray(array))


class DeviceStore:
    """Keep one ``DeviceData`` for each setting."""

    def __init__(self, store, vectors):
        self._store, self._vectors, self._data = store, vectors, {}

    def get(self, setting):
        if setting not in self._data:
            self._data[setting] = DeviceData(self._store.get(setting), self._vectors)
        return self._data[setting]


class DeviceRun(Fragile, QueuedRun, DetectorRun):
    """Time a detector on GPU arrays."""

    def __init__(self, detector, data):
        super().__init__(detector, data)
        self.device = data.device
        self.error_vectors = data.host.vectors
        # A call needs whole channel matrices.
        self.step = self.period
        self.most = data.vectors
        self.least = min(self.error_vectors, PILOT_VECTORS - PILOT_VECTORS % self.period)

    def plan(self, seconds):
        super().plan(seconds)
        # A launch takes as long as its longest search, whatever the number of vectors.
        elapsed = self.time(self.units)
        while self.units < self.most and elapsed < LONG_SECONDS:
            more = min(8 * self.units, self.most)
            before, elapsed = elapsed, self.time(more)
            if elapsed > more / self.units / 2 * before:
                break
            self.units, self.calls = more, max(1, int(seconds / elapsed))

    def queue(self, n):
        self._detect(n - n % self.period)

    def _decide(self, n):
        return super()._decide(n).get()


class GraphRun(DeviceRun):
    """Time calls with all vectors, captured in a CUDA graph.

    This gives the time of the kernels alone if a call takes longer in Python than on the GPU.
    """

    repeats, first_calls = 100, 3

    def __init__(self, detector, data):
        super().__init__(detector, data)
        self.least = self.most = data.vectors
        self.stream, self._graph = cupy().cuda.Stream(non_blocking=True), None
        self._pool = cupy().cuda.MemoryPool()    # the graph's calls keep using its memory

    def queue(self, n):
        if self._graph is None:
            with cupy().cuda.using_allocator(self._pool.malloc):
                # compile, and fill the pool with the memory of the calls
                self._queue_calls(self.first_calls, n)
                self.stream.synchronize()
                self.stream.begin_capture()
                self._queue_calls(self.repeats, n)
                self._graph = self.stream.end_capture()
        self._graph.launch(self.stream)

    def _queue_calls(self, count, n):
        for _ in range(count):
            super().queue(n)


class ChannelsRun(GraphRun):
    """Time a call for each channel matrix, on streams that take turns, in a CUDA graph."""

    def __init__(self, detector, data, streams):
        super().__init__(detector, data)
        self.least = self.most = self.period
        self.repeats, self.first_calls = data.host.vectors // self.period, 3 * streams
        self._streams = [cupy().cuda.Stream(non_blocking=True) for _ in range(streams)]

    def plan(self, seconds):
        """Make the graph; a round launches it once, which may take seconds."""
        self.units, self.calls, self.seconds = self.period, self.repeats, []
        self._attempt(self.time, self.units)

    def _queue_calls(self, count, n):
        y, h, llr = self.data.y, self.data.h, self.data.llr    # made before the streams begin
        begin = self.stream.record()
        for stream in self._streams:
            stream.wait_event(begin)
        for i in range(count):
            channel = i % self.repeats
            of_channel = slice(channel * n, (channel + 1) * n)
            with self._streams[i % len(self._streams)]:
                self.detector.detect(y[of_channel], h[channel:channel + 1],
                                     self.data.setting.noise_var, out=llr[of_channel])
        for stream in self._streams:
            self.stream.wait_event(stream.record())


class HostRun(Fragile, CallRun):
    """Time calls of a given size on host arrays, one by one."""


class WaitingRun(HostRun):
    """Time calls of a given size on GPU arrays; each call waits for its end."""

    def _detect(self, n):
        llr = super()._detect(n)
        _ = self.detector.erasures    # waits for the end of the call
        return llr
