# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run programs of one or several GPUs on host arrays, in overlapping parts."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from .. import _core
from .device import address, cupy, current, pinned_empty

# A batch is split into PARTS parts per GPU, so that one part is copied while another is processed.
# The other constants limit the size of a part. Nothing stays on the GPU when a call ends: a GNU
# Radio block must return its output in the same call, or the end of a stream would be lost.
PARTS = 2
LEAST_PART_BYTES = 2**21
LARGEST_PART_BYTES = 2**24
# Smallest array in pinned memory that is worth a separate copy.
LEAST_PINNED_BYTES = 2**16
# Number of parts in progress per GPU: one on its way to the GPU, one in processing, one on its way
# back.
SLOTS = 3
# Bytes of a launch's counts, uint64 of 0 to which the kernel adds: erased items, and vectors whose
# search ended by max_nodes.
COUNTS_BYTES = 16
# Largest number of threads that copy between pageable and pinned memory, and the bytes per thread
# from which on they save time.
COPY_THREADS = 8
COPY_BYTES = 2**18
_ALIGNMENT = 256


class HostArray:
    """A host array of a batch, with one row per item, or one per matrix.

    Args:
        name: name of the array in a launch.
        array: C-contiguous.
        per_matrix: whether a row belongs to a matrix, which several items share.
    """

    def __init__(self, name, array, per_matrix=False):
        self.name, self.nbytes = name, array.nbytes
        self._per_matrix = per_matrix
        self._rows = array.reshape(-1).view(np.uint8).reshape(len(array), -1)
        self.pinned = is_pinned(address(array), array.nbytes)

    def part(self, items, matrices):
        """Return the bytes of the rows of a part."""
        return self._rows[matrices if self._per_matrix else items].reshape(-1)


@dataclass
class HostBatch:
    """A batch of n items (vectors or codewords) in host arrays.

    Attributes:
        n: number of items, at least 1.
        inputs, outputs: lists of :class:`HostArray`.
        launch: a function that queues the work for a part. Its arguments are the index of the GPU
            within the pipeline, the slice of items, {name of an array: address on the GPU}, and the
            CuPy stream. The addresses also contain "counts", see COUNTS_BYTES.
        threads: number of CPU threads that copy between pageable and pinned memory; 0 takes all
            cores.
        per_channel: number of items that share a matrix.
    """

    n: int
    inputs: list
    outputs: list
    launch: Callable
    threads: int = 0
    per_channel: int = 1

    def parts(self, gpus, per_gpu, most):
        """Return the parts of the batch as [(items, matrices)], both slices; the first is largest.

        There is at least one part per GPU if there are enough items, and ``per_gpu`` if the batch
        is large; a part has at most ``most`` items.
        """
        size = sum(array.nbytes for array in (*self.inputs, *self.outputs))
        count = max(gpus, min(per_gpu * gpus, size // LEAST_PART_BYTES),
                    -(-size // LARGEST_PART_BYTES), -(-self.n // most))
        return list(_parts(self.n, self.per_channel, -(-self.n // count)))


class _Layout:
    """The places of a batch's arrays in the memory of a slot.

    The memory begins with the inputs that are copied to the GPU together, followed by the counts
    and the results that are copied back together. Arrays that are copied directly come last.

    Args:
        batch: :class:`HostBatch`.
        part: its largest part.

    Attributes:
        places: {name: first byte}.
        back: end of the results that are copied back together.
        size: of the memory, in bytes.
    """

    def __init__(self, batch, part):
        self.places, self.size = {}, 0
        self.staged, self.read = _split(batch.inputs)
        self.collected, self.written = _split(batch.outputs)
        self._add(self.staged, part)
        self._put("counts", COUNTS_BYTES)
        self._add(self.collected, part)
        self.back = self.size
        self._add((*self.read, *self.written), part)

    def _add(self, arrays, part):
        for array in arrays:
            self._put(array.name, len(array.part(*part)))

    def _put(self, name, length):
        self.places[name] = -(-self.size // _ALIGNMENT) * _ALIGNMENT
        self.size = self.places[name] + length


def _split(arrays):
    """Return (those in pageable memory, those in pinned memory)."""
    return ([array for array in arrays if not array.pinned],
            [array for array in arrays if array.pinned])


class HostPipeline:
    """Runs batches of host arrays on one or several GPUs, in parts.

    Args:
        devices: indices of the GPUs.
        most: largest number of items in a part. Nothing can interrupt a part, and a GPU that drives
            a display limits the run time of a kernel.
        streams: number of parts in progress per GPU, and of parts of a batch if it is large enough;
            None for SLOTS and PARTS.
    """

    def __init__(self, devices, most, streams=None):
        self._devices, self._most = devices, most
        self._streams, self._parts = streams or SLOTS, streams or PARTS
        self._slots = []    # of each GPU

    def run(self, batch):
        """Process a batch.

        The parts of the batch go to the GPUs in order. Arrays in pinned memory are read and written
        directly; the batch's threads copy the others.

        Returns:
            (2,) the sums of the counts of all launches, see COUNTS_BYTES.
        """
        with current(self._devices[0]):    # otherwise CUDA would initialise GPU 0 too
            try:
                return self._run(batch)
            except BaseException:    # even KeyboardInterrupt: no result may arrive later
                for slot in self._all_slots():
                    with suppress(Exception):    # every call fails on a GPU that has failed
                        slot.stream.synchronize()
                self._slots = []
                raise

    def _run(self, batch):
        count = len(self._devices)
        parts = batch.parts(count, self._parts, self._most)
        shares = [parts[len(parts) * i // count:len(parts) * (i + 1) // count]
                  for i in range(count)]
        layout = _Layout(batch, parts[0])
        if not self._slots:
            self._slots = [[_Slot(device) for _ in range(self._streams)]
                           for device in self._devices]
        # An allocation may wait for all kernels, so it comes before the first one.
        for slots, share in zip(self._slots, shares, strict=True):
            for slot in slots[:len(share)]:
                slot.make_room(layout.size)
        counts = np.zeros(COUNTS_BYTES // 8, np.uint64)
        turns = [*zip_longest(*shares), *[[None] * count] * self._streams]
        for turn, together in enumerate(turns):
            for gpu, part in enumerate(together):
                slot = self._slots[gpu][turn % self._streams]
                counts += slot.finish()
                if part:
                    slot.send(batch, layout, gpu, part)
        return counts

    def release(self):
        """Free memory; the next batch allocates it again."""
        for slot in self._all_slots():
            slot.release()

    def _all_slots(self):
        return [slot for of_gpu in self._slots for slot in of_gpu]


class _Slot:
    """A stream, with pinned host memory and GPU memory for one part of a batch."""

    def __init__(self, device):
        self._device = device
        with current(device):
            self.stream = cupy().cuda.Stream(non_blocking=True)
        self._here = self._there = self._part = None

    def send(self, batch, layout, gpu, part):
        """Queue a part: copy it to the GPU, process it, copy the results back."""
        runtime, stream = cupy().cuda.runtime, self.stream.ptr
        to_gpu, to_host = runtime.memcpyHostToDevice, runtime.memcpyDeviceToHost
        here, first = address(self._here), layout.places["counts"]
        with current(self._device):
            at = {name: self._there.ptr + place for name, place in layout.places.items()}
            for array in layout.staged:
                copy(self._place(layout, array, part), array.part(*part), batch.threads)
            if layout.staged:
                runtime.memcpyAsync(self._there.ptr, here, first, to_gpu, stream)
            for array in layout.read:
                rows = array.part(*part)
                runtime.memcpyAsync(at[array.name], address(rows), len(rows), to_gpu, stream)
            runtime.memsetAsync(at["counts"], 0, COUNTS_BYTES, stream)
            batch.launch(gpu, part[0], at, self.stream)
            runtime.memcpyAsync(here + first, at["counts"], layout.back - first, to_host, stream)
            for array in layout.written:
                rows = array.part(*part)
                runtime.memcpyAsync(address(rows), at[array.name], len(rows), to_host, stream)
        self._part = batch, layout, part

    def _place(self, layout, array, part):
        """Return the bytes of an array's part in the slot's host memory."""
        place = layout.places[array.name]
        return self._here[place:place + len(array.part(*part))]

    def finish(self):
        """Wait for the part, copy its results to their arrays and return its counts."""
        if self._part is None:
            return np.uint64(0)
        (batch, layout, part), self._part = self._part, None
        self.stream.synchronize()
        for array in layout.collected:
            copy(array.part(*part), self._place(layout, array, part), batch.threads)
        return self._here[layout.places["counts"]:][:COUNTS_BYTES].view(np.uint64)

    def release(self):
        """Free the slot's memory; no part may be in progress."""
        self._here = self._there = None
        with suppress(Exception), current(self._device):    # the GPU may have failed
            cupy().get_default_memory_pool().free_all_blocks(self.stream)
            cupy().get_default_pinned_memory_pool().free_all_blocks()

    def make_room(self, size):
        """Allocate memory of at least this size; no part may be in progress."""
        if self._here is None or size > len(self._here):
            self._here = self._there = None
            # CuPy reuses memory per stream; others may still use theirs.
            with current(self._device), self.stream:
                self._there = cupy().cuda.alloc(size)
            self._here = pinned_empty(size, np.uint8)


def pinned(array, threads=0):
    """Return a C-contiguous host array if it is pinned, otherwise a copy in pinned memory.

    Small arrays are always copied.

    Args:
        threads: number of CPU threads that copy; 0 takes all cores.
    """
    if not array.size or is_pinned(address(array), array.nbytes):
        return array
    here = pinned_empty(array.shape, array.dtype)
    copy(here.reshape(-1).view(np.uint8), array.reshape(-1).view(np.uint8), threads)
    return here


def upload(array, threads=0):
    """Copy a host array to the current GPU, on the current stream.

    Args:
        array, threads: see :func:`pinned`.

    Returns:
        (CuPy array, pinned memory). The caller keeps the pinned memory until the stream has read
        it.
    """
    here, there = pinned(array, threads), cupy().empty(array.shape, array.dtype)
    if array.size:
        runtime = cupy().cuda.runtime
        runtime.memcpyAsync(there.data.ptr, address(here), array.nbytes,
                            runtime.memcpyHostToDevice, cupy().cuda.get_current_stream().ptr)
    return there, here


def copy(to, source, threads):
    """Copy bytes, to[...] = source; up to ``threads`` threads share the copy if this saves time."""
    count = min(threads or _core.max_threads(), COPY_THREADS, len(source) // COPY_BYTES)
    if count > 1:
        _core.copy(to, source, count)
    else:
        np.copyto(to, source)


def is_pinned(at, size):
    """Return whether a GPU can access this host memory directly.

    Small arrays return False, because copying them costs little.
    """
    if size < LEAST_PINNED_BYTES:
        return False
    runtime = cupy().cuda.runtime
    return all(runtime.pointerGetAttributes(byte).type == runtime.memoryTypeHost
               for byte in (at, at + size - 1))


def _parts(n, per_channel, most):
    """Yield parts of about ``most`` items as (items, matrices), both slices.

    A part consists of all items of one or several matrices, or of some items of one matrix.
    """
    period = max(most // per_channel, 1) * per_channel
    for begin in range(0, n, period):
        for first in range(begin, min(begin + period, n), most):
            end = min(first + most, begin + period, n)
            yield slice(first, end), slice(first // per_channel, -(-end // per_channel))
