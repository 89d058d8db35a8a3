# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack wifi --view``: live statistics of a receiver on the terminal."""

import math
import time
from collections import deque
from dataclasses import replace

import numpy as np
from rich.console import Console, Group
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ... import constellation as constellations
from ...wifi.statistics import kind_of, total_of
from . import plots

LEAST_HEIGHT = 24
_INTERVAL = 0.25    # seconds between two updates
_LOSSES_INTERVAL = 1.0    # seconds between two computations of the loss of linear detectors
_BUSY = 0.1    # maximum share of the time spent on drawing
_COMPARED = 10    # number of frames to average the loss over
_LOSS_SCALE = 10.0    # loss in dB at a full bar


class View:
    """Live statistics on the terminal, with the interface of ``progress.Progress``.

    Args:
        source: ``FrameSource``. Points cost time, and a few frames with points are enough for a
            picture, so the view asks for them frame by frame.
        statistics: ``wifi.statistics.Statistics``.
        detector: name of the detector in use.
    """

    def __init__(self, source, statistics, detector):
        self._source, self._statistics, self._detector = source, statistics, detector
        self._console = Console(highlight=False)
        self._next = self._next_losses = 0.0
        self._losses = deque(maxlen=_COMPARED)
        self._notes = deque(maxlen=1000)
        self._live = None

    def open(self):
        """Take over the terminal."""
        self._live = Live(Text(""), console=self._console, screen=True, auto_refresh=False,
                          vertical_overflow="crop", redirect_stdout=False, redirect_stderr=False)
        self._live.start()

    def close(self):
        """Release the terminal, and leave the last picture and all notes on it."""
        if self._live is None:
            return
        live, self._live = self._live, None
        live.stop()
        self._console.print(self._picture(losses=True), height=self._height())
        for note in self._notes:
            self._console.print(Text.from_ansi(note))

    def add(self, frame):
        """Note that a frame has come and has been counted."""
        if frame.symbols is not None:
            self._source.want_symbols(False)

    def note(self, line):
        """Show a line at the bottom, and keep it when the view is closed."""
        self._notes.append(line)

    def update(self, _share, _text):
        """Draw the changes if an update is due."""
        now = time.monotonic()
        if self._live is None or now < self._next:
            return
        losses, began = now >= self._next_losses, time.thread_time()
        self._live.update(self._picture(losses), refresh=True)
        self._source.want_symbols(True)
        # Measure CPU time: on a busy machine, everything takes long.
        pause = (time.thread_time() - began) / _BUSY
        self._next = time.monotonic() + max(_INTERVAL, pause)
        if losses:
            self._next_losses = time.monotonic() + max(_LOSSES_INTERVAL, pause)

    def clear(self):
        """Do nothing: lines are shown by :meth:`note`."""

    def _height(self):
        return max(LEAST_HEIGHT, self._console.height)

    def _picture(self, losses):
        self._statistics.advance(self._source.samples)
        figures = self._statistics.figures(losses)
        latest = figures.losses
        if latest is not None and not any(latest is known for known in self._losses):
            self._losses.append(latest)
        note = self._notes[-1] if self._notes else ""
        return picture(replace(figures, losses=mean_loss(self._losses)), self._source.title,
                       self._detector, note, self._height())


def mean_loss(losses):
    """Return the mean of ``LinearLoss`` objects, with the detector of the last; None if empty."""
    if not losses:
        return None
    return replace(losses[-1], **{name: float(np.mean([getattr(loss, name) for loss in losses]))
                                  for name in ("mmse_db", "zf_db", "margin_db")})


def picture(figures, title, detector, note, height):
    """Return the whole view of ``wifi.statistics.Figures``, for a terminal of ``height`` lines."""
    rest = height - 2
    upper, middle = round(0.37 * rest), round(0.32 * rest)
    layout = Layout()
    layout.split_column(
        Layout(_header(figures, title), size=1),
        _row(upper, _Frames(figures), _Constellation(figures)),
        _row(middle, _Antennas(figures), _Channel(figures)),
        _row(rest - upper - middle, _Air(figures), _Receiver(figures, detector)),
        # Use a blank: rich shows a placeholder for empty text.
        Layout(Text.from_ansi(note or " ", no_wrap=True, overflow="ellipsis"), size=1))
    return layout


def _row(height, left, right):
    row = Layout(size=height)
    row.split_row(Layout(left, ratio=11), Layout(right, ratio=9))
    return row


def _header(figures, title):
    total = figures.total
    line = Text(no_wrap=True, overflow="ellipsis", style="bold")
    line.append(f"{figures.seconds:.1f} s  {total.frames} frames  {total.mpdus_ok} MPDUs  ")
    line.append(title, "dim")
    return line


class _Box:
    """A panel that passes its size on to its contents."""

    title = ""

    def __init__(self, figures):
        self.figures = figures

    def __rich_console__(self, console, options):
        width, height = options.max_width - 4, (options.height or LEAST_HEIGHT) - 2
        yield Panel(Group(*self.lines(max(1, width), max(1, height))), title=self.heading(),
                    title_align="left", border_style="dim", padding=(0, 1),
                    height=options.height)

    def heading(self):
        return self.title

    def lines(self, width, height):
        raise NotImplementedError


class _Frames(_Box):
    title = "frames"

    def heading(self):
        figures = self.figures
        share = figures.recent_total.fcs_share
        return (f"frames: {figures.per_second(figures.recent_total.frames):.0f}/s, "
                f"FCS ok {_percent(share)}")

    def lines(self, width, height):
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, expand=True)
        for name, justify in (("format", "left"), ("/s", "right"), ("FCS ok", "right"),
                              ("lost", "right"), ("air", "right")):
            table.add_column(name, justify=justify, no_wrap=True, header_style="dim")
        figures = self.figures
        rows = sorted(figures.recent.items(), key=lambda item: -item[1].seconds)
        if len(rows) > height - 1:
            rows, others = rows[:height - 2], rows[height - 2:]
            rows.append((None, total_of(dict(others))))
        for kind, row in rows:
            table.add_row(
                f"{len(others)} others" if kind is None else _kind(kind),
                f"{figures.per_second(row.frames):.0f}",
                Text(_percent(row.fcs_share), _health(row.fcs_share)),
                f"{figures.per_second(row.lost):.0f}",
                _percent(row.seconds / figures.window if figures.window else 0))
        yield table


def _kind(kind):
    name, mcs, streams = kind
    if name == "unknown":
        return "unknown"
    if name == "non-ht":
        return f"non-HT {mcs:g} Mbit/s"
    words = name.upper().replace("-", " ")
    return f"{words} MCS {mcs}" + ("" if name == "ht" else f" x{streams}")


def _user(frame):
    """Return which user of a frame this is: its resource unit, and its station if known."""
    f = frame.format
    unit, station = f.ru_name or "", getattr(f, "sta_id", None)
    text = f", RU {unit}" if " " in unit else ""
    return text + (f", station {station}" if station is not None else "")


class _Antennas(_Box):
    title = "antennas"

    def lines(self, width, height):
        figures = self.figures
        room = max(4, width - 28)
        lines = [Text("   SNR dB" + " " * (room + 1) + "level noise dBFS", "dim", no_wrap=True)]
        if len(figures.snr_db) >= height:
            lines = []
        for index, (snr, level, noise) in enumerate(zip(
                figures.snr_db, figures.level_dbfs, figures.noise_dbfs, strict=True)):
            line = Text(f"{index} {_number(snr)} ", no_wrap=True)
            line.append(plots.bar(snr / 40, room), plots.COLOURS[index % len(plots.COLOURS)])
            line.append(f"  {_number(level)}", "bold red" if level > -6 else "")
            line.append(f" {_number(noise)}")
            lines.append(line)
        return lines


class _Constellation(_Box):
    def heading(self):
        frame = self.figures.pointed
        if frame is None:
            return "constellation"
        return f"constellation: {_kind(kind_of(frame))}{_user(frame)}"

    def lines(self, width, height):
        points = self.figures.points
        if points is None:
            return [Text("no frame decoded yet", "dim")]
        limit = 1.2 * _largest(self.figures.pointed)
        streams = len(points)
        # Draw as large as the panel allows: streams side by side, or in several rows.
        across = max(range(1, streams + 1), key=lambda n: min(
            2 * (width // n), 4 * (height // -(-streams // n))))
        down = -(-streams // across)
        lines = []
        for row in range(down):
            parts = [plots.scatter(points[index], width // across, height // down, limit, index)
                     for index in range(row * across, min(streams, (row + 1) * across))]
            lines += [Text.assemble(*line) for line in zip(*parts, strict=True)]
        return lines


def _largest(frame):
    points = constellations.get(frame.format.stream_constellations[0]).points
    return float(max(np.abs(points.real).max(), np.abs(points.imag).max()))


class _Channel(_Box):
    def heading(self):
        figures = self.figures
        if not figures.carriers.size:
            return "channel |H|"
        low, high = self._range()
        return f"channel |H| {low:.0f} to {high:.0f} dB"

    def _values(self):
        """Return a curve per pair of antenna and stream, or per antenna if there are many pairs."""
        magnitude = self.figures.magnitude_db
        n, num_rx, streams = magnitude.shape
        if num_rx * streams <= 4:
            return magnitude.reshape(n, -1).T
        return 10 * np.log10(np.sum(10 ** (magnitude / 10), axis=2)).T

    def _range(self):
        values = self._values()
        high = 5 * math.ceil(np.max(values) / 5)
        return max(5 * math.floor(np.min(values) / 5), high - 40), high

    def lines(self, width, height):
        figures = self.figures
        if not figures.carriers.size:
            return [Text("no frame decoded yet", "dim")]
        several = figures.magnitude_db.shape[2] > 1
        lines = plots.curves(figures.carriers, self._values(), width, max(1, height - several),
                             *self._range())
        if several:
            mean = f"condition {np.mean(figures.condition_db):.0f} dB "
            line = Text(mean, "dim", no_wrap=True)
            line.append(plots.heights(figures.condition_db, width - len(mean), 0, 40), "white")
            lines.append(line)
        return lines


class _Air(_Box):
    def heading(self):
        figures = self.figures
        return f"airtime {_percent(figures.airtime)}, a row is {1e3 * figures.row_seconds:.4g} ms"

    def lines(self, width, height):
        return plots.heat(self.figures.picture, width, height)


class _Receiver(_Box):
    def __init__(self, figures, detector):
        super().__init__(figures)
        self._detector = detector

    def heading(self):
        losses = self.figures.losses
        name = self._detector if losses is None else losses.detector
        return f"dB left on the table ({name})"

    def lines(self, width, height):
        figures, losses = self.figures, self.figures.losses
        lines = []
        for name in ("mmse", "zf"):
            value = math.nan if losses is None else getattr(losses, f"{name}_db")
            line = Text(f"{name.upper():<6}", no_wrap=True)
            line.append(plots.bar(value / _LOSS_SCALE, max(4, width - 15)), "yellow")
            line.append(f" {_number(value)} dB")
            lines.append(line)
        margin = math.nan if losses is None else losses.margin_db
        lines.append(Text(f"margin {_number(margin)} dB above need", no_wrap=True))
        status = figures.status
        load = status.get("load")
        line = Text("load  ", no_wrap=True)
        if load is None:
            line.append("-", "dim")
        else:
            line.append(plots.bar(load, max(4, width - 15)), "red" if load > 0.9 else "green")
            line.append(f" {100 * load:5.0f} %")
        lines.append(line)
        lines.append(Text(f"gaps {figures.gaps}  lost {figures.lost}  dropped {figures.dropped}",
                          "red" if figures.gaps or figures.dropped else "", no_wrap=True))
        line = f"detector {status.get('detector', self._detector)}"
        if status.get("slowest"):
            line += f", {100 * status['slowest_share']:.0f} % {status['slowest']}"
        lines.append(Text(line, "dim", no_wrap=True, overflow="ellipsis"))
        return lines[:height]


def _percent(share):
    return "-" if not math.isfinite(share) else f"{100 * share:.0f} %"


def _health(share):
    if not math.isfinite(share):
        return "dim"
    return "green" if share >= 0.99 else "yellow" if share >= 0.9 else "red"


def _number(value):
    """Format a number with five characters."""
    return "    -" if math.isnan(value) else f"{value:5.1f}"
