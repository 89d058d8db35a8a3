# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait for GPUs, but not forever.

Nothing can stop a kernel of a process that goes on. While one runs, freeing memory or unpinning a
buffer waits for it as well, and its memory must not be used for anything else. When a kernel has
not ended in time, this process therefore keeps what the kernel uses and leaves all GPUs alone,
until they are idle again.
"""

import threading
import time

from ..arrays import is_device_array
from .device import cupy

# Longest time in seconds for which host code waits for the work of a stream.
LIMIT_SECONDS = 60.0
# Time for which a wait looks all the time. After that it sleeps for a hundredth of the time so far.
BUSY_SECONDS = 0.005
_NOT_READY = 600    # cudaErrorNotReady

_lock = threading.Lock()
_streams = []    # of work that has not ended in time, or that nobody has waited for
_kept = []       # what that work uses
_later = []      # functions to call when it has ended
_lost = []       # memory of GPUs that have failed for good


class GpuTimeout(RuntimeError):
    """A GPU has not ended its work in time."""


def wait(stream, owner=None, limit=None):
    """Wait until all work of a CuPy stream has ended.

    Args:
        stream: the stream.
        owner: any object that refers to the memory of the work; kept after a GpuTimeout.
        limit: longest time in seconds; None takes LIMIT_SECONDS.

    Raises:
        GpuTimeout: the work has not ended within the limit.
        Exception: CuPy's, if the GPU has failed.
    """
    limit = LIMIT_SECONDS if limit is None else limit
    start = time.monotonic()
    while (status := _status(stream)) == _NOT_READY:
        waited = time.monotonic() - start
        if waited >= limit:
            keep(stream, owner)
            raise GpuTimeout(f"a GPU has not ended its work within {limit:g} s")
        time.sleep(waited / 100 if waited > BUSY_SECONDS else 0)    # other threads run meanwhile
    if status:
        stream.synchronize()    # raises what went wrong


def keep(stream, owner):
    """Keep an object, and leave the GPUs alone, until a stream's work has ended."""
    with _lock:
        _streams.append(stream)
        _kept.append(owner)


def settle(array):
    """Wait for the current stream if an array is on a GPU; see ``wait``."""
    if is_device_array(array):
        wait(cupy().cuda.get_current_stream())


def abandon(slots, error):
    """Drop slots of a call that an error has ended, as soon as nothing uses their memory.

    Args:
        slots: objects with a ``stream``.
        error: the exception.
    """
    for slot in slots:
        keep(slot.stream, slot)
    limit = 0 if isinstance(error, GpuTimeout) else None
    for slot in slots:
        try:
            wait(slot.stream, limit=limit)
        except GpuTimeout:
            limit = 0
        except Exception:    # the GPU has failed for good, so freeing the memory would fail too
            _lost.append(slot)


def keep_while_busy(owner):
    """Keep an object until all the work has ended that did not end in time."""
    with _lock:
        if _streams:
            _kept.append(owner)


def when_idle(function):
    """Call a function as soon as the GPUs may be used again."""
    with _lock:
        _later.append(function)


def current(device):
    """Return a context in which a GPU is the current one.

    Raises:
        GpuTimeout: there is work on a GPU that has not ended in time, and still runs.
    """
    if _streams or _later:
        _tidy()
    return cupy().cuda.Device(device)


def _tidy():
    """Drop what was kept if all work has ended, or raise GpuTimeout."""
    with _lock:
        _streams[:] = [stream for stream in _streams if _status(stream) == _NOT_READY]
        if _streams:
            raise GpuTimeout("a GPU still runs what has not ended in time; it can be used again "
                             "when that ends, or in a new process")
        dropped, functions = _kept[:], _later[:]
        _kept.clear()
        _later.clear()
    for function in functions:
        function()
    del dropped


def _status(stream):
    return cupy().cuda.runtime.streamQuery(stream.ptr)
