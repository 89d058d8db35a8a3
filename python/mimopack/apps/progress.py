# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show the progress of commands: a line of the terminal, or a table of a simulation's points."""

import shutil
import sys
import time
from contextlib import contextmanager
from importlib.util import find_spec

import click

_INTERVAL = 0.2    # seconds between two updates of a line
_TABLE_INTERVAL = 0.5    # seconds between two updates of a table
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
def showing(quiet):
    """Context manager: show progress on standard error while simulations run.

    On a terminal, and if rich is installed, it is a table of all points that are not complete yet;
    otherwise it is click's bar.

    Yields:
        :class:`Points`.
    """
    if quiet:
        yield Points(lambda: None)
    elif sys.stderr.isatty() and find_spec("rich") is not None:
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(stderr=True), auto_refresh=False, transient=True,
                  vertical_overflow="crop") as live:
            points = Points(lambda: live.update(points.table(), refresh=True))
            yield points
    else:
        with click.progressbar(length=_SHARES, label="simulating",
                               item_show_func=lambda item: item) as bar:
            points = Points(lambda: bar.update(int(_SHARES * points.share) - bar.pos, points.last),
                            every=0)
            yield points


class Points:
    """The points of simulations.

    Args:
        draw: function that shows the table.
        every: seconds between two calls of draw.

    Attributes:
        last: description of the point that has grown last.
    """

    def __init__(self, draw, every=_TABLE_INTERVAL):
        self._draw, self._every, self._drawn = draw, every, 0.0
        self._rows = {}
        self._total = 0
        self.last = None

    def following(self, name, simulation, snrs, errors, max_frames):
        """Return the ``progress`` function of a simulation, whose ``run`` has these arguments."""
        self._total += len(snrs) * len(simulation.detectors)

        def grown(detector, at_db, tally):
            row = self._rows.setdefault((name, detector, at_db), _Row(tally.frames))
            row.update(tally, errors, max_frames)
            self.last = (f"{name + ': ' if name else ''}{detector} at {at_db:g} dB: "
                         f"{tally.frames} frames, {tally.frame_errors} wrong")
            if time.monotonic() > self._drawn + self._every:
                self._drawn = time.monotonic()
                self._draw()

        return grown

    @property
    def share(self):
        """Share of the work that is done."""
        return sum(row.share for row in self._rows.values()) / max(1, self._total)

    def table(self):
        """Return the table of all points that are not complete, for rich."""
        from rich.table import Table

        table = Table(title=f"{100 * self.share:.0f} %", box=None, pad_edge=False)
        names = any(name for name, *_ in self._rows)
        for title in ["simulation"] * names + ["detector"]:
            table.add_column(title)
        for title in ("dB", "frames", "errors", "FER", "done", "frames/s"):
            table.add_column(title, justify="right")
        for (name, detector, at_db), row in self._rows.items():
            if row.share < 1:
                table.add_row(*[name] * names, detector, f"{at_db:g}", *row.cells(at_db))
        return table


class _Row:
    """A point in numbers."""

    def __init__(self, frames):
        self._first, self._began = frames, time.monotonic()
        self.share = 0.0

    def update(self, tally, errors, max_frames):
        self._frames, self._errors = tally.frames, tally.frame_errors
        self.share = min(1.0, max(tally.frame_errors / errors, tally.frames / max_frames))

    def cells(self, at_db):
        spent = time.monotonic() - self._began
        return (str(self._frames), str(self._errors),
                f"{self._errors / self._frames:.2e}" if self._frames else "",
                f"{100 * self.share:.0f} %",
                f"{(self._frames - self._first) / spent:.0f}" if spent > 1 else "")
