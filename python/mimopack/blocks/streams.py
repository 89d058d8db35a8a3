# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Common parts of the Python blocks: rate-limited log, output queue, batches."""

import time
from collections import defaultdict, deque
from contextlib import contextmanager

import numpy as np
from gnuradio import gr

# Minimum time between two reports of one kind, in seconds.
REPORT_SECONDS = 1.0


class BlockLog:
    """Write a block's lines to GNU Radio's log, at most one line of each kind per second.

    Args:
        block: GNU Radio block, whose log level decides which lines are written.

    Attributes:
        name: name in front of each line; None for the block's alias.
        failures: number of exceptions that :meth:`guard` has caught. Without ``guard``, an
            exception would end the block's thread, and with it the flowgraph or the whole process.
    """

    def __init__(self, block):
        self._block, self.name = block, None
        self._last = {}
        self._held_back = defaultdict(int)
        self.failures = 0

    def info(self, line):
        """Log a line without a rate limit."""
        self._logger().info(line)

    def error(self, line):
        """Log an event that ends the stream or loses data, without a rate limit."""
        self._logger().error(line)

    def warn(self, kind, line):
        """Log a warning, or only count it if one of its kind was logged less than a second ago.

        ``kind`` is a text that names the kind; None logs without a rate limit.
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
        """Log the number of warnings that were only counted. Call this in stop()."""
        for kind, count in self._held_back.items():
            self._logger().warn(f"{kind}: {count} more")
        self._held_back.clear()
        self._last.clear()

    @contextmanager
    def guard(self, what, cleanup=None):
        """Count and log an exception in the body of the ``with`` statement instead of raising it.

        ``what`` names what is skipped; ``cleanup`` is called after an exception.
        """
        try:
            yield
        except Exception as error:
            self.failures += 1
            self.warn("failures", f"{what} skipped: {type(error).__name__}: {error}")
            if cleanup is not None:
                cleanup()

    def _logger(self):
        # The block's own logger keeps the name that the block had when it was made.
        logger = gr.logger(self.name or self._block.alias())
        logger.set_level(self._block.log_level())
        return logger


def vector(dtype, width):
    """Return the type of a port of vectors; GNU Radio needs the bare type for width 1."""
    return dtype if width == 1 else (dtype, width)


class OutputQueue:
    """Queue of arrays that wait for room in the output buffers, with tags for their first items."""

    def __init__(self):
        self._waiting = deque()
        self._position = 0

    def __bool__(self):
        return bool(self._waiting)

    def put(self, arrays, tags=()):
        """Append output items: an array (items, ...) for each port.

        ``tags`` are those of the first item: a list of (port, key, value).
        """
        if len(arrays[0]):
            self._waiting.append((arrays, tags))

    def clear(self):
        """Drop all waiting items."""
        self._waiting.clear()
        self._position = 0

    def produce(self, block, output_items):
        """Fill the output buffers as far as possible; return the number of items produced."""
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


class Batched:
    """Mixin of blocks that ask GNU Radio for buffers of about two batches.

    GNU Radio makes the buffers in front of and behind a block twice as large as its output
    multiple. While the block does not run, the output multiple is therefore a batch. While it runs,
    it is 1, or else the end of a stream would stay in the buffer.
    """

    def _ask_for(self, batch, divisor=0):
        """Ask for buffers; call this at the end of the constructor.

        Args:
            batch: target number of items per call.
            divisor: the minimum number of items per call is a batch divided by this number; 0 for
                no minimum. The rest of the buffer is for the reader, who may need several items at
                once and would wait for ever if this block claimed all of it.
        """
        self._batch = self._asked = batch
        self._divisor = divisor
        self._ask()

    def set_max_output_buffer(self, *items):
        """Set the maximum buffer size in items, of all outputs, or of one: (port, items).

        It makes batches smaller, from the next start on.
        """
        self.gateway.set_max_output_buffer(*items)
        self._asked = max(1, min(self._asked, items[-1] // 2))
        self._ask()

    def _ask(self):
        self.set_output_multiple(self._asked)
        if self._divisor:
            self.set_min_noutput_items(max(1, self._asked // self._divisor))

    def start(self):
        self.set_output_multiple(1)
        return super().start()

    def stop(self):
        self._ask()
        return super().stop()


class batched_block(Batched, gr.sync_block):
    """Base class of sync blocks whose work() runs best with many items per call.

    ``batch`` is the target number of items per call; at the end of a stream there may be fewer.
    """

    def __init__(self, name, in_sig, out_sig, batch):
        gr.sync_block.__init__(self, name, in_sig, out_sig)
        self._ask_for(batch, 4)
