# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait for GPUs, forever or for a limited time.

Nothing can stop a kernel of a process that goes on. While one runs, freeing memory or unpinning a
buffer waits for it as well, and its memory must not be used for anything else. When a kernel has
not ended in time, this process therefore keeps what the kernel uses and leaves all GPUs alone,
until they are idle again.
"""

import threading
import time

from ..arrays import is_device_array
from ..checks import positive
from .device import cupy

# Time for which a wait with a limit looks all the time. After that it sleeps for a hundredth of the
# time so far.
BUSY_SECONDS = 0.005
_NOT_READY = 600    # cudaErrorNotReady

_timeout = None
_lock = threading.Lock()
_streams = []    # of work that has not ended in time, or that nobody has waited for
_kept = []       # what that work uses
_later = []      # functions to call when it has ended
_lost = []       # memory of GPUs that have failed for good, because freeing it would fail too


class GpuTimeout(RuntimeError):
    """A GPU has not ended its work in time."""


def set_gpu_timeout(seconds):
    """Set how long detectors and decoders wait for a GPU that processes host arrays.

    A GPU that takes longer for a part of a batch counts as failed, see ``backends``: blocks and
    objects with backend "auto" go on with the CPU. It is used again when it is idle and a flowgraph
    starts, or a program calls ``prepare``. Without a limit, a kernel that never ends stops the
    program forever. With a limit, a GPU that reads and writes GNU Radio's buffers directly is
    slower, because results are copied to them only after a kernel has ended.

    The setting applies to the whole process. Arrays on a GPU are not affected.

    Args:
        seconds: the limit, above 0; None waits forever, which is the default.

    Raises:
        ValueError: it is not a number above 0, or not finite.
    """
    global _timeout
    _timeout = None if seconds is None else positive("seconds", seconds)


def gpu_timeout():
    """Return the limit of :func:`set_gpu_timeout`."""
    return _timeout


def wait(stream, owner=None):
    """Wait until all work of a CuPy stream has ended.

    Args:
        stream: the stream.
        owner: any object that refers to the memory of the work; kept after a GpuTimeout.

    Raises:
        GpuTimeout: the work has not ended within the limit.
        Exception: CuPy's, if the GPU has failed.
    """
    if _timeout is not None:
        _wait(stream, owner, _timeout)
    stream.synchronize()


def settle(array):
    """Wait for the current stream if an array is on a GPU and there is a limit; see ``wait``."""
    if _timeout is not None and is_device_array(array):
        wait(cupy().cuda.get_current_stream())


def abandon(slots, error):
    """Drop slots of a call that an error has ended, as soon as nothing uses their memory.

    Args:
        slots: objects with a ``stream``.
        error: the exception.
    """
    left, limit = list(slots), 0 if isinstance(error, GpuTimeout) else _timeout
    try:
        while left:
            slot = left[0]
            try:
                if limit is not None:
                    _wait(slot.stream, slot, limit)
                slot.stream.synchronize()
            except GpuTimeout:
                limit = 0
            except Exception:
                _lost.append(slot)
            left.pop(0)
    finally:
        for slot in left:    # the user does not want to wait
            keep(slot.stream, slot)


def keep(stream, owner):
    """Keep an object, and leave the GPUs alone, until a stream's work has ended."""
    with _lock:
        _streams.append(stream)
        _kept.append(owner)


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


def _wait(stream, owner, limit):
    start = time.monotonic()
    while _is_busy(stream):
        waited = time.monotonic() - start
        if waited >= limit:
            keep(stream, owner)
            raise GpuTimeout(f"a GPU has not ended its work within {limit:g} s")
        time.sleep(waited / 100 if waited > BUSY_SECONDS else 0)    # other threads run meanwhile


def _is_busy(stream):
    return cupy().cuda.runtime.streamQuery(stream.ptr) == _NOT_READY


def _tidy():
    """Drop what was kept if all work has ended, or raise GpuTimeout."""
    with _lock:
        _streams[:] = filter(_is_busy, _streams)
        if _streams:
            raise GpuTimeout("a GPU still runs what has not ended in time; it can be used again "
                             "when that ends, or in a new process")
        dropped, functions = _kept[:], _later[:]
        _kept.clear()
        _later.clear()
    for function in functions:
        function()
    del dropped
