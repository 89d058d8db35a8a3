# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Encoder for all low-density parity-check codes, by back substitution."""

import numpy as np

from ..decoder import Encoder


class LdpcEncoder(Encoder):
    """Systematic LDPC encoder (T. Richardson, R. Urbanke, IEEE Trans. Inf. Theory 47(2), 2001).

    A bit that occurs in only one check follows from the other bits of that check. The constructor
    removes such bits together with their checks, round by round, until none is left. The parity
    bits of the remaining matrix follow by elimination over GF(2). The last bits of a codeword are
    its parity bits if the matrix allows.

    Args:
        code: a parity-check matrix: an object with num_bits, num_checks and checks().
    """

    def __init__(self, code):
        self.num_bits = code.num_bits
        self._rows, self._columns = (np.asarray(places, np.int64) for places in code.checks())
        self._num_checks = code.num_checks
        first = getattr(code, "num_info", 0)    # the bits before are not parity bits
        parity = np.zeros(code.num_bits, bool)
        parity[first:] = True
        self._rounds, free, checks = self._peel(parity)
        self._solve(free, checks)
        self.num_info = len(self.information)

    def _encode(self, bits):
        words = np.zeros((len(bits), self.num_bits), np.uint8)
        words[:, self.information] = bits
        others, starts, solution = self._remaining
        if len(starts):
            sums = np.bitwise_xor.reduceat(words[:, others], starts, axis=1)
            # exact up to 2^24
            words[:, self._solved] = (sums.astype(np.float32) @ solution).astype(np.int32) & 1
        for parity, others, starts in reversed(self._rounds):
            words[:, parity] = np.bitwise_xor.reduceat(words[:, others], starts, axis=1)
        return words

    def _peel(self, parity):
        """Remove bits that occur in only one check, together with that check, round by round.

        Returns:
            A list of rounds, and masks of the remaining bits and checks. A round is (removed bits,
            the other bits of all their checks, the index at which those of each check begin).
        """
        rows, columns = self._rows, self._columns
        free, checks, rounds = np.ones(self.num_bits, bool), np.ones(self._num_checks, bool), []
        while True:
            left = checks[rows]
            weight = np.bincount(columns[left], minlength=self.num_bits)
            single = left & (parity & free & (weight == 1))[columns]
            # if a check has several such bits, the last one is kept
            bit_of = dict(zip(rows[single], columns[single], strict=True))
            if not bit_of:
                return rounds, free, checks
            of_check = np.full(self._num_checks, -1)
            of_check[list(bit_of)] = list(bit_of.values())
            removed = of_check[rows]
            others = (removed >= 0) & (columns != removed)
            # such a check has one bit, which is 0
            lone = np.setdiff1d(list(bit_of), rows[others])
            taken = np.setdiff1d(np.flatnonzero(of_check >= 0), lone)
            starts = np.searchsorted(rows[others], taken)
            if len(taken):
                rounds.append((of_check[taken], columns[others], starts))
            free[of_check[of_check >= 0]] = False
            checks[of_check >= 0] = False

    def _solve(self, free, checks):
        """Eliminate the remaining checks, starting with the last bits."""
        bits = np.flatnonzero(free)[::-1]
        place = np.full(self.num_bits, -1)
        place[bits] = np.arange(len(bits))
        number = np.cumsum(checks) - 1
        left = checks[self._rows]
        count = np.count_nonzero(checks)
        # Beside the checks, the sums of checks that the elimination makes of them
        dense = np.zeros((count, len(bits) + count), bool)
        dense[number[self._rows[left]], place[self._columns[left]]] = True
        dense[:, len(bits):] = np.eye(count, dtype=bool)
        packed = np.packbits(dense, axis=1)
        pivots = []
        for column in range(len(bits)):
            if len(pivots) == len(packed):
                break
            has = packed[:, column // 8] >> (7 - column % 8) & 1
            below = np.flatnonzero(has[len(pivots):])
            if not len(below):
                continue
            row = len(pivots)
            packed[[row, row + below[0]]] = packed[[row + below[0], row]]
            has = packed[:, column // 8] >> (7 - column % 8) & 1
            has[row] = 0
            packed[has.astype(bool)] ^= packed[row]
            pivots.append(column)
        reduced = np.unpackbits(packed, axis=1, count=len(bits) + count)[:len(pivots)]
        self._solved = bits[pivots]
        information = np.ones(len(bits), bool)
        information[pivots] = False
        self.information = bits[np.flatnonzero(information)[::-1]]
        # A solved bit is the sum of the information bits of some checks.
        known = left & np.isin(self._columns, self.information)
        rows, others = number[self._rows[known]], self._columns[known]
        taken = np.unique(rows)
        self._remaining = (others, np.searchsorted(rows, taken),
                           reduced[:, len(bits):].T[taken].astype(np.float32))
