# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the time that one thread spends in stages that follow each other."""

from collections import Counter


class StageTimer:
    """Sums the seconds of stages.

    Args:
        clock: function that returns seconds; None measures nothing. Reading the clock of a thread
            takes a system call.

    Attributes:
        seconds: Counter of the seconds by stage.
    """

    def __init__(self, clock):
        self.seconds = Counter()
        self._clock, self._last = clock, 0.0

    def __bool__(self):
        return self._clock is not None

    def end(self, stage=None):
        """Add the time since the last call to a stage; None adds it to none."""
        if self._clock is None:
            return
        now = self._clock()
        if stage:
            self.seconds[stage] += now - self._last
        self._last = now

    def add(self, seconds):
        """Add seconds that were measured elsewhere: a dictionary by stage."""
        if self._clock is not None:
            for stage, time in seconds.items():
                self.seconds[stage] += time
