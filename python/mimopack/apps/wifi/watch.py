# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Live statistics of a run, on the terminal and for Prometheus."""

import sys
from contextlib import ExitStack, contextmanager
from importlib import import_module

from ...wifi.airtime import BEACON_INTERVAL
from ...wifi.statistics import Statistics
from ..progress import Progress
from .opening import refuse

_ROWS = 8    # minimum number of rows in the airtime picture of a recording

class Watch:
    """The additions of ``--view`` and ``--metrics`` to a run.

    Args:
        view: whether to show statistics on the terminal.
        metrics: address (host, port) for Prometheus, or None.

    Attributes:
        has_view: as ``view``.
        progress: replacement for ``progress.Progress``.

    Raises:
        Refusal: a package is missing, standard output is not a terminal, or the port cannot be
            used.
    """

    def __init__(self, view, metrics):
        self.has_view = view
        self.progress = _Switch() if view else Progress()
        self._statistics = self._view = None
        if view and not _is_terminal():
            refuse("--view: standard output is not a terminal")
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
        """Watch a run while the body of the ``with`` statement decodes.

        Args:
            run: ``recorded.Run`` or ``live.Live``.
            detector: name of the run's detector.
            say: function that prints a line.
        """
        if not self.has_view and self._server is None:
            yield
            return
        # Shorten the rows, so that a short recording fills the picture.
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
        """Show a line in the view; return False if there is no view."""
        if self._view is None:
            return False
        self._view.note(line)
        return True


def _module(name, option, package):
    """Import a module of this folder; refuse the option if its package is missing."""
    try:
        return import_module(f".{name}", __package__)
    except ImportError as error:
        if (error.name or "").split(".")[0] != package:
            raise
        refuse(f"{option} needs {package}: install "
               f"python3-{package.replace('_', '-')} with apt, or {package} with pip")


def _is_terminal():
    return sys.stdout.isatty()


class _Switch:
    """Forward progress to the view while there is one."""

    enabled = True
    inner = None

    def update(self, share, text):
        """Draw the view if an update is due."""
        if self.inner is not None:
            self.inner.update(share, text)

    def clear(self):
        """Do nothing: the view keeps its place."""
