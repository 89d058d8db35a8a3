# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ctrl-C that ends a command without breaking off what it writes."""

import signal
from contextlib import contextmanager

STATUS = 130    # exit status of a command that SIGINT ended, as shells give it


class Interrupt:
    """Hold back Ctrl-C until it does no harm.

    A context manager. Within it, SIGINT raises KeyboardInterrupt only inside ``allowed()``; at any
    other place it is remembered, and raised at the next ``allowed()``. A second SIGINT raises at
    once. It counts too where the command was started in the background of a script, which
    ignores SIGINT.

    Attributes:
        happened: whether there was one.
    """

    def __init__(self):
        self.happened = False
        self._allowed = False
        self._previous = None

    def __enter__(self):
        self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_):
        signal.signal(signal.SIGINT, self._previous)

    def _handle(self, *_):
        again, self.happened = self.happened, True
        if self._allowed or again:
            raise KeyboardInterrupt

    @contextmanager
    def allowed(self):
        """Let SIGINT raise KeyboardInterrupt."""
        self._allowed = True
        try:
            if self.happened:
                raise KeyboardInterrupt
            yield
        finally:
            self._allowed = False
