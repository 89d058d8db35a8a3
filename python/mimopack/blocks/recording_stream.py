# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Common parts of the recording blocks: device tags, annotated frames, messages and samples."""

import time
from contextlib import suppress

import numpy as np
import pmt
from gnuradio import gr

from ..recording import frame_annotation
from .message_stream import Listening
from .settings import scalar
from .streams import Batched
from .wifi_pmt import moment

# Target number of samples per work() call: the input buffers hold at least twice as many.
BATCH = 131072
_LONGEST_PAUSE = 4e-3    # seconds


def read_tags(tags, timeline, log):
    """Pass the tags rx_rate, rx_freq and rx_time of an input to a ``recording.Timeline``.

    Tags with invalid values are ignored, counted and logged.
    """
    known = [(tag.offset, pmt.symbol_to_string(tag.key), tag.value) for tag in tags
             if pmt.is_symbol(tag.key)]
    # At one sample, rx_rate comes before rx_time, because it determines the expected time.
    for offset, key, value in sorted(known, key=lambda each: each[:2]):
        with log.guard("a tag"):
            if key == "rx_rate":
                timeline.add_rate(offset, scalar(key, value))
            elif key == "rx_freq":
                timeline.add_frequency(offset, scalar(key, value))
            elif key == "rx_time":
                timeline.add_time(offset, *moment(key, value))


def frame_of(message):
    """Return (start, count, fields) from a message about a frame, for ``annotate``.

    See ``recording.frame_annotation``. Values other than numbers, flags and texts are ignored.

    Raises:
        ValueError: the message is not a dictionary with ``start`` and ``num_samples``.
    """
    if not pmt.is_dict(message):
        raise ValueError("the message is not a dictionary")
    fields, items = {}, pmt.dict_items(message)
    for index in range(pmt.length(items)):
        pair = pmt.nth(index, items)
        with suppress(ValueError):
            if pmt.is_symbol(pmt.car(pair)):
                fields[pmt.symbol_to_string(pmt.car(pair))] = scalar("value", pmt.cdr(pair))
    return frame_annotation(fields)


class message_taker(Listening, gr.basic_block):
    """Part of a hierarchical block that receives messages.

    The part is a separate block, because it must continue after the end of the samples: messages
    about the last samples arrive later.

    Args:
        parent: the hierarchical block, which gets the message port ``name``.
        take: function called with each message, a PMT.
        finish: function without arguments, called after the last message.
    """

    def __init__(self, parent, name, take, log, finish=lambda: None):
        gr.basic_block.__init__(self, f"{name}_taker", None, None)
        self._name, self._function, self._finish, self._log = name, take, finish, log
        self._listen(pmt.intern(name), self._take)
        parent.message_port_register_hier_in(name)
        parent.msg_connect(parent, name, self, name)

    def start(self):
        self.drain()
        return Listening.start(self)

    def stop(self):
        self.drain()
        with self._log.guard("the end of the messages"):
            self._finish()
        return Listening.stop(self)

    def _take(self, message):
        if not pmt.is_eof_object(message):
            with self._log.guard(f"a message at port {self._name}"):
                self._function(message)


class sample_taker(Batched, gr.sync_block):
    """Part of a recording block that receives the samples.

    Args:
        timeline: ``recording.Timeline`` for the times from tags and from the host's clock.
        timestamp: whether to take the time of the first sample from the host's clock if no tag
            gives a time.
        owner: object with the methods ``begin()``, ``take(samples, first)``, which returns whether
            the stream continues, and ``end(done)``. ``done`` tells whether the stream has ended; if
            not, the flowgraph was stopped or is being changed.
        pace: samples per second of a live stream; None for a stream that comes as fast as this
            block reads it.
    """

    def __init__(self, name, num_channels, timeline, timestamp, owner, log, pace=None):
        gr.sync_block.__init__(self, name, [np.complex64] * num_channels, None)
        self._timeline, self._timestamp, self._owner, self._log = timeline, timestamp, owner, log
        self._pace = pace
        self._ask_for(BATCH)

    def start(self):
        self._assumes_time = self._timestamp
        # GNU Radio starts all blocks before any block works: no message concerns this stream yet.
        with self._log.guard("the start of the stream"):
            self._owner.begin()
        return Batched.start(self)

    def stop(self):
        with self._log.guard("the end of the stream"):
            self._owner.end(self.detail().done())
        self._log.flush()
        return Batched.stop(self)

    def work(self, input_items, _output_items):
        count, first = len(input_items[0]), self.nitems_read(0)
        read_tags(self.get_tags_in_window(0, 0, count), self._timeline, self._log)
        if self._assumes_time:
            now = time.time_ns()
            self._timeline.assume_time(first, now // 10**9, now % 10**9 / 1e9)
            self._assumes_time = False
        goes_on = True
        with self._log.guard(f"samples {first} to {first + count}"):
            goes_on = self._owner.take(input_items, first)
        if self._pace is not None and count < BATCH:
            # A radio would cause thousands of small calls per second, each with its overhead. Sleep
            # no longer than these samples took to arrive, or than half a batch takes.
            time.sleep(min(min(count, BATCH // 2) / self._pace, _LONGEST_PAUSE))
        return count if goes_on else -1
