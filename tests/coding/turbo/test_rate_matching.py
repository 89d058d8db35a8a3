# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rate matching of the LTE turbo code against the text of the standard."""

import numpy as np
import pytest
from gnuradio.mimopack.coding import turbo

pytestmark = pytest.mark.quick

RNG = np.random.default_rng


def as_the_standard_says(streams, num_coded, version):
    """Follow TS 36.212 §5.1.4.1 for three lists of equal length; None is <NULL>."""
    pattern = [0, 16, 8, 24, 4, 20, 12, 28, 2, 18, 10, 26, 6, 22, 14, 30,
               1, 17, 9, 25, 5, 21, 13, 29, 3, 19, 11, 27, 7, 23, 15, 31]
    rows = 1
    while 32 * rows < len(streams[0]):
        rows += 1
    size, v = 32 * rows, []
    for number, stream in enumerate(streams):
        y = [None] * (size - len(stream)) + list(stream)
        if number < 2:
            matrix = [y[32 * row:32 * row + 32] for row in range(rows)]
            v.append([matrix[row][column] for column in pattern for row in range(rows)])
        else:
            v.append([y[(pattern[k // rows] + 32 * (k % rows) + 1) % size] for k in range(size)])
    w = [None] * (3 * size)
    for k in range(size):
        w[k], w[size + 2 * k], w[size + 2 * k + 1] = v[0][k], v[1][k], v[2][k]
    n_cb = 3 * size
    k_0 = rows * (2 * int(np.ceil(n_cb / (8 * rows))) * version + 2)
    e, j = [], 0
    while len(e) < num_coded:
        if w[(k_0 + j) % n_cb] is not None:
            e.append(w[(k_0 + j) % n_cb])
        j += 1
    return e


class TestRateMatching:
    @pytest.mark.parametrize("size, num_coded", [(40, 500), (504, 900), (1056, 2000)])
    @pytest.mark.parametrize("version", range(4))
    def test_as_the_standard_says(self, size, num_coded, version):
        length = size + 4
        expected = as_the_standard_says(np.arange(3 * length).reshape(3, length), num_coded,
                                        version)
        matching = turbo.RateMatching(size, num_coded, version)
        np.testing.assert_array_equal(matching.selected, expected)
        words = RNG(1).integers(0, 2, (3, 3 * length), np.uint8)
        np.testing.assert_array_equal(matching.match(words), words[:, expected])
        llr = words.astype(np.float32)
        np.testing.assert_array_equal(matching.match(llr), llr[:, expected])

    def test_recovered_llrs_add_up(self):
        size, n = 64, 4
        length = 3 * (size + 4)
        for version, num_coded in ((0, 150), (2, 700), (3, 30)):
            matching = turbo.RateMatching(size, num_coded, version)
            llr = RNG(version).normal(size=(n, num_coded)).astype(np.float32)
            expected = np.zeros((n, length))
            np.add.at(expected, (slice(None), matching.selected), llr)
            np.testing.assert_allclose(matching.recover(llr), expected, atol=1e-5)

    @pytest.mark.parametrize("info_bits, size", [
        (1, 40), (41, 48), (1000, 1008)])
    @pytest.mark.parametrize("version", range(4))
    def test_filler_bits_are_not_sent(self, info_bits, size, version):
        """TS 36.212 §5.1.3.2.1: filler bits are <NULL> in d(0) and d(1), but not in d(2)."""
        length, num_filler = size + 4, size - info_bits
        streams = np.arange(3 * length).reshape(3, length).tolist()
        for stream in streams[:2]:
            stream[:num_filler] = [None] * num_filler
        expected = as_the_standard_says(streams, 2 * size, version)
        matching = turbo.RateMatching(info_bits, 2 * size, version)
        assert matching.size == size and matching.num_filler == num_filler
        np.testing.assert_array_equal(matching.selected, expected)
        bits = RNG(1).integers(0, 2, (3, info_bits), np.uint8)
        filled = matching.with_filler(bits)
        np.testing.assert_array_equal(filled[:, matching.information], bits)
        assert not filled[:, :num_filler].any() and filled.shape == (3, size)

    def test_filler_bits_are_known(self):
        """Filler bits are decided as zeros and do not make other decisions worse."""
        info_bits = 41
        size = next(size for size in turbo.TURBO_SIZES if size >= info_bits)
        matching, rng = turbo.RateMatching(info_bits, 3 * info_bits), RNG(2)
        bits = rng.integers(0, 2, (400, info_bits), np.uint8)
        words = turbo.TurboEncoder(size).encode(matching.with_filler(bits))
        y = 2.0 * matching.match(words) - 1 + rng.normal(0, 0.9, (400, matching.coded_bits))
        llr = (2 * y / 0.9**2).astype(np.float32)
        recovered = matching.recover(llr)
        unknown = recovered.copy()
        unknown[:, :matching.num_filler] = 0
        decoder = turbo.TurboDecoder(size)
        wrong, if_unknown = ((decoder.decode(given) > 0)[:, :size] != words[:, :size]
                             for given in (recovered, unknown))
        assert not wrong[:, :matching.num_filler].any()
        information = matching.information
        assert wrong[:, information].sum() < if_unknown[:, information].sum()
        llr[1], llr[2, 0] = 0, np.nan
        decoder.decode(matching.recover(llr))
        assert decoder.erasures == 2

    @pytest.mark.parametrize("arguments, message", [
        ((40, 0), "coded_bits: got 0, allowed are 1 to"),
        ((40, 100, 4), "redundancy_version: got 4, allowed are 0, 1, 2, 3"),
        ((0, 100), "info_bits: got 0, allowed are 1 to 6144"),
        ((6145, 100), "info_bits: got 6145, allowed are 1 to 6144")])
    def test_bad_parameters(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            turbo.RateMatching(*arguments)
