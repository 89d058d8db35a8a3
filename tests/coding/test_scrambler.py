# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The code, scrambler, interleaver and CRC against facts of IEEE 802.11 and GNU Radio's encoder."""

import ctypes

import numpy as np
import pytest
from gnuradio import fec
from gnuradio.mimopack import coding

# IEEE 802.11-2020 §17.3.5.5: the sequence of the all-ones state.
ALL_ONES = (
    "0000111011110010110010010000001000100110001011101011011000001100"
    "110101001110011110110100001010101111101001010001101110001111111")
# Annex I.1: the 100-byte PSDU of the example frame, its FCS last.
EXAMPLE = (bytes.fromhex("0402002e006008cd37a60020d6013cf1006008ad3baf0000")
           + b"Joy, bright spark of divinity,\nDaughter of Elysium,\nFire-insired we trea")
EXAMPLE_FCS = bytes.fromhex("673321b6")


def bits_of(text):
    return np.array([int(c) for c in text], np.uint8)


def test_scrambler_sequence_of_the_standard():
    assert np.array_equal(coding.scrambler_sequence(127, 254), bits_of(2 * ALL_ONES))
    # Annex I.1.4: seed 1011101 scrambles a SERVICE field of zeros to this.
    assert np.array_equal(coding.scramble(np.zeros(16), 0b1011101), bits_of("0110110000011001"))


@pytest.mark.parametrize("seed", [0, 128, -1])
def test_scrambler_refuses_seeds(seed):
    with pytest.raises(ValueError, match=f"seed: got {seed}"):
        coding.scrambler_sequence(seed, 10)


def test_the_service_field_tells_the_seed():
    for seed in range(1, 128):
        assert coding.seed_from_service(coding.scrambler_sequence(seed, 7)) == seed
    assert coding.seed_from_service(np.zeros(7, int)) == 0


def test_encoder_gives_the_standards_signal_field():
    # Annex I.1.4.1 and I.1.4.2: rate 36 Mb/s, length 100, before and after the encoder.
    coded = coding.ConvolutionalCode("1/2").encode(bits_of("101100010011000000000000"))
    assert np.array_equal(coded, bits_of("110100011010000100000010001111100111000000000000"))


def test_encoder_agrees_with_gnuradios():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, 500, dtype=np.uint8)
    encoder = fec.cc_encoder.make(500, 7, 2, [109, 79], 0, fec.CC_TERMINATED)
    coded = np.empty(1012, np.uint8)
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype = ctypes.py_object
    capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    encoder.generic_work(*(capsule(x.ctypes.data, None, None) for x in (bits, coded)))
    ours = coding.ConvolutionalCode("1/2").encode(np.append(bits, np.zeros(6, np.uint8)))
    assert np.array_equal(ours, coded)


def test_puncturing_keeps_the_standards_bits():
    mother = coding.ConvolutionalCode("1/2").encode(
        np.random.default_rng(1).integers(0, 2, 60))
    # Figure 17-9: of A1 B1 A2 B2 A3 B3 rate 3/4 keeps A1 B1 A2 B3, rate 2/3 keeps A1 B1 A2.
    kept = {"3/4": (6, [0, 1, 2, 5]), "2/3": (4, [0, 1, 2]), "5/6": (10, [0, 1, 2, 5, 6, 9])}
    bits = np.random.default_rng(1).integers(0, 2, 60)
    for rate, (period, places) in kept.items():
        expected = mother.reshape(-1, period)[:, places].ravel()
        assert np.array_equal(coding.ConvolutionalCode(rate).encode(bits), expected)


@pytest.mark.parametrize("rate", coding.CODE_RATES)
@pytest.mark.parametrize("length", [1, 2, 5, 16, 333, 4054])
def test_viterbi_inverts_the_encoder(rate, length):
    code = coding.ConvolutionalCode(rate)
    bits = np.random.default_rng(length).integers(0, 2, length, dtype=np.uint8)
    coded = code.encode(np.append(bits, np.zeros(6, np.uint8)))
    assert len(coded) == code.coded_length(length + 6)
    for scale in (1e-20, 3.0, 1e20):
        assert np.array_equal(code.decode(scale * (2.0 * coded - 1)), bits)


def test_viterbi_corrects_errors_and_erasures():
    code = coding.ConvolutionalCode("1/2")
    rng = np.random.default_rng(2)
    bits = rng.integers(0, 2, 2000, dtype=np.uint8)
    llr = 2.0 * code.encode(np.append(bits, np.zeros(6, np.uint8))) - 1
    # Free distance 10: four errors within a constraint length are corrected for certain.
    for begin in range(50, 3800, 250):
        llr[begin + rng.permutation(20)[:4]] *= -1
    llr[3900:3906] = np.nan
    assert np.array_equal(code.decode(llr), bits)


def test_soft_decisions_are_worth_about_two_decibels():
    code = coding.ConvolutionalCode("1/2")
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2, 50000, dtype=np.uint8)
    sent = 2.0 * code.encode(np.append(bits, np.zeros(6, np.uint8))) - 1

    def errors(ebn0_db, hard):
        received = sent + rng.standard_normal(sent.size) * 10 ** (-ebn0_db / 20)
        return np.mean(code.decode(np.sign(received) if hard else received) != bits)

    # Union bound and textbooks: about 1e-3 at 3 dB soft, the same at about 5 dB hard.
    assert 2e-4 < errors(3.0, hard=False) < 2e-3
    assert 2e-4 < errors(5.0, hard=True) < 4e-3
    assert errors(3.0, hard=True) > 1e-2


def test_decoder_refuses_lengths_and_rates():
    with pytest.raises(ValueError, match="rate: got '4/5'"):
        coding.ConvolutionalCode("4/5")
    for length in (0, 12, 101):
        with pytest.raises(ValueError, match=f"llr: got {length} values"):
            coding.ConvolutionalCode("1/2").decode(np.zeros(length))


class TestSelection:
    """Of codewords of four bits: what is sent is 2, 0, 2, 3, 2."""

    selection = coding.Selection(2, 4, [2, 0, 2, 3, 2])

    def test_match(self):
        words = np.array([[1, 2, 3, 4], [5, 6, 7, 8]])
        np.testing.assert_array_equal(self.selection.match(words),
                                      [[3, 1, 3, 4, 3], [7, 5, 7, 8, 7]])

    def test_recover_adds(self):
        llr = np.array([[1, 20, 300, 4000, 50000]], np.float32)
        np.testing.assert_array_equal(self.selection.recover(llr), [[20, 0, 50301, 4000]])
        llr[0, 0] = np.nan    # it is that of bit 2 alone
        np.testing.assert_array_equal(self.selection.recover(llr), [[20, 0, np.nan, 4000]])

    @pytest.mark.parametrize("sent", [[], [4], [-1], [0.5], [[1]]])
    def test_no_positions(self, sent):
        with pytest.raises(ValueError, match="sent: got type .* must be positions of 0..3"):
            coding.Selection(2, 4, sent)

    def test_other_shapes(self):
        with pytest.raises(ValueError, match="words: got shape"):
            self.selection.match(np.zeros((2, 5)))
        with pytest.raises(ValueError, match="llr: got shape"):
            self.selection.recover(np.zeros((2, 4), np.float32))
