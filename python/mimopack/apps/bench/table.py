# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Format tables of results for the terminal and for documents."""

import re
from dataclasses import dataclass

# Bit errors cluster in vectors; a rate from fewer vectors than this is not reliable.
ENOUGH_VECTORS = 2000


@dataclass(frozen=True)
class Table:
    """Header and rows of cells; cells are strings in Markdown."""

    header: list
    rows: list

    def markdown(self):
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def text(self):
        """Return aligned columns for a terminal: numbers right, all other cells left."""
        lines = [[cell.replace("`", "") for cell in line] for line in (self.header, *self.rows)]
        columns = list(zip(*lines, strict=True))
        widths = [max(map(len, column)) for column in columns]
        numeric = [all(map(_is_number, column[1:])) for column in columns]
        return "\n".join(
            "  ".join(cell.rjust(width) if right else cell.ljust(width)
                      for cell, width, right in zip(line, widths, numeric, strict=True)).rstrip()
            for line in lines)


def text(parts):
    """Return ``Table`` objects and lines as text for a terminal."""
    return "\n\n".join(part if isinstance(part, str) else part.text() for part in parts)


def markdown(parts):
    """Return ``Table`` objects and lines as text for a document."""
    return "\n\n".join(part if isinstance(part, str) else part.markdown() for part in parts)


def _is_number(cell):
    return not cell.strip("0123456789.e+-%<x ") and (cell in ("", "-")
                                                     or any(map(str.isdigit, cell)))


def number(value):
    """Format a number with three digits, without an exponent; "-" for None."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def percent(value):
    """Format a share in percent without the sign, which is in the heading; "-" for None."""
    return "-" if value is None else f"{100 * value:.0f}"


def duration(seconds):
    return f"{number(1e6 * seconds)} us" if seconds < 1e-3 else f"{number(1e3 * seconds)} ms"


def spelled(label):
    """Spell out the label of a case: "nway(N=1), T = 14" becomes "N-way, N = 1, T = 14"."""
    words = re.sub(r"\(([^)]*)\)", lambda found: ", " + found[1].replace("=", " = "), label)
    return re.sub(r"^nway\b", "N-way", words)


def thread_count(count):
    return "1 thread" if count == 1 else f"{count} threads"


def bit_error_rate(row):
    """Format the bit error rate of a row.

    Without errors, give an upper limit; with fewer than ENOUGH_VECTORS vectors, give "-".
    """
    if row["vectors_compared"] < ENOUGH_VECTORS:
        return "-"
    return f"{row['ber']:.1e}" if row["ber"] else f"< {3 / row['bits_compared']:.0e}"
