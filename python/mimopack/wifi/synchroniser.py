# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find frames of any format in a stream of samples of several antennas."""

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .. import _core
from ..checks import choice, integer, positive, rate_choice
from . import carriers, training
from .eht_signal import OneUser, with_format
from .formats import FrameFormat, NonHT
from .frame import TRUNCATED
from .he_trigger import Answer, trigger_of
from .he_users import SeveralUsers
from .headers import HeaderReader, announced
from .sample_store import SampleStore
from .whitening import WHITENINGS

MAX_RX = 8
SAMPLE_RATES = {5e6: 1, 10e6: 1, 20e6: 1, 40e6: 2, 80e6: 4, 160e6: 8}

_BLOCK = 16    # samples at 20 MS/s: one period of the short training field
# The short training field has ten blocks. A window correlates six blocks with the next ones, so it
# spans seven blocks.
_WINDOW = 6
# The best window is chosen among this number of windows, from the first one above the threshold on.
# If the best is the last of them, the search continues from there, up to _SEARCHES times in all.
_REGION = 10
_SEARCHES = 4
# This number of windows after the best one, the short field has ended. The metric must then have
# fallen to the share _FALLEN; the metric of another periodic signal has not fallen.
_FALL = 12
_FALLEN = 0.3
# The next preamble begins at least this number of windows after the best one.
_NEXT = 13
# A frame begins at most this number of blocks before the window that finds it.
_EARLIER = 16
# From this distance (samples at 20 MS/s) on, windows hold only the long training field of a
# preamble.
_SKIP = training.L_STF + 80
# Bytes of samples per search: the cache holds them, and the copies of them in the store. Frames
# found together are decoded in batches.
_SLICE_BYTES = 1 << 22
# Maximum number of nested frames at a time.
_MOST_INSIDE = 8


@dataclass
class FoundFrame:
    """A frame that was found, with its samples.

    Attributes:
        start: position in the stream of the first sample of the short training field, according to
            the first path of the channel.
        window: position in the stream of the FFT window in the first half of the long training
            field.
        cfo: carrier frequency offset in cycles per sample.
        subchannels: tuple of the 20 MHz subchannels of the band that hold the preamble, numbered
            from 0 upwards in frequency.
        centre: subcarrier index of the channel's centre in the band of the samples.
        format, problem, announced: what the signal fields announce, see :class:`headers.Announced`.
        noise: (num_rx,), noise power per subcarrier and antenna in an FFT without scaling.
        signal: (num_rx,), mean signal power per subcarrier and antenna in this FFT, without noise.
        num_samples: length of the frame in samples of the stream, from ``start`` on.
        inside: whether the frame is nested: it began before an earlier frame had ended according to
            its signal fields.
        samples: complex64 (num_rx, n) as received; may be a view of a larger array.
        first: position in the stream of the first of these samples.
        truncated: whether the stream ended before the frame did.
        several: what the signal fields of an HE MU, HE TB or EHT MU frame say, see
            :class:`headers.Announced`.
        signal_fields: what ``several`` was made of: the first argument of ``headers.announced`` as
            a byte, and its second; empty without ``several``.
    """

    start: int
    window: int
    cfo: float
    subchannels: tuple
    centre: int
    format: FrameFormat | None
    problem: str
    announced: dict
    noise: np.ndarray
    signal: np.ndarray
    num_samples: int
    inside: bool
    samples: np.ndarray | None = None
    first: int = 0
    truncated: bool = False
    several: SeveralUsers | Answer | OneUser | None = None
    signal_fields: bytes = b""

    @property
    def end(self):
        """Position in the stream after the last sample of the frame."""
        return self.start + self.num_samples


class Stretch(NamedTuple):
    """Part of a stream that is searched.

    Attributes:
        task: ``_core.wifi.Search``, a ``_core.Task`` for any thread. Its method ``scan`` looks for
            short training fields and returns whether there are any; the task does that too, unless
            it was done, and reads the signal fields behind them. It needs Python's lock only to
            whiten noise across antennas.
        size: number of samples of this part.
        available: number of samples of the stream up to the end of this part.
        ends: position at which the stream ends; None if the stream continues.
    """

    task: _core.Task
    size: int
    available: int
    ends: int | None = None


class Synchroniser:
    """Find frames in a stream, which may come in pieces of any size, and read their signal fields.

    Times below are for channels of 20 MHz or more. Detection correlates the samples with the
    samples 0.8 us later, over 4.8 us. The metric is the correlation divided by the energies,
    averaged over antennas (Schmidl and Cox, IEEE Trans. Commun. 45 (12), 1997). The metric is
    evaluated every 0.8 us, so that three windows fit into a short training field. A candidate is a
    window with a metric above ``threshold``. The mean of the samples, a DC offset of the receiver,
    is subtracted first. The metric must have fallen 9.6 us later, which excludes tones.

    A long training field must follow. Its two halves must agree, and the channel response must have
    a plausible length. The carrier offset comes from both training fields (up to +-600 kHz), and
    the timing comes from the channel response. A valid L-SIG, or the HT-SIG of a greenfield frame,
    confirms the frame.

    A preamble inside a frame is followed too, and its frame is marked as nested, since only
    decoding shows which of the two frames is real. The results depend neither on how the stream is
    cut into pieces, nor on the scale of the samples, for an rms between 1e-9 and 1e7.

    Args:
        num_rx: number of receive antennas, 1..8.
        sample_rate: 5e6, 10e6 (802.11p), 20e6, 40e6, 80e6 or 160e6.
        threshold: threshold of the metric, 0.2..0.95.
        whitening, he_trigger: see :class:`receiver.Receiver`.

    Attributes:
        samples_seen: number of samples per antenna so far.
        preambles: number of long training fields found.
        task_seconds: CPU seconds of all tasks.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, num_rx, sample_rate=20e6, threshold=0.35, whitening="antennas",
                 he_trigger=None):
        self.num_rx = integer("num_rx", num_rx, 1, MAX_RX)
        rate = self.sample_rate = rate_choice(sample_rate, SAMPLE_RATES)
        self.scale = SAMPLE_RATES[rate]
        self.threshold = threshold
        self._trigger = trigger_of(he_trigger)
        self._block = _BLOCK * self.scale
        self._reader = HeaderReader(self.scale)
        whitens = choice("whitening", whitening, WHITENINGS) == "covariance"
        # The carrier offset from the short field is ambiguous by multiples of 1 / (16 scale) cycles
        # per sample. 40 ppm at 5.8 GHz are 232 kHz, more than half of 1/16 of 5 MHz: then the
        # multiples on each side are tried too.
        self._follower = _core.wifi.Follower(
            self._reader.core,
            self._reader.whitening if whitens else None,
            turns=int(rate < 10e6), **acquisition(self.scale))
        # Number of blocks that must follow a window. They cover the search for the best window, and
        # a header at its latest position.
        needed = ((_core.wifi.preamble_samples + 32) * self.scale + self._reader.samples_needed)
        self._ahead = _SEARCHES * _REGION + _FALL + _WINDOW + -(-needed // self._block)
        self._scan = _core.wifi.Scan(
            rows=self.num_rx, block=self._block, window=_WINDOW, region=_REGION,
            searches=_SEARCHES, fall=_FALL, fallen=_FALLEN, next=_NEXT, ahead=self._ahead)
        self.samples_seen = 0
        self._store = SampleStore(self.num_rx, 0)
        self.preambles = 0
        self.task_seconds = 0.0
        self.restart()

    @property
    def threshold(self):
        """Threshold of the metric, for the next samples."""
        return self._threshold

    @threshold.setter
    def threshold(self, threshold):
        threshold = positive("threshold", threshold)
        if not 0.2 <= threshold <= 0.95:
            raise ValueError(f"threshold: got {threshold}, allowed are 0.2..0.95")
        self._threshold = threshold

    def restart(self, origin=0):
        """Drop frames in progress. The next sample becomes sample ``origin`` of the stream."""
        # Blocks begin at multiples of their length. Zeros fill the missing part of the first one.
        first = origin // self._block
        self._store.restart(first * self._block)
        self._scan.restart(first)
        self._unsettled = deque()    # stretches
        missing = origin - first * self._block
        array, _, at = self._store.room(missing, self._store.begin)
        array[:, at:at + missing] = 0
        self._last = -1 << 40    # start of the last preamble
        self._pending = deque()    # frames whose samples are not complete
        self._busy = 0        # end of the last frame that is not nested
        self._nested = []     # ends of the nested frames at the last preamble

    def process(self, samples):
        """Process the next samples.

        Args:
            samples: (num_rx, n) complex, any n.

        Returns:
            list of :class:`FoundFrame` with complete samples, in the order of the stream.

        Raises:
            ValueError: the shape is wrong.

        After any other exception, frames in progress are dropped, as by :meth:`restart`.
        """
        samples = self._checked(samples)
        return self._found(lambda: self.scan(samples))

    def finish(self):
        """End the stream: return the remaining frames, and begin a new stream at sample 0."""
        found = self._found(self.scan_end)
        self.restart()
        return found

    def _found(self, scan):
        found = []
        try:
            for stretch in scan():
                stretch.task.run()
                found += self.settle(stretch)
        except BaseException:    # pieces without a result would hold up the next ones
            self.restart(self._store.end)
            raise
        return found

    # Several threads may search one stream. One of them calls scan() and settle(), in order. Any
    # thread may run the tasks, which take most of the time.

    def scan(self, samples):
        """Begin to search the next samples.

        Args:
            samples: as for :meth:`process`. They must not change until the tasks have run.

        Returns:
            list of :class:`Stretch`. Call :meth:`settle` for each before the stream restarts.

        Raises:
            ValueError: the shape is wrong.
        """
        samples = self._checked(samples)
        row, one = samples.strides
        if samples.dtype != np.complex64 or one != samples.itemsize or row % samples.itemsize:
            samples = samples.astype(np.complex64, "C")
        size = _SLICE_BYTES // (self.num_rx * samples.itemsize)
        if samples.shape[1] <= size:
            return [self._searched(samples)]
        return [self._searched(samples[:, begin:begin + size])
                for begin in range(0, samples.shape[1], size)]

    def _checked(self, samples):
        samples = np.asarray(samples)
        if samples.ndim != 2 or samples.shape[0] != self.num_rx:
            raise ValueError(f"samples: got shape {samples.shape}, must be ({self.num_rx}, n)")
        return samples

    def scan_end(self):
        """Search the last samples when the stream has ended; return a list of :class:`Stretch`."""
        end, seen = self._store.end, self.samples_seen
        padding = self._block * (self._ahead + _FALL + _WINDOW + 1)
        try:
            stretch = self._searched(np.zeros((self.num_rx, padding), np.complex64))
        finally:
            self.samples_seen = seen
        return [stretch._replace(ends=end)]

    def _searched(self, samples):
        """Begin to append samples and to search all windows that enough samples follow."""
        count = samples.shape[1]
        if not self._store.has_room(count):
            # The next array begins with older samples. They must be there, and the first window
            # that is not finished must be known.
            for stretch in self._unsettled:
                stretch.task.scan()
        keep = (self._scan.window - _EARLIER) * self._block
        array, origin, at = self._store.room(count, keep)
        self.samples_seen += count
        task = self._scan.begin(self._follower, samples, array, at=at, origin=origin,
                                threshold=self._threshold)
        stretch = Stretch(task, count, self._store.end)
        self._unsettled.append(stretch)
        return stretch

    def settle(self, stretch):
        """Cut out the frames that were read.

        Args:
            stretch: the next :class:`Stretch` in the order of the stream, whose task has run.

        Returns:
            list of :class:`FoundFrame` with complete samples, in the order of the stream.
        """
        self._unsettled.popleft()
        frames, preambles, next_window, seconds = stretch.task.value()
        self.task_seconds += seconds
        self.preambles += preambles
        for start, window, cfo, mask, kind, fields, noise, signal in frames:
            if start < self._last + _SKIP * self.scale:
                continue    # the same preamble, found from another window
            self._last = start
            subchannels, _, centre = self._reader.place(mask)
            f, problem, length, known, several, channel = announced(
                kind, fields, 20 * len(subchannels), self._trigger)
            if channel and channel > 20 * self.scale:
                f = several = None
                problem = (f"the samples hold only {20 * self.scale} MHz of a {channel} MHz frame")
            elif channel:
                centre = self._reader.centre_of(subchannels[0], channel)
            length *= self.scale
            inside = start < self._busy - self._block
            self._nested = [end for end in self._nested if end > start]
            if inside and len(self._nested) >= _MOST_INSIDE:
                continue
            if inside:
                self._nested.append(start + length)
            else:
                self._busy = start + length
            self._pending.append(FoundFrame(
                start, window, cfo, subchannels, centre, f, problem, known, noise, signal, length,
                inside, several=several, signal_fields=bytes([kind]) + fields if several else b""))
        found = self._complete(stretch)
        keep = (next_window - _EARLIER) * self._block
        self._store.forget(min([keep, *map(self._first, self._pending)]))
        return found

    def _first(self, frame):
        # The first samples of the short training field may be missing after restart().
        return max(self._store.begin, min(frame.start, frame.window))

    def _complete(self, stretch):
        """Return the frames at the head of the queue whose samples are complete."""
        found = []
        end = stretch.available if stretch.ends is None else stretch.ends
        # FFT windows may be shifted by up to a guard interval.
        margin = training.GUARD * self.scale
        while self._pending:
            frame = self._pending[0]
            last = frame.end + margin
            if last > end and stretch.ends is None:
                break
            self._pending.popleft()
            frame.first = self._first(frame)
            # Beyond the end of the stream, padding serves shifted windows.
            frame.samples = self._store.cut(frame.first, min(last, stretch.available))
            frame.truncated = frame.end > end + margin
            if end + margin < frame.window + self._reader.samples_without_he:
                _forget_signal(frame)
            if isinstance(frame.several, OneUser) and not frame.truncated:
                frame = with_format(frame, self.scale)
            found.append(frame)
        return found


def _forget_signal(frame):
    """Mark a frame as truncated if its samples end before an HT-SIG or VHT-SIG-A would.

    In that case, an L-SIG of 6 Mbit/s or a wrong CRC does not determine the format.
    """
    f = frame.format
    if isinstance(f, NonHT) and f.mcs == 6 or frame.problem.endswith(" CRC"):
        frame.format, frame.problem = None, TRUNCATED


def acquisition(scale):
    """Return what the search for the long training field that follows a short one needs.

    The samples of a candidate are first corrected for the DC offset, and for the carrier offset
    that the correlation of the short field gives. The corrected samples must repeat after 3.2 us.
    The long field lies where the correlation with its known waveform is largest. The two halves of
    the long field give the rest of the carrier offset. The halves must agree at each subcarrier,
    and the channel response that they give must have a plausible length. Each 20 MHz subchannel of
    a wide channel is tested in this way. The timing comes from the paths of the channel.

    Args:
        scale: FFT size divided by 64: 1, 2, 4 or 8.

    Returns:
        Dictionary of arguments of ``_core.wifi.Follower``.
    """
    fft = carriers.FFT_20 * scale
    bins = np.stack([(c + carriers.legacy().used) % fft for c in carriers.subchannels(20 * scale)])
    sequence = training.legacy_long_training().astype(np.float32)
    spectra = np.zeros((len(bins), fft), complex)
    for row, used in zip(spectra, bins, strict=True):
        row[used] = sequence
    return {"scale": scale, "bins": bins, "sequence": sequence,
            "reference": np.conj(np.fft.ifft(spectra)).astype(np.complex64)}
