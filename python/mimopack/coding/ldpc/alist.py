# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parity-check matrices in files of MacKay's alist format.

The format (D. MacKay, "Encyclopedia of sparse graph codes") is text with numbers. The first four
lines are: the numbers of columns and rows of the matrix; the largest weight of a column and of a
row; the weight of each column; the weight of each row. After these, one line per column lists the
rows in which the column has ones. Then one line per row lists the columns in which the row has
ones. Rows and columns are counted from 1. The lines of the lists are padded with zeros to the
largest weight.
"""

from pathlib import Path

import numpy as np

from .parity_checks import ParityChecks

HEADER_LINES = 4


def read_alist(path):
    """Read a parity-check matrix from a file in alist format, as :class:`ParityChecks`.

    The zeros that fill up a line may be missing.

    Raises:
        ValueError: the file does not have this format, or contradicts itself.
        OSError: the file cannot be read.
    """
    try:
        lines = [np.array(line.split(), np.int64)
                 for line in Path(path).read_text(encoding="ascii").rstrip().splitlines()]
    except (ValueError, OverflowError):
        raise ValueError(f"{path}: got text that is not an integer of 64 bits, must be such "
                         "integers") from None
    if len(lines) < HEADER_LINES or lines[0].size != 2 or lines[0].min() < 1:
        raise ValueError(f"{path}: got no header, must begin with the numbers of columns and rows")
    num_bits, num_checks = map(int, lines[0])
    if len(lines) != HEADER_LINES + num_bits + num_checks:
        raise ValueError(f"{path}: got {len(lines)} lines, must be "
                         f"{HEADER_LINES + num_bits + num_checks}")
    columns, rows = _ones(path, "column", lines[HEADER_LINES:HEADER_LINES + num_bits], lines[2],
                          num_checks)
    by_row = _ones(path, "row", lines[HEADER_LINES + num_bits:], lines[3], num_bits)
    try:
        codes = [ParityChecks(num_checks, *ones, num_bits) for ones in ((rows, columns), by_row)]
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if not all(map(np.array_equal, *(code.checks() for code in codes))):
        raise ValueError(f"{path}: got rows and columns that describe different matrices, must "
                         "describe the same")
    return codes[0]


def _ones(path, what, lines, weights, limit):
    """Return (line, number - 1) for each number in the lines of all columns, or of all rows."""
    listed = [line[line != 0] for line in lines]
    counts = np.array([line.size for line in listed])
    if not np.array_equal(counts, weights):
        raise ValueError(f"{path}: got {what} weights that differ from the numbers listed")
    numbers = np.concatenate(listed)
    if not numbers.size or numbers.min() < 1 or numbers.max() > limit:
        raise ValueError(f"{path}: got a number outside 1 to {limit} in the line of a {what}")
    return np.repeat(np.arange(len(lines)), counts), numbers - 1


def write_alist(code, path):
    """Write the matrix of a :class:`ParityChecks` or :class:`Prototype` to an alist file.

    Raises:
        OSError: the file cannot be written.
    """
    rows, columns = code.checks()
    by_column = np.lexsort((rows, columns))
    halves = [_lists(columns[by_column], rows[by_column], code.num_bits),
              _lists(rows, columns, code.num_checks)]
    weights = [[len(line) for line in half] for half in halves]
    lines = [(code.num_bits, code.num_checks), [max(half) for half in weights], *weights]
    for half, weight in zip(halves, weights, strict=True):
        lines += [[*line, *[0] * (max(weight) - len(line))] for line in half]
    Path(path).write_text("".join(" ".join(map(str, line)) + "\n" for line in lines),
                          encoding="ascii")


def _lists(of, numbers, count):
    """Return the numbers of each line 0..count-1, counted from 1.

    `of`, in ascending order, is the line of each number.
    """
    return [part.tolist() for part in np.split(numbers + 1, np.searchsorted(of, range(1, count)))]
