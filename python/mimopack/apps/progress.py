# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show the progress of commands: a line of the terminal, or bars for a simulation's points."""

import shutil
import sys
import time
from contextlib import contextmanager
from importlib.util import find_spec

import click

_INTERVAL = 0.2    # seconds between two updates of a line
_SHARES = 1000    # steps of a bar
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


@contextmanager
def showing(points, quiet):
    """Context manager: show on standard error how far simulations are.

    On a terminal, and if rich is installed, each point that is not complete has a bar; otherwise
    there is click's bar for all.

    Args:
        points: number of points of all simulations.
        quiet: show nothing.

    Yields:
        Function of (point in words, share of it that is done, frames, wrong frames).
    """
    if quiet:
        yield lambda point, share, frames, errors: None
    elif sys.stderr.isatty() and find_spec("rich") is not None:
        from rich import progress
        from rich.console import Console

        with progress.Progress(
                progress.BarColumn(20), progress.TaskProgressColumn(),
                progress.TextColumn("{task.description}"), progress.TimeRemainingColumn(),
                console=Console(stderr=True), transient=True) as bars:
            tasks = {}

            def show(point, share, frames, errors):
                if point not in tasks:
                    tasks[point] = bars.add_task("", total=1.0)
                bars.update(tasks[point], completed=share, visible=share < 1,
                            description=_grown(point, frames, errors))

            yield show
    else:
        shares = {}
        with click.progressbar(length=_SHARES, label="simulating",
                               item_show_func=lambda item: item) as bar:
            def show(point, share, frames, errors):
                shares[point] = share
                done = int(_SHARES * sum(shares.values()) / points)
                bar.update(done - bar.pos, _grown(point, frames, errors))

            yield show


def _grown(point, frames, errors):
    return f"{point}: {frames} frames, {errors} wrong"
