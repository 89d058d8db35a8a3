# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parity-check matrices: a prototype of circulant blocks, or any matrix as a list of its ones."""

import numpy as np

from ...checks import integer, integers

LARGEST = 2**31 - 1


class ParityCheckMatrix:
    """A parity-check matrix H, (num_checks, num_bits) over GF(2).

    The bits c of a codeword satisfy H c = 0; the first bit belongs to the first column.

    Attributes:
        num_checks: number of rows in the matrix.
        num_bits: number of columns, which is the number of bits in a codeword.
    """

    @property
    def num_info(self):
        """Number of information bits, num_bits - num_checks, for a matrix of full rank."""
        return self.num_bits - self.num_checks

    def checks(self):
        """Return the positions of the matrix's ones, sorted by row, then by column.

        Returns:
            (rows, columns): int32 (number of ones,) each, counted from 0.
        """
        raise NotImplementedError

    def dense(self):
        """Return the whole matrix: uint8 (num_checks, num_bits)."""
        matrix = np.zeros((self.num_checks, self.num_bits), np.uint8)
        matrix[self.checks()] = 1
        return matrix


class Prototype(ParityCheckMatrix):
    """The matrix of a quasi-cyclic code, made of size x size blocks.

    Args:
        shifts: integers (block rows, block columns). -1 stands for a block of zeros. A shift s from
            0 to size - 1 stands for the identity matrix, shifted right by s: row i of the block has
            a one in column (i + s) modulo size.
        size: number of rows and of columns in a block.
    """

    def __init__(self, shifts, size):
        self.size = integer("size", size, 1, LARGEST)
        self.shifts = integers("shifts", shifts, 2, -1, size - 1).astype(np.int32)
        self.shifts.setflags(write=False)
        self.num_checks, self.num_bits = (count * size for count in self.shifts.shape)

    def checks(self):
        row, column = np.nonzero(self.shifts >= 0)
        inside = np.arange(self.size)
        shifted = (inside + self.shifts[row, column][:, None]) % self.size
        return _sorted((row[:, None] * self.size + inside).ravel(),
                       (column[:, None] * self.size + shifted).ravel())


class ParityChecks(ParityCheckMatrix):
    """Any parity-check matrix, given by its ones.

    Args:
        num_checks: number of rows in the matrix.
        rows, columns: integers (number of ones,) each: positions of the ones, counted from 0, in
            any order.
        num_bits: number of columns in the matrix; 0 for the smallest number that holds all ones.
    """

    def __init__(self, num_checks, rows, columns, num_bits=0):
        self.num_checks = integer("num_checks", num_checks, 1, LARGEST)
        num_bits = integer("num_bits", num_bits, 0, LARGEST)
        rows = integers("rows", rows, 1, 0, num_checks - 1)
        columns = integers("columns", columns, 1, 0, (num_bits or LARGEST) - 1)
        if rows.size != columns.size:
            raise ValueError(f"columns: got {columns.size}, must be as many as rows, {rows.size}")
        self.num_bits = num_bits or int(columns.max()) + 1
        self._ones = rows, columns = _sorted(rows, columns)
        again = np.flatnonzero((np.diff(rows) == 0) & (np.diff(columns) == 0))
        if again.size:
            first = again[0]
            raise ValueError(f"rows, columns: got row {rows[first]}, column {columns[first]} "
                             "twice, must differ")

    def checks(self):
        return self._ones


def _sorted(rows, columns):
    order = np.lexsort((columns, rows))
    arrays = rows[order].astype(np.int32), columns[order].astype(np.int32)
    for array in arrays:
        array.setflags(write=False)
    return arrays
