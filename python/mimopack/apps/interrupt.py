# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ctrl-C that ends a command without breaking off what it writes."""

import os
import signal
import time
from contextlib import contextmanager

STATUS = 130    # exit status of a command that SIGINT ended, as shells give it
_PATIENCE = 1.0    # seconds that a SIGINT is held back at least


@contextmanager
def exiting():
    """Let SIGINT end the process at once, with STATUS: while modules are imported, say, where an
    exception would become another one. ``Interrupt`` replaces it for a while."""
    previous = signal.signal(signal.SIGINT, lambda *_: os._exit(STATUS))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


class Interrupt:
    """Hold back Ctrl-C until it does no harm.

    A context manager. Within it, SIGINT raises KeyboardInterrupt only inside ``allowed()``; at any
    other place it is remembered, and raised at the next ``allowed()``. Where it was remembered for
    a second, another one raises at once: then the program hangs, such as in a write to a FIFO that
    nobody reads. It counts too where the command was started in the background of a script, which
    ignores SIGINT.

    Attributes:
        happened: whether there was one.
    """

    def __init__(self):
        self.happened = False
        self._allowed = False
        self._since = None    # when the SIGINT came that is remembered
        self._previous = None

    def __enter__(self):
        self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_):
        signal.signal(signal.SIGINT, self._previous)

    def _handle(self, *_):
        self.happened = True
        now = time.monotonic()
        if self._since is None:
            self._since = now
        if self._allowed or now > self._since + _PATIENCE:
            self._since = None
            raise KeyboardInterrupt

    @contextmanager
    def allowed(self):
        """Let SIGINT raise KeyboardInterrupt."""
        self._allowed = True
        try:
            if self._since is not None:
                self._since = None
                raise KeyboardInterrupt
            yield
        finally:
            self._allowed = False
