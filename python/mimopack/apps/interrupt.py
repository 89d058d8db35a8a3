# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Handle Ctrl-C in a command."""

import os
import signal
from contextlib import contextmanager

STATUS = 130    # exit status that shells report for a command ended by SIGINT


@contextmanager
def exiting():
    """Let SIGINT end the process at once with exit status STATUS.

    KeyboardInterrupt would not do: while modules are imported, it can turn into another exception.
    """
    with _handling(lambda *_: os._exit(STATUS)):
        yield


@contextmanager
def interruptible():
    """Let SIGINT raise KeyboardInterrupt, also where a script runs the command in the background.
    """
    with _handling(signal.default_int_handler):
        yield


class Interruption:
    """Context manager that notes the first SIGINT; a further one raises KeyboardInterrupt.

    Attributes:
        happened: whether SIGINT has come.
    """

    happened = False

    def __enter__(self):
        self._handling = _handling(self._note)
        self._handling.__enter__()
        return self

    def __exit__(self, *exception):
        return self._handling.__exit__(*exception)

    def _note(self, *_):
        if self.happened:
            raise KeyboardInterrupt
        self.happened = True


@contextmanager
def _handling(handler):
    previous = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
