# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The LTE turbo encoder against IT++."""

import numpy as np
import pytest
from gnuradio.mimopack.coding import turbo
from source_tree import DATA

pytestmark = pytest.mark.quick

ITPP = np.load(DATA / "codes/turbo_itpp.npz")


class TestEncoder:
    @pytest.mark.parametrize("size", [40, 48, 56, 64, 1024, 6144])
    def test_same_codewords_as_itpp(self, size):
        bits = np.unpackbits(ITPP[f"bits_{size}"], axis=1, count=size)
        expected = np.unpackbits(ITPP[f"words_{size}"], axis=1, count=3 * size + 12)
        words = turbo.TurboEncoder(size).encode(bits)
        taking_turns = words.reshape(len(bits), 3, -1).transpose(0, 2, 1).reshape(len(bits), -1)
        np.testing.assert_array_equal(taking_turns, expected)
