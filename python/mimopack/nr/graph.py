# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A receiver's first pass on a GPU as a CUDA graph, from grids to bits."""

import warnings

import numpy as np

from ..arrays import is_device_array
from ..backends import is_gpu_error
from ..cuda.device import Recording, address, cupy, current, pinned_empty
from ..cuda.transfer import upload

# Most slots of a batch that is recorded. For more, the GPU needs longer than the host takes to
# queue the work, and a recording takes tens of MB for each slot.
MOST_SLOTS = 32
# Number of recordings kept, for batches of different sizes
KEPT = 8


class Graphs:
    """CUDA graphs that replay a receiver's first pass, one for each number of slots.

    A number of slots is recorded when it comes for the second time, and again with each new
    ``profile``.

    Args:
        queue: function of (grids (slots, nr, symbols, subcarriers), their numbers in the frame
            (slots,) int32, rv), the first two on the GPU. It queues the pass without waiting, and
            returns two lists of CuPy arrays: those that the host reads, and those that stay on the
            GPU.
        threads: number of CPU threads that copy grids from pageable memory.
    """

    def __init__(self, queue, threads=0):
        self._queue, self._threads = queue, threads
        self._recorded, self._seen, self._profile, self._refused = {}, set(), None, False

    def run(self, grid, slots, rv, profile, *settings):
        """Replay the pass for slots.

        Args:
            grid: (slots, nr, symbols, subcarriers) complex64, on the host or on a GPU.
            slots: (slots,) their numbers in the frame.
            rv: see ``queue``.
            profile: the profile that the pass reads.
            settings: all else on which the result depends.

        Returns:
            The two lists: NumPy arrays, and copies on the GPU. None if there is no recording.
        """
        if self._refused or not 0 < len(grid) <= MOST_SLOTS:
            return None
        if profile is not self._profile:
            self._recorded, self._profile = {}, profile
        gpu = grid.device.id if is_device_array(grid) else 0
        key = gpu, len(grid), rv, *settings
        if key not in self._seen:
            self._seen.add(key)
            return None
        with current(gpu):
            recording = self._recorded.pop(key, None)
            try:
                if recording is None:
                    recording = _Slots(self._queue, grid, rv, self._threads)
            except Exception as error:    # if the GPU has failed, the next call raises again
                # CuPy refuses to record some work, such as that of cuBLAS.
                if not is_gpu_error(error) and not isinstance(error, NotImplementedError):
                    raise
                self._refused = True
                warnings.warn(f"CUDA graphs are off because recording failed: {error!r}",
                              RuntimeWarning, stacklevel=4)
                return None
            while len(self._recorded) >= KEPT:
                self._recorded.pop(next(iter(self._recorded)))
            self._recorded[key] = recording    # the most recently used one is deleted last
            return recording.play(grid, slots)


class _Slots:
    """The recording for a number of slots, with the arrays that it reads and writes."""

    def __init__(self, queue, grid, rv, threads):
        self._threads, self._host = threads, None
        self._grid = cupy().zeros(grid.shape, np.complex64)
        self._slots = cupy().zeros(len(grid), np.int32)
        self._fill(grid, np.zeros(len(grid)))
        # Memory that is kept between calls, such as that of constants, must not be the recording's.
        queue(self._grid, self._slots, rv)
        cupy().cuda.get_current_stream().synchronize()

        def whole():
            read, kept = queue(self._grid, self._slots, rv)
            if self._host is None:
                self._host = [pinned_empty(array.shape, array.dtype) for array in read]
            runtime, stream = cupy().cuda.runtime, cupy().cuda.get_current_stream().ptr
            for host, array in zip(self._host, read, strict=True):
                runtime.memcpyAsync(address(host), array.data.ptr, array.nbytes,
                                    runtime.memcpyDeviceToHost, stream)
            return kept

        self._recording = Recording(whole)
        queue(self._grid, self._slots, rv)    # detector and decoder drop the recording's arrays

    def _fill(self, grid, slots):
        """Queue the copies of a batch; return what must live until they are done."""
        kept = upload(slots.astype(np.int32), 1, self._slots)
        if is_device_array(grid):
            self._grid[...] = grid
            return kept
        return kept, upload(grid, self._threads, self._grid)

    def play(self, grid, slots):
        kept = self._fill(grid, slots)
        self._recording.play()
        arrays = [array.copy() for array in self._recording.result]
        cupy().cuda.get_current_stream().synchronize()
        del kept
        return [host.copy() for host in self._host], arrays
