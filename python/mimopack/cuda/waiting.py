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
from contextlib import suppress

from ..arrays import is_device_array
from ..checks import positive
from .device import cupy

# Time for which a wait with a limit looks all the time. After that it sleeps for a hundredth of the
# time so far.
BUSY_SECONDS = 0.005
_NOT_READY = 600    # cudaErrorNotReady

_timeout = None
_timeout_is_set = False    # by a program
_lock = threading.RLock()    # what is dropped under it may call this module
_streams = []    # (stream, GPU) of work that has not ended in time, or that nobody has waited for
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

    The setting applies to the whole process. Detectors and decoders do not wait for arrays on a
    GPU, so it does not affect these. ``IterativeReceiver.receive`` waits for all arrays with it.

    Args:
        seconds: the limit, above 0; None waits forever, which is the default.

    Raises:
        ValueError: it is not a number above 0, or not finite.
    """
    global _timeout, _timeout_is_set
    _timeout = None if seconds is None else positive("seconds", seconds)
    _timeout_is_set = True


def set_default_gpu_timeout(seconds):
    """Set the limit like ``set_gpu_timeout``, unless a program has set one, or None."""
    global _timeout
    seconds = positive("seconds", seconds)
    if not _timeout_is_set:
        _timeout = seconds


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
        _streams.append((stream, cupy().cuda.runtime.getDevice()))
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
    while _status(stream) == _NOT_READY:
        waited = time.monotonic() - start
        if waited >= limit:
            keep(stream, owner)
            raise GpuTimeout(f"a GPU has not ended its work within {limit:g} s")
        time.sleep(waited / 100 if waited > BUSY_SECONDS else 0)    # other threads run meanwhile


def _status(stream):
    return cupy().cuda.runtime.streamQuery(stream.ptr)


def _status_on(stream, device):
    with cupy().cuda.Device(device):    # the default stream of each GPU has the same number
        return _status(stream)


def _tidy():
    """Drop what was kept if all work has ended, or raise GpuTimeout."""
    with _lock:
        found = [(_status_on(*one), one) for one in _streams]
        if any(status not in (0, _NOT_READY) for status, _ in found):
            _lost.extend(_kept)
        _streams[:] = [one for status, one in found if status == _NOT_READY]
        if _streams:
            raise GpuTimeout("a GPU still runs what has not ended in time; it can be used again "
                             "when that ends, or in a new process")
        while _later:    # other threads wait for the lock until all have been called
            with suppress(Exception):    # the GPU may have failed
                _later[0]()
            _later.pop(0)
        _kept.clear()
