# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base class of blocks that decode LLRs of frames or slots, whose first items have a tag."""

from collections import Counter

import numpy as np
import pmt
from gnuradio import gr

from ..checks import choice, positive
from .fec_decoder import LLR_TYPES
from .message_stream import listeners
from .streams import BlockLog, vector


class unit_decoder(gr.sync_block):
    """Collect the LLRs of units, such as frames, and decode complete units.

    A unit whose LLRs are not complete when the next tag arrives is dropped and counted (``cut``). A
    tag that the subclass refuses is counted (``malformed``) and logged, and the items that follow
    are counted (``untagged``).

    A subclass has these methods:
        ``_unit(value)``: return (unit, number of its items), given the tag's value; raise
            ValueError if it is no valid one.
        ``_decode(units, llrs)``: decode units and send their messages, given a list of units and a
            list of float32 arrays (items, width).
        ``_cut(unit)``: send the messages of a unit that was cut.

    Args:
        name: name of the block.
        tag: name of the tag, a PMT.
        width: number of LLRs in an item.
        ports: names of the message ports.
        llr_type: "float32" or "int8".
        llr_scale: for int8: integer value of an LLR of 1, as in the detector.
    """

    def __init__(self, name, tag, width, ports, llr_type, llr_scale):
        kind = LLR_TYPES[choice("llr_type", llr_type, tuple(LLR_TYPES))]
        scale = positive("llr_scale", llr_scale)
        self._step = np.float32(1 / scale if kind is np.int8 else 1)
        self._tag, self._width = tag, width
        self._counts = Counter()
        self._ready = []    # complete units and their LLRs
        self._forget()
        self._log = BlockLog(self)
        gr.sync_block.__init__(self, name, [vector(kind, width)], None)
        self._ports = {port: pmt.intern(port) for port in ports}
        for port in self._ports.values():
            self.message_port_register_out(port)

    def failures(self):
        """Return the number of exceptions, each of which lost the items of one call."""
        return self._log.failures

    def start(self):
        self._forget()
        return True

    def stop(self):
        if self._missing:
            self._counts["cut"] += 1
        self._log.flush()
        return True

    def work(self, input_items, _output_items):
        with self._log.guard(f"{len(input_items[0])} items"):
            self._work(input_items[0].reshape(-1, self._width))
        return len(input_items[0])

    def _work(self, llr):
        at, start = 0, self.nitems_read(0)
        # A block with several inputs, such as the sum of two detectors, repeats the tags.
        tags = {tag.offset - start: tag.value
                for tag in self.get_tags_in_window(0, 0, len(llr), self._tag)}
        try:
            for first, value in tags.items():
                self._take(llr[at:first])
                self._begin(value)
                at = first
            self._take(llr[at:])
        finally:
            self._decode_ready()

    def _forget(self):
        self._current, self._parts, self._missing = None, [], 0

    def _begin(self, value):
        """Begin a unit with the value of its tag."""
        if self._missing:
            self._counts["cut"] += 1
            self._decode_ready()    # earlier units
            self._cut(self._current)
        self._forget()
        try:
            self._current, self._missing = self._unit(value)
        except ValueError as error:
            self._counts["malformed"] += 1
            self._log.warn("tags", f"tag {pmt.symbol_to_string(self._tag)} dropped: {error}")

    def _take(self, llr):
        """Take the next LLRs (n, width), up to the next tag."""
        count = min(self._missing, len(llr))
        self._counts["untagged"] += len(llr) - count
        if not count:
            return
        self._missing -= count
        if self._missing:
            self._parts.append(llr[:count].copy())
            return
        llr = llr[:count]
        if self._parts:
            llr = np.concatenate([*self._parts, llr])
        self._ready.append((self._current, llr))
        self._forget()

    def _decode_ready(self):
        ready, self._ready = self._ready, []
        if not ready:
            return
        with self._log.guard(f"{len(ready)} units"):
            units, llrs = zip(*ready, strict=True)
            if self._step != 1:
                llrs = [llr * self._step for llr in llrs]
            self._decode(units, llrs)

    def _publish(self, name, *messages):
        for message in messages:
            self.message_port_pub(self._ports[name], message)

    def _listeners(self, name):
        return listeners(self, self._ports[name])
