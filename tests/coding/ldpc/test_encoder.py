# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The LDPC encoder: its codewords satisfy all checks."""

import numpy as np
import pytest
from gnuradio.mimopack.coding import ldpc
from ldpc_codes import HAMMING, SMALL

pytestmark = pytest.mark.quick

# The last check is the sum of the others, so one more bit carries information.
DEPENDENT = ldpc.ParityChecks(3, [0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 0, 2], 4)


class TestEncoder:
    @pytest.mark.parametrize("code", [
        *(ldpc.wimax(n, rate) for rate in ldpc.WIMAX_RATES for n in (576, 1056, 2304)),
        *(ldpc.wifi(n, rate) for rate in ldpc.WIFI_RATES for n in ldpc.WIFI_LENGTHS),
        ldpc.nr(1, 2), ldpc.nr(1, 96), ldpc.nr(2, 11), ldpc.nr(2, 384), HAMMING, DEPENDENT],
        ids=lambda code: f"{code.num_bits}-{code.num_checks}")
    def test_all_checks_hold(self, code):
        encoder = ldpc.LdpcEncoder(code)
        bits = np.random.default_rng(1).integers(0, 2, (20, encoder.num_info), np.uint8)
        words = encoder.encode(bits)
        rows, columns = code.checks()
        sums = np.zeros((20, code.num_checks), int)
        np.add.at(sums, (slice(None), rows), words[:, columns])
        assert not np.any(sums % 2) and words.max() == 1
        np.testing.assert_array_equal(words[:, encoder.information], bits)
        if isinstance(code, ldpc.Prototype):
            np.testing.assert_array_equal(encoder.information, np.arange(code.num_info))

    def test_a_check_that_depends_on_others_leaves_a_bit_free(self):
        assert ldpc.LdpcEncoder(DEPENDENT).num_info == 2 and DEPENDENT.num_info == 1

    def test_a_check_of_one_bit_makes_it_zero(self):
        code = ldpc.ParityChecks(2, [0, 1, 1], [2, 0, 1])
        words = ldpc.LdpcEncoder(code).encode(np.array([[0], [1]], np.uint8))
        np.testing.assert_array_equal(words, [[0, 0, 0], [1, 1, 0]])

    @pytest.mark.parametrize("bits, message", [
        (np.zeros((2, 323), np.uint8), r"bits: got shape \(2, 323\), must be \(n, 324\)"),
        (np.full((2, 324), 2, np.uint8), "bits: got 2, allowed are 0 and 1"),
        (np.zeros((2, 324)), "bits: got type float64, must be uint8")])
    def test_bad_bits(self, bits, message):
        with pytest.raises(ValueError, match=message):
            ldpc.LdpcEncoder(SMALL).encode(bits)
