# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interleavers of bits."""

import numpy as np
import pytest
from gnuradio.mimopack import coding

pytestmark = pytest.mark.quick


class TestInterleaver:
    @pytest.mark.parametrize("interleaver", [
        coding.RandomInterleaver(648, 5), coding.Interleaver([2, 0, 1])], ids=["random", "given"])
    def test_restore_is_the_inverse(self, interleaver):
        values = np.random.default_rng(1).normal(size=(3, 2 * interleaver.size))
        permuted = interleaver.permute(values)
        assert not np.array_equal(permuted, values)
        np.testing.assert_array_equal(interleaver.restore(permuted), values)
        first = interleaver.permute(np.ascontiguousarray(values[:, :interleaver.size]))
        np.testing.assert_array_equal(first, permuted[:, :interleaver.size])

    def test_direction(self):
        np.testing.assert_array_equal(
            coding.Interleaver([2, 0, 1]).permute(np.array([10, 11, 12])), [12, 10, 11])

    @pytest.mark.parametrize("order, message", [
        ([0, 0, 1], "an index twice"), ([1, 2, 3], "1 to 3, allowed are 0 to 2"),
        ([0.0, 1.0], "type float64"), ([], "type"), ([[0, 1]], "type int64 of shape .1, 2.")])
    def test_no_permutation(self, order, message):
        with pytest.raises(ValueError, match=f"order: got {message}"):
            coding.Interleaver(order)

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="values: got 7 in the last axis, must be a multiple"):
            coding.Interleaver([1, 0]).permute(np.zeros(7))
        with pytest.raises(ValueError, match="size: got 0, allowed are 1 to"):
            coding.RandomInterleaver(0)
