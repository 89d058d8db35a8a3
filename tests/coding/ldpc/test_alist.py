# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files in alist format: read, written and refused."""

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest
from gnuradio import fec, gr
from gnuradio.mimopack.coding import ldpc


def multiplied(code, bits):
    """Return H c over GF(2), computed from the list of ones."""
    rows, columns = code.checks()
    return np.bincount(rows, bits[columns], code.num_checks).astype(int) % 2


# Columns of weight 1, 2 and 2, rows of weight 3 and 2, in MacKay's format.
SMALL = "3 2\n2 3\n1 2 2\n3 2\n1 0\n1 2\n1 2\n1 2 3\n2 3 0\n"


def test_alist_by_hand(tmp_path):
    path = tmp_path / "small.alist"
    path.write_text(SMALL)
    code = ldpc.read_alist(path)
    assert code.dense().tolist() == [[1, 1, 1], [0, 1, 1]]
    ldpc.write_alist(code, tmp_path / "again.alist")
    assert (tmp_path / "again.alist").read_text() == SMALL
    path.write_text(SMALL.replace(" 0\n", "\n"))
    assert ldpc.read_alist(path).dense().tolist() == [[1, 1, 1], [0, 1, 1]]


@pytest.mark.parametrize("code", [ldpc.wimax(576, "5/6"), ldpc.nr(2, 6),
                                  ldpc.ParityChecks(3, [0, 2], [3, 1], 6)],
                         ids=["wimax", "nr", "empty rows and columns"])
def test_alist_written_and_read(code, tmp_path):
    ldpc.write_alist(code, tmp_path / "code.alist")
    again = ldpc.read_alist(tmp_path / "code.alist")
    assert (again.num_checks, again.num_bits) == (code.num_checks, code.num_bits)
    assert np.array_equal(again.checks(), code.checks())


def capsule(array):
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p,) * 3
    return make(array.ctypes.data, None, None)


def test_codewords_of_gnuradio_fit_its_alist_files():
    files = sorted(Path(gr.prefix(), "share/gnuradio/fec/ldpc").glob("n_0*_gap_*.alist"))
    if not files:
        pytest.skip("GNU Radio's alist files are not installed")
    for path in files:
        n, k, gap = (int(part) for part in path.stem.split("_") if part.isdigit())
        code = ldpc.read_alist(path)
        assert (code.num_bits, code.num_info) == (n, k), path
        message, word = np.random.default_rng(2).integers(0, 2, k, np.uint8), np.zeros(n, np.uint8)
        encoder = fec.ldpc_par_mtrx_encoder.make_H(fec.ldpc_H_matrix(str(path), gap))
        encoder.generic_work(capsule(message), capsule(word))
        assert word.any() and not multiplied(code, word).any(), path


@pytest.mark.parametrize("change, message", [
    (("3 2\n2 3", "3 x\n2 3"), "got text that is not an integer"),
    (("3 2\n2 3", f"{2**63} 2\n2 3"), "got text that is not an integer of 64 bits"),
    (("1 0\n", f"{-2**63 - 1} 0\n"), "got text that is not an integer of 64 bits"),
    (("3 2\n2 3\n1 2 2\n3 2\n", ""), "got no header|lines, must be"),
    ((SMALL, ""), "got no header"),
    (("2 3 0\n", ""), "got 8 lines, must be 9"),
    (("1 2 2\n3 2\n", "1 2 1\n3 2\n"), "column weights that differ"),
    (("1 2 2\n3 2\n", "1 2 2\n3 3\n"), "row weights that differ"),
    (("1 0\n1 2\n", "1 0\n1 3\n"), "a number outside 1 to 2 in the line of a column"),
    (("1 0\n", "2 0\n"), "rows and columns that describe different matrices"),
    (("1 0\n1 2\n", "1 0\n1 1\n"), "got row 0, column 1 twice"),
])
def test_alist_that_contradicts_itself(change, message, tmp_path):
    assert SMALL.count(change[0]) == 1
    path = tmp_path / "bad.alist"
    path.write_text(SMALL.replace(*change))
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: .*({message})"):
        ldpc.read_alist(path)
