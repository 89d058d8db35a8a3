# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait for GPUs, forever or for a limited time.

Nothing can stop a kernel of a process that goes on. While one runs, freeing memory or unpinning a
buffer waits for it as well, and its memory must not be used for anything else. When a kernel has
not ended in time, this process therefore keeps the kernel's memory and uses no GPU any more.
"""

import time

from ..arrays import is_device_array
from ..checks import positive
from .device import cupy

# Time for which a wait with a limit looks all the time. After that it sleeps for a hundredth of the
# time so far.
BUSY_SECONDS = 0.005
_NOT_READY = 600    # cudaErrorNotReady

_timeout = None
_kept = []          # memory that a GPU may still use, or cannot free
_is_hung = False    # whether a GPU has not ended its work in time


class GpuTimeout(RuntimeError):
    """A GPU has not ended its work in time."""


def set_gpu_timeout(seconds):
    """Set how long detectors and decoders wait for a GPU that processes host arrays.

    A GPU that takes longer for a part of a batch counts as failed, see ``backends``: blocks and
    objects with backend "auto" go on with the CPU. The process uses no GPU any more. Without a
    limit, a kernel that never ends stops the program forever. With a limit, a GPU that reads and
    writes GNU Radio's buffers directly is slower, because results are copied to them only after a
    kernel has ended.

    The setting applies to the whole process. Detectors and decoders do not wait for arrays on a
    GPU, so it does not affect these. ``IterativeReceiver.receive`` waits for all arrays with it.

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
        owner: an object that refers to the memory of the work; kept after a GpuTimeout.

    Raises:
        GpuTimeout: the work has not ended within the limit.
        Exception: CuPy's, if the GPU has failed.
    """
    global _is_hung
    start = time.monotonic()
    while (_timeout is not None
           and cupy().cuda.runtime.streamQuery(stream.ptr) == _NOT_READY):
        waited = time.monotonic() - start
        if waited >= _timeout:
            _is_hung = True
            keep(owner)
            raise GpuTimeout(f"a GPU has not ended its work within {_timeout:g} s")
        time.sleep(waited / 100 if waited > BUSY_SECONDS else 0)    # other threads run meanwhile
    stream.synchronize()


def settle(array):
    """Wait for the current stream if an array is on a GPU and there is a limit; see ``wait``."""
    if _timeout is not None and is_device_array(array):
        wait(cupy().cuda.get_current_stream())


def abandon(slots, error):
    """Wait until no GPU uses the slots of a call that an error has ended.

    Slots of a GPU that hangs, or that has failed for good, are kept.

    Args:
        slots: objects with a ``stream``.
        error: the exception.
    """
    for slot in slots:
        try:
            if _is_hung:
                raise error
            wait(slot.stream)
        except BaseException:    # even a second Ctrl-C
            keep(slot)


def keep(owner):
    """Keep an object, whose memory a GPU may still use, until the process ends."""
    _kept.append(owner)


def is_hung():
    """Return whether a GPU has not ended its work in time."""
    return _is_hung


def current(device):
    """Return a context in which a GPU is the current one.

    Raises:
        GpuTimeout: a GPU has not ended its work in time.
    """
    if _is_hung:
        raise GpuTimeout("a GPU has not ended its work in time; a new process can use it again")
    return cupy().cuda.Device(device)
