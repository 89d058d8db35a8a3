# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of a radio, which may not wait, for a thread that is at times too slow."""

import threading
from collections import deque

import numpy as np

# Samples that the thread gets at a time, at most.
_PIECE = 1 << 16


class SampleQueue:
    """Hand samples to a thread of its own; where too many wait, drop whole spans of them.

    Dropping begins when no more fit in and ends when half of the queue is free again, so that few
    long spans are lost rather than many short ones. Tags of samples that were dropped come with the
    next ones: they say when and at which frequency these are.

    Args:
        take: function (first, samples, tags), called on the thread: number of the first sample in
            the stream, complex64 (antennas, n), list of tags up to the last of these.
        most: samples of each antenna that may wait.
        log: ``BlockLog``.

    Attributes:
        dropped: samples of each antenna that were dropped.
        drops: how often dropping began.
        waiting: samples of each antenna that wait, or are being taken.
    """

    def __init__(self, take, most, log):
        self._function, self._most, self._log = take, most, log
        self._items, self._tags = deque(), []
        self._change = threading.Condition()
        self._thread, self._ends, self._dropping = None, False, False
        self.dropped = self.drops = self.waiting = 0

    @property
    def has_more(self):
        """Whether samples wait beside those that are being taken."""
        return bool(self._items)

    def start(self):
        """Begin a new stream, and the thread."""
        self._ends, self._dropping, self._tags = False, False, []
        self._thread = threading.Thread(target=self._run, name="wifi_receiver", daemon=True)
        self._thread.start()

    def put(self, first, samples, tags):
        """Take samples, a sequence of an array for each antenna; they are copied."""
        count = len(samples[0])
        with self._change:
            limit = self._most // 2 if self._dropping else self._most
            if self.waiting and self.waiting + count > limit:
                self.drops += not self._dropping
                self._dropping = True
                self.dropped += count
                self._tags += tags
                return
            self._dropping = False
            self.waiting += count
        tags, self._tags = [*self._tags, *tags], []
        item = first, np.stack(samples), tags
        with self._change:
            self._items.append(item)
            self._change.notify()

    def finish(self):
        """Wait until everything was taken, and end the thread."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        with self._change:
            self._ends = True
            self._change.notify()
        thread.join()

    def _run(self):
        while True:
            with self._change:
                self._change.wait_for(lambda: self._items or self._ends)
                if not self._items:
                    return
                first, samples, tags = self._next_piece()
            with self._log.guard(f"samples {first} to {first + samples.shape[1]}"):
                self._function(first, samples, tags)
            with self._change:
                self.waiting -= samples.shape[1]

    def _next_piece(self):
        """Samples that wait, those without a gap together: calls for few samples cost too much."""
        first, samples, tags = self._items.popleft()
        parts, end = [samples], first + samples.shape[1]
        while self._items and self._items[0][0] == end and (
                end + self._items[0][1].shape[1] <= first + _PIECE):
            _, samples, more = self._items.popleft()
            parts.append(samples)
            tags += more
            end += samples.shape[1]
        return first, parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1), tags
