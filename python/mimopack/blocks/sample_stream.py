# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base classes of the blocks that take samples of several antennas, process them in a thread."""

import atexit
import sys
import threading
import time
import weakref

import numpy as np
import pmt

from .. import _runtime
from ..checks import choice, number, positive
from ..recording import OVERLOADS
from ..recording.timeline import Timeline
from ..text import rate_in_words
from .hierarchy import hierarchical_block
from .recording_stream import read_tags
from .settings import CONTROL, Controlled, Setters
from .wifi_status import StatusReport

# Preferred number of samples at 20 MS/s per call. The upstream buffers hold at least twice as many.
BATCH = 131072
# Maximum number of batches that wait for the decoding thread, if samples need not be dropped.
_WAITING_BATCHES = 3
# Keep past tags for this number of samples, times threads. This exceeds a frame at 80 MS/s, and the
# frames that wait to be decoded.
_KEPT = 1 << 22
# Seconds between calls of the block that hands over samples: the minimum, and the maximum while the
# thread is busy. Without pacing, a radio would cause thousands of small calls. At 80 MS/s, the
# upstream buffers hold more than twice the maximum.
_PACE = 3e-4, 1e-3
# Seconds after which a busy thread must give Python's lock to a waiting one. Python's default of
# 5 ms is longer than most frames take from their last sample to their PDU.
_SWITCH_INTERVAL = 5e-4


class StreamTimes(Timeline):
    """Track times and frequencies of a receiver's samples, and the gaps in the stream.

    Args:
        sample_rate: sample rate in samples per second that the receiver was made for.
        log: ``BlockLog``.
    """

    def __init__(self, sample_rate, log):
        self._made_for, self._log = sample_rate, log
        self._gaps_at = []
        Timeline.__init__(self, sample_rate)

    def add_rate(self, sample, rate):
        """Set the sample rate from a sample on; warn if it is far from the receiver's."""
        rate = number("rx_rate", rate)
        if abs(rate - self._made_for) < 1e-3 * self._made_for:
            Timeline.add_rate(self, sample, rate)
        else:
            self._log.warn("sample rates", f"the tag rx_rate announces {rate_in_words(rate)}, but "
                           f"the block was made for {rate_in_words(self._made_for)}")

    def add_frequency(self, sample, frequency):
        """Set the centre frequency in Hz (positive) from a sample on."""
        Timeline.add_frequency(self, sample, positive("rx_freq", frequency))

    def add_time(self, sample, seconds, fraction=0.0):
        """Set the time of a sample; return whether there is a gap before it."""
        gap = Timeline.add_time(self, sample, seconds, fraction)
        if gap:
            self._gaps_at.append(sample)
        return gap

    def take_gaps(self):
        """Return the positions of the first samples after gaps found since the last call."""
        gaps, self._gaps_at = self._gaps_at, []
        return gaps

    def time(self, sample):
        """Return the time (seconds since 1970, fraction) of a sample; None without tags rx_time."""
        time = self._segment(sample).time_at(sample)
        # A PMT cannot hold a time before 0.
        return None if time is None else max((0, 0.0), time)

    def frequency(self, sample):
        """Return the centre frequency in Hz at a sample; None without tags rx_freq."""
        return self._segment(sample).frequency

    def _segment(self, sample):
        # A frame may begin before the samples do.
        return self.segment(sample) or self.segments[0]


_running = set()
_switch_interval = []    # Python's, before the first sink that shortens it


@atexit.register
def _abandon_all():
    # No thread may use C++ objects while these die at the end of the process.
    for sink in list(_running):
        sink.abandon()


class SampleSink(Controlled):
    """Take samples from a C++ block and process them in a Python thread; base class.

    A subclass has ``_send(item)``, which sends one item of the engine's output, and ``_counts()``,
    which returns a dictionary.

    Args:
        name: name of the block.
        engine: object with the attributes ``num_rx`` and ``sample_rate`` and the methods
            ``process(samples)`` and ``finish()``, which return lists of items, and
            ``restart(first)``, which drops what is in progress, and counts samples from ``first``.
        outlet: ``message_outlet``. Its port "status" carries the counts of each second.
        overload: "wait" or "drop", see ``wifi_receiver``.
        buffer_seconds: see ``wifi_receiver``.
        source: ``vector_source`` of the block's output streams, or None.

    Attributes:
        outlet, source: as above.
        ended: ``threading.Event`` that is set when the block has sent everything at its end.
    """

    def __init__(self, name, engine, outlet, overload="wait", buffer_seconds=0.25, source=None):
        self.engine, self.num_rx, self._rate = engine, engine.num_rx, engine.sample_rate
        self.outlet = outlet
        self._drops = drops = choice("overload", overload, OVERLOADS) == "drop"
        # Both end() and the end of the process use the engine after its thread.
        self._finishing = threading.Lock()
        batch = BATCH * max(1, round(self._rate / 20e6))
        most = max(1, round(positive("buffer_seconds", buffer_seconds) * self._rate))
        self._queue = _runtime.SampleQueue(
            self.num_rx, most if drops else _WAITING_BATCHES * batch, batch, drops)
        self.source = source
        if source is not None:
            # If all readers of the streams have ended, such as gr.head, nobody needs more samples.
            source.on_stop = self._queue.abandon
        self._thread = None
        self.ended = threading.Event()
        self._log = self.outlet.log
        self._log.name = name
        self.timeline = StreamTimes(self._rate, self._log)
        self._threads = getattr(engine, "num_threads", 1)
        self._status = StatusReport(self._rate, self._threads, self._log, self._send_status)
        self._on_status = None
        # Position after the last sample taken; None before the first.
        self._next = None

    def make_block(self):
        """Return a GNU Radio block with num_rx inputs and the message port ``control``.

        The block does not keep this object alive, but a running stream does: nothing would free a
        cycle of the two, such as by a listener that refers to the block.
        """
        return _runtime.sample_sink(self._log.name, self._queue, *_PACE,
                                    pmt.symbol_to_string(CONTROL), weakref.proxy(self))

    def counts(self):
        """Return the engine's counts, and gaps, lost, dropped, failures and refused_settings."""
        counts = self._counts()
        return {**counts, "gaps": self.timeline.gaps, "lost": self.timeline.lost,
                "dropped": self._queue.dropped, "refused_settings": self.refused_settings(),
                "failures": counts.get("failures", 0) + self._log.failures}

    def listen_status(self, function):
        """Call a function with each status as a dictionary, in the decoding thread.

        The function replaces the status lines in the log.
        """
        self._on_status = function
        self._status.logs = function is None

    def begin(self):
        """Begin to take samples; called when the block starts."""
        self.ended.clear()
        if self.source is not None:
            self.source.open()
        self.timeline.restart()
        self._next = None
        self._status.begin(self.counts())
        self._thread = threading.Thread(target=self._take_all, name=self._log.name,
                                        daemon=True)
        self._thread.start()
        if self._drops or self._threads > 1:    # docs/live.md says so
            if not _switch_interval:
                _switch_interval.append(sys.getswitchinterval())
            sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_INTERVAL))
        _running.add(self)

    def end(self, done):
        """Send the frames in progress; called when the block stops, with its queue closed.

        Args:
            done: whether the flowgraph has ended. If not, it is being changed.
        """
        try:
            if self._thread is not None:
                self._thread.join()
            if self._next is not None:
                with self._finishing:
                    with self._guard("the end of the stream", 0), np.errstate(all="ignore"):
                        self._send_all(self.engine.finish())
                self._tell_status(ends=True)
        finally:
            _running.discard(self)
            if _switch_interval and not _running:
                sys.setswitchinterval(_switch_interval.pop())
            self._log.flush()
            if self.source is not None:
                self.source.end()
            # If the flowgraph was stopped from outside, keep the receiving blocks alive.
            self.outlet.end(done)
            self.ended.set()

    def control(self, message):
        """Handle a message of port ``control``."""
        self._on_control(message)

    def rename(self, name):
        """Set the name of the block in the log."""
        self._log.name = name

    def abandon(self):
        """Take no more samples, and wait until all threads are idle."""
        if self.source is not None:
            self.source.close()
        self._queue.abandon()
        self._thread.join()
        self.ended.wait(1)    # the block ends when the next samples come, if any do
        with self._finishing, self._log.guard("frames in progress"):
            self.engine.restart()

    def _take_all(self):
        try:
            with np.errstate(all="ignore"):
                self._take_each()
        except BaseException as error:    # such as SystemExit from a listener
            self._log.error(f"the receiver has stopped taking samples: {error!r}")
        finally:
            self._queue.abandon()

    def _take_each(self):
        while True:
            # Send what other threads have decoded, until there are samples.
            while self._in_flight() and not self._queue.has_more:
                begun, helped = time.monotonic(), False
                with self._guard("frames that other threads decode", self._next):
                    frames, helped = self._ready()
                    self._send_all(frames)
                self._status.add_busy(time.monotonic() - begun)
                if not helped and self._in_flight() and self._queue.wait():
                    break
            taken = False
            with self._log.guard("a look for samples"):    # they wait for the next one
                taken = self._queue.take()
            if taken is None:
                return
            if not taken:
                continue
            first, samples, tags = taken
            with self._log.guard(f"samples {first} to {first + samples.shape[1]}"):
                self._take(first, samples, tags)

    def _take(self, first, samples, tags):
        """Search samples (num_rx, n); the first one is sample ``first`` of the stream."""
        begun = time.monotonic()
        end = first + samples.shape[1]
        if self._next is None:
            # After a change of the running flowgraph, do not restart at 0.
            self.engine.restart(first)
        self.timeline.begin(first)
        read_tags(tags, self.timeline, self._log)
        # A tag may belong to a dropped sample, so a gap is not before the first sample.
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
                # Samples after the gap do not continue the frames in progress.
                with self._guard("frames in progress at a gap", cut):
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
        if self.outlet.listeners("status"):
            self.outlet.send("status", pmt.to_pmt(told))

    def _guard(self, what, end):
        """Guard a step; after an exception, restart the engine, whose state is unknown."""
        return self._log.guard(what, lambda: self.engine.restart(end))

    def _search(self, samples):
        """Return what the engine finds in samples."""
        return self.engine.process(samples)

    def _in_flight(self):
        """Return whether other threads still decode frames."""
        return False

    def _ready(self):
        """Return (items that other threads have finished, whether the call has helped them)."""
        return [], False

    def _prepare(self):
        """Pass settings to the engine, in the thread that uses it."""

    def _send_all(self, items):
        for item in items:
            with self._log.guard("a frame's messages"):
                self._send(item)


class sample_block(hierarchical_block):
    """Base class of the public blocks: a ``SampleSink`` with its outlet and source."""

    def __init__(self, name, sink):
        widths = () if sink.source is None else sink.source.widths
        hierarchical_block.__init__(self, name, sink.num_rx, widths)
        self._sink = sink
        self._outlet = sink.outlet
        block = sink.make_block()
        self.connect_inputs(block)
        sink.rename(self.alias())
        if sink.CONTROLS:
            self.message_port_register_hier_in("control")
            self.msg_connect(self, "control", block, "control")
        self._outlet.join(self)
        for port in range(len(widths)):
            self.connect((sink.source, port), (self, port))

    def set_block_alias(self, name):
        """Set the name of the block in its flowgraph and in the log."""
        self.to_basic_block().set_block_alias(name)
        self._sink.rename(name)

    def counts(self):
        """Return a dictionary of counts since the block was made."""
        return self._sink.counts()

    def failures(self):
        """Return the number of exceptions, each of which lost samples, a message or a tag."""
        return self._sink.counts()["failures"]

    def refused_settings(self):
        """Return the number of messages at port ``control`` that were refused."""
        return self._sink.refused_settings()

    @property
    def ended(self):
        """``threading.Event`` that is set when the stream has ended and everything was sent."""
        return self._sink.ended

    @property
    def control(self):
        """The methods ``set_...`` without exceptions, for callbacks: ``control.set_NAME(value)``.

        An exception in a callback of Qt would end the process. A value that the block refuses is
        logged and counted by ``refused_settings()``, and the setting stays as it is.
        """
        return Setters(self._sink)
