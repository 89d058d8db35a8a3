# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""LDPC codes in frames of IEEE 802.11n: how codewords fill OFDM symbols, and the OFDM loop."""

from fractions import Fraction
from math import ceil

import numpy as np
import ofdm_air as air
import pytest
from gnuradio.mimopack import coding, ofdm
from gnuradio.mimopack.coding import ldpc
from test_ofdm_loop import check_noiseless_loop


def by_the_standard(n_pld, rate, n_cbps):
    """§19.3.11.7.5 in exact fractions: (L_LDPC, N_CW, symbols, N_shrt, N_punc, N_rep)."""
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
        # Each length, one, two and more codewords, an added symbol, all that is done to bits.
        assert {s[:2] for s in seen} == {(648, 1), (1296, 1), (1944, 1), (1296, 2), (1944, 2),
                                         (1944, 3)}
        assert all({s[i] for s in seen} == {False, True} for i in range(2, 6))

    @pytest.mark.parametrize("octets, shortened, punctured, repeated",
                             [(100, 642, 54, 0), (140, 322, 0, 42)])
    def test_by_hand(self, octets, shortened, punctured, repeated):
        """16-QAM, one stream, rate 3/4: 208 coded bits in a symbol, a codeword of 1944."""
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
        # One bit after another, codeword by codeword, as the standard words it.
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
        # What is not punctured, with the shortened zeros, is of a codeword.
        decoder = ldpc.LdpcDecoder(m.code)
        decoder.decode(whole)
        assert decoder.found.all() and not m.recover(0 * llr).any()

    @pytest.mark.parametrize("arguments, message", [
        ((0, "1/2", 208), "payload_bits: got 0"), ((100, "7/8", 208), "rate: got '7/8', allowed"),
        ((100, "1/2", 0), "symbol_bits: got 0")])
    def test_bad_arguments(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            ldpc.WifiRateMatching(*arguments)

    def test_bad_arrays(self):
        m = ldpc.WifiRateMatching(816, "3/4", 208)
        with pytest.raises(ValueError, match=r"bits: got shape \(9,\), must be \(816,\)"):
            m.encode(np.zeros(9, np.uint8), ldpc.LdpcEncoder(m.code))
        with pytest.raises(ValueError, match="llr: got type float64"):
            m.recover(np.zeros(1248))


@pytest.mark.parametrize("num_streams, m", [(1, 1), (2, 2), (3, 6), (4, 4)])
def test_stream_parser_alone(num_streams, m):
    """§19.3.11.7.2: s bits to each stream in turn, which fill its carriers one by one."""
    s = max(m // 2, 1)
    streams = [[] for _ in range(num_streams)]
    for begin in range(0, 52 * num_streams * m, s):
        streams[begin // s % num_streams] += range(begin, begin + s)
    sent = np.empty(52 * num_streams * m, int)
    sent[coding.bit_order(num_streams, m, interleaved=False)] = np.arange(len(sent))
    assert np.array_equal(sent.reshape(52, num_streams, m).transpose(1, 0, 2).reshape(
        num_streams, -1), streams)


@pytest.mark.parametrize("num_tx", [1, 2, 3, 4])
@pytest.mark.parametrize("constellation, rate", [
    ("wlan_bpsk", "1/2"), ("wlan_qpsk", "5/6"), ("wlan_qam16", "2/3"), ("wlan_qam64", "3/4")])
def test_noiseless_loop_is_exact(num_tx, constellation, rate):
    check_noiseless_loop(num_tx, constellation, f"ldpc:{rate}")


def test_fewer_packets_are_lost_than_with_the_convolutional_code():
    """QPSK at 2.6 dB, where the convolutional code still loses many."""
    lost = {}
    for code_rate in ("1/2", "ldpc:1/2"):
        rng = np.random.default_rng(3)
        p = ofdm.Parameters(1, "wlan_qpsk", code_rate, 500)
        transmitter, decoder = ofdm.Transmitter(p), ofdm.PacketDecoder(p)
        lost[code_rate] = 0
        for _ in range(60):
            payload = rng.bytes(500)
            sent = transmitter.coded_bits(payload)
            # Each axis is BPSK with half the power and half the noise.
            sigma = 10 ** (-2.6 / 20)
            llr = 2 * (2.0 * sent - 1 + rng.normal(0, sigma, sent.shape)) / sigma**2
            packet = decoder.decode(llr)
            lost[code_rate] += not packet.crc_ok
            if packet.crc_ok:
                assert packet.payload == payload
                padding = sent.size - packet.coded_bits    # none of the LDPC code
                wrong = np.count_nonzero((llr > 0) != sent)
                assert 0 <= wrong - packet.coded_bit_errors <= padding
    assert p.num_coded_bits == sent.size
    assert lost["ldpc:1/2"] <= 2 and lost["1/2"] >= 20


def test_erased_and_damaged():
    p = ofdm.Parameters(2, "wlan_qpsk", "ldpc:1/2", 100)
    payload = bytes(range(100))
    llr = 8.0 * ofdm.Transmitter(p).coded_bits(payload) - 4
    llr[::9] = np.nan
    llr[1::50] = np.inf
    packet = ofdm.PacketDecoder(p).decode(llr)
    assert packet.crc_ok and packet.payload == payload
    assert not ofdm.PacketDecoder(p).decode(np.full_like(llr, np.nan)).crc_ok
    assert not ofdm.PacketDecoder(p).decode(np.zeros_like(llr)).crc_ok


def test_rates_that_the_convolutional_code_does_not_have_here():
    assert ofdm.Parameters(1, "wlan_qpsk", "ldpc:5/6").num_symbols > 0
    with pytest.raises(ValueError, match="allowed are 1/2, 3/4, and LDPC codes"):
        ofdm.Parameters(1, "wlan_qpsk", "5/6")
    with pytest.raises(ValueError, match="code_rate: got 'ldpc:7/8', allowed are 1/2, .*ldpc:5/6"):
        ofdm.Parameters(1, "wlan_qpsk", "ldpc:7/8")


def test_multipath_offset_and_noise():
    rng = np.random.default_rng(6)
    p = ofdm.Parameters(num_tx=2, constellation="wlan_qam16", code_rate="ldpc:3/4")
    transmitter, good = ofdm.Transmitter(p), 0
    for _ in range(8):
        payload = rng.bytes(500)
        received = air.through(air.random_channel(rng, 3, 2, 8), transmitter.frame(payload))
        samples = air.offset(air.place(received.shape[1] + 600, (300, received)), 50e3)
        frame, = air.synchronise(p, samples + air.noise(rng, samples.shape, 30))
        packet = ofdm.PacketDecoder(p).decode(air.detect(frame, name="nway")[1])
        good += packet.crc_ok and packet.payload == payload
    assert good >= 7
