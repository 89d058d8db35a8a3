# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples for a thread of their own, which is at times too slow for them."""

import threading
import time
from collections import deque

import numpy as np


class _Block:
    """Memory for samples: which are in it, and which of these were taken."""

    def __init__(self, num_rx, size):
        self.data = np.empty((num_rx, size), np.complex64)
        self.first = self.used = self.taken = 0


class SampleQueue:
    """Hand samples to a thread of its own; where too many wait, hold back who brings them, or drop
    whole spans of them.

    Dropping begins when no more fit in and ends when half of the queue is free again, so that few
    long spans are lost rather than many short ones. Tags of samples that were dropped come with the
    next ones: they say when and at which frequency these are.

    Memory is allocated once and used again: new pages for each call would cost more than the copy.

    Args:
        take: function (first, samples, tags), called on the thread: number of the first sample in
            the stream, complex64 (num_rx, n), list of tags up to the last of these. The samples
            are valid during the call.
        num_rx: antennas.
        most: samples of each antenna that may wait.
        at_a_time: samples that the thread gets at a time, at most.
        drops: whether samples are dropped; otherwise :meth:`put` waits until they fit.
        log: ``BlockLog``.

    Attributes:
        dropped: samples of each antenna that were dropped.
        waiting: samples of each antenna that wait, or are being taken.
    """

    def __init__(self, take, num_rx, most, at_a_time, drops, log):
        self._function, self._num_rx, self._most, self._log = take, num_rx, most, log
        self._size, self._drops = at_a_time, drops
        self._blocks, self._free, self._tags = deque(), [], []
        self._change = threading.Condition()
        self._thread, self._ends, self._dropping = None, False, False
        self.dropped = self.waiting = self._taking = 0

    @property
    def has_more(self):
        """Whether samples wait beside those that are being taken."""
        return self.waiting > self._taking

    def start(self):
        """Begin a new stream, and the thread."""
        self._ends, self._dropping, self._tags = False, False, []
        self._thread = threading.Thread(target=self._run, name="wifi_receiver", daemon=True)
        self._thread.start()

    def put(self, first, samples, tags):
        """Take samples, a sequence of an array for each antenna; they are copied."""
        count, done = len(samples[0]), 0
        with self._change:
            self._tags += tags
            if self._drops and not self._fits(count):
                self._dropping = True
                self.dropped += count
                return
            self._dropping = False
        while done < count:
            block = self._block_for(first + done)
            size = min(count - done, self._size - block.used)
            if not self._drops:
                with self._change:
                    self._change.wait_for(lambda new=size: self._fits(new))
            # The thread reads up to "used" only.
            for row, one in zip(block.data, samples, strict=True):
                row[block.used:block.used + size] = one[done:done + size]
            with self._change:
                block.used += size
                self.waiting += size
                self._change.notify_all()
            done += size

    def rest(self, least, most):
        """Wait for the least seconds, and then until no samples wait, for the most in all."""
        time.sleep(least)
        with self._change:
            self._change.wait_for(lambda: not self.waiting, most - least)

    def _fits(self, count):
        limit = self._most // 2 if self._dropping else self._most
        return not self.waiting or self.waiting + count <= limit

    def finish(self):
        """Wait until everything was taken, and end the thread."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        with self._change:
            self._ends = True
            self._change.notify_all()
        thread.join()
        self._free += self._blocks
        self._blocks.clear()

    def _block_for(self, sample):
        """A block with room for samples, the next of which is this one."""
        with self._change:
            block = self._blocks[-1] if self._blocks else None
            if block is None or block.used == self._size or block.first + block.used != sample:
                block = self._free.pop() if self._free else _Block(self._num_rx, self._size)
                block.first, block.used, block.taken = sample, 0, 0
                self._blocks.append(block)
        return block

    def _run(self):
        while True:
            with self._change:
                self._change.wait_for(lambda: self.waiting or self._ends)
                if not self.waiting:
                    return
                block, tags = self._next()
                start, stop = block.taken, block.used
                block.taken, self._taking = stop, stop - start
            with self._log.guard(f"samples {block.first + start} to {block.first + stop}"):
                self._function(block.first + start, block.data[:, start:stop], tags)
            with self._change:
                self.waiting -= stop - start
                self._taking = 0
                self._change.notify_all()

    def _next(self):
        """The block with the oldest samples that wait, and the tags up to its last one."""
        while self._blocks[0].taken == self._blocks[0].used:
            self._free.append(self._blocks.popleft())
        block = self._blocks[0]
        end = block.first + block.used
        tags = [tag for tag in self._tags if tag.offset < end]
        self._tags = [tag for tag in self._tags if tag.offset >= end]
        return block, tags
