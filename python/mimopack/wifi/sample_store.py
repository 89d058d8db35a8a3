# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the latest samples of a stream in arrays that never move."""

import sys
from collections import deque

import numpy as np

# Minimum size of an array. The operating system backs large arrays with large pages.
_BYTES = 1 << 24
# Maximum number of arrays that wait to be used again
_MOST_DROPPED = 8


class SampleStore:
    """Store the latest samples of a stream of several antennas.

    Each sample is written once, so threads may read samples while others are appended. When an
    array is full, another array begins with a copy of the older samples that must stay contiguous
    with the new samples. It is an array that nobody holds any more, if there is one: on some
    machines, new pages of memory take many milliseconds.

    Args:
        num_rx: number of receive antennas.
        origin: position in the stream of the first sample.

    Attributes:
        begin: position in the stream of the first sample still kept.
        end: position in the stream after the last sample.
    """

    def __init__(self, num_rx, origin):
        self._num_rx = num_rx
        self._arrays = deque()    # (position of its first sample in the stream, array)
        self._dropped = []
        self.begin = self.end = origin

    def restart(self, origin):
        """Drop all samples. The next one has the position ``origin`` in the stream."""
        while self._arrays:
            self._drop()
        self.begin = self.end = origin

    def has_room(self, count):
        """Return whether this number of samples fits into the last array."""
        if not self._arrays:
            return False
        origin, array = self._arrays[-1]
        return self.end + count - origin <= array.shape[1]

    def room(self, count, keep):
        """Make room for new samples, which the caller then writes.

        The new samples count as present from this call on.

        Args:
            count: number of new samples per antenna.
            keep: position in the stream of the first older sample that must lie in the same array.

        Returns:
            (array, origin, column): complex64 array (num_rx, size), position in the stream of its
            first sample, and column of the first new sample.
        """
        end = self.end + count
        if not self.has_room(count):
            keep = min(max(keep, self.begin), self.end)
            size = max(_BYTES // (8 * self._num_rx), 2 * (end - keep))
            array = self._unused(size)
            if keep < self.end:
                array[:, :self.end - keep] = self.cut(keep, self.end)
            self._arrays.append((keep, array))
        origin, array = self._arrays[-1]
        at, self.end = self.end - origin, end
        return array, origin, at

    def cut(self, first, stop):
        """Return samples first..stop-1 of the stream, complex64 (num_rx, stop - first).

        The result may be a view.

        Args:
            first, stop: positions in the stream, from ``begin`` to ``end``.
        """
        parts = []
        for index in reversed(range(len(self._arrays))):
            origin, array = self._arrays[index]
            if origin < stop:
                at = max(first, origin)
                parts.append(array[:, at - origin:stop - origin])
                stop = at
            if stop <= first:
                break
        return parts[0] if len(parts) == 1 else np.concatenate(parts[::-1], axis=1)

    def forget(self, before):
        """Drop the arrays that hold only samples before position ``before`` of the stream."""
        while len(self._arrays) > 1 and self._arrays[1][0] <= before:
            self._drop()
            self.begin = self._arrays[0][0]

    def _drop(self):
        array = self._arrays.popleft()[1]
        if len(self._dropped) < _MOST_DROPPED and array.nbytes <= 4 * _BYTES:
            self._dropped.append(array)

    def _unused(self, size):
        """Return an array (num_rx, size) that nobody else holds."""
        for index in range(len(self._dropped)):
            # The list and the argument hold it. Views and tasks would hold it too.
            unused = sys.getrefcount(self._dropped[index]) == 2
            if unused and self._dropped[index].shape[1] == size:
                return self._dropped.pop(index)
        return np.empty((self._num_rx, size), np.complex64)
