# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a GPU does for a batch, recorded once and played again (CUDA graphs)."""

from contextlib import suppress

import numpy as np

from ..cuda.device import cupy
from .batch import Batch

# Codewords above which a GPU is busy for longer than the host needs to say what to do.
MOST_CODEWORDS = 512
# Recordings that are kept, each with memory of its own.
KEPT = 16


class Graphs:
    """Recordings of a receiver's passes, by the power of two that a batch's codewords fill.

    Args:
        passes: makes a ``Batch`` and whether history is wanted a tuple (arrays, counts): arrays of
            the GPU (or None) with a row for each codeword in the last axis but one, or the only
            one, and things of which int() waits for the GPU. It does not ask the GPU anything.
        layout: of the codewords.
    """

    def __init__(self, passes, layout):
        self._passes, self._layout = passes, layout
        self._recorded = {}

    def takes(self, n, matrices):
        """Whether a batch of n codewords with so many matrices can be played."""
        vectors = self._layout.vectors
        return (0 < n <= MOST_CODEWORDS and matrices and n * vectors % matrices == 0
                and matrices % n == 0)

    def receive(self, batch, n, keep_history, *more):
        """(arrays, counts) as of ``passes``, counts as numbers; more: what else passes depend
        on."""
        with batch.y.device:
            size = 1 << (n - 1).bit_length()
            key = (batch.y.device.id, size, batch.y.shape[1:], batch.h.shape[1:],
                   len(batch.h) // n, keep_history, *more)
            recording = self._recorded.pop(key, None)
            if recording is None:
                while len(self._recorded) >= KEPT:
                    self._recorded.pop(next(iter(self._recorded)))
                recording = _Recording(self._passes, self._layout.vectors, batch, n, size,
                                       keep_history)
            self._recorded[key] = recording    # the last one used is the last to go
            return recording.play(batch, n)


class _Recording:
    """Arrays that a batch is copied into, and the graph. What is not filled is received as well,
    as something that is no erasure."""

    def __init__(self, passes, vectors, batch, n, size, keep_history):
        xp = cupy()
        self._pool = xp.cuda.MemoryPool()    # the graph goes on using its memory
        stream = xp.cuda.Stream(non_blocking=True)
        with xp.cuda.using_allocator(self._pool.malloc), stream:
            self._whole = Batch(
                xp.empty((size * vectors, *batch.y.shape[1:]), np.complex64),
                xp.empty((size * len(batch.h) // n, *batch.h.shape[1:]), np.complex64),
                xp.empty(size * vectors, np.float32), vectors)
            self._identity = xp.eye(*batch.h.shape[1:], dtype=np.complex64)
            self._fill(0, 0)
            passes(self._whole, keep_history)    # compiles; its memory is the graph's
            stream.begin_capture()
            try:
                self._arrays, self._counts = passes(self._whole, keep_history)
            except BaseException:
                with suppress(Exception):    # that it was given up
                    stream.end_capture()
                raise
            self._graph = stream.end_capture()
            stream.synchronize()

    def _fill(self, vectors, matrices):
        self._whole.y[vectors:] = 1
        self._whole.h[matrices:] = self._identity
        self._whole.noise_var[vectors:] = 1

    def play(self, batch, n):
        vectors, matrices, whole = len(batch.y), len(batch.h), self._whole
        whole.y[:vectors], whole.h[:matrices] = batch.y, batch.h
        whole.noise_var[:vectors] = batch.noise_var
        if vectors < len(whole.y):
            self._fill(vectors, matrices)
        stream = cupy().cuda.get_current_stream()
        self._graph.launch(stream)
        arrays = [None if array is None else _first(array, n) for array in self._arrays]
        stream.synchronize()
        return arrays, [int(count) for count in self._counts]


def _first(array, n):
    """A copy of the first codewords' rows."""
    return (array[:n] if array.ndim == 1 else array[..., :n, :]).copy()
