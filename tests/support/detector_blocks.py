# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Feed detector blocks in flowgraphs, and collect their output."""

import numpy as np
import pmt
from gnuradio import gr, mimopack
from gnuradio.mimopack.blocks.streams import vector


class Source(gr.sync_block):
    """Source of an array's items, at most `step` per call, with tags (item, key, value).

    An event (item, function) is a function called before the item.
    """

    def __init__(self, items, tags=(), step=None, event=None):
        items = np.ascontiguousarray(items).reshape(len(items), -1)
        gr.sync_block.__init__(self, "source", None, [vector(items.dtype.type, items.shape[1])])
        self._items, self._tags, self._step, self._at = items, tags, step, 0
        self._event = event

    def work(self, input_items, output_items):
        n = min(len(output_items[0]), len(self._items) - self._at, self._step or 2**30)
        if n == 0:
            return -1
        if self._event and self._at < self._event[0]:
            n = min(n, self._event[0] - self._at)
        elif self._event:
            self._event[1]()
            self._event = None
        output_items[0][:n] = self._items[self._at:self._at + n].reshape(
            output_items[0][:n].shape)
        for item, key, value in self._tags:
            if self._at <= item < self._at + n:
                self.add_item_tag(0, item, pmt.intern(key),
                                  value if isinstance(value, pmt.pmt_base) else pmt.to_pmt(value))
        self._at += n
        return n


class Sink(gr.sync_block):
    """Collect items and tags."""

    def __init__(self, dtype, width):
        gr.sync_block.__init__(self, "sink", [vector(dtype, width)], None)
        self.parts, self.tags = [np.empty((0, width), dtype)], []

    def work(self, input_items, output_items):
        n = len(input_items[0])
        self.parts.append(input_items[0].reshape(n, -1).copy())
        self.tags += [(tag.offset, pmt.to_python(tag.key), pmt.to_python(tag.value))
                      for tag in self.get_tags_in_window(0, 0, n)]
        return n

    def items(self):
        return np.concatenate(self.parts)


def make(name, **parameters):
    return getattr(mimopack, f"{name}_detector")(**parameters)


def run_through(block, *inputs, tags=(), step=None, event=None):
    """Run arrays of items through a block; return a sink for each output.

    ``tags``, ``step`` and ``event`` are those of the sources; tags and the event of the first one.
    """
    top = gr.top_block()
    sources = [Source(items, () if port else tags, step, None if port else event)
               for port, items in enumerate(inputs)]
    sinks = [Sink(kind.base.type, kind.shape[0] if kind.shape else 1) for kind in block.out_sig()]
    for port, source in enumerate(sources):
        top.connect(source, (block, port))
    for port, sink in enumerate(sinks):
        top.connect((block, port), sink)
    top.run()
    return sinks


def play(block, y, h, period=1, prior=None, tags=(), step=None, event=None, hard=()):
    """Run the arrays through a detector block; return the LLRs (n, nt*m) and the sink."""
    items = len(y) // period
    further = [values.reshape(items, -1) for values in (*([] if prior is None else [prior]), *hard)]
    sink, = run_through(block, y.reshape(items, -1), h, *further, tags=tags, step=step, event=event)
    return sink.items().reshape(len(y), -1), sink


class Hungry(gr.basic_block):
    """A reader that needs many items at once, as decoders of long blocks do."""

    def __init__(self, items, width):
        gr.basic_block.__init__(self, "hungry", [(np.float32, width)], None)
        self._items, self.taken = items, 0

    def forecast(self, noutput_items, ninputs):
        return [self._items] * ninputs

    def general_work(self, input_items, output_items):
        self.consume(0, self._items)
        self.taken += self._items
        return 0
