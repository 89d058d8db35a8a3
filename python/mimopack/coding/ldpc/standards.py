# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The LDPC codes of IEEE 802.16e, IEEE 802.11n/ac and 5G NR as prototypes."""

from functools import lru_cache
from importlib import resources

import numpy as np

from ...checks import choice
from .parity_checks import Prototype

BLOCK_COLUMNS = 24
WIMAX_LENGTHS = tuple(range(576, 2305, 96))
WIMAX_RATES = ("1/2", "2/3A", "2/3B", "3/4A", "3/4B", "5/6")
WIMAX_LARGEST = WIMAX_LENGTHS[-1] // BLOCK_COLUMNS
WIFI_LENGTHS = (648, 1296, 1944)
WIFI_RATES = ("1/2", "2/3", "3/4", "5/6")
NR_BASE_GRAPHS = {1: (46, 68), 2: (42, 52)}
# TS 38.212, table 5.3.2-1. Set i contains the first number of pair i multiplied by powers of two,
# up to the second number.
NR_LIFTING_SETS = tuple(
    tuple(first << power for power in range(8) if first << power <= last)
    for first, last in ((2, 256), (3, 384), (5, 320), (7, 224), (9, 288), (11, 352), (13, 208),
                        (15, 240)))
NR_LIFTING_SIZES = tuple(sorted(size for sizes in NR_LIFTING_SETS for size in sizes))


@lru_cache
def _tables(name):
    """Return the tables in a file as {title: array}; "-" becomes -1."""
    text = resources.files(__package__).joinpath("tables", f"{name}.txt").read_text("ascii")
    tables = {}
    for line in text.splitlines():
        if line.startswith("table "):
            rows = tables.setdefault(line.removeprefix("table "), [])
        elif line and not line.startswith("#"):
            rows.append([-1 if number == "-" else int(number) for number in line.split()])
    return {title: np.array(rows, np.int32) for title, rows in tables.items()}


def wimax(n, rate):
    """Return a code of IEEE 802.16e-2005 §8.4.9.2.5.1.

    Args:
        n: number of bits in a codeword, one of WIMAX_LENGTHS.
        rate: one of WIMAX_RATES.

    Returns:
        :class:`Prototype` with 24 block columns; the information bits come first.
    """
    size = int(choice("n", n, WIMAX_LENGTHS)) // BLOCK_COLUMNS
    shifts = _tables("wimax")[choice("rate", rate, WIMAX_RATES)]
    scaled = shifts % size if rate == "2/3A" else shifts * size // WIMAX_LARGEST
    return Prototype(np.where(shifts < 0, -1, scaled), size)


def wifi(n, rate):
    """Return a code of IEEE 802.11n and 802.11ac (802.11-2020 §19.3.11.7.4 and annex F).

    Args:
        n: number of bits in a codeword, one of WIFI_LENGTHS.
        rate: one of WIFI_RATES.

    Returns:
        :class:`Prototype` with 24 block columns; the information bits come first.
    """
    n, rate = choice("n", n, WIFI_LENGTHS), choice("rate", rate, WIFI_RATES)
    return Prototype(_tables("wifi")[f"{int(n)} {rate}"], int(n) // BLOCK_COLUMNS)


def nr(base_graph, lifting_size):
    """Return a code of 5G NR, 3GPP TS 38.212 §5.3.2, before any bit is punctured or repeated.

    Args:
        base_graph: 1 (46 block rows, 68 block columns) or 2 (42, 52).
        lifting_size: Z_c, one of NR_LIFTING_SIZES.

    Returns:
        :class:`Prototype`; the information bits come first. 5G NR never sends the first 2 *
        lifting_size of these.
    """
    base_graph = int(choice("base_graph", base_graph, tuple(NR_BASE_GRAPHS)))
    size = int(choice("lifting_size", lifting_size, NR_LIFTING_SIZES))
    row, column, *shifts = _tables("nr")[str(base_graph)].T
    lifting_set = next(i for i, sizes in enumerate(NR_LIFTING_SETS) if size in sizes)
    prototype = np.full(NR_BASE_GRAPHS[base_graph], -1)
    prototype[row, column] = shifts[lifting_set] % size
    return Prototype(prototype, size)
