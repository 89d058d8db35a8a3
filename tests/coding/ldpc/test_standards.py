# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of the LDPC codes against known facts about the codes."""

import hashlib

import numpy as np
import pytest
from gnuradio.mimopack.coding import ldpc
from gnuradio.mimopack.coding.ldpc.standards import NR_LIFTING_SETS

# Digests of all shifts at the largest size as little-endian int16, row by row.
DIGESTS = {
    "wimax": "e3637e46635b341e8390191b3f0e9e63330ed7b6ee9bfca8e24afa3f18b7784a",
    "wifi": "27d448cbc4c397d6260624006e4ac98eb18d73bcc3db1f49f81deb3dc2a5ec6c",
    "nr 1": "b37d73a4370322a5a01415e404e4cae4c5cee7c28a0c2de618f5c10ff2945f31",
    "nr 2": "706f390e857cded087992d592bbace745f26f911abd07d1271e4dc21d2857aa3",
}
WIMAX = [(n, rate) for n in ldpc.WIMAX_LENGTHS for rate in ldpc.WIMAX_RATES]
WIFI = [(n, rate) for n in ldpc.WIFI_LENGTHS for rate in ldpc.WIFI_RATES]


@pytest.mark.quick
def test_no_number_of_the_tables_changed():
    shifts = {"wimax": [ldpc.wimax(2304, rate) for rate in ldpc.WIMAX_RATES],
              "wifi": [ldpc.wifi(n, rate) for n, rate in WIFI],
              **{f"nr {graph}": [ldpc.nr(graph, sizes[-1]) for sizes in NR_LIFTING_SETS]
                 for graph in (1, 2)}}
    found = {name: hashlib.sha256(b"".join(
        code.shifts.astype("<i2").tobytes() for code in codes)).hexdigest()
        for name, codes in shifts.items()}
    assert found == DIGESTS


def test_sizes():
    for n, rate in WIMAX + WIFI:
        code = (ldpc.wimax if (n, rate) in WIMAX else ldpc.wifi)(n, rate)
        numerator, denominator = map(int, rate.rstrip("AB").split("/"))
        assert (code.num_bits, code.num_info) == (n, n * numerator // denominator)
        assert code.size == n // 24
    assert len(ldpc.WIMAX_LENGTHS) == 19 and len(ldpc.NR_LIFTING_SIZES) == 51
    for size in ldpc.NR_LIFTING_SIZES:
        assert [(ldpc.nr(graph, size).num_bits, ldpc.nr(graph, size).num_info)
                for graph in (1, 2)] == [(68 * size, 22 * size), (52 * size, 10 * size)]


def test_wimax_scales_shifts():
    half, third = ldpc.wimax(2304, "1/2").shifts, ldpc.wimax(2304, "2/3A").shifts
    for n in ldpc.WIMAX_LENGTHS:
        size = n // 24
        assert np.array_equal(ldpc.wimax(n, "1/2").shifts,
                              np.where(half < 0, -1, np.floor(half * (size / 96))))
        assert np.array_equal(ldpc.wimax(n, "2/3A").shifts, np.where(third < 0, -1, third % size))
    # Computed by hand: floor(94 * 24 / 96) = 23, 45 mod 24 = 21.
    assert ldpc.wimax(576, "1/2").shifts[0, 1] == 23
    assert ldpc.wimax(576, "2/3A").shifts[5, 15] == 21


@pytest.mark.parametrize("graph, blocks, punctured, core_rows",
                         [(1, 316, (30, 28), (19, 19, 19, 19)), (2, 197, (22, 23), (8, 10, 8, 10))])
def test_structure_of_nr(graph, blocks, punctured, core_rows):
    for size in ldpc.NR_LIFTING_SIZES:
        code = ldpc.nr(graph, size)
        rows, columns = code.shifts.shape
        present = code.shifts >= 0
        assert present.sum() == blocks
        assert tuple(present[:, :2].sum(axis=0)) == punctured
        assert tuple(present[:4].sum(axis=1)) == core_rows
        # After the four core rows, each row has a parity bit that occurs in no other row.
        extension = code.shifts[:, columns - rows + 4:]
        assert np.array_equal(extension[4:], np.where(np.eye(rows - 4), 0, -1))
        assert not (extension[:4] >= 0).any()
        core = code.shifts[:4, columns - rows:columns - rows + 4]
        assert np.array_equal(core[:, 1:] >= 0, [[1, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]])
        assert not core[:, 1:][core[:, 1:] >= 0].any()
        # Two of the special column's three blocks are equal, so the core is invertible.
        special = np.sort(core[:, 0][core[:, 0] >= 0])
        assert special.size == 3 and special[1] in (special[0], special[2])


def test_prototype_is_blocks_of_shifted_identities():
    code = ldpc.Prototype([[0, -1, 2], [-1, 1, 0]], 3)
    one, zero = np.eye(3, dtype=int), np.zeros((3, 3), int)
    wanted = np.block([[one, zero, np.roll(one, 2, axis=1)], [zero, np.roll(one, 1, axis=1), one]])
    assert np.array_equal(code.dense(), wanted) and code.dense().dtype == np.uint8
    rows, columns = code.checks()
    assert np.array_equal([rows, columns], np.nonzero(wanted))
    assert (code.num_checks, code.num_bits, code.num_info) == (6, 9, 3)
    with pytest.raises(ValueError, match="read-only"):
        code.shifts[0, 0] = 1


def test_ones_in_any_order():
    code = ldpc.ParityChecks(3, [2, 0, 2], [1, 3, 0], 5)
    assert [list(part) for part in code.checks()] == [[0, 2, 2], [3, 0, 1]]
    assert (code.num_checks, code.num_bits, code.num_info) == (3, 5, 2)
    assert ldpc.ParityChecks(3, [2, 0, 2], [1, 3, 0]).num_bits == 4
    prototype = ldpc.wifi(648, "1/2")
    assert np.array_equal(ldpc.ParityChecks(324, *prototype.checks()).dense(), prototype.dense())


@pytest.mark.parametrize("call, message", [
    (lambda: ldpc.wimax(600, "1/2"), "n: got 600, allowed are 576, 672"),
    (lambda: ldpc.wimax(576, "2/3"), "rate: got '2/3', allowed are 1/2, 2/3A, 2/3B, 3/4A"),
    (lambda: ldpc.wifi(576, "1/2"), "n: got 576, allowed are 648, 1296, 1944"),
    (lambda: ldpc.wifi(648, "2/3A"), "rate: got '2/3A', allowed are 1/2, 2/3, 3/4, 5/6"),
    (lambda: ldpc.nr(0, 384), "base_graph: got 0, allowed are 1, 2"),
    (lambda: ldpc.nr(1, 17), "lifting_size: got 17, allowed are 2, 3"),
    (lambda: ldpc.Prototype([[0, 3]], 3), "shifts: got 0 to 3, allowed are -1 to 2"),
    (lambda: ldpc.Prototype([[0, -2]], 3), "shifts: got -2 to 0"),
    (lambda: ldpc.Prototype([[0.0]], 3), "shifts: got type float64"),
    (lambda: ldpc.Prototype([0, 1], 3), "shifts: got type int64 of shape .2,."),
    (lambda: ldpc.Prototype([[0]], 0), "size: got 0"),
    (lambda: ldpc.ParityChecks(2, [0, 2], [0, 1]), "rows: got 0 to 2, allowed are 0 to 1"),
    (lambda: ldpc.ParityChecks(2, [0, 1], [0, 4], 4), "columns: got 0 to 4, allowed are 0 to 3"),
    (lambda: ldpc.ParityChecks(2, [0, 1, 0], [0, 1, 0]), "got row 0, column 0 twice"),
    (lambda: ldpc.ParityChecks(2, [0, 1], [0]), "columns: got 1, must be as many as rows, 2"),
    (lambda: ldpc.ParityChecks(2, [0.5], [0]), "rows: got type float64"),
])
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
