# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold the latest samples of a stream in arrays that never move."""

from collections import deque

import numpy as np

# The least size of an array; the system gives large ones in large pages.
_BYTES = 1 << 22


class SampleStore:
    """The latest samples of a stream of several antennas.

    Samples are written once: threads may read those that are there while others are appended. A new
    array begins when the last one is full, with a copy of what must lie in one piece.

    Args:
        num_rx: receive antennas.
        origin: sample of the stream at which the samples begin.

    Attributes:
        begin: first sample of the stream that is still there.
        end: sample of the stream behind the last one.
    """

    def __init__(self, num_rx, origin):
        self._num_rx = num_rx
        self._arrays = deque()    # of (sample of the stream at which it begins, array)
        self.begin = self.end = origin

    def room(self, count, keep):
        """Make room for so many samples, which count as there from now on.

        Args:
            count: samples of each antenna.
            keep: first sample of the stream that must lie in the same array before them.

        Returns:
            (array, the sample of the stream at which it begins, the column of the first new one).
        """
        end = self.end + count
        if not self._arrays or end - self._arrays[-1][0] > self._arrays[-1][1].shape[1]:
            keep = min(max(keep, self.begin), self.end)
            size = max(_BYTES // (8 * self._num_rx), 2 * (end - keep))
            array = np.empty((self._num_rx, size), np.complex64)
            if keep < self.end:
                array[:, :self.end - keep] = self.cut(keep, self.end)
            self._arrays.append((keep, array))
        origin, array = self._arrays[-1]
        at, self.end = self.end - origin, end
        return array, origin, at

    def cut(self, first, stop):
        """Samples of the stream, complex64 (num_rx, stop - first), perhaps as a view.

        Args:
            first, stop: at least ``begin``, at most ``end``.
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
        """Drop the arrays that hold only samples before one of the stream."""
        while len(self._arrays) > 1 and self._arrays[1][0] <= before:
            self._arrays.popleft()
            self.begin = self._arrays[0][0]
