# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of several antennas to frames with their MPDUs: what blocks and command line drive."""

import os
from collections import Counter, deque
from dataclasses import dataclass, replace
from queue import SimpleQueue

import numpy as np

from .. import detectors
from ..checks import choice, flag, integer, positive
from ..cuda import device
from .decoder import FAILED, FrameDecoder, Settings, batches
from .iterations import ITERATING
from .synchroniser import Synchroniser
from .workers import Workers

DEFAULT_DETECTOR = "nway"
# Samples at 20 MS/s that are searched together while frames of those before are decoded.
_PIECE = 1 << 17
# Pieces, for each thread, whose frames wait to be read or decoded at most.
_MOST_WAITING = 4


class Receiver:
    """Receive IEEE 802.11a/g/p, n and ac frames in a stream of samples.

    Args:
        num_rx: receive antennas, 1..8.
        sample_rate: 20e6, 40e6 or 80e6: the widest channel received; 5e6 or 10e6 for 802.11p.
        frequency: centre frequency of the samples in Hz, only for the reports; None if unknown.
        detector: name of the MIMO detector, or a function (unknowns, rows, constellation) that
            makes one (for iterations > 1 with a keyword ``extrinsic``). A space-time block code has
            two unknowns for a stream and two rows for an antenna, a duplicate a row for each copy.
        backend: of the detectors, "auto", "cpu", "cuda" or "reference".
        whitening: "antennas" divides each antenna by its own noise; "covariance" also makes noise
            white that is correlated between antennas, as an interferer's is.
        smoothing: whether channel estimates are smoothed over the delay spread.
        passes: how often a frame is decoded at most; from the second on, what was decoded trains
            channel, phase and clock. MPDUs that any pass decoded are kept. The last pass is the one
            that leaves none missing, or adds none to those of a frame that has some.
        iterations: passes of detector and decoder at most, for frames of several streams (and no
            space-time block code) that are not decoded at once, likewise. More than 1 with a
            detector that takes a-priori LLRs.
        keep_symbols: whether ``ReceivedFrame.symbols`` is wanted.
        threshold: of the preamble's detection, see :class:`Synchroniser`.
        threads: that read signal fields and decode frames at the same time, 1..1024; 0 takes all
            cores. Frames come in the order of the stream all the same. More than 1 pays where most
            of the samples are frames. With 1 the detectors share the cores. With a GPU it is 1.
        clock: function that returns seconds, such as ``time.thread_time``, by which ``seconds``
            counts; None leaves it empty.

    Raises:
        ValueError: an argument is not as above, or backend is "cuda" and there is no GPU.
        ImportError: backend is "cuda" and there is no CuPy.

    Attributes:
        counts: Counter of "samples", "preambles", "frames", "decoded" (frames with at least one
            MPDU whose frame check sequence fits), "mpdus", "mpdus_ok", and of what was not decoded
            by its reason; "failures" of them are exceptions.
        keep_symbols: as above; may be set while running.
        seconds: Counter of what the stages took: "synchronisation", "demodulation", "detection",
            "decoding", "reporting", of all threads together.

    An object serves one thread at a time. A function that makes detectors is called by any of its
    threads, one at a time.
    """

    def __init__(self, num_rx=1, sample_rate=20e6, frequency=None, detector=DEFAULT_DETECTOR,
                 backend="auto", whitening="antennas", smoothing=True, passes=3,
                 iterations=1, keep_symbols=False, threshold=0.35, threads=1, clock=None):
        self._sync = Synchroniser(num_rx, sample_rate, threshold, whitening)
        self.num_rx, self.sample_rate = num_rx, self._sync.sample_rate
        self.frequency = None if frequency is None else positive("frequency", frequency)
        self._iterations = integer("iterations", iterations, 1, 1000)
        threads = integer("threads", threads, 0, 1024) or len(os.sched_getaffinity(0))
        if backend == "cuda":    # what is missing is told now, not for each frame
            detectors.MMSE(num_tx=1, num_rx=num_rx, backend=backend)
        if backend in ("auto", "cuda") and device.count():
            threads = 1
        settings = Settings(
            num_rx, self.sample_rate, self._sync.scale, self.frequency, self._checked(detector),
            backend, flag("smoothing", smoothing), integer("passes", passes, 1, 100),
            self._iterations, whitening == "covariance", detector_threads=int(threads > 1))
        self._decoders = [FrameDecoder(settings, clock) for _ in range(threads)]
        self._free = SimpleQueue()
        for decoder in self._decoders:
            self._free.put(decoder)
        self._workers = Workers(threads)
        self._stretches = deque()    # (stretch, task) of those that are not settled yet
        self._jobs = deque()    # what was submitted and is not reported yet
        self.keep_symbols = flag("keep_symbols", keep_symbols)
        # The last frame that is not inside another: (end, whether only good MPDUs count inside it,
        # as it was decoded, or announced what cannot be read).
        self._parent = None
        self.counts = Counter()
        self._clock, self._searching = clock or _no_time, 0.0

    @property
    def detector(self):
        """Detector of the next frames, as above."""
        return self._decoders[0].settings.detector

    @detector.setter
    def detector(self, detector):
        settings = replace(self._decoders[0].settings, detector=self._checked(detector))
        self._settle()
        for decoder in self._decoders:
            decoder.settings = settings

    def _checked(self, detector):
        if callable(detector):
            return detector
        choice("detector", detector, tuple(detectors.REGISTRY))
        if self._iterations > 1 and detector not in ITERATING:
            raise ValueError(f"detector: got {detector!r}, which takes no a-priori LLRs; with "
                             f"iterations = {self._iterations} allowed are {', '.join(ITERATING)}")
        return detector

    @property
    def in_flight(self):
        """Whether frames were found that no call has returned yet."""
        return bool(self._stretches or self._jobs)

    @property
    def num_threads(self):
        """How many threads read signal fields and decode."""
        return len(self._decoders)

    @property
    def seconds(self):
        total = Counter(synchronisation=self._searching) if self._searching else Counter()
        for decoder in self._decoders:
            total.update(decoder.seconds)
        return total

    @property
    def threshold(self):
        """Threshold of the preamble's detection, for the next samples."""
        return self._sync.threshold

    @threshold.setter
    def threshold(self, threshold):
        self._sync.threshold = threshold

    def process(self, samples, wait=True, busy=None):
        """Take the next samples.

        Args:
            samples: (num_rx, n) complex, any n.
            wait: whether to wait until the frames are decoded for which all samples have come.
                With False, and threads > 1, some of them are returned by later calls; what waits
                to be decoded is bounded.
            busy: function that tells whether there is something else to do. Until it does, a call
                with wait=False decodes frames for which the other threads have no time.

        Returns:
            list of :class:`ReceivedFrame`, in the order of the stream.

        Raises:
            ValueError: another shape.
        """
        samples = np.asarray(samples)
        piece = _PIECE * max(1, round(self.sample_rate / 20e6))
        if samples.ndim != 2 or samples.shape[1] <= piece:
            self._search(samples)
        else:
            for begin in range(0, samples.shape[1], piece):
                self._search(samples[:, begin:begin + piece])
        if not wait and busy is not None:
            self._help(busy)
        return self._collected(wait)

    def finish(self):
        """The stream has ended: returns what was still open and starts anew at sample 0.

        ``counts`` stay.
        """
        begun = self._clock()
        stretches = self._sync.scan_end()
        self._searching += self._clock() - begun
        for stretch in stretches:
            self._follow(stretch)
        frames = self._collected()
        self._sync.restart()
        self._parent = None
        return frames

    def restart(self, origin=0):
        """Drop what is open, and take the next samples for the stream's from ``origin`` on."""
        self._settle()
        self._stretches.clear()
        self._jobs.clear()
        self._sync.restart(origin)
        self._parent = None

    def decode(self, found):
        """Demodulate and decode what a :class:`Synchroniser` of the same antennas and sample rate
        found.

        Args:
            found: list of :class:`Found`, in the order of the stream.

        Returns:
            list of :class:`ReceivedFrame`; without preambles inside of frames that were decoded.
        """
        self._submit(found)
        return self._collected()

    def _search(self, samples):
        """Begin to search samples, and to decode frames that were found."""
        begun = self._clock()
        stretches = self._sync.scan(samples)
        self._searching += self._clock() - begun
        for stretch in stretches:
            self._follow(stretch)
        # Bounded, or a stream that is too fast would fill the memory.
        self._advance(_MOST_WAITING * len(self._decoders))

    def _follow(self, stretch):
        """Begin to read the signal fields of a stretch."""
        call = self._workers.submit if stretch.chain else self._workers.run
        self._stretches.append((stretch, call(self._timed_follow, stretch)))

    def _timed_follow(self, stretch):
        begun = self._clock()
        return self._sync.follow(stretch), self._clock() - begun

    def _advance(self, waiting):
        """Begin to decode the frames of stretches that were read; wait while there are more than
        so many others."""
        while self._stretches:
            stretch, read = self._stretches[0]
            if not read.done and len(self._stretches) <= waiting:
                break
            self._stretches.popleft()
            followed, seconds = self._workers.result(read)
            begun = self._clock()
            found = self._sync.settle(stretch, followed)
            self._searching += self._clock() - begun + seconds
            self._submit(found)

    def _help(self, busy):
        """Do what the other threads have no time for, until something else is to do."""
        self._advance(len(self._stretches))
        while not busy() and self._workers.overloaded and self._workers.run_one():
            self._advance(len(self._stretches))

    def _submit(self, found):
        """Begin to decode frames."""
        job = _Job(found, [None] * len(found), [])
        able = []
        for index, one in enumerate(found):
            problem = self._decoders[0].problem(one)
            if problem:
                job.reports[index] = self._decoders[0].failed(one, problem)
            else:
                able.append(index)
        for batch in batches([found[i] for i in able], self.num_rx,
                             len(self._decoders)):
            indices = [able[i] for i in batch]
            group = [found[i] for i in indices]
            job.begun.append((indices, self._workers.submit(self._decode, group,
                                                            self.keep_symbols)))
        if found:
            self._jobs.append(job)

    def _decode(self, group, keep_symbols):
        decoder = self._free.get()
        try:
            return decoder.decode(group, keep_symbols)
        finally:
            self._free.put(decoder)

    def _settle(self):
        """Wait until no thread decodes any more."""
        for _, read in self._stretches:
            self._workers.finish(read)
        for job in self._jobs:
            for _, batch in job.begun:
                self._workers.finish(batch)

    def _collected(self, wait=True):
        """Reports of what was submitted, those that count: of all, or of what is done."""
        if wait:
            self._advance(0)
        self.counts["samples"] = self._sync.samples_seen
        self.counts["preambles"] = self._sync.preambles
        frames = []
        while self._jobs:
            job = self._jobs[0]
            # Bounded, or a stream that is too fast would fill the memory.
            late = len(self._jobs) > _MOST_WAITING * len(self._decoders)
            if not (wait or late or all(batch.done for _, batch in job.begun)):
                break
            self._jobs.popleft()
            for indices, batch in job.begun:
                for index, report in zip(indices, self._workers.result(batch), strict=True):
                    job.reports[index] = report
            frames += [frame for one, frame in zip(job.found, job.reports, strict=True)
                       if self._counts(one, frame)]
        return frames

    def _counts(self, one, frame):
        """Count a frame and tell whether it is reported: one inside another frame only where that
        one failed."""
        good = any(mpdu.fcs_ok for mpdu in frame.mpdus)
        if one.inside and not good and self._parent is not None:
            # One with a good MPDU is there, whatever an L-SIG said: samples may have been lost.
            end, sure = self._parent
            if sure or frame.start < end and (frame.problem or frame.format is None):
                return False
        if not one.inside or self._parent is None:
            self._parent = frame.start + frame.num_samples, good or one.header.format is None
        self.counts["frames"] += 1
        self.counts["decoded"] += good
        self.counts["mpdus"] += len(frame.mpdus)
        self.counts["mpdus_ok"] += sum(mpdu.fcs_ok for mpdu in frame.mpdus)
        if frame.problem:
            self.counts[frame.problem] += 1
        self.counts["failures"] += frame.problem.startswith(FAILED)
        return True


def _no_time():
    return 0.0


@dataclass(frozen=True)
class _Job:
    """Frames that were found, what is reported of them, and (indices, task) of those that are
    being decoded."""

    found: list
    reports: list
    begun: list
