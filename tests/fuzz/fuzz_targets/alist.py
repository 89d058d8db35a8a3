# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parity-check matrices in alist format."""

from pathlib import Path

import numpy as np
from gnuradio.mimopack.coding import ldpc

from . import contract, mutations

MAX_LEN = 2048
mutate = mutations.of_numbers
_FOLDER = contract.folder()
_FILE, _AGAIN = Path(_FOLDER.name, "code.alist"), Path(_FOLDER.name, "again.alist")


def check(data):
    """A matrix that is read lies within its bounds, and is the same after writing it."""
    _FILE.write_bytes(data)
    try:
        code = ldpc.read_alist(_FILE)
    except ValueError as error:
        contract.check_error(error, _FILE.name)
        return
    rows, columns = code.checks()
    assert rows.size == columns.size >= 1
    assert 0 <= rows.min() and rows.max() < code.num_checks
    assert 0 <= columns.min() and columns.max() < code.num_bits
    ldpc.write_alist(code, _AGAIN)
    again = ldpc.read_alist(_AGAIN)
    assert (again.num_checks, again.num_bits) == (code.num_checks, code.num_bits)
    assert all(map(np.array_equal, again.checks(), code.checks()))


def seeds():
    """Return a regular code, an irregular code, and one with an empty row and column."""
    hamming = [(0, 0), (0, 1), (0, 2), (0, 4), (1, 0), (1, 1), (1, 3), (1, 5), (2, 0), (2, 2),
               (2, 3), (2, 6)]
    codes = [ldpc.ParityChecks(2, np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2])),
             ldpc.ParityChecks(3, *np.array(hamming).T),
             ldpc.ParityChecks(3, np.array([0, 2]), np.array([0, 3]), 5)]
    texts = []
    for code in codes:
        ldpc.write_alist(code, _FILE)
        texts.append(_FILE.read_bytes())
    # The zeros that fill up a line may be missing.
    return [*texts, b"\n".join(line.rstrip(b" 0") or b"0" for line in texts[1].split(b"\n"))]
