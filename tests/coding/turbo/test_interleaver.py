# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The LTE turbo code's interleaver against the standard and IT++."""

import zlib

import numpy as np
import pytest
from gnuradio.mimopack.coding import turbo
from source_tree import DATA

ITPP = np.load(DATA / "codes/turbo_itpp.npz")


class TestInterleaver:
    def test_is_a_permutation_and_that_of_itpp(self):
        np.testing.assert_array_equal(turbo.TURBO_SIZES, ITPP["interleaver_sizes"])
        for size, crc in zip(turbo.TURBO_SIZES, ITPP["interleaver_crc32"], strict=True):
            order = turbo.qpp_interleaver(size)
            assert np.array_equal(np.sort(order), np.arange(size))
            assert zlib.crc32(order.astype("<i4").tobytes()) == crc

    @pytest.mark.parametrize("size, message", [
        (6000, "size: got 6000, the nearest of TURBO_SIZES are 5952 and 6016"),
        (32, "size: got 32, allowed are 40 to 6144"), (40.0, "size: got 40.0, must be an integer")])
    def test_other_sizes_are_refused(self, size, message):
        for make in (turbo.qpp_interleaver, turbo.TurboEncoder, turbo.TurboDecoder):
            with pytest.raises(ValueError, match=message):
                make(size)
