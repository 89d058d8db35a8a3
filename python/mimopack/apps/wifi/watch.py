# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of a run while it goes on: on the terminal, and for Prometheus."""

import sys
from contextlib import ExitStack, contextmanager
from importlib import import_module

from ...wifi.airtime import BEACON_INTERVAL
from ...wifi.statistics import Statistics
from ..progress import Progress
from .opening import refuse

_ROWS = 8    # of the airtime's picture that a short recording gets

class Watch:
    """What ``--view`` and ``--metrics`` add to a run.

    Args:
        view: whether the terminal shows figures.
        metrics: (host, port) to answer Prometheus at, or None.

    Attributes:
        has_view: as above.
        progress: stands where ``progress.Progress`` does.

    Raises:
        Refusal: a package is missing, standard output is no terminal, or the port cannot be used.
    """

    def __init__(self, view, metrics):
        self.has_view = view
        self.progress = _Switch() if view else Progress()
        self._statistics = self._view = None
        if view and not _is_terminal():
            refuse("--view: standard output is no terminal")
        self._viewing = _module("view", "--view", "rich") if view else None
        self._serving = self._server = None
        if metrics is not None:
            self._serving = _module("metrics", "--metrics", "prometheus_client")
            try:
                self._server = self._serving.bind(*metrics)
            except OSError as error:
                refuse(f"--metrics: {metrics[0]}, port {metrics[1]}: {error.strerror or error}")

    @contextmanager
    def over(self, run, detector, say):
        """Watch a run, ``recorded.Run`` or ``live.Live``, while the body decodes.

        Args:
            run: as above.
            detector: its detector's name.
            say: function that prints a line.
        """
        if not self.has_view and self._server is None:
            yield
            return
        # A short recording fills the picture too.
        row = min(BEACON_INTERVAL, run.seconds / _ROWS) if run.seconds else BEACON_INTERVAL
        self._statistics = Statistics(run.num_channels, run.sample_rate, row_seconds=row)
        run.on_status = self._statistics.status
        with ExitStack() as stack:
            if self._server is not None:
                say("metrics: " + stack.enter_context(self._serving.serving(
                    self._server, self._statistics, lambda: run.samples)))
            if self.has_view:
                self._view = self.progress.inner = self._viewing.View(
                    run.title, self._statistics, lambda: run.samples, run.want_symbols, detector)
                stack.callback(self._end)
                self._view.open()
            yield

    def _end(self):
        view, self._view, self.progress.inner = self._view, None, None
        view.close()

    def add(self, frame):
        """Count a frame."""
        if self._statistics is not None:
            self._statistics.add(frame)
        if self._view is not None:
            self._view.add(frame)

    def take(self, line):
        """Show a line in the view; returns False where there is none."""
        if self._view is None:
            return False
        self._view.note(line)
        return True


def _module(name, option, package):
    """Import a module of this folder, or refuse an option whose package is missing."""
    try:
        return import_module(f".{name}", __package__)
    except ImportError as error:
        if (error.name or "").split(".")[0] != package:
            raise
        refuse(f"{option} needs {package}: install the package "
               f"python3-{package.replace('_', '-')} with apt, or {package} with pip")


def _is_terminal():
    return sys.stdout.isatty()


class _Switch:
    """A ``progress.Progress`` that the view is, while it is there; otherwise none."""

    enabled = True
    inner = None

    def update(self, share, text):
        """Draw the view, if it is time to."""
        if self.inner is not None:
            self.inner.update(share, text)

    def clear(self):
        """Do nothing: the view keeps its place."""
