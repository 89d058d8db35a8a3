# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long threads wait for Python's lock while a receiver runs."""

import sys
import threading

# Seconds after which a thread that wants Python's lock gets it from one that is busy. Python's own
# 5 ms are longer than most frames take from their last sample to their PDU, and keep the threads of
# a receiver from their work in C++.
INTERVAL = 5e-4


class QuickHandover:
    """Let Python's lock change hands sooner, for all threads of the process, while it is wanted.

    What ``sys.setswitchinterval`` was set to comes back with the last one that ends, unless
    somebody else has changed it since.
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
        """Restore the interval, with the last user; a second call does nothing."""
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
