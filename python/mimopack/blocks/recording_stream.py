# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Common parts of the recording blocks: device tags, annotated frames, messages and samples."""

import time

import numpy as np
import pmt
from gnuradio import gr

from ..recording import frame_annotation
from .message_stream import Listening
from .settings import scalar
from .streams import remaining
from .wifi_pmt import moment

# Target number of samples per work() call: the input buffers hold at least twice as many.
BATCH = 131072
# After a call with fewer than _PACED samples (a quarter of the smallest input buffer), pause for at
# most _LONGEST_PAUSE seconds. If a pause does not bring more samples, do not pause after the next
# _WITHOUT calls.
_PACED, _LONGEST_PAUSE, _WITHOUT = BATCH // 2, 4e-3, 1000
_RX_TIME, _RX_FREQ, _RX_RATE = map(pmt.intern, ("rx_time", "rx_freq", "rx_rate"))
# Order of tags at one sample. The rate comes first, because it determines the expected time.
_ORDER = (_RX_RATE, _RX_FREQ, _RX_TIME)
# Limits of a message about a frame: keys, and characters in a text.
_MOST_KEYS, _LONGEST = 200, 1000


def read_tags(tags, timeline, log):
    """Pass the tags rx_rate, rx_freq and rx_time to a ``recording.Timeline``.

    Tags with invalid values are ignored, counted and logged.

    Args:
        tags: tags of one input, in any order.
        timeline: ``recording.Timeline``.
        log: ``BlockLog``.
    """
    known = [(tag.offset, rank, tag) for tag in tags
             for rank, key in enumerate(_ORDER) if pmt.eqv(tag.key, key)]
    for offset, rank, tag in sorted(known, key=lambda each: each[:2]):
        with log.guard("a tag"):
            if rank == 0:
                timeline.add_rate(offset, scalar("rx_rate", tag.value))
            elif rank == 1:
                timeline.add_frequency(offset, scalar("rx_freq", tag.value))
            else:
                timeline.add_time(offset, *moment("rx_time", tag.value))


def frame_of(message):
    """Return (start, count, fields) from a message about a frame, for ``annotate``.

    See ``recording.frame_annotation``. Values other than numbers, flags and texts are ignored.

    Raises:
        ValueError: the message is not a dictionary with ``start`` and ``num_samples``, or has more
            than 200 keys.
    """
    if not pmt.is_dict(message) or pmt.is_null(message):
        raise ValueError("the message is not a dictionary")
    items = pmt.dict_items(message)
    if pmt.length(items) > _MOST_KEYS:
        raise ValueError(f"got {pmt.length(items)} keys, allowed are up to {_MOST_KEYS}")
    fields = {}
    for index in range(pmt.length(items)):
        pair = pmt.nth(index, items)
        if not pmt.is_symbol(pmt.car(pair)):
            continue
        value = pmt.cdr(pair)
        try:
            value = scalar("value", value)
        except ValueError:
            continue
        fields[pmt.symbol_to_string(pmt.car(pair))] = (
            value[:_LONGEST] if isinstance(value, str) else value)
    return frame_annotation(fields)


class message_taker(Listening, gr.basic_block):
    """Part of a recording block that receives messages.

    The part is a separate block, because it must continue after the end of the samples: messages
    about the last samples arrive later.

    Args:
        name: name of the message port.
        take: function called with each message, a PMT.
        finish: function without arguments, called after the last message.
        log: ``BlockLog``.

    Attributes:
        runs: whether the block has started and not stopped.
        ended: whether no more messages come: the senders have ended, or there are none.
    """

    def __init__(self, name, take, finish, log):
        gr.basic_block.__init__(self, f"{name}_taker", None, None)
        self._name, self._function, self._finish, self._log = name, take, finish, log
        self._port = pmt.intern(name)
        self.runs, self.ended = False, True    # without a sender, the block does not start
        self._listen(self._port, self._take)

    def drain(self):
        """Process all waiting messages."""
        for message in remaining(self, self._port):
            self._take(message)

    def start(self):
        self.runs, self.ended = True, False
        self.drain()
        return Listening.start(self)

    def stop(self):
        self.drain()
        self.runs, self.ended = False, self.to_basic_block().finished()
        with self._log.guard("the end of the messages"):
            self._finish()
        return gr.basic_block.stop(self)

    def _take(self, message):
        if pmt.is_eof_object(message):
            return
        with self._log.guard(f"a message at port {self._name}"):
            self._function(message)


class sample_taker(gr.sync_block):
    """Part of a recording block that receives the samples.

    Args:
        name: name of the block.
        num_channels: number of inputs.
        timeline: ``recording.Timeline`` for the times from tags and from the host's clock.
        timestamp: whether to take the time of the first sample from the host's clock if no tag
            gives a time.
        owner: object with the methods ``begin()``, ``take(samples, first)`` and ``end()``;
            ``take`` returns whether the stream continues.
        log: ``BlockLog``.
        pace: samples per second of a live stream; None for a stream that comes as fast as this
            block reads it. A radio would cause thousands of small calls per second, each with its
            overhead. After a call with few samples, the block therefore pauses until more have
            arrived.

    Attributes:
        runs: whether the block has started and not stopped.
        ended: whether the stream has ended. If not, the flowgraph was stopped or is being changed.
    """

    def __init__(self, name, num_channels, timeline, timestamp, owner, log, pace=None):
        gr.sync_block.__init__(self, name, [np.complex64] * num_channels, None)
        self._pace = pace
        self._timeline, self._timestamp, self._owner, self._log = timeline, timestamp, owner, log
        self._begun, self._paused, self._unpaced = False, 0.0, 0
        self.runs = self.ended = False
        # The output multiple makes the scheduler allocate large input buffers. start() resets it,
        # so that the block does not wait for more samples than have arrived.
        self.set_output_multiple(BATCH)

    def start(self):
        self.set_output_multiple(1)
        self._begun, self.runs, self.ended = False, True, False
        # GNU Radio starts all blocks before any block works: no message concerns this stream yet.
        with self._log.guard("the start of the stream"):
            self._owner.begin()
        return True

    def stop(self):
        self.runs, self.ended = False, self.detail().done()
        with self._log.guard("the end of the stream"):
            self._owner.end()
        self._log.flush()
        self.set_output_multiple(BATCH)    # for the buffers of the next start
        return True

    def work(self, input_items, _output_items):
        count, first = len(input_items[0]), self.nitems_read(0)
        begins, self._begun = not self._begun, True
        read_tags(self.get_tags_in_window(0, 0, count), self._timeline, self._log)
        if begins and self._timestamp:
            now = time.time_ns()
            self._timeline.assume_time(first, now // 10**9, now % 10**9 / 1e9)
        goes_on = True
        with self._log.guard(f"samples {first} to {first + count}"):
            goes_on = self._owner.take(input_items, first)
        if self._pace is not None:
            self._pause(count)
        return count if goes_on else -1

    def _pause(self, count):
        """Pause after a call with few samples, so that the next call gets more."""
        # GNU Radio can be configured for small calls; pauses would then slow the stream down.
        if count < 0.5 * self._pace * self._paused:
            self._unpaced = _WITHOUT
        self._paused = 0.0
        if self._unpaced:
            self._unpaced -= 1
        elif count < _PACED:
            self._paused = min((_PACED - count) / self._pace, _LONGEST_PAUSE)
            time.sleep(self._paused)
