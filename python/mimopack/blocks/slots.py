# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base class of the blocks that make ``y`` and ``h`` from the grids of slots."""

from collections import Counter

import numpy as np
import pmt
from gnuradio import gr

from .settings import NOISE_VAR
from .streams import BlockLog, OutputQueue, vector


class slot_estimator(gr.basic_block):
    """Takes the OFDM symbols of whole slots, and sends their vectors.

    A subclass has

    - ``_starts(available)``: {item: value} of the slots that begin among the next items, in
      ascending order;
    - ``_facts(first, value)``: what it keeps of a slot besides the grid;
    - ``_vectors(grids, facts)``: y (slots, vectors, widths[0]) and h (slots, vectors, widths[1]),
      scaled so that the noise has power 1;
    - ``_slot_tags(facts)``: the tags (port, key, value) of a slot's first vector, besides
      ``noise_var``.

    Args:
        name: name of the block.
        num_rx: number of inputs.
        width: vlen of an input: values of an OFDM symbol.
        symbols: number of OFDM symbols of a slot.
        vectors: number of vectors of a slot.
        widths: vlen of y and of h.
    """

    def __init__(self, name, num_rx, width, symbols, vectors, widths):
        self._symbols, self._made, self._widths = symbols, vectors, widths
        self._counts = Counter(slots=0, cut=0, malformed=0, untagged=0)
        self._log = BlockLog(self)
        gr.basic_block.__init__(self, name, [vector(np.complex64, width)] * num_rx,
                                [vector(np.complex64, width) for width in widths])
        # A slot is taken when there is room for its vectors.
        self.set_output_multiple(vectors)
        self.set_relative_rate(vectors, symbols)
        self.set_tag_propagation_policy(gr.TPP_DONT)

    def counts(self):
        """Return a dictionary of counts since the block was made.

        Keys: ``slots``, ``cut`` (slots that ended too early), ``malformed`` (tags), ``untagged``
        (items of no slot) and ``failures`` (exceptions).
        """
        return self._counts | {"failures": self._log.failures}

    def failures(self):
        """Return the number of exceptions, each of which lost the slots of a call."""
        return self._log.failures

    def stop(self):
        self._log.flush()
        return gr.basic_block.stop(self)

    def forecast(self, noutput_items, ninputs):
        return [max(1, noutput_items // self._made) * self._symbols] * ninputs

    def general_work(self, input_items, output_items):
        available = min(map(len, input_items))
        starts = self._starts(available)
        ends = [*starts, available][1:]
        room, grids, facts = len(output_items[0]) // self._made, [], []
        at = next(iter(starts), available)
        self._counts["untagged"] += at
        for (first, value), end in zip(starts.items(), ends, strict=True):
            if end - first >= self._symbols and room:
                grids.append(np.stack([items[first:first + self._symbols].reshape(
                    self._symbols, -1) for items in input_items]))
                facts.append(self._facts(first, value))
                room -= 1
                at = first + self._symbols
            elif end == available or not room:
                break
            else:
                self._counts["cut"] += 1
                at = end
            if end < available:
                self._counts["untagged"] += end - at
                at = end
        self.consume_each(at)
        queue = OutputQueue()
        if grids:
            self._counts["slots"] += len(grids)
            for y, h, own in zip(*self._estimate(np.stack(grids), facts), facts, strict=True):
                queue.put((y, h), [(0, NOISE_VAR, pmt.from_double(1.0)), *self._slot_tags(own)])
        return queue.produce(self, output_items)

    def _estimate(self, grids, facts):
        """Return ``_vectors``; after an exception, y and h are 0."""
        with self._log.guard(f"{len(grids)} slots"), np.errstate(all="ignore"):
            return self._vectors(grids, facts)
        return [np.zeros((len(grids), self._made, width), np.complex64) for width in self._widths]

    def _tags(self, key, first, end, valid):
        """Return {item: value} of the valid tags of items first to end - 1, in ascending order.

        ``valid`` is a function that returns the value of a PMT, or raises ValueError.
        """
        tags = {}
        for tag in sorted(self.get_tags_in_window(0, first, end, key), key=lambda tag: tag.offset):
            try:
                tags[tag.offset - self.nitems_read(0)] = valid(tag.value)
            except ValueError as error:
                self._counts["malformed"] += 1
                self._log.warn("tags", f"tag dropped: {error}")
        return tags
