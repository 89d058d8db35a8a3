# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The LTE turbo encoder against IT++ and Sionna."""

import numpy as np
import pytest
from gnuradio.mimopack.coding import turbo
from source_tree import DATA
from turbo_code import of_sionna

pytestmark = pytest.mark.quick

SIONNA = np.load(DATA / "codes/sionna_turbo.npz")
ITPP = np.load(DATA / "codes/turbo_itpp.npz")


class TestEncoder:
    @pytest.mark.parametrize("size", [40, 48, 56, 64, 1024, 6144])
    def test_same_codewords_as_itpp(self, size):
        bits = np.unpackbits(ITPP[f"bits_{size}"], axis=1, count=size)
        expected = np.unpackbits(ITPP[f"words_{size}"], axis=1, count=3 * size + 12)
        words = turbo.TurboEncoder(size).encode(bits)
        taking_turns = words.reshape(len(bits), 3, -1).transpose(0, 2, 1).reshape(len(bits), -1)
        np.testing.assert_array_equal(taking_turns, expected)

    @pytest.mark.parametrize("size", [40, 512, 1056, 6144])
    def test_same_codewords_as_sionna(self, size):
        bits = np.unpackbits(SIONNA[f"bits_{size}"], axis=1, count=size)
        expected = np.unpackbits(SIONNA[f"words_{size}"], axis=1, count=3 * size + 12)
        np.testing.assert_array_equal(turbo.TurboEncoder(size).encode(bits),
                                      expected[:, of_sionna(size)])

    @pytest.mark.parametrize("bits, message", [
        (np.zeros((2, 41), np.uint8), r"bits: got shape \(2, 41\), must be \(n, 40\)"),
        (np.full((2, 40), 2, np.uint8), "bits: got 2, allowed are 0 and 1"),
        (np.zeros((2, 40)), "bits: got type float64, must be uint8")])
    def test_bad_bits(self, bits, message):
        with pytest.raises(ValueError, match=message):
            turbo.TurboEncoder(40).encode(bits)
