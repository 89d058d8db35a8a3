# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rate matching of 5G NR's LDPC codes.

The oracles are Sionna's recorded outputs and the standard's text, written out bit by bit.
"""

import numpy as np
import pytest
from gnuradio.mimopack.coding import ldpc
from simulated import random_bits
from source_tree import DATA

pytestmark = pytest.mark.quick

RECORDED = np.load(DATA / "codes/sionna_coding.npz")
LDPC = sorted(name.removesuffix("_bits") for name in RECORDED if name.endswith("_bits"))


def encoded(matching, bits):
    return ldpc.LdpcEncoder(matching.code).encode(matching.with_filler(bits))


def by_the_standard(matching, word, version, depth, buffer):
    """Select the bits sent of a full codeword by the text of TS 38.212 §5.4.2."""
    size, k = matching.lifting_size, matching.info_bits
    first = {1: 22, 2: 10}[matching.base_graph] * size
    d = [None if k <= i < first else int(bit) for i, bit in enumerate(word)][2 * size:]
    n_cb = min(len(d), buffer or len(d))
    columns = {1: 66, 2: 50}[matching.base_graph]
    numerator = {1: (0, 17, 33, 56), 2: (0, 13, 25, 43)}[matching.base_graph][version]
    k_0 = numerator * n_cb // (columns * size) * size
    e, j = [], 0
    while len(e) < matching.coded_bits:
        if d[(k_0 + j) % n_cb] is not None:
            e.append(d[(k_0 + j) % n_cb])
        j += 1
    f = [None] * len(e)
    for j in range(len(e) // depth):
        for i in range(depth):
            f[i + j * depth] = e[i * len(e) // depth + j]
    return f


class TestRateMatching:
    @pytest.mark.parametrize("version", range(4))
    @pytest.mark.parametrize("name", LDPC)
    def test_same_as_sionna(self, name, version):
        k, n, depth = map(int, name.split("_")[1:4])
        matching = ldpc.NrRateMatching(k, n, base_graph=1 if name.endswith("bg1") else None,
                                       redundancy_version=version, bits_per_symbol=depth)
        bits = np.unpackbits(RECORDED[f"{name}_bits"], axis=-1, count=k)
        words = np.unpackbits(RECORDED[f"{name}_words"], axis=-1, count=n)[:, version]
        np.testing.assert_array_equal(matching.match(encoded(matching, bits)), words)

    @pytest.mark.parametrize("prune", [True, False])
    @pytest.mark.parametrize("version", range(4))
    @pytest.mark.parametrize("k, e, depth, graph, buffer", [
        (100, 3000, 2, None, None), (50, 96, 8, 1, None), (20, 30, 10, 2, 60)])
    def test_same_as_the_standard(self, k, e, depth, graph, buffer, version, prune):
        """Includes repeated bits and limited buffers."""
        matching = ldpc.NrRateMatching(k, e, graph, version, depth, buffer, prune)
        whole = ldpc.NrRateMatching(k, e, graph, version, depth, buffer, prune=False)
        bits = random_bits(3, k)
        sent = matching.match(encoded(matching, bits))
        for row, word in zip(sent, encoded(whole, bits), strict=True):
            np.testing.assert_array_equal(row,
                                          by_the_standard(whole, word, version, depth, buffer))

    @pytest.mark.parametrize("k, e, version, buffer", [
        (100, 700, 0, None), (300, 400, 2, None), (60, 200, 3, 150)])
    def test_recovered_are_sums_zeros_and_filler(self, k, e, version, buffer):
        matching = ldpc.NrRateMatching(k, e, None, version, 4, buffer)
        llr = np.random.default_rng(2).normal(0, 3, (5, e)).astype(np.float32)
        # Matching the positions' numbers shows where each LLR belongs.
        places = matching.match(np.arange(matching.code.num_bits)[None])[0]
        expected = np.zeros((5, matching.code.num_bits), np.float32)
        np.add.at(expected, (slice(None), places), llr)
        expected[:, k:k + matching.num_filler] = -1e20
        np.testing.assert_allclose(matching.recover(llr), expected, rtol=1e-5, atol=1e-5)
        assert matching.num_filler and not np.any(matching.recover(0 * llr))

    def test_pruning_leaves_the_llrs_of_what_was_sent(self):
        """A check that contains a bit which was not sent gives no information."""
        bits = random_bits(20, 800)
        pruned, whole = (ldpc.NrRateMatching(800, 1400, 1, 2, prune=prune)
                         for prune in (True, False))
        sent = pruned.match(encoded(pruned, bits))
        llr = (4.0 * sent - 2 + np.random.default_rng(3).normal(0, 1.5, sent.shape)
               ).astype(np.float32)
        posterior = [matching.match(ldpc.LdpcDecoder(matching.code, 5, early_stop=False)
                                    .decode(matching.recover(llr))) for matching in (pruned, whole)]
        assert pruned.code.num_checks < whole.code.num_checks
        np.testing.assert_allclose(*posterior, rtol=1e-4, atol=1e-4)

    def test_blocks_of_different_sizes_share_a_code(self):
        bits = random_bits(3, 800)
        long, short = (ldpc.NrRateMatching(800, e, 1, 0, 2, prune=1400) for e in (1400, 1200))
        alone = ldpc.NrRateMatching(800, 1200, 1, 0, 2)
        np.testing.assert_array_equal(long.code.shifts, short.code.shifts)
        assert alone.code.num_bits < short.code.num_bits
        np.testing.assert_array_equal(short.match(encoded(short, bits)),
                                      alone.match(encoded(alone, bits)))

    def test_choice_of_the_base_graph(self):
        # §7.2.2: a small block, a medium block up to rate 0.67, or a low rate
        for bits, rate, graph in ((292, 0.9, 2), (293, 0.68, 1), (3824, 0.67, 2), (3825, 0.67, 1),
                                  (8000, 0.25, 2), (8000, 0.26, 1)):
            assert ldpc.nr_base_graph(bits, rate) == graph

    def test_choice_of_the_lifting_size(self):
        # §5.2.2: K_b = 22 for base graph 1; 6, 8, 9 or 10 for base graph 2, by the number of bits
        assert [ldpc.nr_lifting_size(1, bits) for bits in (22, 44, 45, 8448)] == [2, 2, 3, 384]
        assert [ldpc.nr_lifting_size(2, bits) for bits in (192, 193, 560, 561, 640, 641, 3840)] \
            == [32, 26, 72, 64, 72, 72, 384]

    @pytest.mark.parametrize("arguments, message", [
        ((8449, 10000), "info_bits: got 8449, allowed are 1 to 8448"),
        ((3841, 10000, 2), "info_bits: got 3841, allowed are 1 to 3840"),
        ((100, 0), "coded_bits: got 0, allowed are 1 to"),
        ((100, 201, None, 0, 2), "coded_bits: got 201, must be a multiple of bits_per_symbol = 2"),
        ((100, 200, 3), "base_graph: got 3, allowed are 1, 2"),
        ((100, 200, None, 4), "redundancy_version: got 4, allowed are 0, 1, 2, 3"),
        ((100, 200, None, 0, 3), "bits_per_symbol: got 3, allowed are 1, 2, 4, 6, 8, 10"),
        ((100, 200, None, 0, 2, 7), "buffer_bits: got 7, allowed are 144 to"),
        ((100, 200, None, 0, 2, None, 1), "prune: got 1, allowed are 200 to")])
    def test_bad_arguments(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            ldpc.NrRateMatching(*arguments)
