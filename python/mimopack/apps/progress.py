# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show a command's progress in a line of the terminal."""

import shutil
import sys
import time

_INTERVAL = 0.2    # seconds between two updates
_ERASE = "\r\x1b[2K"


class Progress:
    """Progress line on a stream, shown only if the stream is a terminal.

    Args:
        stream: text stream; None for standard error.
    """

    def __init__(self, stream=None):
        self._stream = sys.stderr if stream is None else stream
        self._shown = False
        self._next = 0.0
        self._began = time.monotonic()
        self.enabled = self._stream.isatty()

    def update(self, share, text):
        """Show the progress.

        Args:
            share: finished share of the work, 0..1; None if the work has no known end.
            text: text to show beside it.
        """
        now = time.monotonic()
        if not self.enabled or now < self._next:
            return
        self._next = now + _INTERVAL
        if share is None:
            self._put(text)
            return
        spent = now - self._began
        left = f", {spent / share - spent:.0f} s left" if share > 0.01 and spent > 1 else ""
        self._put(f"{100 * share:3.0f} %  {text}{left}")

    def _put(self, line):
        width = shutil.get_terminal_size().columns - 1
        self._stream.write(_ERASE + line[:width])
        self._stream.flush()
        self._shown = True

    def clear(self):
        """Remove the line, so that other lines can be printed."""
        if self._shown:
            self._stream.write(_ERASE)
            self._stream.flush()
            self._shown = False
            self._next = 0.0
