# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Live statistics of a run, on the terminal and for Prometheus."""

import sys
from contextlib import ExitStack, contextmanager
from importlib import import_module

from .reading import refuse

_ROWS = 8    # minimum number of rows in the airtime picture of a recording


class Watch:
    """The additions of ``--view`` and ``--metrics`` to a run.

    Args:
        view: whether to show statistics on the terminal.
        metrics: address (host, port) for Prometheus, or None.

    Attributes:
        view: ``view.View`` while there is one.

    Raises:
        Refusal: a package is missing, standard output is not a terminal, or the port cannot be
            used.
    """

    def __init__(self, view, metrics):
        self.view = self._statistics = self._server = None
        if view and not _is_terminal():
            refuse("--view: standard output is not a terminal")
        self._viewing = _module("view", "--view", "rich") if view else None
        if metrics is not None:
            self._serving = _module("metrics", "--metrics", "prometheus_client")
            try:
                self._server = self._serving.bind(*metrics)
            except OSError as error:
                refuse(f"--metrics: {metrics[0]}, port {metrics[1]}: {error.strerror or error}")

    @contextmanager
    def over(self, source, detector, say):
        """Watch a ``FrameSource`` in the body of the ``with`` statement.

        Args:
            source: as above.
            detector: name of the detector.
            say: function that prints a line.
        """
        if self._viewing is None and self._server is None:
            yield
            return
        from ...wifi.airtime import BEACON_INTERVAL
        from ...wifi.statistics import Statistics

        # Shorten the rows, so that a short recording fills the picture.
        row = min(BEACON_INTERVAL, source.seconds / _ROWS) if source.seconds else BEACON_INTERVAL
        self._statistics = Statistics(source.num_channels, source.sample_rate, row_seconds=row)
        source.on_status = self._statistics.status
        with ExitStack() as stack:
            if self._server is not None:
                say("metrics: " + stack.enter_context(self._serving.serving(
                    self._server, self._statistics, lambda: source.samples)))
            if self._viewing is not None:
                self.view = self._viewing.View(source, self._statistics, detector)
                stack.callback(self._end)
                self.view.open()
            yield

    def _end(self):
        view, self.view = self.view, None
        view.close()

    def write(self, frame, time=None):
        """Count a frame."""
        if self._statistics is not None:
            self._statistics.add(frame)
        if self.view is not None:
            self.view.add(frame)


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
