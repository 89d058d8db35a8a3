# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Python blocks share: output that waits for room, large batches, input cut into frames,
their log."""

import time
from collections import defaultdict, deque
from contextlib import contextmanager

import numpy as np
import pmt
from gnuradio import gr

FRAME_TAG = pmt.intern("frame")
_ITEMS = pmt.intern("items")
REPORT_SECONDS = 1.0


class BlockLog:
    """A block's lines in GNU Radio's log: of each kind at most one per second.

    ``failures`` counts exceptions that :meth:`guard` has kept from the scheduler, which ends the
    thread of a block that raises, and with it the flowgraph or the whole process.
    """

    def __init__(self, block):
        self._block = block
        self._last = {}
        self._held_back = defaultdict(int)
        self.failures = 0

    def info(self, line):
        """A line that is not limited."""
        self._logger().info(line)

    def error(self, line):
        """A line that is not limited, of what ends the stream or loses data."""
        self._logger().error(line)

    def warn(self, kind, line):
        """A line, unless one of its kind came less than a second ago: then it is only counted.

        Kind None is not limited.
        """
        if kind is None:
            self._logger().warn(line)
            return
        now = time.monotonic()
        if now - self._last.get(kind, -np.inf) < REPORT_SECONDS:
            self._held_back[kind] += 1
            return
        self._last[kind] = now
        held_back = self._held_back.pop(kind, 0)
        self._logger().warn(line + (f" ({held_back} more before)" if held_back else ""))

    def flush(self):
        """Say what was only counted; for stop()."""
        for kind, count in self._held_back.items():
            self._logger().warn(f"{kind}: {count} more")
        self._held_back.clear()
        self._last.clear()

    @contextmanager
    def guard(self, what, cleanup=None):
        """Count and log an exception of the body instead of raising it, then call cleanup."""
        try:
            yield
        except Exception as error:
            self.failures += 1
            self.warn("failures", f"{what} left out: {type(error).__name__}: {error}")
            if cleanup is not None:
                cleanup()

    def _logger(self):
        # The alias may have been set since.
        return gr.logger(self._block.alias())


def extended(info, **values):
    """A PMT dictionary with keys added or changed; converting all of it would take far longer."""
    for key, value in values.items():
        info = pmt.dict_add(info, pmt.intern(key), pmt.to_pmt(value))
    return info


def frame_number(info):
    """The number in a frame's PMT dictionary, for messages."""
    return pmt.to_python(pmt.dict_ref(info, FRAME_TAG, pmt.PMT_NIL))


def vector(dtype, width):
    """Port type for items of width values; NumPy has no vectors of one."""
    return dtype if width == 1 else (dtype, width)


class OutputQueue:
    """Arrays that wait until the output buffers have room, and what to tag their first items with.

    A block that has consumed all its input is not called again once its sources are done. So as
    long as items wait, one input item that was already looked at is left unconsumed.
    """

    def __init__(self):
        self._waiting = deque()
        self._position = 0

    def __bool__(self):
        return bool(self._waiting)

    def put(self, arrays, tags=()):
        """Append one array (items, ...) per port; tags: (port, key, value) for their first item."""
        if len(arrays[0]):
            self._waiting.append((arrays, tags))

    def clear(self):
        """Forget what waits."""
        self._waiting.clear()
        self._position = 0

    def general_work(self, block, input_items, output_items, take):
        """What a block's general_work has to do, its forecast being one item of each input.

        take(inputs) is called with new input items, equally many per port, unless items wait.
        """
        if self._waiting:
            seen = 1
        else:
            seen = min(map(len, input_items))
            take([x[:seen] for x in input_items])
        produced = self.produce(block, output_items)
        block.consume_each(seen - 1 if self._waiting else seen)
        return produced

    def produce(self, block, output_items):
        """Fill the outputs as far as they go; returns the number of items."""
        written, space = 0, min(map(len, output_items))
        while self._waiting and written < space:
            arrays, tags = self._waiting[0]
            if self._position == 0:
                for port, key, value in tags:
                    block.add_item_tag(port, block.nitems_written(port) + written, key, value)
            count = min(space - written, len(arrays[0]) - self._position)
            part = slice(self._position, self._position + count)
            for out, array in zip(output_items, arrays, strict=True):
                place = out[written:written + count]
                place[...] = array[part].reshape(place.shape)
            written += count
            self._position += count
            if self._position == len(arrays[0]):
                self._waiting.popleft()
                self._position = 0
        return written


class queued_block(gr.basic_block):
    """Base of the blocks that put out more, or less, than they take in, as it comes.

    A subclass has ``_take(inputs)``, which fills ``_queue`` from new input items, equally many per
    port, and may have ``_finish()``, for what is left when the stream ends.

    Args:
        rate: items out and items in, about.
        multiple: of output items, while buffers are made: it makes the scheduler allocate large
            ones. start() takes it back.
    """

    def __init__(self, name, in_sig, out_sig, rate, multiple):
        self._queue = OutputQueue()
        self._log = BlockLog(self)
        self._multiple = multiple
        gr.basic_block.__init__(self, name, in_sig, out_sig)
        self.set_tag_propagation_policy(gr.TPP_DONT)
        self.set_relative_rate(*rate)
        self.set_output_multiple(multiple)

    def start(self):
        self.set_output_multiple(1)
        return gr.basic_block.start(self)

    def forecast(self, noutput_items, ninputs):
        return [1] * ninputs

    def general_work(self, input_items, output_items):
        return self._queue.general_work(self, input_items, output_items, self._take)

    def stop(self):
        self._finish()
        self._log.flush()
        self._queue.clear()
        self.set_output_multiple(self._multiple)
        return gr.basic_block.stop(self)

    def _finish(self):
        """What is left when the stream ends; nothing can be put out any more."""


class batched_block(gr.sync_block):
    """Base of sync blocks whose work() is worth many items a call; no item is kept back for it.

    Args:
        batch: items to ask for, as ``blocks.detector`` explains.
    """

    def __init__(self, name, in_sig, out_sig, batch):
        self._log = BlockLog(self)
        self._batch = batch
        gr.sync_block.__init__(self, name, in_sig, out_sig)
        self.set_output_multiple(batch)
        self.set_min_noutput_items(max(1, batch // 4))

    def start(self):
        self.set_output_multiple(1)
        return True

    def stop(self):
        self._log.flush()
        self.set_output_multiple(self._batch)    # for the buffers of the next start
        return True


class FrameCollector:
    """Cuts streams of items into frames by their "frame" tags, each of which says "items".

    ``items_outside`` counts items that belong to no frame, ``frames_broken`` frames that another
    tag or the end of the stream cut short.
    """

    def __init__(self):
        self.items_outside = 0
        self.frames_broken = 0
        self._info = None
        self._missing = 0
        self._parts = []

    def feed(self, arrays, tags, offset):
        """Take items, one array per port; yields (tag's PMT dictionary, arrays) of complete frames.

        Args:
            arrays: equally long, (items, ...).
            tags: GNU Radio tags of these items; others than "frame" are passed over.
            offset: absolute number of the first item.
        """
        length = len(arrays[0])
        starts = {tag.offset - offset: tag.value for tag in tags if pmt.eq(tag.key, FRAME_TAG)}
        edges = sorted({0, length, *starts})
        for begin, end in zip(edges[:-1], edges[1:], strict=True):
            if begin in starts:
                self.close()
                self._info = starts[begin]
                self._missing = _num_items(self._info)
            take = min(end - begin, self._missing)
            self.items_outside += end - begin - take
            if take:
                # The arrays are windows on GNU Radio's buffers: keep copies.
                self._parts.append([array[begin:begin + take].copy() for array in arrays])
                self._missing -= take
                if not self._missing:
                    parts, self._parts = self._parts, []
                    yield self._info, [_join(port) for port in zip(*parts, strict=True)]
                    self._info = None

    def close(self):
        """Give up an unfinished frame: returns its PMT dictionary, or None."""
        info = self._info if self._missing else None
        if info is not None:
            self.frames_broken += 1
        self._info, self._missing, self._parts = None, 0, []
        return info


def _num_items(info):
    """What a "frame" tag says; 0 where it is none of ours."""
    items = pmt.dict_ref(info, _ITEMS, pmt.PMT_NIL) if pmt.is_dict(info) else pmt.PMT_NIL
    return max(pmt.to_long(items), 0) if pmt.is_integer(items) else 0


def _join(parts):
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts)
