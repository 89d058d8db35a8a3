# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The layout of codewords in vectors."""

import numpy as np
import pytest
from coded_vectors import INTERLEAVER
from gnuradio.mimopack import coding, iterative


class TestLayout:
    @pytest.mark.parametrize("bits_per_vector", [1, 8, 24, 1000])
    def test_gather_is_the_inverse_of_spread(self, bits_per_vector):
        layout = iterative.CodewordLayout(648, bits_per_vector, INTERLEAVER)
        assert layout.vectors * bits_per_vector == 648 + layout.padding
        assert 0 <= layout.padding < bits_per_vector
        llr = np.random.default_rng(2).normal(size=(5, 648)).astype(np.float32)
        spread = layout.spread(llr, fill=-7)
        assert spread.shape == (5 * layout.vectors, bits_per_vector)
        assert np.count_nonzero(spread == -7) == 5 * layout.padding
        np.testing.assert_array_equal(layout.gather(spread), llr)

    def test_each_codeword_begins_a_vector(self):
        layout = iterative.CodewordLayout(6, 4)
        np.testing.assert_array_equal(
            layout.spread(np.arange(1, 13).reshape(2, 6)),
            [[1, 2, 3, 4], [5, 6, 0, 0], [7, 8, 9, 10], [11, 12, 0, 0]])

    @pytest.mark.parametrize("arguments, message", [
        ((648, 16, coding.RandomInterleaver(500)),
         "interleaver: got 500 bits, must divide the 648"),
        ((648, 0), "bits_per_vector: got 0")])
    def test_bad_arguments(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            iterative.CodewordLayout(*arguments)
