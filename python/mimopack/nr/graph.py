# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A receiver's first pass on a GPU as a CUDA graph, from grids to bits."""

import math

import numpy as np

from ..arrays import Constant, is_device_array
from ..cuda import estimation
from ..cuda.device import address, cupy, current, pinned_empty
from ..cuda.graphs import Recording, Recordings, side_by_side
from ..cuda.transfer import pinned
from .slot import ReceivedSlot
from .tracking import Channels, layer_powers

# Most slots of a batch that is recorded. For more, the GPU needs longer than the host takes to
# queue the work, and a recording takes tens of MB for each slot.
MOST_RECORDED = 32
# Number of recordings kept, for batches of different sizes
KEPT = 8
_EXTERNAL = 1    # cudaEventWaitExternal: the event is recorded outside of the graph


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
        self._recorded, self._seen, self._profile = Recordings(KEPT), set(), None

    def run(self, grid, slots, rv, *settings):
        """Return a list of :class:`ReceivedSlot` with blocks; None if no graph holds for the slots.

        There is no graph before the profile is learned, nor when it has to be learned again, nor if
        ports that share resource elements have different sequences. If the noise of a slot jumps,
        or a value is not finite, the graph's result does not count.

        Args:
            grid: (slots, nr, symbols, subcarriers) complex; complex64 and C-contiguous on the host.
            slots: (slots,) their numbers.
            rv: redundancy version, see :class:`TransportCoder`.
            settings: the detector's, on which the result depends.
        """
        profile = self._tracker.profile
        if profile is None or self._frame_sequences() is None:
            return None
        found = self._replay(grid, self._layout.in_frame(slots), rv, profile, *settings)
        if found is None:
            return None
        (total, noise, powers, *decoded), soft = found
        if not math.isfinite(total.max()) or not self._tracker.accepts(noise):
            return None
        work = [ReceivedSlot(number, own) for number, own in zip(
            slots.tolist(), powers, strict=True)]
        for index, decoder in enumerate(self._decoders):
            packed, *checks = decoded[3 * index:3 * index + 3]
            bits = np.unpackbits(packed).reshape(len(work), -1)
            crc_ok = decoder.coder.checks(*checks)[0].tolist()
            decoder.keep(work, bits, crc_ok, soft[index], 1)
        return work

    def _frame_sequences(self):
        """Return the sequences of the DMRS of a frame's slots as a Constant; None without."""
        if self._sequences is None:
            found = self._tracker.sequences(self._layout.configs[0].carrier.slots_per_frame)
            self._sequences = found if found is None else Constant(found)
        return self._sequences

    def _queue(self, dmrs, grid, slots, rv, await_grid):
        """Queue the pass of slots, whose numbers in the frame are given, without waiting.

        Args:
            dmrs: grids whose symbols with DMRS are there.
            grid, slots, rv: see :meth:`run`.
            await_grid: function that is called before ``grid`` is read.

        Returns:
            Two lists of CuPy arrays: those that the host reads, and those that stay on the GPU.
        """
        band = self._layout.band
        h, error, noise, factors = self._tracker.queue(
            dmrs[..., band], slots, self._frame_sequences().beside(grid))
        await_grid()

        def detect():
            received = estimation.whitened(factors, grid[..., band])
            return self._detect(*self._layout.vectors(Channels(received, h, error, noise, [])))

        (llr, by_subcarrier), powers, total = side_by_side(
            detect, lambda: layer_powers(h) / noise[:, None],
            # Not finite if a value is not, or if its power overflows; a pass without a graph tells.
            lambda: estimation.powers(grid.reshape(-1, grid.shape[-1], 1)))
        read, kept = [total, noise, powers], []
        for decoder in self._decoders:
            bits, *checks, soft = decoder.coder.queue(llr.reshape(len(llr), -1), rv,
                                                      decoder.word.orders[by_subcarrier])
            read += [cupy().packbits(bits), *checks]
            kept.append(soft)
        return read, kept

    def _replay(self, grid, slots, rv, profile, *settings):
        """Return the lists of :meth:`_queue`: NumPy arrays, and copies; None without a graph."""
        if self._recorded.are_off or not 0 < len(grid) <= MOST_RECORDED:
            return None
        if profile is not self._profile:
            self._recorded.clear()
            self._profile = profile
        gpu = grid.device.id if is_device_array(grid) else 0
        key = gpu, len(grid), rv, *settings
        if key not in self._seen:
            self._seen.add(key)
            return None
        with current(gpu):
            recording = self._recorded.get(key, lambda: _Slots(
                self._queue, grid, rv, self._threads,
                self._layout.resources.dmrs_symbols.tolist()))
            return recording and recording.play(grid, slots)


class _Slots:
    """The recording for a number of slots, with the arrays that it reads and writes.

    The channel is estimated from symbols with DMRS, which are copied first, while the grids follow
    on another stream.
    """

    def __init__(self, queue, grid, rv, threads, dmrs_symbols):
        self._threads, self._dmrs_symbols, self._host = threads, dmrs_symbols, None
        self._dmrs, self._grid = (cupy().zeros(grid.shape, np.complex64) for _ in range(2))
        self._slots = cupy().zeros(len(grid), np.int32)
        self._slots_on_host = pinned_empty(len(grid), np.int32)
        self._slots_on_host[:] = 0
        self._grid_stream = cupy().cuda.Stream(non_blocking=True)
        self._grid_ready = cupy().cuda.Event(disable_timing=True)

        def queue_all():
            runtime, stream = cupy().cuda.runtime, cupy().cuda.get_current_stream().ptr
            flag = _EXTERNAL if runtime.streamIsCapturing(stream) else 0
            runtime.memcpyAsync(self._slots.data.ptr, address(self._slots_on_host),
                                self._slots.nbytes, runtime.memcpyHostToDevice, stream)
            read, kept = queue(
                self._dmrs, self._grid, self._slots, rv,
                lambda: runtime.streamWaitEvent(stream, self._grid_ready.ptr, flag))
            if self._host is None:
                self._host = [pinned_empty(array.shape, array.dtype) for array in read]
            for host, array in zip(self._host, read, strict=True):
                runtime.memcpyAsync(address(host), array.data.ptr, array.nbytes,
                                    runtime.memcpyDeviceToHost, stream)
            return kept

        main = cupy().cuda.get_current_stream()
        main.synchronize()    # zeroes the arrays above, before another stream writes to them
        filled = self._fill(grid)
        try:
            # Memory that is kept between calls, such as that of constants, must not be the
            # recording's.
            queue_all()
        finally:
            self._grid_stream.synchronize()
            main.synchronize()
        del filled
        self._recording = Recording(queue_all)
        queue_all()    # detector and decoder drop the recording's arrays
        main.synchronize()

    def _fill(self, grid):
        """Queue the copies of a batch; return what must live until they are done."""
        if is_device_array(grid):
            self._dmrs[...] = self._grid[...] = grid
            self._grid_ready.record()
            return None
        runtime, here = cupy().cuda.runtime, pinned(grid, self._threads)
        to_gpu, stream = runtime.memcpyHostToDevice, cupy().cuda.get_current_stream().ptr
        at, there = address(here), self._dmrs.data.ptr
        pitch, step = grid.strides[1:3]
        for offset in (symbol * step for symbol in self._dmrs_symbols):
            runtime.memcpy2DAsync(there + offset, pitch, at + offset, pitch, step,
                                  len(grid) * grid.shape[1], to_gpu, stream)
        runtime.memcpyAsync(self._grid.data.ptr, at, grid.nbytes, to_gpu, self._grid_stream.ptr)
        self._grid_ready.record(self._grid_stream)
        return here

    def play(self, grid, slots):
        filled = self._fill(grid)
        self._slots_on_host[:] = slots
        self._recording.play()
        arrays = [array.copy() for array in self._recording.result]
        cupy().cuda.get_current_stream().synchronize()
        del filled
        return [host.copy() for host in self._host], arrays
