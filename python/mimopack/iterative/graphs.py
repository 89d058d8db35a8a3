# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a GPU does for a batch, recorded once and played again (CUDA graphs)."""

import warnings
from contextlib import suppress

import numpy as np

from ..cuda.device import cupy
from .batch import Batch

# Codewords above which a GPU is busy for longer than the host needs to say what to do.
MOST_CODEWORDS = 512
# Recordings are for 1, 2, 4, ... and for multiples of so many codewords.
STEP = 64
# Recordings that are kept, each with memory of its own.
KEPT = 16


class Graphs:
    """Recordings of a receiver's passes by the size of a batch, the next that there is.

    Args:
        layout: of the codewords.
        filler: what fills a batch: a symbol of which the label's bits are 0.
    """

    def __init__(self, layout, filler):
        self._layout, self._filler = layout, filler
        self._recorded = {}
        self._refused = False

    def takes(self, n, matrices):
        """Whether a batch of n codewords with so many matrices can be played: each codeword has
        matrices of its own."""
        return (not self._refused and 0 < n <= MOST_CODEWORDS and matrices > 0
                and matrices % n == 0 and self._layout.vectors % (matrices // n) == 0)

    def receive(self, passes, batch, n, *settings):
        """(arrays, counts) as passes(batch, *settings[0]) gives them: arrays of the GPU (or None)
        with a row for each codeword in the last axis but one, or the only one, and things of which
        int() waits for the GPU; it does not ask the GPU anything.

        The first batch of a size is received without a recording, before and after it. Warns,
        once, where something cannot be recorded, and goes on without.

        Args:
            settings: all that passes depend on; the first are the arguments. They are kept with a
                recording, which uses what detector and decoder have on the GPU.
        """
        with batch.y.device:
            size = 1 << (n - 1).bit_length() if n <= STEP else -(-n // STEP) * STEP
            key = (batch.y.device.id, size, batch.y.shape[1:], batch.h.shape[1:],
                   len(batch.h) // n, *settings)
            recording = self._recorded.pop(key, None)
            if recording:
                self._recorded[key] = recording    # the last one used is the last to go
                return recording.play(batch)
            # What is kept from call to call comes to be here, in memory that outlives recordings.
            found = passes(batch, *settings[0])
            cupy().cuda.get_current_stream().synchronize()
            try:
                recording = _Recording(lambda whole: passes(whole, *settings[0]), batch,
                                       self._layout.vectors, n, size, self._filler)
            except Exception as error:    # where the GPU has failed, the next call raises it again
                self._refused = True
                warnings.warn(f"no CUDA graphs, as this could not be recorded: {error!r}",
                              RuntimeWarning, stacklevel=4)
                return found
            while len(self._recorded) >= KEPT:
                self._recorded.pop(next(iter(self._recorded)))
            self._recorded[key] = recording
            return passes(batch, *settings[0])    # nor does the decoder keep the recording's arrays


class _Recording:
    """Arrays that a batch is copied into, and the graph. What is not filled is received as well,
    as codewords of zeros, which are found at once."""

    def __init__(self, passes, batch, vectors, n, size, filler):
        xp = cupy()
        self._vectors, self._filler = vectors, filler
        self._pool = xp.cuda.MemoryPool()    # the graph goes on using its memory
        stream = xp.cuda.Stream(non_blocking=True)
        with xp.cuda.using_allocator(self._pool.malloc), stream:
            self._whole = Batch(
                xp.empty((size * vectors, *batch.y.shape[1:]), np.complex64),
                xp.empty((size * (len(batch.h) // n), *batch.h.shape[1:]), np.complex64),
                xp.empty(size * vectors, np.float32), vectors)
            self._identity = xp.eye(*batch.h.shape[1:], dtype=np.complex64)
            self._fill(0, 0)
            for _ in range(2):    # compiles, and leaves the pool all that a call needs
                passes(self._whole)
            stream.begin_capture()
            try:
                self._arrays, self._counts = passes(self._whole)
            except BaseException:
                with suppress(Exception):    # that it was given up
                    stream.end_capture()
                raise
            self._graph = stream.end_capture()
            stream.synchronize()

    def _fill(self, vectors, matrices):
        """From these on."""
        self._whole.y[vectors:] = self._filler
        self._whole.h[matrices:] = self._identity
        self._whole.noise_var[vectors:] = 0.01

    def play(self, batch):
        vectors, matrices, whole = len(batch.y), len(batch.h), self._whole
        whole.y[:vectors], whole.h[:matrices] = batch.y, batch.h
        whole.noise_var[:vectors] = batch.noise_var
        if vectors < len(whole.y):
            self._fill(vectors, matrices)
        stream = cupy().cuda.get_current_stream()
        self._graph.launch(stream)
        n = vectors // self._vectors
        arrays = [None if array is None else _first(array, n) for array in self._arrays]
        stream.synchronize()
        return arrays, [int(count) for count in self._counts]


def _first(array, n):
    """A copy of the first codewords' rows."""
    return (array[:n] if array.ndim == 1 else array[..., :n, :]).copy()
