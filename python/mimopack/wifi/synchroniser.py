# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find frames of any format in a stream of samples of several antennas."""

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from .. import _core
from ..checks import choice, integer, positive
from . import training
from .formats import NonHT
from .frame import TRUNCATED
from .headers import SAMPLES_NEEDED, Header, HeaderReader
from .preamble import Preamble, PreambleAcquirer
from .sample_store import SampleStore
from .whitening import WHITENINGS
from .windows import FrameSamples

MAX_RX = 8
SAMPLE_RATES = {5e6: 1, 10e6: 1, 20e6: 1, 40e6: 2, 80e6: 4}

_BLOCK = 16    # at 20 MS/s: a period of the short training field
# The short training field is ten blocks long; a window of six products spans seven of them.
_WINDOW = 6
# After the first window above the threshold, the best is looked for in so many; where it is the
# last of them, the search goes on from there, so many times in all.
_REGION = 10
_SEARCHES = 4
# The short field is over so many windows later: then the metric must have fallen to a share. That
# of another periodic signal has not.
_FALL = 12
_FALLEN = 0.3
# So many windows behind the best one the next preamble may begin.
_NEXT = 13
# A frame begins at most so many blocks before the window that finds it.
_EARLIER = 16
# Headers that are read together.
_TOGETHER = 64
# A preamble is over for the detector when its windows hold nothing but long training.
_SKIP = training.L_STF + 80
# Samples that are searched at a time, twice as many where they come faster: frames are decoded in
# batches of what is found together.
_SLICE = 1 << 17
# Preambles inside other frames whose samples are kept at a time.
_MOST_INSIDE = 8


class Found(NamedTuple):
    """A frame that was found, with its samples.

    Attributes:
        preamble, header: what was read of it; positions of ``preamble`` count the stream's
            samples.
        samples: complex64 (num_rx, n) as received, from ``first`` on; perhaps a view of more.
        first: sample of the stream at which they begin.
        truncated: whether the stream ended before the frame did.
        inside: whether it began before an earlier frame, by its signal fields, had ended.
        num_samples: of the stream, from ``preamble.start`` on.
    """

    preamble: Preamble
    header: Header
    samples: np.ndarray
    first: int
    truncated: bool
    inside: bool
    num_samples: int


class Stretch(NamedTuple):
    """A stretch of a stream that was searched for short training fields.

    Attributes:
        samples: complex64 (num_rx, m), C-contiguous.
        origin: sample of the stream at which they begin.
        base: window of the stream that the next three count from.
        lag: complex64, correlation of each window.
        metric: float32, its square.
        fallen: whether it has fallen when a short training field is over.
        hits: windows above the threshold, ascending.
        chain: the best ones of those near each other.
        next_window: the first one of the next stretch.
        available: samples of the stream that have come.
        ends: sample of the stream at which it ends; None if it goes on.
    """

    samples: np.ndarray
    origin: int
    base: int
    lag: np.ndarray
    metric: np.ndarray
    fallen: np.ndarray
    hits: list
    chain: list
    next_window: int
    available: int
    ends: int | None = None


class Synchroniser:
    """Find frames in a stream, cut anywhere into chunks, and read their signal fields.

    Detection: the correlation of the samples with those 0.8 us later, summed over 4.8 us and
    divided by the energies, mean over antennas, where it exceeds ``threshold`` (Schmidl and Cox,
    IEEE Trans. Commun. 45 (12), 1997; evaluated every 0.8 us, since the short training field
    leaves it three of them). The samples' mean, a receiver's direct current, is left out, and
    9.6 us later the correlation must have fallen, as that of a tone has not. A long training field
    must follow: its two halves must agree, and the response to it must be as short as a channel's.
    The carrier offset comes from both fields (to +-600 kHz), the timing from the response. A valid
    L-SIG (or the HT-SIG of a greenfield frame) makes it a frame.

    Preambles inside a frame are followed too, and marked: only decoding tells which of the two it
    was. Results do not depend on how the stream is cut, nor on the scale of the samples between rms
    1e-9 and 1e7.

    Args:
        num_rx: receive antennas, 1..8.
        sample_rate: 5e6, 10e6 (802.11p), 20e6, 40e6 or 80e6.
        threshold: 0.2..0.95.
        whitening: see :class:`receiver.Receiver`.

    Raises:
        ValueError: an argument is not as above.

    ``samples_seen`` counts, ``preambles`` the long training fields found, and ``left_out`` the
    frames inside others that were too many to be followed.
    """

    def __init__(self, num_rx, sample_rate=20e6, threshold=0.35, whitening="antennas"):
        self.num_rx = integer("num_rx", num_rx, 1, MAX_RX)
        rate = positive("sample_rate", sample_rate)
        self.scale = SAMPLE_RATES[choice("sample_rate", rate, tuple(SAMPLE_RATES))]
        self.sample_rate = rate
        self.threshold = threshold
        self._block = _BLOCK * self.scale
        # 40 ppm of 5.8 GHz are 232 kHz: more than half of a 16th of 5 MHz.
        self._acquirer = PreambleAcquirer(self.scale, turns=int(rate < 10e6))
        self._reader = HeaderReader(self.scale, choice("whitening", whitening, WHITENINGS))
        # Blocks that must be there behind a window: those of the search for the best one, and of
        # a header that begins as late as it can.
        needed = self._acquirer.samples_needed + self._reader.samples_needed + 32 * self.scale
        self._ahead = _SEARCHES * _REGION + _FALL + _WINDOW + -(-needed // self._block)
        self._scan = _core.wifi.Scan(
            rows=self.num_rx, block=self._block, window=_WINDOW, region=_REGION,
            searches=_SEARCHES, fall=_FALL, fallen=_FALLEN, next=_NEXT, ahead=self._ahead)
        self.samples_seen = 0
        self.preambles = self.left_out = 0
        self.restart()

    @property
    def threshold(self):
        """Threshold of the correlation, for the next samples."""
        return self._threshold

    @threshold.setter
    def threshold(self, threshold):
        threshold = positive("threshold", threshold)
        if not 0.2 <= threshold <= 0.95:
            raise ValueError(f"threshold: got {threshold}, allowed are 0.2..0.95")
        self._threshold = threshold

    def restart(self, origin=0):
        """Drop what is open, and take the next samples for the stream's from ``origin`` on."""
        # Blocks lie on multiples of their length: what is missing of the first one is zeros.
        first = origin // self._block
        self._store = SampleStore(self.num_rx, first * self._block)
        self._next_window = first
        self._scan.restart()
        missing = origin - first * self._block
        array, _, at = self._store.room(missing, self._store.begin)
        array[:, at:at + missing] = 0
        self._last = -1 << 40    # where the last preamble began
        self._pending = []    # of (preamble, header, end, inside)
        self._busy = 0        # where the last frame that is not inside another ends

    def process(self, samples):
        """Take the next samples.

        Args:
            samples: (num_rx, n) complex, any n.

        Returns:
            list of :class:`Found` in the order of the stream: those whose samples have all come.

        Raises:
            ValueError: another shape.
        """
        return self._found(self.scan(samples))

    def finish(self):
        """The stream has ended: returns what was still open and starts anew at sample 0."""
        found = self._found(self.scan_end())
        self.restart()
        return found

    def _found(self, stretches):
        return [found for stretch in stretches
                for found in self.settle(stretch, self.follow(stretch))]

    # A stream that is searched by several threads: scan() and settle() belong to one of them and
    # take samples and stretches in order; follow(), which takes most time, may run anywhere.

    def scan(self, samples):
        """Search the next samples for short training fields.

        Args:
            samples: as for :meth:`process`.

        Returns:
            list of :class:`Stretch`, each of which must be settled before the stream restarts.

        Raises:
            ValueError: another shape.
        """
        samples = np.asarray(samples)
        if samples.ndim != 2 or samples.shape[0] != self.num_rx:
            raise ValueError(f"samples: got shape {samples.shape}, must be ({self.num_rx}, n)")
        row, one = samples.strides
        if samples.dtype != np.complex64 or one != samples.itemsize or row % samples.itemsize:
            samples = samples.astype(np.complex64, "C")
        stretches = []
        size = _SLICE * min(2, self.scale)
        for begin in range(0, samples.shape[1], size):
            part = samples[:, begin:begin + size]
            self.samples_seen += part.shape[1]
            stretches.append(self._searched(part))
        return stretches

    def scan_end(self):
        """Search what is left when the stream has ended: list of :class:`Stretch`."""
        end = self._store.end
        padding = self._block * (self._ahead + _FALL + _WINDOW + 1)
        stretch = self._searched(np.zeros((self.num_rx, padding), np.complex64))
        return [stretch._replace(ends=end)]

    def _searched(self, samples):
        """The :class:`Stretch` of all windows behind which there are enough samples, with new
        ones."""
        base = self._next_window
        array, origin, at = self._store.room(samples.shape[1], (base - _EARLIER) * self._block)
        *found, passed = self._scan.take(samples, array, at=at, begin=base * self._block - origin,
                                         threshold=self._threshold)
        self._next_window = base + passed
        return Stretch(array, origin, base, *found, self._next_window, self._store.end)

    def follow(self, stretch):
        """Read the signal fields of what begins in a stretch; any thread may call it.

        Returns:
            (list of (preamble, header) of frames, how many preambles there were).
        """
        hits = stretch.hits
        followed, preambles = [], 0
        attempts = [(best, best + _NEXT) for best in stretch.chain]
        while attempts:
            results, confirmed = self._tried(stretch, [window for window, _ in attempts])
            preambles += confirmed
            again = []
            for (window, end), result in zip(attempts, results, strict=True):
                if result is not None:
                    followed.append(result)
                    continue
                hit = bisect_left(hits, window + 3)
                if hit < len(hits) and hits[hit] < end:
                    best = _core.wifi.strongest(stretch.metric, hits[hit], region=_REGION,
                                                searches=_SEARCHES)
                    again.append((best, end))
            attempts = [(window, end) for window, end in again if window < end]
        return sorted(followed, key=lambda one: one[0].start), preambles

    def settle(self, stretch, followed):
        """Cut out frames.

        Args:
            stretch: the next one in order.
            followed: what :meth:`follow` returned of it.

        Returns:
            list of :class:`Found` in the order of the stream: those whose samples have all come.
        """
        frames, preambles = followed
        self.preambles += preambles
        for preamble, header in frames:
            self._enqueue(preamble, header)
        found = self._complete(stretch)
        keep = (stretch.next_window - _EARLIER) * self._block
        self._store.forget(min([keep, *(self._first(one[0]) for one in self._pending)]))
        return found

    def _enqueue(self, preamble, header):
        if preamble.start < self._last + _SKIP * self.scale:
            return    # the same preamble from another window
        self._last = preamble.start
        end = preamble.start + header.num_samples * self.scale
        inside = preamble.start < self._busy - self._block
        if inside and sum(one[3] for one in self._pending) >= _MOST_INSIDE:
            self.left_out += 1
            return
        if not inside:
            self._busy = end
        self._pending.append((preamble, header, end, inside))

    def _tried(self, stretch, windows):
        """List of (preamble, header) of what begins near windows, None where that is no frame; and
        how many preambles there were."""
        results = [None] * len(windows)
        tried = [index for index, window in enumerate(windows) if stretch.fallen[window]]
        if not tried:
            return results, 0
        origin = stretch.origin
        windows = np.array([windows[index] for index in tried])
        starts = (windows + stretch.base) * self._block - origin
        preambles, direct = self._acquirer.acquire(stretch.samples, origin, starts,
                                                   stretch.lag[windows])
        groups = {}
        for index, preamble in enumerate(preambles):
            if preamble is not None:
                groups.setdefault(preamble.subchannels, []).append(index)
        for subchannels, indices in groups.items():
            for begin in range(0, len(indices), _TOGETHER):
                part = indices[begin:begin + _TOGETHER]
                at = np.array([preambles[i].window for i in part]) - origin
                cfo = np.array([preambles[i].cfo for i in part])
                samples = FrameSamples([stretch.samples] * len(part), at, cfo, direct[part])
                with np.errstate(all="ignore"):
                    headers = self._reader.read(samples, subchannels)
                for i, header in zip(part, headers, strict=True):
                    if header is not None:
                        results[tried[i]] = preambles[i], header
        return results, len(preambles) - preambles.count(None)

    def _first(self, preamble):
        # After restart() samples of the short training field may be missing.
        return max(self._store.begin, min(preamble.start, preamble.window))

    def _complete(self, stretch):
        """The frames at the head of the queue whose samples are there."""
        found = []
        end = stretch.available if stretch.ends is None else stretch.ends
        # Windows may be shifted by a guard interval.
        margin = training.GUARD * self.scale
        while self._pending:
            preamble, header, last, inside = self._pending[0]
            if last + margin > end and stretch.ends is None:
                break
            self._pending.pop(0)
            first = self._first(preamble)
            # Behind the end of the stream, padding stands for what a shifted window reaches.
            samples = self._store.cut(first, min(last + margin, stretch.available))
            if end + margin < preamble.window + SAMPLES_NEEDED * self.scale:
                header = _without_signal(header)
            found.append(Found(preamble, header, samples, first, last > end + margin, inside,
                               last - preamble.start))
        return found


def _without_signal(header):
    """A header whose samples end before those of an HT-SIG or VHT-SIG-A would: then the L-SIG of
    6 Mbit/s, or a CRC that does not fit, does not say what the frame is."""
    f = header.format
    unknown = isinstance(f, NonHT) and f.mcs == 6 or header.problem.endswith(" CRC")
    return header._replace(format=None, problem=TRUNCATED) if unknown else header
