# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Selections of a codeword's bits: the bits sent, and LLRs of the bits not sent."""

import numpy as np
import pytest
from gnuradio.mimopack import coding
from gnuradio.mimopack.coding.selection import CERTAIN, Recovery


class TestSelection:
    """Codewords of four bits; bits 2, 0, 2, 3, 2 are sent."""

    selection = coding.Selection(2, 4, [2, 0, 2, 3, 2])

    def test_match(self):
        words = np.array([[1, 2, 3, 4], [5, 6, 7, 8]])
        np.testing.assert_array_equal(self.selection.match(words),
                                      [[3, 1, 3, 4, 3], [7, 5, 7, 8, 7]])

    def test_recover_adds(self):
        llr = np.array([[1, 20, 300, 4000, 50000]], np.float32)
        np.testing.assert_array_equal(self.selection.recover(llr), [[20, 0, 50301, 4000]])
        llr[0, 0] = np.nan    # bit 2 is sent once
        np.testing.assert_array_equal(self.selection.recover(llr), [[20, 0, np.nan, 4000]])

    @pytest.mark.parametrize("sent, message", [
        ([], "type"), ([4], "4 to 4, allowed are 0 to 3"), ([-1], "-1 to -1"), ([0.5], "type"),
        ([[1]], "type int64 of shape .1, 1.")])
    def test_no_positions(self, sent, message):
        with pytest.raises(ValueError, match=f"sent: got {message}"):
            coding.Selection(2, 4, sent)

    def test_other_shapes(self):
        with pytest.raises(ValueError, match="words: got shape"):
            self.selection.match(np.zeros((2, 5)))
        with pytest.raises(ValueError, match="llr: got shape"):
            self.selection.recover(np.zeros((2, 4), np.float32))


class TestRecovery:
    """Recovery equals plain sums: two code blocks of 9 bits, bits 5 and 6 known."""

    sent = (np.array([2, 0, 2, 3, 8, 2]), np.array([8, 1, 2, 4, 0, 7, 1]))
    inverted = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1])

    @pytest.mark.parametrize("threads", [1, 2])
    def test_sums(self, threads):
        llr = np.random.default_rng(1).normal(size=(5, 13)).astype(np.float32)
        llr[1, :6] = 0    # nothing is known about a code block
        expected = np.zeros((5, 2, 9), np.float32)
        signed = llr * (1 - 2 * self.inverted)
        np.add.at(expected[:, 0].T, self.sent[0], signed[:, :6].T)
        np.add.at(expected[:, 1].T, self.sent[1], signed[:, 6:].T)
        expected[..., 5:7] = CERTAIN
        expected[1, 0] = 0
        recovery = Recovery(self.sent, 9, (5, 7), self.inverted, threads)
        np.testing.assert_allclose(recovery(llr), expected, atol=1e-6)
