# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run programs of one or several GPUs on host arrays, in overlapping parts."""

from contextlib import suppress
from itertools import zip_longest

import numpy as np

from .. import _core
from .device import address, cupy, pinned_empty
from .program import COUNTERS_BYTES, Variant
from .waiting import abandon, gpu_timeout, wait

# A batch is split into PARTS parts per GPU, so that one part is copied while another is processed.
# The other constants limit the size of a part. Nothing stays on the GPU when a call ends: a GNU
# Radio block must return its output in the same call, or the end of a stream would be lost.
PARTS = 2
LEAST_PART_BYTES = 2**21
LARGEST_PART_BYTES = 2**24
PART_CANDIDATES = 2**30
# Smallest array in pinned memory that is worth a separate copy.
LEAST_PINNED_BYTES = 2**16
# Number of parts in progress per GPU: one on its way to the GPU, one in processing, one on its way
# back.
SLOTS = 3
# Largest number of threads that copy between pageable and pinned memory, and the bytes per thread
# from which on they save time.
COPY_THREADS = 8
COPY_BYTES = 2**18
# Part of an upload that is copied to pinned memory while the previous part travels.
UPLOAD_BYTES = 2**22
_ALIGNMENT = 256


class Pipeline:
    """Runs batches of host arrays on one or several GPUs, in parts.

    The number of candidates in a part is limited for two reasons: nothing can interrupt a part, and
    a GPU that drives a display limits the run time of a kernel.

    Args:
        programs: list of :class:`.program.Program`, one for each GPU.
        candidates: number of candidates evaluated per vector.
        streams: number of parts in progress per GPU, and of parts of a batch if it is large enough;
            None for SLOTS and PARTS.
    """

    def __init__(self, programs, candidates=1, streams=None):
        self._programs = programs
        self._streams, self._parts = streams or SLOTS, streams or PARTS
        self._most = max(1, PART_CANDIDATES // candidates)
        self._slots = None

    def detect(self, call):
        """Run a ``detectors.Call`` on host arrays.

        The parts of the batch go to the GPUs in order. Arrays in pinned memory are read and written
        directly; the call's threads copy the others.

        Returns:
            The number of erased vectors.
        """
        if not call.n:
            return 0
        with self._programs[0].current():    # otherwise CUDA would initialise GPU 0 too
            return self._detect(_Batch(call))

    def _detect(self, batch):
        count = len(self._programs)
        parts = batch.parts(count, self._parts, self._most)
        shares = [parts[len(parts) * i // count:len(parts) * (i + 1) // count]
                  for i in range(count)]
        erased = 0
        try:
            if self._slots is None:
                self._slots = [[_Slot(program) for _ in range(self._streams)]
                               for program in self._programs]
            # An allocation may wait for all kernels, so it comes before the first one.
            size = batch.room(*parts[0])    # no part is larger
            for slots, share in zip(self._slots, shares, strict=True):
                for slot in slots[:len(share)]:
                    slot.make_room(size)
            turns = [*zip_longest(*shares), *[[None] * count] * self._streams]
            for turn, together in enumerate(turns):
                for slots, part in zip(self._slots, together, strict=True):
                    slot = slots[turn % self._streams]
                    erased += slot.finish()
                    if part:
                        slot.send(batch, *part)
        except BaseException as error:    # even KeyboardInterrupt: no result may arrive later
            slots, self._slots = self._slots, None
            abandon([slot for of_gpu in slots or () for slot in of_gpu], error)
            raise
        return erased

    def release(self):
        """Free memory; the next batch allocates it again."""
        for slot in (slot for of_gpu in self._slots or () for slot in of_gpu):
            slot.release()


class _Rows:
    """A host array with one row per vector, or one per matrix for h."""

    def __init__(self, name, array):
        self.name, self.nbytes = name, array.nbytes
        self._of_matrices = name == "h"
        self._row_bytes = array.nbytes // len(array)
        self._address = address(array)
        self._bytes = array.reshape(-1).view(np.uint8)
        self.packed = name.startswith("hard")    # kernels need these without gaps
        self.pinned = not self.packed and _is_pinned(self._address, array.nbytes)

    def size(self, n, matrices):
        """Return the size in bytes of the rows for n vectors and this number of matrices."""
        return (matrices if self._of_matrices else n) * self._row_bytes

    def _span(self, rows, matrices):
        part = matrices if self._of_matrices else rows
        return part.start * self._row_bytes, part.stop * self._row_bytes

    def part(self, *part):
        first, end = self._span(*part)
        return self._bytes[first:end]

    def address_and_size(self, *part):
        first, end = self._span(*part)
        return self._address + first, end - first


class _Batch:
    """The arrays of a call, and their positions within a slot."""

    def __init__(self, call):
        y, h, noise_var, prior, out, self.int8_scale, self.threads, hard, nodes = call
        self.n, self.per_channel = call.n, call.per_channel
        self.common_noise_var = float(noise_var[0]) if noise_var.size == 1 else 0.0
        self.nodes_per_vector = 0 if nodes is None else nodes.shape[1]
        self.variant = Variant.of(call)
        # If copies to the caller's memory were queued behind a kernel that ends too late, they
        # would overwrite what is there by then.
        self.writes_late = gpu_timeout() is not None
        given = {"y": y, "h": h, "noise_var": noise_var if noise_var.size > 1 else None,
                 "prior": prior,
                 **{f"hard{i}": array for i, array in enumerate(() if hard is None else hard)}}
        inputs = [_Rows(*item) for item in given.items() if item[1] is not None]
        outputs = [_Rows(*item) for item in (("nodes", nodes), ("out", out))
                   if item[1] is not None]
        self.staged = [rows for rows in inputs if not rows.pinned]
        self.collected = [rows for rows in outputs if not rows.pinned]
        self.read = [rows for rows in inputs if rows.pinned]
        self.written = [rows for rows in outputs if rows.pinned]
        self._bytes = sum(rows.nbytes for rows in (*inputs, *outputs))
        self._layouts = {}

    def parts(self, gpus, per_gpu, most):
        """Return the parts of the batch as [(rows, matrices)], both slices.

        There is at least one part per GPU if there are enough vectors, and ``per_gpu`` if the batch
        is large; a part has at most ``most`` vectors.
        """
        count = max(gpus, min(per_gpu * gpus, self._bytes // LEAST_PART_BYTES),
                    -(-self._bytes // LARGEST_PART_BYTES), -(-self.n // most))
        return list(_parts(self.n, self.per_channel, -(-self.n // count)))

    def room(self, rows, matrices):
        """Return the size in bytes of a slot for a part."""
        return self.layout(rows.stop - rows.start, matrices.stop - matrices.start)[3]

    def layout(self, n, matrices):
        """Return the layout of a part in a slot: (places, bytes to zero, end of results, size).

        places is {name: first byte}. The slot begins with the inputs that are copied to the GPU
        together, followed by the counters and the results that are copied back together. Arrays
        that are copied directly come last.
        """
        if (n, matrices) not in self._layouts:
            places, size = {}, 0

            def put(name, length, packed=False):
                nonlocal size
                places[name] = size if packed else -(-size // _ALIGNMENT) * _ALIGNMENT
                size = places[name] + length

            for rows in self.staged:
                put(rows.name, rows.size(n, matrices), rows.packed)
            put("counters", COUNTERS_BYTES)
            for rows in self.collected:
                put(rows.name, rows.size(n, matrices))
            back = size
            zeros = places.get("out", back) - places["counters"]
            for rows in (*self.read, *self.written):
                put(rows.name, rows.size(n, matrices))
            self._layouts[n, matrices] = places, zeros, back, size
        return self._layouts[n, matrices]


class _Slot:
    """A stream, with pinned host memory and GPU memory for one part of a batch."""

    def __init__(self, program):
        self._program = program
        with program.current():
            self.stream = cupy().cuda.Stream(non_blocking=True)
        self._size = 0
        self._here = self._there = self._under_way = None

    def send(self, batch, rows, matrices):
        """Queue a part: copy it to the GPU, process it, copy the results back."""
        part, stream = (rows, matrices), self.stream.ptr
        n, count = rows.stop - rows.start, matrices.stop - matrices.start
        places, zeros, back, _ = batch.layout(n, count)
        runtime = cupy().cuda.runtime
        to_gpu, to_host = runtime.memcpyHostToDevice, runtime.memcpyDeviceToHost
        with self._program.current():
            here = address(self._here)
            at = {name: self._there.ptr + place for name, place in places.items()}
            for array in batch.staged:
                place = places[array.name]
                copy(self._here[place:place + array.size(n, count)], array.part(*part),
                     batch.threads)
            if batch.staged:
                runtime.memcpyAsync(self._there.ptr, here, places["counters"], to_gpu, stream)
            for array in batch.read:
                runtime.memcpyAsync(at[array.name], *array.address_and_size(*part), to_gpu, stream)
            runtime.memsetAsync(at["counters"], 0, zeros, stream)
            for array in batch.written:
                if array.name == "nodes":
                    runtime.memsetAsync(at["nodes"], 0, array.size(n, count), stream)
            self._program.launch(
                batch.variant, n, n // count, at["y"], at["h"], at.get("noise_var", 0),
                batch.common_noise_var, at.get("prior", 0), at["out"], batch.int8_scale,
                at.get("hard0", 0), at.get("nodes", 0), batch.nodes_per_vector, at["counters"],
                self.stream)
            runtime.memcpyAsync(here + places["counters"], at["counters"],
                                back - places["counters"], to_host, stream)
            if not batch.writes_late:
                self._write(batch, part, places)
        self._under_way = batch, part, places

    def _write(self, batch, part, places):
        """Queue the copies of results straight to the caller's memory."""
        runtime = cupy().cuda.runtime
        for array in batch.written:
            there, length = array.address_and_size(*part)
            runtime.memcpyAsync(there, self._there.ptr + places[array.name], length,
                                runtime.memcpyDeviceToHost, self.stream.ptr)

    def finish(self):
        """Wait for the part, copy its results to their arrays and return the number of erasures."""
        if self._under_way is None:
            return 0
        (batch, part, places), self._under_way = self._under_way, None
        wait(self.stream)
        if batch.written and batch.writes_late:
            with self._program.current():
                self._write(batch, part, places)
            self.stream.synchronize()    # nothing takes these copies back
        for array in batch.collected:
            destination, place = array.part(*part), places[array.name]
            copy(destination, self._here[place:place + len(destination)], batch.threads)
        return int(self._here[places["counters"]:][:8].view(np.uint64)[0])

    def release(self):
        """Free the slot's memory; no part may be in progress."""
        self._size = 0
        self._here = self._there = None
        with suppress(Exception), self._program.current():    # the GPU may have failed
            cupy().get_default_memory_pool().free_all_blocks(self.stream)
            cupy().get_default_pinned_memory_pool().free_all_blocks()

    def make_room(self, size):
        """Allocate memory of at least this size; no part may be in progress."""
        if size > self._size:
            self._size = 0
            self._here = self._there = None
            # CuPy reuses memory per stream; others may still use theirs.
            with self._program.current(), self.stream:
                self._there = cupy().cuda.alloc(size)
            self._here = pinned_empty(size, np.uint8)
            self._size = size


class Upload:
    """Copies host arrays to the current GPU through its own pinned memory."""

    def __init__(self):
        self._halves = None

    def __call__(self, array, threads=0):
        """Copy an array to the GPU, on the current stream.

        The call may return before the copy is complete. Until then, an array in pinned memory must
        not change.

        Args:
            array: C-contiguous host array.
            threads: number of CPU threads that copy to pinned memory; 0 takes all cores.

        Returns:
            A CuPy array of the same shape and type.
        """
        module = cupy()
        runtime, stream = module.cuda.runtime, module.cuda.get_current_stream()
        there = module.empty(array.shape, array.dtype)
        if not array.size:
            return there
        if _is_pinned(address(array), array.nbytes):
            runtime.memcpyAsync(there.data.ptr, address(array), array.nbytes,
                                runtime.memcpyHostToDevice, stream.ptr)
            return there
        if self._halves is None:
            self._halves = [(pinned_empty(UPLOAD_BYTES, np.uint8),
                             module.cuda.Event(disable_timing=True)) for _ in range(2)]
        source = array.reshape(-1).view(np.uint8)
        for first in range(0, len(source), UPLOAD_BYTES):
            here, sent = self._halves[first // UPLOAD_BYTES % 2]
            part = source[first:first + UPLOAD_BYTES]
            if gpu_timeout() is not None:
                wait(stream)
            sent.synchronize()    # the previous contents have arrived
            copy(here[:len(part)], part, threads)
            runtime.memcpyAsync(there.data.ptr + first, address(here), len(part),
                                runtime.memcpyHostToDevice, stream.ptr)
            sent.record(stream)
        return there


def copy(to, source, threads):
    """Copy bytes, to[...] = source; up to ``threads`` threads share the copy if this saves time."""
    count = min(threads or _core.max_threads(), COPY_THREADS, len(source) // COPY_BYTES)
    if count > 1:
        try:
            _core.copy(to, source, count)
        except _core.ThreadsRefused:
            pass
        else:
            return
    np.copyto(to, source)


def _is_pinned(at, size):
    """Return whether a GPU can access this host memory directly.

    Small arrays return False, because copying them costs little.
    """
    if size < LEAST_PINNED_BYTES:
        return False
    runtime = cupy().cuda.runtime
    return all(runtime.pointerGetAttributes(byte).type == runtime.memoryTypeHost
               for byte in (at, at + size - 1))


def _parts(n, per_channel, most):
    """Yield parts of about ``most`` vectors as (rows, matrices), both slices.

    A part consists of all vectors of one or several matrices, or of some vectors of one matrix.
    """
    if per_channel <= most:
        step = most // per_channel * per_channel
        for first in range(0, n, step):
            rows = slice(first, min(first + step, n))
            yield rows, slice(first // per_channel, rows.stop // per_channel)
        return
    for matrix in range(n // per_channel):
        end = (matrix + 1) * per_channel
        for first in range(matrix * per_channel, end, max(most, 1)):
            yield slice(first, min(first + max(most, 1), end)), slice(matrix, matrix + 1)
