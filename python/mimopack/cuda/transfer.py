# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run programs of one or several GPUs on host arrays, in overlapping parts."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
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
# Bytes of a launch's counters: erased items, and chunks of vectors that threads have taken.
COUNTERS_BYTES = 16
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
        packed: whether the array follows its predecessor on the GPU without a gap.
    """

    def __init__(self, name, array, per_matrix=False, packed=False):
        self.name, self.nbytes, self.packed = name, array.nbytes, packed
        self._per_matrix = per_matrix
        self._row_bytes = array.nbytes // len(array)
        self._bytes = array.reshape(-1).view(np.uint8)
        self._address = address(array)
        self.pinned = not packed and is_pinned(self._address, array.nbytes)

    def size(self, items, matrices):
        """Return the size in bytes of the rows for a number of items and of matrices."""
        return (matrices if self._per_matrix else items) * self._row_bytes

    def _span(self, items, matrices):
        rows = matrices if self._per_matrix else items
        return rows.start * self._row_bytes, rows.stop * self._row_bytes

    def rows(self, *part):
        """Return the bytes of the rows of a part."""
        first, end = self._span(*part)
        return self._bytes[first:end]

    def address_and_size(self, *part):
        first, end = self._span(*part)
        return self._address + first, end - first


@dataclass
class HostBatch:
    """A batch of n items (vectors or codewords) in host arrays.

    Attributes:
        n: number of items, at least 1.
        inputs, outputs: lists of :class:`HostArray`.
        launch: a function that queues the work for a part. Its arguments are the index of the GPU
            within the pipeline, the slice of items, {name of an array: address on the GPU}, and the
            CuPy stream. The addresses also contain "counters": COUNTERS_BYTES bytes of zeros; the
            kernel writes the number of erased items to the first 8.
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
    _layouts: dict = field(default_factory=dict)

    def __post_init__(self):
        self.staged = [array for array in self.inputs if not array.pinned]
        self.collected = [array for array in self.outputs if not array.pinned]
        self.read = [array for array in self.inputs if array.pinned]
        self.written = [array for array in self.outputs if array.pinned]

    def parts(self, gpus, per_gpu, most):
        """Return the parts of the batch as [(items, matrices)], both slices.

        There is at least one part per GPU if there are enough items, and ``per_gpu`` if the batch
        is large; a part has at most ``most`` items.
        """
        size = sum(array.nbytes for array in (*self.inputs, *self.outputs))
        count = max(gpus, min(per_gpu * gpus, size // LEAST_PART_BYTES),
                    -(-size // LARGEST_PART_BYTES), -(-self.n // most))
        return list(_parts(self.n, self.per_channel, -(-self.n // count)))

    def layout(self, items, matrices):
        """Return the layout of a part in a slot: (places, end of results, size).

        places is {name: first byte}. The slot begins with the inputs that are copied to the GPU
        together, followed by the counters and the results that are copied back together. Arrays
        that are copied directly come last.
        """
        sizes = items.stop - items.start, matrices.stop - matrices.start
        if sizes not in self._layouts:
            places, size = {}, 0

            def put(name, length, packed=False):
                nonlocal size
                places[name] = size if packed else -(-size // _ALIGNMENT) * _ALIGNMENT
                size = places[name] + length

            for array in self.staged:
                put(array.name, array.size(*sizes), array.packed)
            put("counters", COUNTERS_BYTES)
            for array in self.collected:
                put(array.name, array.size(*sizes))
            back = size
            for array in (*self.read, *self.written):
                put(array.name, array.size(*sizes))
            self._layouts[sizes] = places, back, size
        return self._layouts[sizes]


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
        self._slots = None

    def run(self, batch):
        """Process a batch.

        The parts of the batch go to the GPUs in order. Arrays in pinned memory are read and written
        directly; the batch's threads copy the others.

        Returns:
            The number of erased items.
        """
        with current(self._devices[0]):    # otherwise CUDA would initialise GPU 0 too
            return self._run(batch)

    def _run(self, batch):
        count = len(self._devices)
        parts = batch.parts(count, self._parts, self._most)
        shares = [parts[len(parts) * i // count:len(parts) * (i + 1) // count]
                  for i in range(count)]
        erased = 0
        try:
            if self._slots is None:
                self._slots = [[_Slot(device) for _ in range(self._streams)]
                               for device in self._devices]
            # An allocation may wait for all kernels, so it comes before the first one.
            size = batch.layout(*parts[0])[2]    # no part is larger
            for slots, share in zip(self._slots, shares, strict=True):
                for slot in slots[:len(share)]:
                    slot.make_room(size)
            turns = [*zip_longest(*shares), *[[None] * count] * self._streams]
            for turn, together in enumerate(turns):
                for gpu, part in enumerate(together):
                    slot = self._slots[gpu][turn % self._streams]
                    erased += slot.finish()
                    if part:
                        slot.send(batch, gpu, part)
        except BaseException:    # even KeyboardInterrupt: no result may arrive later
            slots, self._slots = self._slots, None
            for slot in (slot for of_gpu in slots or () for slot in of_gpu):
                with suppress(Exception):    # every call fails on a GPU that has failed
                    slot.stream.synchronize()
            raise
        return erased

    def release(self):
        """Free memory; the next batch allocates it again."""
        for slot in (slot for of_gpu in self._slots or () for slot in of_gpu):
            slot.release()


class _Slot:
    """A stream, with pinned host memory and GPU memory for one part of a batch."""

    def __init__(self, device):
        self._device = device
        with current(device):
            self.stream = cupy().cuda.Stream(non_blocking=True)
        self._here = self._there = self._part = None

    def send(self, batch, gpu, part):
        """Queue a part: copy it to the GPU, process it, copy the results back."""
        runtime, stream = cupy().cuda.runtime, self.stream.ptr
        to_gpu, to_host = runtime.memcpyHostToDevice, runtime.memcpyDeviceToHost
        places, back, _ = batch.layout(*part)
        with current(self._device):
            here = address(self._here)
            at = {name: self._there.ptr + place for name, place in places.items()}
            for array in batch.staged:
                rows, place = array.rows(*part), places[array.name]
                copy(self._here[place:place + len(rows)], rows, batch.threads)
            if batch.staged:
                runtime.memcpyAsync(self._there.ptr, here, places["counters"], to_gpu, stream)
            for array in batch.read:
                runtime.memcpyAsync(at[array.name], *array.address_and_size(*part), to_gpu, stream)
            runtime.memsetAsync(at["counters"], 0, COUNTERS_BYTES, stream)
            batch.launch(gpu, part[0], at, self.stream)
            runtime.memcpyAsync(here + places["counters"], at["counters"],
                                back - places["counters"], to_host, stream)
            for array in batch.written:
                there, length = array.address_and_size(*part)
                runtime.memcpyAsync(there, at[array.name], length, to_host, stream)
        self._part = batch, part, places

    def finish(self):
        """Wait for the part, copy its results to their arrays and return the number of erasures."""
        if self._part is None:
            return 0
        (batch, part, places), self._part = self._part, None
        self.stream.synchronize()
        for array in batch.collected:
            rows, place = array.rows(*part), places[array.name]
            copy(rows, self._here[place:place + len(rows)], batch.threads)
        return int(self._here[places["counters"]:][:8].view(np.uint64)[0])

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


def upload(array, threads=0):
    """Copy a host array to the current GPU, on the current stream.

    Args:
        array: C-contiguous host array.
        threads: number of CPU threads that copy to pinned memory; 0 takes all cores.

    Returns:
        (the CuPy array, pinned memory). The caller keeps the pinned memory until the stream has
        read it.
    """
    module, here = cupy(), array
    if array.size and not is_pinned(address(array), array.nbytes):
        here = pinned_empty(array.shape, array.dtype)
        copy(here.reshape(-1).view(np.uint8), array.reshape(-1).view(np.uint8), threads)
    there = module.empty(array.shape, array.dtype)
    if array.size:
        module.cuda.runtime.memcpyAsync(
            there.data.ptr, address(here), array.nbytes,
            module.cuda.runtime.memcpyHostToDevice, module.cuda.get_current_stream().ptr)
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
    if per_channel <= most:
        step = most // per_channel * per_channel
        for first in range(0, n, step):
            items = slice(first, min(first + step, n))
            yield items, slice(first // per_channel, items.stop // per_channel)
        return
    for matrix in range(n // per_channel):
        end = (matrix + 1) * per_channel
        for first in range(matrix * per_channel, end, most):
            yield slice(first, min(first + most, end)), slice(matrix, matrix + 1)
