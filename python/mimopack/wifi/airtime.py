# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""When the air was busy: a picture whose rows are pieces of time."""

import numpy as np

from ..checks import integer, positive

BEACON_INTERVAL = 0.1024    # seconds: 100 time units, what access points use by default


class Airtime:
    """Share of the time that frames take, in cells of equal length.

    A row is one beacon interval by default, so that beacons of an access point stand below each
    other. Frames that overlap, as in different parts of a wide channel, count once each; a cell
    never exceeds 1.

    Args:
        sample_rate: samples per second.
        row_seconds: time of a row.
        columns: cells of a row, 1..4096.
        rows: how many are kept, 1..4096.

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
        self._newest = 0    # cell

    @property
    def row(self):
        """Number of the newest row, from the first sample on."""
        return self._newest // self._columns

    def add(self, start, num_samples):
        """Count a frame by its first sample and its length; one too old to be kept is left out."""
        begin, end = start / self._cell, (start + num_samples) / self._cell
        if end <= begin:
            return
        self.advance(start + num_samples)
        oldest = (self.row + 1) * self._columns - self._busy.size
        cells = np.arange(max(int(begin), oldest, 0), int(np.ceil(end)))
        taken = np.minimum(cells + 1, end) - np.maximum(cells, begin)
        # A frame longer than all that is kept has cells that share a place: the newest stay.
        cells, taken = cells[-self._busy.size:], taken[-self._busy.size:]
        self._busy[cells % self._busy.size] += taken

    def advance(self, sample):
        """The stream has come to a sample."""
        newest = int(sample / self._cell)
        if newest <= self._newest:
            return
        # Cells are forgotten row by row.
        before, now = self.row + 1, newest // self._columns + 1
        for row in range(max(before, now - self._rows), now):
            place = row % self._rows * self._columns
            self._busy[place:place + self._columns] = 0
        self._newest = newest

    def picture(self):
        """Shares, 0 to 1: (rows, columns), the newest row last; cells to come are nan."""
        order = np.arange(self.row + 1 - self._rows, self.row + 1)
        shares = np.minimum(self._busy.reshape(self._rows, -1)[order % self._rows], 1)
        shares[order < 0] = np.nan
        shares[-1, self._newest % self._columns + 1:] = np.nan
        return shares
