# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receive frames from samples of several antennas; the core of the blocks and the command line."""

from collections import Counter, deque
from dataclasses import dataclass, replace
from queue import SimpleQueue

import numpy as np

from .. import _core, detectors
from ..checks import flag, integer, positive
from .decoder import FAILED, Begun, FrameDecoder, Settings
from .frame import of_users
from .frame_detectors import FrameDetectors, is_function, shared_out
from .he_trigger import Answer, triggers_in
from .he_users import SeveralUsers, users_of
from .iterations import FEEDBACK_SCALE
from .stage_timer import StageTimer
from .synchroniser import Synchroniser
from .vht_users import SeveralVHTUsers, vht_users_of
from .workers import WorkerPool

DEFAULT_DETECTOR = "nway"
# Samples at 20 MS/s per search; earlier frames are decoded meanwhile.
_PIECE = 1 << 18
# An HE TB frame begins at most this number of seconds after the Trigger frame: a SIFS of 16 us, and
# the signal extension of 2.4 GHz, with a tolerance.
_ANSWER = 30e-6
# Limit, per thread, of the pieces whose frames wait to be read or decoded.
_MOST_WAITING = 4


class Receiver:
    """Receive IEEE 802.11a/g/p, n, ac, ax and be frames in a stream of samples.

    One thread at a time may use an object.

    Args:
        num_rx: number of receive antennas, 1..8.
        sample_rate: 20e6, 40e6, 80e6 or 160e6, which is also the bandwidth of the widest channel
            received; 5e6 or 10e6 for 802.11p.
        frequency: centre frequency of the samples in Hz, used only in reports; None if unknown.
        detector: the MIMO detector, one of:

            - a name, with parameters if wanted, as in "kbest:k=8". ``iterations`` and
              ``feedback_scale`` (see ``iterative.IterativeReceiver``) may be among them; the former
              overrides the argument;
            - a class, also one that ``detectors.register`` would take;
            - an object. The receiver makes detectors of this package for the size of each frame,
              with the object's parameters. A user's object is copied. It must have the attribute
              constellation and may have num_tx and num_rx. Frames with other values are not
              decoded;
            - a function that makes a detector, called with the number of unknowns (columns of H),
              the number of rows of H, and the constellation's name. With iterations > 1, it also
              takes a keyword ``extrinsic``. It is called from any thread of the receiver, one call
              at a time.

            A space-time block code has two unknowns per stream and two rows per antenna. A
            duplicate frame has one row per copy and antenna. MMSE replaces all but functions for a
            single unknown, and MLA those that do not support BPSK.
        backend: backend of the detectors, "auto" (the CPU), "cpu", "cuda" or "reference". A
            function chooses it itself.
        whitening: "antennas" divides each antenna by its own noise. "covariance" also whitens noise
            that is correlated between antennas, such as interference.
        smoothing: whether to smooth channel estimates over the delay spread.
        passes: maximum number of decoding passes per frame. From the second pass on, the decoded
            bits serve as training for channel, phase and clock. MPDUs decoded in any pass are kept.
            Decoding of a frame ends when no MPDU is missing, when a pass adds none to the correct
            MPDUs found before, or when a pass changes no bit.
        iterations: maximum number of iterations between detector and decoder, for frames with
            several streams, of one user or of several, that the first iteration does not decode.
            Values above 1 need a detector that takes a-priori LLRs. MPDUs decoded in any iteration
            are kept.
        keep_symbols: whether to fill in ``ReceivedFrame.symbols``.
        threshold: threshold of preamble detection, see :class:`Synchroniser`.
        threads: number of threads that search samples and decode frames, up to
            ``checks.MOST_THREADS``; 0 uses all cores. Frames are returned in the order of the
            stream in any case. Use more than 1 if frames occupy most of the time. With 1, a
            detector uses all cores for large batches. Backend "cuda" reduces them to 1: a GPU needs
            larger batches than several threads get.
        clock: function that returns a time in seconds, such as ``time.thread_time``, to measure
            ``seconds``; None leaves ``seconds`` empty.
        he_trigger: what a Trigger frame has asked of HE TB frames, a dictionary with the keys of
            :func:`he_trigger.trigger_of`, or the name of a JSON file with one. None decodes only
            the HE TB frames that answer a Trigger frame in the samples; others are named.

    Raises:
        ValueError: an argument is not as above, or backend is "cuda" and there is no GPU.
        ImportError: backend is "cuda" and there is no CuPy.

    Attributes:
        counts: Counter of "samples", "preambles", "frames", "decoded" (frames with at least one
            MPDU whose FCS is correct), "mpdus" and "mpdus_ok". Frames that were not decoded are
            counted under their problem; "failures" counts those that raised an exception.
        keep_symbols: as above; may be set at any time.
        seconds: Counter of the seconds spent in "synchronisation", "demodulation", "detection",
            "decoding" and "reporting", summed over all threads.
    """

    def __init__(self, num_rx=1, sample_rate=20e6, frequency=None, detector=DEFAULT_DETECTOR,
                 backend="auto", whitening="antennas", smoothing=True, passes=3,
                 iterations=1, keep_symbols=False, threshold=0.35, threads=1, clock=None,
                 he_trigger=None):
        self._sync = Synchroniser(num_rx, sample_rate, threshold, whitening, he_trigger)
        self.num_rx, self.sample_rate = num_rx, self._sync.sample_rate
        self.frequency = None if frequency is None else positive("frequency", frequency)
        self._iterations = integer("iterations", iterations, 1, 1000)
        self._backend, threads, self._detector_threads = shared_out(backend, threads)
        self._threads = threads
        if backend == "cuda":    # fail now, not at each frame
            detectors.MMSE(num_tx=1, num_rx=num_rx, backend=backend)
        settings = Settings(
            num_rx, self.sample_rate, self._sync.scale, self.frequency,
            smoothing=flag("smoothing", smoothing), passes=integer("passes", passes, 1, 100),
            covariance=whitening == "covariance", detector_threads=self._detector_threads,
            **self._chosen(detector))
        self._decoder = FrameDecoder(settings, clock)    # of the thread that searches
        self._others = [FrameDecoder(settings, clock) for _ in range(threads)]
        self._free = SimpleQueue()
        for decoder in self._others:
            self._free.put(decoder)
        self._workers = WorkerPool(threads)
        self._stretches = deque()    # not settled yet
        self._jobs = deque()    # submitted, not reported yet
        self.keep_symbols = flag("keep_symbols", keep_symbols)
        # (end, sure) of the last frame that is not nested. ``sure`` means that only nested frames
        # with good MPDUs are reported, because this frame was decoded or announced an unsupported
        # format.
        self._parent = None
        # Where the last Trigger frame ended, and what it asks for.
        self._triggers = -1 << 62, []
        self.counts = Counter()
        self._timer = StageTimer(clock)

    @property
    def detector(self):
        """Detector of the next frames, see the argument."""
        return self._detector

    @detector.setter
    def detector(self, detector):
        settings = replace(self._decoder.settings, **self._chosen(detector))
        self._settle()
        for decoder in (self._decoder, *self._others):
            decoder.settings = settings

    def _chosen(self, detector):
        """Return the settings that a detector determines, a dictionary."""
        if is_function(detector):
            found = {"detector": detector, "iterations": self._iterations,
                     "feedback_scale": FEEDBACK_SCALE}
        else:
            make = FrameDetectors(detector, self._iterations, self._backend,
                                  threads=self._detector_threads)
            found = {"detector": make, "iterations": make.iterations,
                     "feedback_scale": make.feedback_scale}
        self._detector = detector
        return found

    @property
    def in_flight(self):
        """True while other threads search samples, or decode frames that a later call returns."""
        return bool(self._stretches or self._jobs)

    @property
    def num_threads(self):
        """Number of threads that search samples and decode frames."""
        return self._threads

    def set_alarm(self, alarm):
        """Set what is called when another thread has ended a task, see ``_core.TaskQueue``.

        :meth:`ready` may then return frames.
        """
        self._workers.tasks.set_alarm(alarm)

    @property
    def seconds(self):
        total = self._timer.seconds.copy()
        if self._timer:
            total["synchronisation"] += self._sync.task_seconds
        for decoder in (self._decoder, *self._others):
            total.update(decoder.seconds)
        return total

    @property
    def threshold(self):
        """Threshold of preamble detection, for the next samples."""
        return self._sync.threshold

    @threshold.setter
    def threshold(self, threshold):
        self._sync.threshold = threshold

    def process(self, samples, wait=True):
        """Process the next samples.

        Args:
            samples: (num_rx, n) complex, any n.
            wait: whether to wait until all frames with complete samples are decoded. With False and
                threads > 1, :meth:`ready` and later calls return some of the frames, and the
                samples must not change as long as anything is :attr:`in_flight`. If too many frames
                wait to be decoded, the call waits nevertheless.

        Returns:
            list of :class:`ReceivedFrame`, in the order of the stream.

        Raises:
            ValueError: the shape is wrong.
        """
        samples = np.asarray(samples)
        piece = _PIECE * max(1, round(self.sample_rate / 20e6))
        if samples.ndim != 2 or samples.shape[1] <= piece:
            self._search(samples)
        else:
            for begin in range(0, samples.shape[1], piece):
                self._search(samples[:, begin:begin + piece])
        return self._collected(wait)

    def ready(self):
        """Return frames that other threads have decoded since the last call.

        If more tasks wait than there are other threads, run one of them first.

        Returns:
            (frames, helped): list of :class:`ReceivedFrame` in the order of the stream, and whether
            this call has worked for the other threads. If not, wait for the alarm.
        """
        tasks = self._workers.tasks
        helped = tasks.overloaded and tasks.run_one()
        return self._collected(wait=False), helped

    def finish(self):
        """End the stream: return the remaining frames, and begin a new stream at sample 0.

        ``counts`` keeps its values.
        """
        self._follow(self._sync.scan_end())
        frames = self._collected()
        self._sync.restart()
        self._parent, self._triggers = None, (-1 << 62, [])
        return frames

    def restart(self, origin=0):
        """Drop frames in progress. The next sample becomes sample ``origin`` of the stream."""
        self._settle()
        self._stretches.clear()
        self._jobs.clear()
        self._sync.restart(origin)
        self._parent, self._triggers = None, (-1 << 62, [])

    def decode(self, found):
        """Demodulate and decode the output of a :class:`Synchroniser`.

        The synchroniser must have the same number of antennas and sample rate as this receiver.

        Args:
            found: list of :class:`FoundFrame`, in the order of the stream.

        Returns:
            list of :class:`ReceivedFrame`, without frames nested in a frame that was decoded.
        """
        self._timer.end()
        self._submit(found)
        return self._collected()

    def _search(self, samples):
        """Search samples and start to decode the frames found."""
        self._follow(self._sync.scan(samples))
        # Limit the queue, or a stream that is too fast would fill the memory.
        self._advance(_MOST_WAITING * self._threads)

    def _follow(self, stretches):
        """Start to search stretches."""
        begun = self.in_flight
        self._stretches += stretches    # now, so that no exception loses one
        try:
            for stretch in stretches:
                # If there is nothing else to do, scan here: handing over a task would take longer.
                if begun or stretch.task.scan():
                    self._workers.start(stretch.task)
                else:
                    stretch.task.run()
        except BaseException:    # _advance() must not wait for a task that nobody runs
            for stretch in stretches:
                stretch.task.run()
            raise

    def _advance(self, waiting):
        """Start to decode the frames of stretches whose signal fields were read.

        Wait while more than ``waiting`` later stretches are pending.
        """
        while self._stretches:
            stretch = self._stretches[0]
            if not stretch.task.done and len(self._stretches) <= waiting:
                break
            self._stretches.popleft()
            self._workers.finish(stretch.task)
            self._timer.end()
            found = self._sync.settle(stretch)
            if found:
                self._submit(found, stretch.size / self.sample_rate)

    def _submit(self, found, seconds=0.0):
        """Start to decode frames that were found in samples of some seconds."""
        self._timer.end("synchronisation")
        job = _Job(list(found), [], [], {})
        for index, one in enumerate(found):
            if (isinstance(one.several, SeveralUsers | SeveralVHTUsers)
                    and not one.truncated):
                self._divide(job, index, one)
        job.reports.extend([None] * len(job.found))
        able = []
        for index, one in enumerate(job.found):
            problem = self._decoder.problem(one)
            if problem:
                job.reports[index] = self._decoder.failed(one, problem)
            else:
                able.append(index)
        for batch in self._decoder.batches([job.found[i] for i in able], self._threads, seconds):
            self._begin(job, [able[i] for i in batch])
        self._timer.end("demodulation")
        self._jobs.append(job)

    def _divide(self, job, index, one):
        """Add the parts of a frame of several users to a job, as frames of their own."""
        try:
            if isinstance(one.several, SeveralVHTUsers):
                users, reason = vht_users_of(one, self._decoder)
            else:
                users, reason = users_of(one, self._sync.scale)
        except Exception as error:
            self._decoder.failure(one, error)    # logs it
            users, reason = [], f"{FAILED}{type(error).__name__}"
        first = len(job.found)
        job.found.extend(replace(one, format=user, several=None) for user in users)
        job.users[index] = range(first, len(job.found)), reason or one.problem

    def _begin(self, job, indices):
        """Start to decode frames of one kind."""
        group = [job.found[i] for i in indices]
        try:
            begun = self._decoder.begin(group, self.keep_symbols)
        except Exception as error:    # a user's detector was not made
            for index, one in zip(indices, group, strict=True):
                job.reports[index] = self._decoder.failure(one, error)
        else:
            job.batches.append(_Batch(indices, begun, self._start(begun.task, "demodulation")))

    def _start(self, task, stage):
        """Start a task, which measures its own time, in the course of a stage."""
        if self._threads > 1:
            return self._workers.start(task)
        self._timer.end(stage)
        self._workers.start(task)    # runs it
        self._timer.end()
        return task

    def _improved(self, begun, left):
        decoder = self._free.get()
        try:
            return decoder.improve(begun, left)
        finally:
            self._free.put(decoder)

    def _finish(self, job, batch):
        """Wait for the task in C++, take its result, and start a task for the frames it left."""
        self._workers.finish(batch.task)    # may run it; a task measures its own time
        self._timer.end()
        reports = self._decoder.finish(batch.begun)
        for index, report in zip(batch.indices, reports, strict=True):
            job.reports[index] = report
        batch.left, batch.task = [i for i, report in enumerate(reports) if report is None], None
        if batch.left:
            batch.task = self._start(_core.python_task(self._improved, batch.begun, batch.left),
                                     "reporting")
        self._timer.end("reporting")

    def _complete(self, job, batch):
        """Wait for the reports of a batch."""
        if batch.left is None:
            self._finish(job, batch)
        if batch.task:
            self._workers.finish(batch.task)
            for i, report in zip(batch.left, batch.task.value(), strict=True):
                job.reports[batch.indices[i]] = report

    def _settle(self):
        """Wait until all threads are idle."""
        for stretch in self._stretches:
            self._workers.finish(stretch.task)
        for job in self._jobs:
            for batch in job.batches:
                if batch.task:
                    self._workers.finish(batch.task)

    def _collected(self, wait=True):
        """Return the reports of finished frames, or of all submitted frames if ``wait`` is true."""
        self._advance(0 if wait else len(self._stretches))
        self.counts["samples"] = self._sync.samples_seen
        self.counts["preambles"] = self._sync.preambles
        for job in self._jobs:
            for batch in job.batches:
                # Finish all tasks in C++ first: what they leave then shares the threads.
                if batch.left is None and (wait or batch.task.done):
                    self._finish(job, batch)
        frames = []
        while self._jobs:
            job = self._jobs[0]
            # Limit the queue, or a stream that is too fast would fill the memory.
            late = len(self._jobs) > _MOST_WAITING * self._threads
            if not (wait or late or all([batch.done for batch in job.batches])):
                break
            self._jobs.popleft()
            for batch in job.batches:
                self._complete(job, batch)
            for index, frame in enumerate(job.merged()):
                one = job.found[index]
                if isinstance(one.several, Answer) and not one.truncated:
                    frame = self._answered(one, frame)
                self._take_triggers(frame)
                if self._counts(one, frame):
                    frames.append(frame)
        return frames

    def _take_triggers(self, frame):
        """Keep what a Trigger frame asks of the HE TB frames that follow it."""
        for mpdu in frame.mpdus:
            if mpdu.fcs_ok:
                triggers = triggers_in(mpdu.data)
                if triggers:
                    self._triggers = frame.start + frame.num_samples, triggers

    def _answered(self, one, frame):
        """Return the report of an HE TB frame, decoded if it follows a Trigger frame.

        Stations that did not answer are left out.
        """
        end, triggers = self._triggers
        if not 0 <= one.start - end <= _ANSWER * self.sample_rate:
            return frame
        users = []
        for f in one.several.formats(triggers, one.subchannels):
            part = replace(one, format=f, several=None)
            problem = self._decoder.problem(part)
            if problem:
                users += self._decoder.failed(part, problem).parts
            else:
                begun = self._decoder.begin([part], self.keep_symbols)
                begun.task.run()
                report, = self._decoder.finish(begun)
                users += (report or self._decoder.improve(begun, [0])[0]).parts
        users = [user for user in users if user.mpdus or user.problem]
        return of_users(users) if users else frame

    def _counts(self, one, frame):
        """Count a frame and return whether to report it.

        A frame nested in another is reported only if the outer one failed, or if it has a good
        MPDU.
        """
        right = sum([mpdu.fcs_ok for mpdu in frame.mpdus])
        good = right > 0
        if one.inside and not good and self._parent is not None:
            # A good MPDU proves the frame, whatever an L-SIG announced: samples may have been lost.
            end, sure = self._parent
            if sure or frame.start < end and (frame.problem or frame.format is None):
                return False
        if not one.inside or self._parent is None:
            self._parent = frame.start + frame.num_samples, good or one.format is None
        self.counts["frames"] += 1
        self.counts["decoded"] += good
        self.counts["mpdus"] += len(frame.mpdus)
        self.counts["mpdus_ok"] += right
        if frame.problem:
            self.counts[frame.problem] += 1
            self.counts["failures"] += frame.problem.startswith(FAILED)
        return True


@dataclass
class _Batch:
    """Frames that are decoded together.

    Attributes:
        indices: their places in the job.
        begun: :class:`decoder.Begun`.
        task: ``_core.Task`` that decodes them, first in C++, then what is left in Python; None if
            nothing is left.
        left: indices in ``begun.group`` of the frames that are left; None until the task in C++ has
            ended.
    """

    indices: list
    begun: Begun
    task: _core.Task | None
    left: list | None = None

    @property
    def done(self):
        """True if nothing is left, or the last task has ended."""
        return not self.task or self.left is not None and self.task.done


@dataclass(frozen=True)
class _Job:
    """Frames that were found, their reports, and the batches in which they are decoded.

    Attributes:
        found: list of :class:`FoundFrame`; behind them the parts of frames of several users.
        reports: list of their :class:`ReceivedFrame`.
        batches: list of :class:`_Batch`.
        users: {index of a frame of several users: (indices of its parts, why others are missing)}.
    """

    found: list
    reports: list
    batches: list
    users: dict

    def merged(self):
        """Return the reports of the frames, with their users."""
        parts = {index for indices, _ in self.users.values() for index in indices}
        return [self._of_users(index) if index in self.users else report
                for index, report in enumerate(self.reports) if index not in parts]

    def _of_users(self, index):
        indices, reason = self.users[index]
        users = [user for i in indices for user in self.reports[i].parts]
        if not users:
            return replace(self.reports[index], problem=reason)
        return of_users(users)
