# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Report once a second what a receiver counted and whether it keeps up."""

import time

_INTERVAL = 1.0    # seconds
_COUNTED = ("samples", "frames", "decoded", "mpdus", "mpdus_ok", "gaps", "lost", "dropped",
            "failures", "refused_settings")


class StatusReport:
    """Report once a second what a receiver counted since the last report.

    Args:
        sample_rate: samples per second.
        threads: number of threads that share the receiver's work.
        log: ``BlockLog`` that gets a line for each second with gaps or dropped samples.
        send: function called with each status, a dictionary: see ``wifi_receiver``.

    Attributes:
        logs: whether lines go to the log.
    """

    def __init__(self, sample_rate, threads, log, send):
        self._rate, self._threads, self._log, self._send = sample_rate, threads, log, send
        self._busy, self._stages, self.logs = 0.0, {}, True
        self.begin({})

    def begin(self, counts):
        """Begin a stream. ``counts`` holds the counts before it, as for :meth:`tell`."""
        self._last, self._counts, self._busy = time.monotonic(), counts, 0.0

    def add_busy(self, seconds):
        """Add seconds in which the receiver worked."""
        self._busy += seconds

    def is_due(self):
        """Return whether the last status is at least a second old."""
        return time.monotonic() - self._last >= _INTERVAL

    def tell(self, counts, stages, waiting):
        """Report the changes since the last report.

        Args:
            counts: dictionary of counts since the block was made.
            stages: {stage: seconds} since the block was made.
            waiting: seconds of samples in the receiver's queue.
        """
        now = time.monotonic()
        status = {name: counts.get(name, 0) - self._counts.get(name, 0) for name in _COUNTED}
        seconds = max(now - self._last, 1e-9)
        taken = {name: took - self._stages.get(name, 0.0) for name, took in stages.items()}
        slowest = max(taken, key=taken.get, default="")
        share = taken[slowest] / sum(taken.values()) if slowest and sum(taken.values()) > 0 else 0.0
        # The searching thread may be idle while the others are busy.
        load = max(self._busy, sum(taken.values()) / self._threads) / seconds
        status |= {"seconds": seconds, "load": load, "waiting": waiting,
                 "stages": taken, "slowest": slowest, "slowest_share": share}
        self._last, self._counts, self._stages, self._busy = now, counts, dict(stages), 0.0
        if self.logs:
            self._say(status)
        self._send(status)

    def _say(self, status):
        seconds, slowest = status["seconds"], status["slowest"]
        if status["gaps"]:
            self._log.warn(None, f"{status['gaps']} gaps in the samples in {seconds:.1f} s, "
                           f"{status['lost']} samples per antenna are missing")
        if status["dropped"]:
            self._log.warn(None, f"too slow: {status['dropped']} samples per antenna dropped in "
                           f"{seconds:.1f} s" + (f", slowest stage: {slowest} "
                                                 f"({100 * status['slowest_share']:.0f} %)"
                                                 if slowest else ""))
