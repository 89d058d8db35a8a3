# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record when the cores of this machine ran no program.

On each core a process of the highest real-time priority sleeps for half a millisecond again and
again. No other program keeps it from waking up. If it wakes up late, the core belonged to the
host of this virtual machine, or to the kernel. Recording needs the permission for real-time
priorities (root, or an `rtprio` in limits.conf).
"""

import multiprocessing
import os
import time

import numpy as np

PERIOD = 5e-4
LEAST = 5e-4    # lateness from which on it is a pause


def _watch(core, stop, ready, out):
    os.sched_setaffinity(0, {core})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
    found = []
    ready.wait()
    before = time.monotonic_ns()
    while not stop.is_set():
        time.sleep(PERIOD)
        now = time.monotonic_ns()
        if now - before > 1e9 * (PERIOD + LEAST):
            found.append((before + int(1e9 * PERIOD), now))
        before = now
    out.send(found)


class HostPauses:
    """Context manager that records pauses of all cores this process may use.

    Attributes:
        found: int64 (n, 2), begin and end of each pause in ns of ``time.monotonic_ns``, after the
            context has ended.

    Raises:
        PermissionError: real-time priorities are not allowed.
    """

    def __enter__(self):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))    # is it allowed?
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        context = multiprocessing.get_context("spawn")
        self._stop, cores = context.Event(), sorted(os.sched_getaffinity(0))
        ready = context.Barrier(len(cores) + 1)
        self._running = []
        for core in cores:
            receive, send = context.Pipe(duplex=False)
            process = context.Process(target=_watch, args=(core, self._stop, ready, send),
                                      daemon=True)
            process.start()
            self._running.append((process, receive))
        ready.wait(60)
        return self

    def __exit__(self, *failure):
        self._stop.set()
        found = []
        for process, receive in self._running:
            found += receive.recv()
            process.join()
        self.found = np.array(sorted(found), np.int64).reshape(-1, 2)


def overlap(pauses, begin, end):
    """Return which of the intervals from begin (n,) to end (n,) overlap with a pause (m, 2)."""
    # The latest end of the pauses that begin before the interval's end
    latest = np.concatenate([[np.iinfo(np.int64).min], np.maximum.accumulate(pauses[:, 1])])
    return latest[np.searchsorted(pauses[:, 0], end, side="right")] > begin
