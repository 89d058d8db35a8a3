# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""GNU Radio's buffers in pinned memory, which a GPU reads and writes without a copy."""

import threading
from contextlib import suppress
from pathlib import Path

from .device import address, cupy

_PORTABLE = 1    # pinned for all GPUs
# Where GNU Radio's buffers are in shared memory. It can have them in files of /tmp too, whose pages
# a file system may want to write back: those are left alone.
_SHARED_MEMORY = ("/SYSV", "/dev/shm/")

_holders = {}    # {(first, end): how many Pins hold this buffer}
_lock = threading.Lock()


class Pins:
    """The circular buffers that one user has pinned; several may pin the same."""

    def __init__(self):
        self._held = set()

    def add(self, *arrays):
        """Pins the circular buffers of which these arrays are part. What cannot be pinned, and any
        other memory, stays as it is.

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
        """Before the buffers are freed: what they were pinned for must have come to its end. Raises
        the last of what CUDA does, where the GPU has failed, after all were tried."""
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
    """(first, end) of the buffer that this address is in: GNU Radio maps the same shared memory
    twice, one right after the other, so that what wraps around is in one piece. None for other
    memory."""
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
