# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A receiver's first pass on a GPU as a CUDA graph, from grids to bits."""

import warnings

import numpy as np

from ..arrays import Constant, is_device_array
from ..backends import is_gpu_error
from ..cuda import estimation
from ..cuda.device import Recording, address, cupy, current, pinned_empty
from ..cuda.transfer import upload
from .slot import ReceivedSlot
from .tracking import Channels, layer_powers

# Most slots of a batch that is recorded. For more, the GPU needs longer than the host takes to
# queue the work, and a recording takes tens of MB for each slot.
MOST_RECORDED = 32
# Number of recordings kept, for batches of different sizes
KEPT = 8


class FirstPass:
    """The first pass of a receiver on a GPU, replayed as a CUDA graph for each number of slots.

    A number of slots is recorded when it comes for the second time, and again with each new
    profile.

    Args:
        layout: :class:`SlotLayout`.
        tracker: :class:`Tracker`.
        decoders: list of the :class:`BlockDecoder` of each codeword.
        detect: function of (y, h, noise power) that returns LLRs, and whether they are in the order
            of subcarriers.
        threads: number of CPU threads that copy grids from pageable memory.
    """

    def __init__(self, layout, tracker, decoders, detect, threads):
        self._layout, self._tracker, self._decoders = layout, tracker, decoders
        self._detect, self._threads, self._sequences = detect, threads, None
        self._recorded, self._seen, self._profile, self._refused = {}, set(), None, False

    def run(self, grid, slots, rv, *settings):
        """Return a list of :class:`ReceivedSlot` with blocks; None if no graph holds for the slots.

        There is no graph before the profile is learned, nor when it has to be learned again, nor if
        ports that share resource elements have different sequences. If the noise of a slot jumps,
        or a value is not finite, the graph's result does not count.

        Args:
            grid: (slots, nr, symbols, subcarriers) complex, on the host or on a GPU.
            slots: (slots,) their numbers.
            rv: redundancy version, see :class:`TransportCoder`.
            settings: the detector's, on which the result depends.
        """
        profile = self._tracker.profile
        if profile is None or self._frame_sequences() is None:
            return None
        if not is_device_array(grid):
            grid = np.ascontiguousarray(grid, np.complex64)
        found = self._replay(grid, self._layout.in_frame(slots), rv, profile, *settings)
        if found is None:
            return None
        (total, noise, powers, *decoded), soft = found
        if not np.isfinite(total).all() or not self._tracker.accepts(noise):
            return None
        work = [ReceivedSlot(number, own) for number, own in zip(
            slots.tolist(), powers, strict=True)]
        for index, decoder in enumerate(self._decoders):
            bits, *checks = decoded[3 * index:3 * index + 3]
            crc_ok = decoder.coder.checks(*checks)[0].tolist()
            decoder.keep(work, bits, crc_ok, soft[index], 1)
        return work

    def _frame_sequences(self):
        """Return the sequences of the DMRS of a frame's slots as a Constant; None without."""
        if self._sequences is None:
            found = self._tracker.sequences(self._layout.configs[0].carrier.slots_per_frame)
            self._sequences = found if found is None else Constant(found)
        return self._sequences

    def _queue(self, grid, slots, rv):
        """Queue the pass of slots, whose numbers in the frame are given, without waiting.

        Returns:
            Two lists of CuPy arrays: those that the host reads, and those that stay on the GPU.
        """
        h, error, noise, received = self._tracker.queue(
            grid[..., self._layout.band], slots, self._frame_sequences().beside(grid))
        llr, by_subcarrier = self._detect(*self._layout.vectors(
            Channels(received, h, error, noise, [])))
        total = estimation.powers(grid.reshape(-1, grid.shape[-1], 1))    # finite if all values are
        read, kept = [total, noise, layer_powers(h) / noise[:, None]], []
        for decoder in self._decoders:
            *decoded, soft = decoder.coder.queue(llr.reshape(len(llr), -1), rv,
                                                 decoder.word.orders[by_subcarrier])
            read += decoded
            kept.append(soft)
        return read, kept

    def _replay(self, grid, slots, rv, profile, *settings):
        """Return the lists of :meth:`_queue`: NumPy arrays, and copies; None without a graph."""
        if self._refused or not 0 < len(grid) <= MOST_RECORDED:
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
