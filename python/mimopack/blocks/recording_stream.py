# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the blocks that record share: tags of devices, frames that annotate, messages."""

import time

import numpy as np
import pmt
from gnuradio import gr

from ..recording import frame_annotation
from .settings import scalar
from .streams import remaining
from .wifi_pmt import moment

# Samples per work() call to aim at: the buffers in front hold at least twice as many.
BATCH = 131072
# A call with fewer samples, a quarter of the smallest buffer in front, pauses for so many seconds
# at most. Where a pause did not bring more samples, the next calls do without.
_PACED, _LONGEST_PAUSE, _WITHOUT = BATCH // 2, 4e-3, 1000
_RX_TIME, _RX_FREQ, _RX_RATE = map(pmt.intern, ("rx_time", "rx_freq", "rx_rate"))
# The rate decides where a time is expected, so it comes first.
_ORDER = (_RX_RATE, _RX_FREQ, _RX_TIME)
# Keys and characters that a message about a frame may have.
_MOST_KEYS, _LONGEST = 200, 1000


def read_tags(tags, timeline, log):
    """Tell a ``recording.Timeline`` what the tags rx_rate, rx_freq and rx_time say.

    Tags with other values than a device's are left out, counted and logged.

    Args:
        tags: of one input, in any order.
        timeline: ``recording.Timeline``.
        log: ``BlockLog``.
    """
    known = [(tag.offset, rank, tag) for tag in tags
             for rank, key in enumerate(_ORDER) if pmt.eqv(tag.key, key)]
    for offset, rank, tag in sorted(known, key=lambda one: one[:2]):
        with log.guard("a tag"):
            if rank == 0:
                timeline.add_rate(offset, scalar("rx_rate", tag.value))
            elif rank == 1:
                timeline.add_frequency(offset, scalar("rx_freq", tag.value))
            else:
                timeline.add_time(offset, *moment("rx_time", tag.value))


def frame_of(message):
    """(start, count, fields) of a message about a frame, see ``recording.frame_annotation``.

    Values other than numbers, flags and texts are left out.

    Raises:
        ValueError: the message is no dictionary with ``start`` and ``num_samples``.
    """
    if not pmt.is_dict(message) or pmt.is_null(message):
        raise ValueError("got no dictionary")
    items = pmt.dict_items(message)
    if pmt.length(items) > _MOST_KEYS:
        raise ValueError(f"got {pmt.length(items)} keys, allowed are {_MOST_KEYS}")
    told = {}
    for index in range(pmt.length(items)):
        pair = pmt.nth(index, items)
        if not pmt.is_symbol(pmt.car(pair)):
            continue
        value = pmt.cdr(pair)
        try:
            value = scalar("value", value)
        except ValueError:
            continue
        told[pmt.symbol_to_string(pmt.car(pair))] = (
            value[:_LONGEST] if isinstance(value, str) else value)
    return frame_annotation(told)


class message_taker(gr.basic_block):
    """The part of a recording block that takes messages.

    It is a block of its own because it goes on when the samples have ended: messages about the
    last of them come later.

    Args:
        name: of the port.
        take: function of a PMT.
        finish: called when the messages have ended.
        log: ``BlockLog``.
    """

    def __init__(self, name, take, finish, log):
        gr.basic_block.__init__(self, f"{name}_taker", None, None)
        self._name, self._function, self._finish, self._log = name, take, finish, log
        self._port = pmt.intern(name)
        self.message_port_register_in(self._port)
        self.set_msg_handler(self._port, self._take)

    def drain(self):
        """Take the messages that wait."""
        for message in remaining(self, self._port):
            self._take(message)

    def start(self):
        # GNU Radio 3.10 does not forget by itself that an earlier run has ended.
        self.to_basic_block().clear_finished()
        self.drain()
        return gr.basic_block.start(self)

    def stop(self):
        self.drain()
        with self._log.guard("the end of the messages"):
            self._finish()
        return gr.basic_block.stop(self)

    def _take(self, message):
        if pmt.is_eof_object(message):
            return
        with self._log.guard(f"a message at port {self._name}"):
            self._function(message)


class sample_taker(gr.sync_block):
    """The part of a recording block that takes the samples.

    Args:
        name: of the block.
        num_channels: inputs.
        timeline: ``recording.Timeline`` that gets what tags and the host's clock say.
        timestamp: whether the host's clock says when the first sample came, where no tag does.
        owner: object with ``begin()``, ``take(samples, first)`` which returns whether the stream
            goes on, and ``end()``.
        log: ``BlockLog``.
        pace: samples per second at which the stream comes by the clock; None where it comes as fast
            as it is taken. Each call has its price, and a radio would make thousands of small ones:
            one that brings few samples waits until there are more.
    """

    def __init__(self, name, num_channels, timeline, timestamp, owner, log, pace=None):
        gr.sync_block.__init__(self, name, [np.complex64] * num_channels, None)
        self._pace = pace
        self._timeline, self._timestamp, self._owner, self._log = timeline, timestamp, owner, log
        self._begun, self._paused, self._unpaced = False, 0.0, 0
        # An output multiple makes the scheduler give the block in front large buffers; start()
        # takes it back so that nothing waits for more samples than have come.
        self.set_output_multiple(BATCH)

    def start(self):
        self.set_output_multiple(1)
        self._begun = False
        # All blocks have started before one of them works: no message is about this stream yet.
        with self._log.guard("the start of the stream"):
            self._owner.begin()
        return True

    def stop(self):
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
        """Wait for more samples than a call brought."""
        # GNU Radio can be told to give few samples at a time: pauses would hold back the stream.
        if count < 0.5 * self._pace * self._paused:
            self._unpaced = _WITHOUT
        self._paused = 0.0
        if self._unpaced:
            self._unpaced -= 1
        elif count < _PACED:
            self._paused = min((_PACED - count) / self._pace, _LONGEST_PAUSE)
            time.sleep(self._paused)
