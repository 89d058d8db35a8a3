# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Statistics of received frames, for displays."""

from collections import deque
from dataclasses import dataclass
from threading import Lock

import numpy as np

from ..checks import integer, positive
from .airtime import BEACON_INTERVAL, Airtime
from .linear_loss import linear_loss, scaled_matrices

# Maximum number of equalised points per stream.
_POINTS = 1000
_SUMMED = ("gaps", "lost", "dropped", "failures")


@dataclass
class Row:
    """Counts of the frames of one kind.

    Attributes:
        frames: number of frames whose signal fields were read.
        lost: number of these frames that carry data, but have no MPDU with a correct FCS.
        mpdus: number of MPDUs found.
        mpdus_ok: number of MPDUs with a correct FCS.
        bytes_ok: length of the MPDUs with a correct FCS, in bytes.
        seconds: duration of all frames together, in seconds.
    """

    frames: int = 0
    lost: int = 0
    mpdus: int = 0
    mpdus_ok: int = 0
    bytes_ok: int = 0
    seconds: float = 0.0

    def add(self, other):
        """Add the counts of another row; return this row."""
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    @property
    def fcs_share(self):
        """Share of the MPDUs found that have a correct FCS; nan without MPDUs."""
        return self.mpdus_ok / self.mpdus if self.mpdus else float("nan")


@dataclass(frozen=True)
class Figures:
    """A snapshot of the statistics.

    A kind of frames is a tuple (format, mcs, num_streams). The format is the name of a
    :class:`formats.FrameFormat`, or "unknown". For non-HT frames, mcs is the rate in
    Mbit/s. For unknown formats, it is None.

    Attributes:
        seconds: duration of the stream searched so far, in seconds.
        window: duration of the recent part of the stream to which rates refer, in seconds. It is
            shorter at the beginning of the stream.
        totals: {kind: :class:`Row`} since the beginning.
        recent: {kind: :class:`Row`} of the window.
        airtime: share of the window that frames occupy, 0 to 1. If the receiver drops samples, this
            is the share of the part that it searched.
        snr_db, level_dbfs, noise_dbfs: float64 (num_rx,), mean over the frames of the window, see
            :class:`frame.ReceivedFrame`; nan without frames.
        shown: the frame whose channel is in ``magnitude_db``, or None. It is the newest among the
            frames of the window that have the most coded bits per subcarrier.
        pointed: the frame whose points are in ``points``, or None. It is chosen in the same way
            among frames with equalised points.
        points: complex64 (num_streams, n), equalised, at most 1000 per stream; None without points.
        carriers: int64 (n,), indices of the subcarriers of ``shown``.
        magnitude_db: float64 (n, num_rx, N_STS), 20 log10 |H|; 0 dB is a full-scale signal.
        condition_db: float64 (n,), condition number of the matrix of each subcarrier in dB, see
            :func:`condition_db`.
        picture, row_seconds: see :class:`airtime.Airtime`.
        status: the last status of the receiver that covers at least half a second, or an empty
            dictionary.
        gaps, lost, dropped, failures: sums over all statuses, see port ``status`` of
            ``wifi_receiver``.
        losses: :class:`linear_loss.LinearLoss` of ``shown``, or None, see
            :meth:`Statistics.figures`.
    """

    seconds: float
    window: float
    totals: dict
    recent: dict
    airtime: float
    snr_db: np.ndarray
    level_dbfs: np.ndarray
    noise_dbfs: np.ndarray
    shown: object
    pointed: object
    points: np.ndarray | None
    carriers: np.ndarray
    magnitude_db: np.ndarray
    condition_db: np.ndarray
    picture: np.ndarray
    row_seconds: float
    status: dict
    gaps: int
    lost: int
    dropped: int
    failures: int
    losses: object = None

    @property
    def total(self):
        """Counts of all frames since the beginning: :class:`Row`."""
        return total_of(self.totals)

    @property
    def recent_total(self):
        """Counts of all frames in the window: :class:`Row`."""
        return total_of(self.recent)

    def per_second(self, count):
        """Convert a count of the window to a rate per second."""
        return count / self.window if self.window > 0 else 0.0


def total_of(rows):
    """Return the sum of {kind: :class:`Row`}."""
    total = Row()
    for row in rows.values():
        total.add(row)
    return total


class Statistics:
    """Collect statistics of the frames and statuses of a receiver.

    Rates are per second of sample time, so they do not depend on how fast a recording is decoded.
    Any thread may call any method.

    Args:
        num_rx: number of receive antennas, 1..8.
        sample_rate: samples per second.
        window: duration of the recent part of the stream to which rates refer, in seconds.
        row_seconds, rows, columns: size of the airtime picture, see :class:`airtime.Airtime`.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, num_rx, sample_rate, window=2.0, row_seconds=BEACON_INTERVAL, rows=64,
                 columns=64):
        self._num_rx = integer("num_rx", num_rx, 1, 8)
        self._rate = positive("sample_rate", sample_rate)
        self._window = positive("window", window)
        self._lock = Lock()
        self._air = Airtime(sample_rate, row_seconds, columns, rows)
        self._samples = 0
        self._totals = {}
        # Frames of the window, oldest first: (end, kind, Row, (SNR, level, noise) as (3, num_rx)
        # array).
        self._recent = deque()
        self._shown = self._pointed = None
        self._status, self._sums = {}, dict.fromkeys(_SUMMED, 0)
        self._losses = (None, None)    # (frame, its losses)

    def add(self, frame):
        """Count a :class:`frame.ReceivedFrame`.

        Raises:
            ValueError: the frame has a different number of antennas.
        """
        good = [len(mpdu.data) for mpdu in frame.mpdus if mpdu.fcs_ok]
        f = frame.format
        row = Row(1, not good and (f is None or f.num_symbols > 0), len(frame.mpdus), len(good),
                  sum(good), frame.num_samples / self._rate)
        kind = kind_of(frame)
        levels = np.array([frame.antenna_snr_db, frame.level_dbfs, frame.noise_dbfs])
        if levels.shape != (3, self._num_rx):
            raise ValueError(f"frame: got {levels.shape[1]} antennas, must be {self._num_rx}")
        with self._lock:
            self._totals.setdefault(kind, Row()).add(row)
            self._recent.append((frame.start + frame.num_samples, kind, row, levels))
            self._air.add(frame.start, frame.num_samples)
            self._advance(frame.start + frame.num_samples)
            for part in frame.parts:
                if part.channel is not None and self._is_better(part, self._shown):
                    self._shown = part
                if part.symbols is not None and self._is_better(part, self._pointed):
                    self._pointed = part

    def _is_better(self, frame, shown):
        """Return whether to show a frame in place of the one shown."""
        return (shown is None or _demand(frame) >= _demand(shown)
                or frame.start > shown.start + self._window * self._rate)

    def advance(self, samples):
        """Set the number of samples searched since the beginning."""
        with self._lock:
            self._advance(samples)
            self._air.advance(samples)

    def _advance(self, samples):
        self._samples = max(self._samples, samples)
        frames, oldest = self._recent, self._samples - self._window * self._rate
        while frames and frames[0][0] < oldest:
            frames.popleft()

    def status(self, status):
        """Take a status of the receiver, a dictionary from port ``status`` of ``wifi_receiver``."""
        with self._lock:
            # The last status of a stream covers only the rest of a second.
            if not self._status or status.get("seconds", 1.0) >= 0.5:
                self._status = dict(status)
            for name in _SUMMED:
                self._sums[name] += status.get(name, 0)

    def figures(self, losses=False):
        """Return :class:`Figures`.

        Args:
            losses: whether to compute ``Figures.losses``, which takes some hundredths of a second
                for each new frame.
        """
        with self._lock:
            window = min(self._window, self._samples / self._rate)
            recent, levels = {}, []
            for _, kind, row, level in self._recent:
                recent.setdefault(kind, Row()).add(row)
                levels.append(level)
            snr, level, noise = (np.mean(levels, axis=0) if levels
                                 else np.full((3, self._num_rx), np.nan))
            totals = {kind: Row().add(row) for kind, row in self._totals.items()}
            shown, pointed = self._shown, self._pointed
            counts = {"status": dict(self._status), **self._sums}
            picture, seconds = self._air.picture(), self._samples / self._rate
        busy = sum(row.seconds for row in recent.values())
        searched = window * _searched(counts["status"])
        return Figures(
            seconds=seconds, window=window, totals=totals, recent=recent,
            airtime=min(1.0, busy / searched) if searched else 0.0,
            snr_db=snr, level_dbfs=level, noise_dbfs=noise, picture=picture,
            row_seconds=self._air.row_seconds, shown=shown,
            pointed=pointed, points=_points(pointed), **_channel(shown), **counts,
            losses=self._losses_of(shown) if losses else None)

    def _losses_of(self, frame):
        if frame is None:
            return None
        of, losses = self._losses
        if of is not frame:
            losses = linear_loss(frame.format, frame.channel, frame.detector)
            self._losses = frame, losses
        return losses


def _searched(status):
    """Return the share of the samples that the receiver did not drop, from its last status."""
    dropped = status.get("dropped", 0)
    return status["samples"] / (status["samples"] + dropped) if dropped else 1.0


def kind_of(frame):
    """Return the kind of a frame: (format, mcs, num_streams), see :class:`Figures`."""
    f = frame.format
    if f is None:
        return "unknown", None, 0
    scaled = f.mcs * frame.sample_rate_scale if f.name == "non-ht" else f.mcs
    return f.name, int(scaled) if scaled == int(scaled) else scaled, f.num_streams


def _demand(frame):
    """Return the coded bits per subcarrier. The most demanding frames show a channel best."""
    return sum(frame.format.stream_bits)


def _points(frame):
    """Return at most ``_POINTS`` points per stream, spread over subcarriers and symbols."""
    if frame is None:
        return None
    points = frame.symbols.reshape(-1, frame.symbols.shape[-1])
    chosen = np.linspace(0, len(points) - 1, min(len(points), _POINTS)).astype(int)
    return points[chosen].T


def _channel(frame):
    if frame is None:
        return {"carriers": np.zeros(0, np.int64), "magnitude_db": np.zeros((0, 0, 0)),
                "condition_db": np.zeros(0)}
    matrices = frame.channel.matrices.astype(np.complex128)
    return {"carriers": frame.channel.carriers,
            "magnitude_db": 20 * np.log10(np.maximum(np.abs(matrices), 1e-15)),
            "condition_db": condition_db(frame.channel)}


def condition_db(state):
    """Return the condition number of the matrix of each subcarrier, in dB.

    Each row of a matrix is first divided by the standard deviation of the antenna's noise.

    Args:
        state: :class:`frame.ChannelState`.

    Returns:
        float64 (n,); 0 with one stream, at most 300. Values that are not finite count as 0.
    """
    values = np.linalg.svd(scaled_matrices(state), compute_uv=False)
    largest = np.maximum(values[:, 0], 1e-250)
    return 20 * np.log10(largest / np.maximum(values[:, -1], 1e-15 * largest))
