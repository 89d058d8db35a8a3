# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shorten the time that threads wait for Python's interpreter lock (GIL) while a receiver runs."""

import sys
import threading

# Seconds after which a busy thread must give the GIL to a waiting one. Python's default of
# 5 ms is longer than most frames take from their last sample to their PDU, and delays the
# receiver's threads that work in C++.
INTERVAL = 5e-4


class QuickHandover:
    """Shorten Python's switch interval for the whole process while at least one user needs it.

    The last user to end restores the old value, unless other code has changed it meanwhile.
    """

    _lock, _wanted, _before = threading.Lock(), 0, None

    def __init__(self):
        self._begun = False

    def begin(self):
        """Shorten the interval; a second call does nothing."""
        cls = QuickHandover
        with cls._lock:
            if self._begun:
                return
            self._begun = True
            cls._wanted += 1
            if cls._wanted == 1 and sys.getswitchinterval() > INTERVAL:
                cls._before = sys.getswitchinterval()
                sys.setswitchinterval(INTERVAL)

    def end(self):
        """Restore the interval if this is the last user; a second call does nothing."""
        cls = QuickHandover
        with cls._lock:
            if not self._begun:
                return
            self._begun = False
            cls._wanted -= 1
            if cls._wanted == 0 and cls._before is not None:
                if abs(sys.getswitchinterval() - INTERVAL) < 1e-6:
                    sys.setswitchinterval(cls._before)
                cls._before = None
