# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CUDA graphs: work on a GPU that is recorded once and replayed."""

import threading
import warnings
from contextlib import suppress

from ..backends import is_gpu_error
from .device import cupy


class Recording:
    """Work on the current GPU as a CUDA graph, with memory of its own.

    Args:
        queue: function that queues the work on the current stream and never waits for the GPU. It
            is called twice before it is recorded, so that all is compiled and allocated. Arrays
            that it reads from outside must be ready.

    Attributes:
        result: what ``queue`` returned while it was recorded; each ``play`` writes these arrays.
    """

    def __init__(self, queue):
        module = cupy()
        self._pool = module.cuda.MemoryPool()    # the graph keeps using its memory
        self._branches = []
        stream = module.cuda.Stream(non_blocking=True)
        with module.cuda.using_allocator(self._pool.malloc), stream:
            for _ in range(2):
                self._run(queue)
            stream.begin_capture()
            try:
                self.result = self._run(queue)
            except BaseException:
                with suppress(Exception):    # end_capture() raises because capturing failed
                    stream.end_capture()
                stream.synchronize()    # the work before may still use its arrays
                raise
            self._graph = stream.end_capture()
            stream.synchronize()

    def _run(self, queue):
        self._unused, _now.recording = iter(self._branches), self
        try:
            return queue()
        finally:
            _now.recording = None

    def branch(self):
        """Return a stream for a branch of the graph, the same one in each run."""
        stream = next(self._unused, None)
        if stream is None:
            stream = cupy().cuda.Stream(non_blocking=True)
            self._branches.append(stream)
        return stream

    def play(self):
        """Queue the work on the current stream."""
        self._graph.launch(cupy().cuda.get_current_stream())


_now = threading.local()    # recording: the Recording in progress in this thread


def side_by_side(*functions):
    """Call functions whose work on the GPU is independent; return a list of their results.

    In a :class:`Recording`, they become branches of the graph. The caller must hold the arrays
    that they read until this function returns.
    """
    recording = getattr(_now, "recording", None)
    if recording is None or not functions:
        return [function() for function in functions]
    first, *others = functions
    stream = cupy().cuda.get_current_stream()
    fork, results, joins = stream.record(), [], []
    for function in others:
        with recording.branch() as branch:
            branch.wait_event(fork)
            results.append(function())
            joins.append(branch.record())
    results.insert(0, first())
    for join in joins:
        stream.wait_event(join)
    return results


class Recordings:
    """The recordings that a receiver has used last, each with a key.

    If work cannot be recorded, a warning says so, and there are no recordings from then on.

    Args:
        most: number of recordings kept; each has its own memory.

    Attributes:
        are_off: whether work could not be recorded.
    """

    def __init__(self, most):
        self._most, self._kept, self.are_off = most, {}, False

    def __contains__(self, key):
        return key in self._kept

    def get(self, key, record):
        """Return the recording with a key, which ``record()`` makes if there is none, or None."""
        recording = self._kept.pop(key, None)
        if recording is None and not self.are_off:
            recording = self._made(record)
        if recording is None:
            return None
        while len(self._kept) >= self._most:
            self._kept.pop(next(iter(self._kept)))
        self._kept[key] = recording    # the most recently used one is deleted last
        return recording

    def clear(self):
        """Delete all recordings."""
        self._kept = {}

    def _made(self, record):
        try:
            return record()
        except Exception as error:    # if the GPU has failed, the next call raises again
            # CuPy refuses to record some work, such as that of cuBLAS.
            if not is_gpu_error(error) and not isinstance(error, NotImplementedError):
                raise
            self.are_off = True
            warnings.warn(f"CUDA graphs are off because recording failed: {error!r}",
                          RuntimeWarning, stacklevel=6)
        return None
