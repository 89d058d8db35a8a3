# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pin GNU Radio's buffers, so that a GPU reads and writes them without a copy."""

import threading
from contextlib import suppress
from pathlib import Path

from .device import address, cupy

_PORTABLE = 1    # pinned for all GPUs
# Paths of GNU Radio's buffers in shared memory. GNU Radio can also keep buffers in files in /tmp;
# these are not pinned, because a file system may want to write back their pages.
_SHARED_MEMORY = ("/SYSV", "/dev/shm/")

_holders = {}    # {(first, end): number of Pins that hold this buffer}
_lock = threading.Lock()


class Pins:
    """The circular buffers that one user has pinned; several users may pin the same buffer."""

    def __init__(self):
        self._held = set()

    def add(self, *arrays):
        """Pin the circular buffers that contain these arrays.

        Other memory, and buffers that cannot be pinned, stay as they are.

        Returns:
            Whether all are pinned now.
        """
        runtime = cupy().cuda.runtime
        buffers = {circular_buffer(address(array)) for array in arrays}
        for buffer in buffers - self._held - {None}:
            first, end = buffer
            with suppress(runtime.CUDARuntimeError), _lock:
                if buffer not in _holders:
                    runtime.hostRegister(first, end - first, _PORTABLE)
                _holders[buffer] = _holders.get(buffer, 0) + 1
                self._held.add(buffer)
        return buffers <= self._held

    def release(self):
        """Unpin all buffers.

        No GPU may use the buffers any more, and they must not have been freed.

        Raises:
            CUDARuntimeError: a buffer could not be unpinned, because the GPU has failed. The method
                tries all buffers before it raises the last exception.
        """
        failure = None
        while self._held:
            buffer = self._held.pop()
            with _lock:
                _holders[buffer] -= 1
                if not _holders[buffer]:
                    del _holders[buffer]
                    try:
                        cupy().cuda.runtime.hostUnregister(buffer[0])
                    except cupy().cuda.runtime.CUDARuntimeError as error:
                        failure = error
        if failure:
            raise failure


def circular_buffer(at):
    """Return (first, end) of the circular buffer that contains an address, or None.

    GNU Radio maps the same shared memory twice, with one mapping directly after the other, so that
    data that wraps around is contiguous.
    """
    try:
        text = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:    # not Linux
        return None
    before = None
    for line in text.splitlines():
        span, *what = line.split(maxsplit=5)
        first, end = (int(number, 16) for number in span.split("-"))
        copy = end - first, what
        if (before and before[0] <= at < end and before[1:] == (first, copy)
                and what[-1].startswith(_SHARED_MEMORY)):
            return before[0], end
        before = first, end, copy
    return None
