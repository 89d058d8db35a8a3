# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base of the blocks that take samples of several antennas and send frames."""

from bisect import bisect_right
from contextlib import contextmanager

import numpy as np
import pmt
from gnuradio import gr

from ..checks import choice, number, positive
from ..detectors import REGISTRY
from ..wifi import Receiver
from .message_stream import message_outlet
from .settings import Controlled, scalar
from .streams import BlockLog
from .wifi_pmt import moment

# Samples per work() call to aim at: the buffers in front hold at least twice as many.
BATCH = 131072
_RX_TIME, _RX_FREQ, _RX_RATE = map(pmt.intern, ("rx_time", "rx_freq", "rx_rate"))
# Samples for which the tags of the past are kept: more than a frame lasts at 80 MS/s.
_KEPT = 1 << 20


class Timeline:
    """Time and frequency of samples, as the tags rx_time and rx_freq give them.

    Args:
        sample_rate: samples per second.
    """

    def __init__(self, sample_rate):
        self._rate = sample_rate
        self.clear()

    def clear(self):
        """Forget all tags."""
        self._times, self._frequencies = [], []

    def add_time(self, offset, seconds, fraction):
        """A sample's time: seconds and a fraction of one."""
        self._times.append((offset, seconds, fraction))

    def add_frequency(self, offset, frequency):
        """The centre frequency from a sample on."""
        self._frequencies.append((offset, frequency))

    def forget(self, offset):
        """Forget what no sample from an offset on asks for; earlier ones then have the times that
        the first tag left gives."""
        for tags in (self._times, self._frequencies):
            del tags[:max(0, bisect_right(tags, offset, key=lambda tag: tag[0]) - 1)]

    def time(self, offset):
        """(seconds, fraction) of a sample, before the first tag by that one; None without tags."""
        if not self._times:
            return None
        at, seconds, fraction = _before(self._times, offset) or self._times[0]
        whole, rest = divmod((offset - at) / self._rate + fraction, 1)
        # A PMT has no time before 0; the rest of a tiny negative number is rounded to 1.
        return max((0, 0.0), (seconds + int(whole), min(rest, 1 - 2**-53)))

    def frequency(self, offset):
        """The frequency at a sample; None before the first tag."""
        tag = _before(self._frequencies, offset)
        return None if tag is None else tag[1]


def _before(tags, offset):
    index = bisect_right(tags, offset, key=lambda tag: tag[0])
    return tags[index - 1] if index else None


class sample_sink(Controlled, gr.sync_block):
    """Base of the block inside that takes the samples.

    A subclass has ``_send(item)``, which sends one item of what the engine returns, and
    ``_counts()``, a dictionary.

    Args:
        name: of the block.
        engine: ``wifi.Receiver`` or ``wifi.Synchroniser``.
        frequency: centre frequency in Hz, or None.
        ports: names of the message ports of ``outlet``.
    """

    def __init__(self, name, engine, frequency, ports):
        self.engine, self.num_rx, self._rate = engine, engine.num_rx, engine.sample_rate
        self.set_frequency(frequency)
        self._threshold = engine.threshold
        self.outlet = message_outlet(ports)
        self.timeline = Timeline(self._rate)
        self._log = BlockLog(self)
        self._begun = False
        gr.sync_block.__init__(self, name, [np.complex64] * self.num_rx, None)
        # An output multiple makes the scheduler give the block in front large buffers; start()
        # takes it back so that nothing waits for more samples than have come.
        self.set_output_multiple(BATCH)
        self._register_control()

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
        """Dictionary of what the engine has counted, and of failures."""
        counts = self._counts()
        return {**counts, "failures": counts.get("failures", 0) + self._log.failures}

    def start(self):
        self.set_output_multiple(1)
        self.timeline.clear()
        self._begun = False
        return True

    def stop(self):
        if self._begun:
            with self._guard("the end of the stream", 0):
                self._send_all(self.engine.finish())
        self._log.flush()
        self.set_output_multiple(BATCH)    # for the buffers of the next start
        # Where the flowgraph was stopped from outside, the receivers are to live on.
        if self.to_basic_block().detail().done():
            self.outlet.end()
        return True

    def work(self, input_items, _output_items):
        count, first = len(input_items[0]), self.nitems_read(0)
        if not self._begun:
            # Not from 0 on where a flowgraph was changed while it ran.
            self.engine.restart(first)
            self._begun = True
        for tag in sorted(self.get_tags_in_window(0, 0, count), key=lambda tag: tag.offset):
            with self._log.guard("a tag"):
                self._read(tag)
        with self._guard(f"samples {first} to {first + count}", first + count):
            self._prepare()
            self._send_all(self.engine.process(np.stack(input_items)))
        self.timeline.forget(first + count - _KEPT)
        return count

    @contextmanager
    def _guard(self, what, end):
        """After an exception nobody knows what state the engine is in: begin anew at a sample."""
        with (self._log.guard(what, lambda: self.engine.restart(end)),
              np.errstate(all="ignore")):
            yield

    def _prepare(self):
        """Settings reach the engine, on the thread that it serves."""
        self.engine.threshold = self._threshold

    def _send_all(self, items):
        for item in items:
            with self._log.guard("a frame's messages"):
                self._send(item)

    def _read(self, tag):
        if pmt.eqv(tag.key, _RX_TIME):
            self.timeline.add_time(tag.offset, *moment("rx_time", tag.value))
        elif pmt.eqv(tag.key, _RX_FREQ):
            self.timeline.add_frequency(
                tag.offset, positive("rx_freq", scalar("rx_freq", tag.value)))
        elif pmt.eqv(tag.key, _RX_RATE):
            rate = number("rx_rate", scalar("rx_rate", tag.value))
            if not abs(rate - self._rate) < 1e-3 * self._rate:
                self._log.warn("sample rates", f"the samples come at {rate:g} per second by "
                               f"their tag rx_rate, the block was made for {self._rate:g}")


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
    """Base of the blocks that users see: a ``sample_sink`` and its outlet."""

    def __init__(self, name, sink):
        ports = sink.num_rx
        gr.hier_block2.__init__(self, name, gr.io_signature(ports, ports, gr.sizeof_gr_complex),
                                gr.io_signature(0, 0, 0))
        self._sink = sink
        self._outlet = sink.outlet
        for port in range(ports):
            self.connect((self, port), (sink, port))
        self.message_port_register_hier_in("control")
        self.msg_connect(self, "control", sink, "control")
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

