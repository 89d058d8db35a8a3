# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Channel occupancy over time, as a picture with one row per time interval."""

from copy import copy

import numpy as np

from ..checks import integer, positive

BEACON_INTERVAL = 0.1024    # seconds: 100 time units, the usual default of access points


class Airtime:
    """Measure the share of time that frames occupy, in cells of equal length.

    A row lasts one beacon interval by default, so the beacons of an access point line up in a
    column. The times of overlapping frames, for example in different parts of a wide channel, are
    added. A cell never exceeds 1.

    Args:
        sample_rate: samples per second.
        row_seconds: duration of a row in seconds.
        columns: number of cells in a row, 1..4096.
        rows: number of rows kept, 1..4096.

    Attributes:
        row_seconds: as above.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, sample_rate, row_seconds=BEACON_INTERVAL, columns=64, rows=64):
        self._columns = integer("columns", columns, 1, 4096)
        self._rows = integer("rows", rows, 1, 4096)
        self.row_seconds = positive("row_seconds", row_seconds)
        self._cell = self.row_seconds * positive("sample_rate", sample_rate) / columns
        self._busy = np.zeros(self._rows * self._columns)
        self._newest = 0    # number of the newest cell

    @property
    def row(self):
        """Number of the newest row; row 0 begins at the first sample."""
        return self._newest // self._columns

    def copy(self):
        """Return an equal object."""
        other = copy(self)
        other._busy = self._busy.copy()
        return other

    def add(self, start, num_samples):
        """Add a frame, given its first sample and its number of samples.

        A frame older than the picture is skipped.
        """
        begin, end = start / self._cell, (start + num_samples) / self._cell
        if end <= begin:
            return
        self.advance(start + num_samples)
        oldest = (self.row + 1) * self._columns - self._busy.size
        cells = np.arange(max(int(begin), oldest, 0), int(np.ceil(end)))
        taken = np.minimum(cells + 1, end) - np.maximum(cells, begin)
        # A frame longer than the picture would write to some cells twice: keep its newest cells.
        cells, taken = cells[-self._busy.size:], taken[-self._busy.size:]
        self._busy[cells % self._busy.size] += taken

    def advance(self, sample):
        """Move the end of the picture forward to a sample of the stream; never move it back."""
        newest = int(sample / self._cell)
        if newest <= self._newest:
            return
        # Clear whole rows, since the picture shows whole rows.
        before, now = self.row + 1, newest // self._columns + 1
        for row in range(max(before, now - self._rows), now):
            place = row % self._rows * self._columns
            self._busy[place:place + self._columns] = 0
        self._newest = newest

    def picture(self):
        """Return the occupancy, 0 to 1, as an array (rows, columns).

        The newest row is last. Cells in the future are nan.
        """
        order = np.arange(self.row + 1 - self._rows, self.row + 1)
        shares = np.minimum(self._busy.reshape(self._rows, -1)[order % self._rows], 1)
        shares[order < 0] = np.nan
        shares[-1, self._newest % self._columns + 1:] = np.nan
        return shares
