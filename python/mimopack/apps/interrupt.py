# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Handle Ctrl-C so that a command ends without leaving incomplete files."""

import os
import signal
import time
from contextlib import contextmanager

STATUS = 130    # exit status that shells report for a command ended by SIGINT
_PATIENCE = 1.0    # seconds after which a second SIGINT takes effect at once


@contextmanager
def exiting():
    """Let SIGINT end the process at once with exit status STATUS.

    KeyboardInterrupt would not do: while modules are imported, it can turn into another exception.
    ``Interrupt`` replaces this handler while it is active.
    """
    previous = signal.signal(signal.SIGINT, lambda *_: os._exit(STATUS))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


class Interrupt:
    """Context manager that delays Ctrl-C until it does no harm.

    Inside the context, SIGINT raises KeyboardInterrupt only within ``allowed()``. At any other
    place it is remembered, and the next ``allowed()`` raises KeyboardInterrupt. A further SIGINT
    more than a second later raises at once, because the program probably hangs, for instance in a
    write to a FIFO without a reader. The handler also works in commands that a script starts in the
    background, which would otherwise ignore SIGINT.

    Attributes:
        happened: True after a SIGINT.
    """

    def __init__(self):
        self.happened = False
        self._allowed = False
        self._since = None    # time of the remembered SIGINT
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
        """Within this context, let SIGINT raise KeyboardInterrupt."""
        self._allowed = True
        try:
            if self._since is not None:
                self._since = None
                raise KeyboardInterrupt
            yield
        finally:
            self._allowed = False
