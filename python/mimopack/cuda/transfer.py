# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays of the host through the programs of one or several GPUs, in parts under way together."""

from contextlib import suppress
from itertools import zip_longest

import numpy as np

from .. import _core
from .device import address, cupy, pinned_empty
from .program import COUNTERS_BYTES, Variant

# A batch travels in so many parts for each GPU, so that a part is copied while another is worked
# on, but in none smaller or larger than this. All of it is back when a call ends: a block has to
# give what it takes in the same call, or the end of a stream would be lost.
PARTS = 2
LEAST_PART_BYTES = 2**21
LARGEST_PART_BYTES = 2**24
PART_CANDIDATES = 2**30
# Arrays in pinned memory that are worth a copy of their own.
LEAST_PINNED_BYTES = 2**16
# Parts that a GPU has under way: one on its way there, one worked on, one on its way back.
SLOTS = 3
# Threads that copy between pageable and pinned memory, and how much for each it takes to pay.
COPY_THREADS = 8
COPY_BYTES = 2**18
# Of an upload, what is copied to pinned memory while as much travels.
UPLOAD_BYTES = 2**22
_ALIGNMENT = 256

# Memory of GPUs that failed for good: to free it would fail as well, wherever the last reference
# goes.
_lost = []


class Pipeline:
    """What takes a batch of the host through programs, each on another GPU, in parts of so many
    candidates at most: nothing ends a part, and a GPU that drives a display may take only so long
    for one."""

    def __init__(self, programs, candidates=1):
        self._programs = programs
        self._most = max(1, PART_CANDIDATES // candidates)
        self._slots = None

    def detect(self, call):
        """Run a ``detectors.Call`` on arrays of the host; its threads may copy. Parts of the batch
        go to the GPUs in order; arrays in pinned memory are read and written where they are.

        Returns:
            How many vectors were erased.
        """
        if not call.n:
            return 0
        with self._programs[0].current():    # or GPU 0 would be touched, whichever was asked for
            return self._detect(_Batch(call))

    def _detect(self, batch):
        count = len(self._programs)
        parts = batch.parts(count, self._most)
        shares = [parts[len(parts) * i // count:len(parts) * (i + 1) // count]
                  for i in range(count)]
        erased = 0
        try:
            if self._slots is None:
                self._slots = [[_Slot(program) for _ in range(SLOTS)]
                               for program in self._programs]
            turns = [*zip_longest(*shares), *[[None] * count] * SLOTS]
            for turn, together in enumerate(turns):
                for slots, part in zip(self._slots, together, strict=True):
                    slot = slots[turn % SLOTS]
                    erased += slot.finish()
                    if part:
                        slot.send(batch, *part)
        except BaseException:    # KeyboardInterrupt too: nothing may arrive later
            self._abandon()
            raise
        return erased

    def release(self):
        """Gives memory back; the next batch takes it anew."""
        for slot in (slot for of_gpu in self._slots or () for slot in of_gpu):
            slot.release()

    def _abandon(self):
        """Waits for what is under way, and forgets it."""
        slots, self._slots = self._slots, None
        for slot in (slot for of_gpu in slots or () for slot in of_gpu):
            try:
                slot.stream.synchronize()
            except Exception:    # a GPU that failed does nothing any more
                _lost.append(slot)


class _Rows:
    """An array of the host, with a row for each vector, or (h) for each matrix."""

    def __init__(self, name, array):
        self.name, self.nbytes = name, array.nbytes
        self._of_matrices = name == "h"
        self._row_bytes = array.nbytes // len(array)
        self._address = address(array)
        self._bytes = array.reshape(-1).view(np.uint8)
        self.packed = name.startswith("hard")    # a kernel wants these without gaps
        self.pinned = not self.packed and _is_pinned(self._address, array.nbytes)

    def size(self, n, matrices):
        """The bytes of so many."""
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
    """A call's arrays, and where a part of them lies in a slot."""

    def __init__(self, call):
        y, h, noise_var, prior, out, self.int8_scale, self.threads, hard, nodes = call
        self.n, self.per_channel = call.n, call.per_channel
        self.common_noise_var = float(noise_var[0]) if noise_var.size == 1 else 0.0
        self.nodes_per_vector = 0 if nodes is None else nodes.shape[1]
        self.variant = Variant.of(call)
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

    def parts(self, gpus, most):
        """[(rows, matrices)], slices, at least one for each GPU where there are so many vectors;
        most: vectors of one."""
        count = max(gpus, min(PARTS * gpus, self._bytes // LEAST_PART_BYTES),
                    -(-self._bytes // LARGEST_PART_BYTES), -(-self.n // most))
        return list(_parts(self.n, self.per_channel, -(-self.n // count)))

    def layout(self, n, matrices):
        """({name: first byte}, end of what is copied back together, end of all) of a part: first
        what is copied there together, then counters, then results."""
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
    """A stream, and memory for a part of a batch here, pinned, and on the GPU."""

    def __init__(self, program):
        self._program = program
        with program.current():
            self.stream = cupy().cuda.Stream(non_blocking=True)
        self._size = 0
        self._here = self._there = self._under_way = None

    def send(self, batch, rows, matrices):
        """Queues a part: it is copied there, worked on, and copied back."""
        part, stream = (rows, matrices), self.stream.ptr
        n, count = rows.stop - rows.start, matrices.stop - matrices.start
        places, zeros, back, size = batch.layout(n, count)
        runtime = cupy().cuda.runtime
        to_gpu, to_host = runtime.memcpyHostToDevice, runtime.memcpyDeviceToHost
        with self._program.current():
            self._make_room(size)
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
            for array in batch.written:
                there, length = array.address_and_size(*part)
                runtime.memcpyAsync(there, at[array.name], length, to_host, stream)
        self._under_way = batch, part, places

    def finish(self):
        """Waits for the part, hands its results over, and returns how many were erased."""
        if self._under_way is None:
            return 0
        (batch, part, places), self._under_way = self._under_way, None
        self.stream.synchronize()
        for array in batch.collected:
            destination, place = array.part(*part), places[array.name]
            copy(destination, self._here[place:place + len(destination)], batch.threads)
        return int(self._here[places["counters"]:][:8].view(np.uint64)[0])

    def release(self):
        """Gives its memory back, while nothing is under way."""
        self._size = 0
        self._here = self._there = None
        with suppress(Exception), self._program.current():    # of a GPU that has failed
            cupy().get_default_memory_pool().free_all_blocks(self.stream)
            cupy().get_default_pinned_memory_pool().free_all_blocks()

    def _make_room(self, size):
        if size > self._size:
            self._size = 0
            self._here = self._there = None
            with self.stream:    # CuPy gives memory again that other streams may still use
                self._there = cupy().cuda.alloc(size)
            self._here = pinned_empty(size, np.uint8)
            self._size = size


class Upload:
    """Arrays of the host to a GPU that is the current one, through pinned memory of its own."""

    def __init__(self):
        self._halves = None

    def __call__(self, array, threads=0):
        """A copy there of a C-contiguous array, complete when the current stream is so far;
        threads: of the host, that copy. What is in pinned memory may not change until then."""
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
            sent.synchronize()    # what was there has arrived
            copy(here[:len(part)], part, threads)
            runtime.memcpyAsync(there.data.ptr + first, address(here), len(part),
                                runtime.memcpyHostToDevice, stream.ptr)
            sent.record(stream)
        return there


def copy(to, source, threads):
    """to[...] = source for bytes, by several threads where that pays."""
    count = min(threads or _core.max_threads(), COPY_THREADS, len(source) // COPY_BYTES)
    if count > 1:
        _core.copy(to, source, count)
    else:
        np.copyto(to, source)


def _is_pinned(at, size):
    """Whether a GPU reads this memory of the host where it is; small arrays may as well be
    copied."""
    if size < LEAST_PINNED_BYTES:
        return False
    runtime = cupy().cuda.runtime
    return all(runtime.pointerGetAttributes(byte).type == runtime.memoryTypeHost
               for byte in (at, at + size - 1))


def _parts(n, per_channel, most):
    """(rows, matrices) of parts of about so many vectors, slices: whole matrices' vectors, or a
    share of one's."""
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
