# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base of the blocks that take samples of several antennas and send frames."""

import atexit
import threading
import time
import weakref
from contextlib import contextmanager

import numpy as np
import pmt
from gnuradio import gr

from .. import _runtime
from ..checks import choice, number, positive
from ..detectors import REGISTRY
from ..recording import OVERLOADS
from ..recording.timeline import Timeline
from ..wifi import Receiver
from .handover import QuickHandover
from .message_stream import message_outlet
from .recording_stream import read_tags
from .settings import CONTROL, Controlled
from .streams import BlockLog
from .wifi_status import StatusReport

# Samples at 20 MS/s to aim at per call: the buffers in front hold at least twice as many.
BATCH = 131072
# So many batches may wait for the thread that decodes, where samples need not be dropped.
_WAITING_BATCHES = 3
# Samples for which the tags of the past are kept, times threads: more than a frame lasts at 80
# MS/s, and than there are in frames that wait to be decoded.
_KEPT = 1 << 22
# Seconds between calls of the block that hands samples over, as a radio would make thousands of
# small ones: at least, and at most while the thread is busy anyway. The buffers in front hold more
# than twice as much at 80 MS/s.
_PACE = 3e-4, 1e-3
# Seconds for which frames that other threads decode wait for further samples: a radio may be silent
# for long.
_PATIENCE = 1e-3


class StreamTimes(Timeline):
    """Times and frequencies of a receiver's samples, and where they do not continue.

    Args:
        sample_rate: that the receiver was made for.
        log: ``BlockLog``.
    """

    def __init__(self, sample_rate, log):
        self._made_for, self._log = sample_rate, log
        self._gaps_at = []
        Timeline.__init__(self, sample_rate)

    def add_rate(self, sample, rate):
        """The sample rate from a sample on; one that is far from the receiver's is a warning."""
        rate = number("rx_rate", rate)
        if abs(rate - self._made_for) < 1e-3 * self._made_for:
            Timeline.add_rate(self, sample, rate)
        else:
            self._log.warn("sample rates", f"the samples come at {rate:g} per second by "
                           f"their tag rx_rate, the block was made for {self._made_for:g}")

    def add_frequency(self, sample, frequency):
        """The centre frequency in Hz from a sample on, positive."""
        Timeline.add_frequency(self, sample, positive("rx_freq", frequency))

    def add_time(self, sample, seconds, fraction=0.0):
        """The time of a sample; returns whether there is a gap before it."""
        gap = Timeline.add_time(self, sample, seconds, fraction)
        if gap:
            self._gaps_at.append(sample)
        return gap

    def take_gaps(self):
        """Samples that do not continue those before, of the tags since the last call."""
        gaps, self._gaps_at = self._gaps_at, []
        return gaps

    def time(self, sample):
        """(seconds, fraction) of a sample; None without tags of it."""
        time = self._segment(sample).time_at(sample)
        # A PMT has no time before 0.
        return None if time is None else max((0, 0.0), time)

    def frequency(self, sample):
        """The frequency at a sample; None without tags of it."""
        return self._segment(sample).frequency

    def _segment(self, sample):
        # A frame can begin before the samples do.
        return self.segment(sample) or self.segments[0]


_running = weakref.WeakSet()


@atexit.register
def _abandon_all():
    # A thread that comes back from C++ when Python has gone ends the process.
    for sink in list(_running):
        sink.abandon()


class SampleSink(Controlled):
    """Base of what takes the samples: a thread of Python behind a block in C++.

    A subclass has ``_send(item)``, which sends one item of what the engine returns, and
    ``_counts()``, a dictionary.

    Args:
        name: of the block.
        engine: ``wifi.Receiver`` or ``wifi.Synchroniser``.
        frequency: centre frequency in Hz, or None.
        ports: names of the message ports of ``outlet``; "status" gets what was counted each second.
        overload: "wait" or "drop", as of ``wifi_receiver``.
        buffer_seconds: likewise.

    Attributes:
        block: with num_rx inputs and the message port ``control``.
        outlet: ``message_outlet``.
    """

    def __init__(self, name, engine, frequency, ports, overload="wait", buffer_seconds=0.25):
        self.engine, self.num_rx, self._rate = engine, engine.num_rx, engine.sample_rate
        self.set_frequency(frequency)
        self._threshold = engine.threshold
        self.outlet = message_outlet(ports)
        self._drops = drops = choice("overload", overload, OVERLOADS) == "drop"
        self._handover = QuickHandover()
        batch = BATCH * max(1, round(self._rate / 20e6))
        most = max(1, round(positive("buffer_seconds", buffer_seconds) * self._rate))
        self._queue = _runtime.SampleQueue(
            self.num_rx, most if drops else _WAITING_BATCHES * batch, batch, drops)
        self._thread = None
        # The block finds this object through a weak reference, and holds it while it runs only:
        # two that hold each other would stay for ever. It keeps the outlet, which GNU Radio does
        # not.
        self.block = _runtime.sample_sink(name, self._queue, *_PACE,
                                          pmt.symbol_to_string(CONTROL), weakref.ref(self),
                                          self.outlet)
        self._log = BlockLog(self.block)
        self.timeline = StreamTimes(self._rate, self._log)
        self._threads = getattr(engine, "num_threads", 1)
        self._status = StatusReport(self._rate, self._threads, self._log, self._send_status)
        self._on_status = None
        # The sample behind the last one taken; None before the first.
        self._next = None

    def frequency(self):
        """Centre frequency of the samples in Hz where no tag has it; None if unknown."""
        return self._frequency

    def set_frequency(self, frequency):
        """Set the centre frequency in Hz, None if unknown."""
        self._frequency = None if frequency is None else positive("frequency", frequency)

    def threshold(self):
        """Threshold of the preamble's detection."""
        return self._threshold

    def set_threshold(self, threshold):
        """Set the threshold, 0.2 to 0.95, from the next samples on."""
        threshold = number("threshold", threshold)
        if not 0.2 <= threshold <= 0.95:
            raise ValueError(f"threshold: got {threshold}, allowed are 0.2 to 0.95")
        self._threshold = threshold

    def counts(self):
        """Dictionary of what the engine has counted, of gaps and drops, and of failures."""
        counts = self._counts()
        return {**counts, "gaps": self.timeline.gaps, "lost": self.timeline.lost,
                "dropped": self._queue.dropped,
                "failures": counts.get("failures", 0) + self._log.failures}

    def listen_status(self, function):
        """Call a function, on the thread that decodes, with each status as a dictionary; it takes
        the place of the log's lines."""
        self._on_status = function
        self._status.logs = function is None

    def begin(self):
        """The block starts: take its samples."""
        self.timeline.restart()
        self._next = None
        self._status.begin(self.counts())
        self._thread = threading.Thread(target=self._take_all, name="wifi_receiver", daemon=True)
        self._thread.start()
        if self._drops or self._threads > 1:
            self._handover.begin()
        _running.add(self)

    def end(self, done):
        """The block stops, and its queue is closed: send what is still open.

        Args:
            done: whether the flowgraph has ended, and was not only changed.
        """
        try:
            self._thread.join()
            if self._next is not None:
                with self._guard("the end of the stream", 0):
                    self._send_all(self.engine.finish())
                self._tell_status(ends=True)
        finally:
            _running.discard(self)
            self._handover.end()
            self._log.flush()
            # Where the flowgraph was stopped from outside, the receivers are to live on.
            if done:
                self.outlet.end()

    def control(self, message):
        """Take a message of the port ``control``."""
        self._on_control(message)

    def abandon(self):
        """Take no more samples, and wait until no thread is at work."""
        self._queue.abandon()
        self._thread.join()
        with self._log.guard("what was open"):
            self.engine.restart()

    def _take_all(self):
        try:
            self._take_each()
        except BaseException as error:    # such as SystemExit, from whom the frames are for
            self._log.error(f"the receiver takes no more samples: {error!r}")
        finally:
            self._queue.abandon()

    def _take_each(self):
        while True:
            # What other threads decode goes out with the next samples, if these come soon.
            if self._in_flight() and not self._queue.wait(_PATIENCE):
                with self._guard("frames that were being decoded", self._next):
                    self._send_all(self._rest())
            taken = self._queue.take()
            if taken is None:
                return
            first, samples, tags = taken
            with self._log.guard(f"samples {first} to {first + samples.shape[1]}"):
                self._take(first, samples, tags)

    def _take(self, first, samples, tags):
        """Search samples, (num_rx, n), the first of which has this number in the stream."""
        begun = time.monotonic()
        end = first + samples.shape[1]
        if self._next is None:
            # Not from 0 on where a flowgraph was changed while it ran.
            self.engine.restart(first)
        self.timeline.begin(first)
        read_tags(tags, self.timeline, self._log)
        # Tags can belong to samples that were dropped.
        cuts = {max(first, sample) for sample in self.timeline.take_gaps()}
        if self._next not in (None, first):
            cuts.add(first)
        at = first
        for cut in (*sorted(cuts), end):
            if cut > at:
                with self._guard(f"samples {at} to {cut}", cut):
                    self._prepare()
                    self._send_all(self._search(samples[:, at - first:cut - first]))
            if cut in cuts:
                # What is behind the gap would not fit to what is open.
                with self._guard("what was open at a gap", cut):
                    self._send_all(self.engine.finish())
                    self.engine.restart(cut)
            at = cut
        self._next = end
        self.timeline.forget(end - _KEPT * self._threads)
        self._status.add_busy(time.monotonic() - begun)
        self._tell_status()

    def _tell_status(self, ends=False):
        if ends or self._status.is_due():
            waiting = self._queue.waiting / self._rate
            with self._log.guard("a status"):
                self._status.tell(self.counts(), getattr(self.engine, "seconds", {}), waiting)

    def _send_status(self, told):
        if self._on_status is not None:
            self._on_status(told)
        if "status" in self.outlet.ports and self.outlet.listeners("status"):
            self.outlet.send("status", pmt.to_pmt(told))

    @contextmanager
    def _guard(self, what, end):
        """After an exception nobody knows what state the engine is in: begin anew at a sample."""
        with (self._log.guard(what, lambda: self.engine.restart(end)),
              np.errstate(all="ignore")):
            yield

    def _search(self, samples):
        """What the engine finds in samples."""
        return self.engine.process(samples)

    def _in_flight(self):
        """Whether other threads still decode what the engine has found."""
        return False

    def _rest(self):
        """Wait for the frames that other threads decode, and return them."""
        return []

    def _is_behind(self):
        """Whether more samples wait already."""
        return self._queue.has_more

    def _prepare(self):
        """Settings reach the engine, on the thread that it serves."""
        self.engine.threshold = self._threshold

    def _send_all(self, items):
        for item in items:
            with self._log.guard("a frame's messages"):
                self._send(item)


class DetectorChoice:
    """The detector of a receiver, which can change while it runs; ``_iterations`` is there."""

    def detector(self):
        """Name of the MIMO detector."""
        return self._detector

    def set_detector(self, detector):
        """Use another detector, from the next samples on."""
        choice("detector", detector, tuple(REGISTRY))
        # An engine on another thread must not be the first to refuse it.
        Receiver(detector=detector, iterations=self._iterations)
        self._detector = detector


class sample_block(gr.hier_block2):
    """Base of the blocks that users see: the block of a ``SampleSink`` and its outlet."""

    def __init__(self, name, sink):
        ports = sink.num_rx
        gr.hier_block2.__init__(self, name, gr.io_signature(ports, ports, gr.sizeof_gr_complex),
                                gr.io_signature(0, 0, 0))
        self._sink = sink
        self._outlet = sink.outlet
        for port in range(ports):
            self.connect((self, port), (sink.block, port))
        self.message_port_register_hier_in("control")
        self.msg_connect(self, "control", sink.block, "control")
        self._outlet.join(self)

    def counts(self):
        """Dictionary of what was counted since the block was made."""
        return self._sink.counts()

    def failures(self):
        """Exceptions, each of which cost the samples at hand, a message or a tag."""
        return self._sink.counts()["failures"]

    def frequency(self):
        """Centre frequency of the samples in Hz where no tag has it; None if unknown."""
        return self._sink.frequency()

    def set_frequency(self, frequency):
        """Set the centre frequency in Hz, None if unknown."""
        self._sink.set_frequency(frequency)

    def threshold(self):
        """Threshold of the preamble's detection."""
        return self._sink.threshold()

    def set_threshold(self, threshold):
        """Set the threshold, 0.2 to 0.95, from the next samples on."""
        self._sink.set_threshold(threshold)

