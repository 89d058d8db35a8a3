# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Python blocks share: their log, output that waits for room, large batches."""

import time
from collections import defaultdict, deque
from contextlib import contextmanager

import numpy as np
import pmt
from gnuradio import gr

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


def remaining(block, port):
    """Yield the messages that wait at a port, for ``stop()``.

    GNU Radio ends a block without inputs when the sender of its messages ends, and drops messages
    that came just before.
    """
    block = block.to_basic_block()
    while block.nmsgs(port):
        yield block.delete_head_nowait(port)


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
