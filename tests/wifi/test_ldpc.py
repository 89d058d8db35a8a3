# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""LDPC codes in IEEE 802.11n frames: how codewords fill OFDM symbols, and the coding gain."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from gnuradio.mimopack import wifi
from gnuradio.mimopack.coding import ldpc
from gnuradio.mimopack.wifi import HT, VHT


def by_the_standard(n_pld, rate, n_cbps):
    """Compute §19.3.11.7.5 in fractions: (L_LDPC, N_CW, symbols, N_shrt, N_punc, N_rep)."""
    r = Fraction(rate)
    n_avbits = n_cbps * ceil(n_pld / (n_cbps * r))
    if n_avbits <= 648:
        n_cw, length = 1, 1296 if n_avbits >= n_pld + 912 * (1 - r) else 648
    elif n_avbits <= 1296:
        n_cw, length = 1, 1944 if n_avbits >= n_pld + 1464 * (1 - r) else 1296
    elif n_avbits <= 1944:
        n_cw, length = 1, 1944
    elif n_avbits <= 2592:
        n_cw, length = 2, 1944 if n_avbits >= n_pld + 2916 * (1 - r) else 1296
    else:
        n_cw, length = ceil(n_pld / (1944 * r)), 1944
    n_shrt = max(0, n_cw * length * r - n_pld)
    n_punc = max(0, n_cw * length - n_avbits - n_shrt)
    parity = n_cw * length * (1 - r)
    if (n_punc > parity / 10 and n_shrt < Fraction(12, 10) * n_punc * r / (1 - r)) or (
            n_punc > 3 * parity / 10):
        n_avbits += n_cbps
        n_punc = max(0, n_cw * length - n_avbits - n_shrt)
    n_rep = max(0, n_avbits - parity - n_pld)
    return length, n_cw, n_avbits // n_cbps, n_shrt, n_punc, n_rep


class TestRateMatching:
    def test_same_as_the_standard(self):
        seen = set()
        for rate in ldpc.WIFI_RATES:
            for symbol_bits in (52, 104, 208, 312, 832, 1248):
                for payload_bits in (*range(56, 3200, 37), 9720, 100_000):
                    m = ldpc.WifiRateMatching(payload_bits, rate, symbol_bits)
                    found = (m.code.num_bits, m.num_codewords, m.num_symbols, m.num_shortened,
                             m.num_punctured, m.num_repeated)
                    assert found == by_the_standard(payload_bits, rate, symbol_bits)
                    assert m.num_coded == m.num_symbols * symbol_bits
                    more = m.num_symbols > ceil(payload_bits / (symbol_bits * Fraction(rate)))
                    seen.add((found[0], min(found[1], 3), more, *(n > 0 for n in found[3:])))
        # Cover each codeword length, one, two and more codewords, extra symbols, and each
        # operation.
        assert {s[:2] for s in seen} == {(648, 1), (1296, 1), (1944, 1), (1296, 2), (1944, 2),
                                         (1944, 3)}
        assert all({s[i] for s in seen} == {False, True} for i in range(2, 6))

    @pytest.mark.parametrize("octets, shortened, punctured, repeated",
                             [(100, 642, 54, 0), (140, 322, 0, 42)])
    def test_by_hand(self, octets, shortened, punctured, repeated):
        """16-QAM, one stream, rate 3/4: 208 coded bits per symbol, one codeword of 1944 bits."""
        m = ldpc.WifiRateMatching(16 + 8 * octets, "3/4", 208)
        assert (m.code.num_bits, m.num_codewords) == (1944, 1)
        assert (m.num_shortened, m.num_punctured, m.num_repeated) == (shortened, punctured,
                                                                      repeated)

    @pytest.mark.parametrize("payload_bits, rate, symbol_bits", [
        (816, "3/4", 208), (1136, "3/4", 208), (56, "1/2", 208), (5003, "5/6", 832),
        (4016, "2/3", 624)])
    def test_bits_and_llrs_lie_where_they_belong(self, payload_bits, rate, symbol_bits):
        m = ldpc.WifiRateMatching(payload_bits, rate, symbol_bits)
        bits = np.random.default_rng(1).integers(0, 2, payload_bits, np.uint8)
        sent = m.encode(bits, ldpc.LdpcEncoder(m.code))
        llr = np.random.default_rng(2).exponential(3, m.num_coded).astype(np.float32)
        llr *= 2.0 * sent - 1
        whole = m.recover(llr.astype(np.float32))
        # Bit by bit and codeword by codeword, as the standard describes it.
        n, k = m.code.num_bits, m.code.num_info
        counts = [[total // m.num_codewords + (i < total % m.num_codewords)
                   for i in range(m.num_codewords)]
                  for total in (m.num_shortened, m.num_punctured, m.num_repeated)]
        at, first = 0, 0
        for i, (short, cut, more) in enumerate(zip(*counts, strict=True)):
            order = [*range(k - short), *range(k, n - cut)]
            expected = np.zeros(n)
            expected[k - short:k] = -1e20
            for j in range(len(order) + more):
                expected[order[j % len(order)]] += llr[at]
                at += 1
            np.testing.assert_allclose(whole[i], expected, rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal((whole[i] > 0)[:k - short],
                                          bits[first:first + k - short])
            first += k - short
        assert at == m.num_coded and first == payload_bits
        np.testing.assert_array_equal(m.match(whole)[m.information] > 0, bits)
        # The bits that are not punctured, and the shortened zeros, belong to a codeword.
        decoder = ldpc.LdpcDecoder(m.code)
        decoder.decode(whole)
        assert decoder.found.all() and not m.recover(0 * llr).any()

def test_erased_and_damaged():
    f = wifi.HT(9, 104, coding="ldpc")
    field = wifi.data_field.DataField(f)
    psdu = bytes(range(104))
    llr = (8.0 * field.encode(psdu)[None] - 4).astype(np.float32)
    llr[:, :, ::9] = np.nan
    llr[:, :, 1::50] = np.inf
    found, = field.decode(llr)
    assert (found.psdu, found.checks_hold) == (psdu, True)
    for nothing in (np.full_like(llr, np.nan), np.zeros_like(llr)):
        found, = field.decode(nothing)
        assert found.psdu != psdu and not found.checks_hold


class TestLdpc:
    @pytest.mark.parametrize("stbc", [0, 1])
    @pytest.mark.parametrize("bandwidth", [20, 40])
    def test_ht_symbols(self, bandwidth, stbc):
        """§19.3.11.7.5 with m_STBC."""
        for mcs in (*range(8), 13, 15):
            for length in (1, 5, 14, 33, 100, 140, 256, 511, 1500, 4000):
                f = HT(mcs, length, bandwidth, coding="ldpc", stbc=stbc)
                block = 2 if stbc else 1
                found = by_the_standard(16 + 8 * length, f.code_rate,
                                        f.coded_bits_per_symbol * block)
                assert f.num_symbols == block * found[2]

    @pytest.mark.parametrize("stbc", [False, True])
    @pytest.mark.parametrize("bandwidth", [20, 40, 80, 160])
    def test_vht_symbols(self, bandwidth, stbc):
        """§21.3.10.5.4: N_SYM,init, and whether the code adds a symbol."""
        block, more = 2 if stbc else 1, set()
        for mcs in range(9):
            for streams in (1, 2):
                for length in (1, 14, 60, 100, 300, 700, 1500, 4000):
                    f = VHT.of_length(mcs, length, streams, bandwidth, coding="ldpc",
                                      stbc=streams if stbc else 0)
                    per_block = f.data_bits_per_symbol * block
                    initial = ceil((8 * length + 16) / per_block)
                    payload = initial * per_block
                    found = by_the_standard(payload, f.code_rate, f.coded_bits_per_symbol * block)
                    assert payload == initial * block * f.coded_bits_per_symbol * Fraction(
                        f.code_rate)
                    assert f.num_symbols == block * found[2]
                    assert f.extra_symbol == (found[2] > initial)
                    assert f.length == (payload - 16) // 8
                    more.add(f.extra_symbol)
        assert more == {False, True}
