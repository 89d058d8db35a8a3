# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Segmentation of LTE's and 5G NR's transport blocks into code blocks.

The oracles are Sionna's recorded outputs and the text of the standards. Wrong CRCs are reported for
the right block.
"""

import numpy as np
import pytest
from gnuradio.mimopack import coding
from gnuradio.mimopack.coding import ldpc, turbo
from simulated import random_bits
from source_tree import DATA

pytestmark = pytest.mark.quick

RECORDED = np.load(DATA / "codes/sionna_transport_blocks.npz")
NAMES = sorted(name.removesuffix("_bits") for name in RECORDED if name.endswith("_bits"))
RNG = np.random.default_rng


def lte_blocks(a):
    """Compute (the sizes K_r, F) by the text of TS 36.212 §5.1.2."""
    b, z = a + 24, 6144
    if b <= z:
        length, c, b_1 = 0, 1, b
    else:
        length = 24
        c = int(np.ceil(b / (z - length)))
        b_1 = b + c * length
    k_plus = min(k for k in turbo.TURBO_SIZES if c * k >= b_1)
    if c == 1:
        c_plus, k_minus, c_minus = 1, 0, 0
    else:
        k_minus = max(k for k in turbo.TURBO_SIZES if k < k_plus)
        c_minus = (c * k_plus - b_1) // (k_plus - k_minus)
        c_plus = c - c_minus
    filler = c_plus * k_plus + c_minus * k_minus - b_1
    return [k_minus] * c_minus + [k_plus] * c_plus, filler


def nr_blocks(a, base_graph):
    """Compute (C, K') by the text of TS 38.212 §7.2.1 and §5.2.2."""
    b = a + (24 if a > 3824 else 16)
    k_cb = {1: 8448, 2: 3840}[base_graph]
    if b <= k_cb:
        length, c, b_1 = 0, 1, b
    else:
        length = 24
        c = int(np.ceil(b / (k_cb - length)))
        b_1 = b + c * length
    return c, b_1 / c


class TestLte:
    @pytest.mark.parametrize("a", [1, 15, 16, 17, 1000, 6119, 6120, 6121, 12216, 12217, 18000,
                                   61664, 75376, *RNG(2).integers(1, 200_000, 20).tolist()])
    def test_same_as_the_standard(self, a):
        segmentation = coding.LteSegmentation(a)
        sizes, filler = lte_blocks(a)
        assert segmentation.num_blocks == len(sizes) and segmentation.num_filler == filler
        assert segmentation.block_bits == (sizes[0] - filler, *sizes[1:])
        matchings = [turbo.RateMatching(k, 100) for k in segmentation.block_bits]
        assert [matching.size for matching in matchings] == sizes
        assert [matching.num_filler for matching in matchings] == [filler] + [0] * (len(sizes) - 1)

    def test_blocks_are_the_bits_with_crcs(self):
        a = 14_000
        bits, segmentation = random_bits(3, a), coding.LteSegmentation(14_000)
        blocks = segmentation.segment(bits)
        assert [block.shape for block in blocks] == [(3, k) for k in segmentation.block_bits]
        whole = coding.Crc("24A").attach(bits)
        np.testing.assert_array_equal(np.hstack([block[:, :-24] for block in blocks]), whole)
        for block in blocks:
            # The CRC includes the filler bits, which are zeros at the beginning of the block.
            filled = np.pad(block[:, :-24], ((0, 0), (7, 0)))
            np.testing.assert_array_equal(coding.Crc("24B").parity(filled), block[:, -24:])

    def test_through_encoder_and_decoder(self):
        """With noise: five code blocks of two sizes; the first one has filler bits."""
        a, n, total, sigma = 25_000, 3, 50_004, 0.7
        segmentation, rng = coding.LteSegmentation(a), RNG(3)
        sizes = {turbo.RateMatching(k, 100).size for k in segmentation.block_bits}
        assert segmentation.num_blocks == 5 and len(sizes) == 2 and segmentation.num_filler > 0
        bits, received = random_bits(n, a), []
        coded = segmentation.coded_bits(total, 4, 1)
        assert sum(coded) == total and len(set(coded)) == 2
        for block, e in zip(segmentation.segment(bits), coded, strict=True):
            matching = turbo.RateMatching(block.shape[1], e)
            sent = matching.match(turbo.TurboEncoder(matching.size).encode(
                matching.with_filler(block)))
            y = 2.0 * sent - 1 + rng.normal(0, sigma, sent.shape)
            llr = matching.recover((2 * y / sigma**2).astype(np.float32))
            decided = turbo.TurboDecoder(matching.size).decode(llr)[:, matching.information] > 0
            received.append(decided.view(np.uint8))
        joined, fits, block_fits = segmentation.join(received)
        np.testing.assert_array_equal(joined, bits)
        assert fits.all() and block_fits.shape == (n, 5) and block_fits.all()


class TestNr:
    @pytest.mark.parametrize("name", NAMES)
    def test_same_as_sionna(self, name):
        a, total, depth, layers = map(int, name.split("_")[1:5])
        graph = int(name[-1])
        bits = np.unpackbits(RECORDED[f"{name}_bits"], axis=-1, count=a)
        words = np.unpackbits(RECORDED[f"{name}_words"], axis=-1, count=total)
        segmentation, parts = coding.NrSegmentation(a, graph), []
        for block, e in zip(segmentation.segment(bits),
                            segmentation.coded_bits(total, depth, layers), strict=True):
            matching = ldpc.NrRateMatching(block.shape[1], e, graph, bits_per_symbol=depth)
            encoder = ldpc.LdpcEncoder(matching.code)
            parts.append(matching.match(encoder.encode(matching.with_filler(block))))
        np.testing.assert_array_equal(np.hstack(parts), words)

    @pytest.mark.parametrize("a, graph", [
        (24, 2), (3824, 1), (3824, 2), (3832, 2), (3840, 1), (8424, 1), (8448, 1), (16_896, 1),
        (25_608, 1), (8064, 2), (42_016, 1), (352_440, 1)])
    def test_same_as_the_standard(self, a, graph):
        segmentation = coding.NrSegmentation(a, graph)
        count, bits = nr_blocks(a, graph)
        assert segmentation.block_bits == (bits,) * count

    def test_what_cannot_be_cut_in_equal_parts(self):
        with pytest.raises(ValueError, match="transport_bits: got 8425, must be a multiple of 2 "
                                             r"\(the number of code blocks\) after adding 24"):
            coding.NrSegmentation(8425, 1)


@pytest.mark.parametrize("segmentation", [
    coding.LteSegmentation(14_000), coding.LteSegmentation(300), coding.NrSegmentation(16_896, 1),
    coding.NrSegmentation(3000, 2)])
class TestBoth:
    def test_a_wrong_bit_is_reported_where_it_is(self, segmentation):
        bits, count = random_bits(5, segmentation.transport_bits), segmentation.num_blocks
        blocks = segmentation.segment(bits)
        blocks[-1][1, 10] ^= 1
        blocks[0][3, 20] ^= 1
        joined, fits, block_fits = segmentation.join(blocks)
        np.testing.assert_array_equal(joined[fits], bits[fits])
        expected = np.ones((5, count), bool)
        expected[1, -1] = expected[3, 0] = False
        np.testing.assert_array_equal(block_fits, expected)
        np.testing.assert_array_equal(fits, [True, False, True, False, True])

    def test_coded_bits_are_shared_in_whole_symbols(self, segmentation):
        """Compare with the text of TS 36.212 §5.1.4.1.2 and TS 38.212 §5.4.2.1."""
        count = segmentation.num_blocks
        for depth, layers, symbols in ((1, 1, 1000), (6, 2, 2503), (4, 1, 777)):
            total, c = symbols * depth * layers, count
            gamma = (total // (layers * depth)) % c
            expected = [layers * depth * (symbols // c if r <= c - gamma - 1 else -(-symbols // c))
                        for r in range(c)]
            assert segmentation.coded_bits(total, depth, layers) == tuple(expected)
            assert sum(expected) == total


@pytest.mark.parametrize("make, message", [
    (lambda: coding.LteSegmentation(0), "transport_bits: got 0, allowed are 1 to"),
    (lambda: coding.NrSegmentation(2.5, 1), "transport_bits: got 2.5, must be an integer"),
    (lambda: coding.NrSegmentation(100, 3), "base_graph: got 3, allowed are 1, 2")])
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
