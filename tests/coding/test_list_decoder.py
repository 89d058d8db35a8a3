# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""List decoding: comparison with the best of all codewords, and properties it must keep."""

import numpy as np
import pytest
from gnuradio.mimopack import coding
from gnuradio.mimopack.coding import ldpc
from simulated import random_bits

SMALL = ldpc.wifi(648, "1/2")
ENCODER = ldpc.LdpcEncoder(SMALL)


def transmitted(encoder, bits, ebn0_db, seed=0):
    """Return simulated (codewords, LLRs) over AWGN with BPSK."""
    words = encoder.encode(bits)
    noise_var = encoder.num_bits / encoder.num_info / 2 * 10 ** (-ebn0_db / 10)
    y = 2.0 * words - 1 + np.random.default_rng(seed).normal(0, np.sqrt(noise_var), words.shape)
    return words, (2 * y / noise_var).astype(np.float32)


def all_words(encoder):
    """Return all codewords of a short code, float32."""
    k = encoder.num_info
    bits = np.arange(2**k)[:, None] >> np.arange(k) & 1
    return encoder.encode(bits.astype(np.uint8)).astype(np.float32)


@pytest.fixture(scope="module")
def lossy():
    """Return (LLRs, decoder, output, found, iterations) with some codewords not found."""
    _, llr = transmitted(ENCODER, random_bits(200, 324), 1.3)
    decoder = ldpc.LdpcDecoder(SMALL, backend="cpu")
    posterior = decoder.decode(llr)
    assert 20 < np.count_nonzero(~decoder.found) < 100
    return llr, decoder, posterior, decoder.found, decoder.iterations_taken


class Exhaustive(coding.Decoder):
    """A decoder that finds the best codeword, except for the LLRs that it sees first."""

    num_bits, seen = 7, None

    def __init__(self, words):
        self._words, self.lanes = words, []

    def decode(self, llr):
        self.lanes.append(len(llr))
        best = self._words[(llr @ self._words.T).argmax(axis=1)]
        self.seen = llr if self.seen is None else self.seen
        self.found = np.full(len(llr), len(llr) != len(self.seen))
        self.iterations_taken = np.full(len(llr), 3, np.int32)
        return (2 * best - 1) * (1 + np.abs(llr))


@pytest.mark.quick
class TestMaximumLikelihood:
    def test_best_with_a_bit_known_both_ways_is_the_best(self):
        """The better of the best codewords with a bit 0 and with the bit 1 is the best of all."""
        code = ldpc.ParityChecks(3, np.repeat(np.arange(3), 4),
                                 [0, 2, 4, 6, 1, 2, 5, 6, 3, 4, 5, 6])
        words = all_words(ldpc.LdpcEncoder(code))
        llr = np.random.default_rng(3).normal(0, 2, (500, 7)).astype(np.float32)
        decoder = Exhaustive(words)
        listed = coding.ListDecoder(decoder, 5)
        decided = listed.decode(llr) > 0
        np.testing.assert_array_equal(decided, words[(llr @ words.T).argmax(axis=1)])
        assert listed.found.all() and sum(decoder.lanes) == 1500
        np.testing.assert_array_equal(listed.iterations_taken, 9)


class TestListDecoder:
    @pytest.mark.parametrize("list_bits", [0, 1, 4])
    def test_what_is_found_stays_and_what_is_not_is_codewords_or_stays(self, lossy, list_bits):
        llr, decoder, first, found, taken = lossy
        listed = coding.ListDecoder(decoder, list_bits)
        posterior = listed.decode(llr)
        np.testing.assert_array_equal(posterior[found], first[found])
        np.testing.assert_array_equal(listed.iterations_taken[found], taken[found])
        assert np.all(listed.found[found]) and listed.erasures == 0
        rescued = listed.found & ~found
        assert rescued.any() == (list_bits > 0) and not listed.found.all()
        np.testing.assert_array_equal(posterior[~listed.found], first[~listed.found])
        np.testing.assert_array_equal(listed.iterations_taken[~listed.found],
                                      20 * (2 ** (list_bits + 1) - 1))
        decided = (posterior[rescued] > 0).view(np.uint8)
        np.testing.assert_array_equal(
            ENCODER.encode(np.ascontiguousarray(decided[:, :324])), decided)

    def test_crc_decides_for_turbo_codes(self):
        """Both constituent decoders may agree on wrong bits.

        With a CRC no wrong codeword passes, and a few candidates leave less than half of the
        errors.
        """
        crc, code = coding.Crc("24A"), coding.get("turbo:128")
        bits = crc.attach(random_bits(2000, 104))
        _, llr = transmitted(code, bits, 1)
        llr[7] = 0
        decoder = code.decoder(backend="cpu")

        def fits(bits):
            return crc.check(bits)[1]

        wrong, undetected = [], []
        for listed in (coding.ListDecoder(decoder, 4), coding.ListDecoder(decoder, 0, fits),
                       coding.ListDecoder(decoder, 4, fits)):
            listed.decode(llr)
            errors = np.any(listed.bits != bits, axis=1)
            wrong.append(errors.sum())
            undetected.append(np.count_nonzero(errors & listed.found))
            assert not listed.found[7] and listed.erasures == 1
        assert undetected[0] > 10 and undetected[1:] == [0, 0]
        assert wrong[2] < 0.5 * wrong[1] > 25

    def test_bits_that_are_not_sent(self):
        """Candidates have the bits sent; the result has the information bits of the chosen ones.

        Two of the information bits are not sent.
        """
        code = coding.get("nr:2:16")
        bits = random_bits(200, code.num_info)
        _, llr = transmitted(code, bits, 0.4)
        decoder = code.decoder(backend="cpu", factor=0.7)
        decoder.decode(llr)
        alone = decoder.found.sum()
        listed = coding.ListDecoder(decoder, 3)
        posterior, found = listed.decode(llr), listed.found
        assert found.sum() > alone > 0
        words = code.encode(np.ascontiguousarray(listed.bits[found]))
        np.testing.assert_array_equal(posterior[found] > 0, words)

    def test_useless_llrs(self):
        _, llr = transmitted(ENCODER, random_bits(3, 324), 5)
        llr[0, 5], llr[1] = np.nan, 0
        listed = coding.ListDecoder(ldpc.LdpcDecoder(SMALL, backend="cpu"))
        posterior = listed.decode(llr)
        assert listed.erasures == 2 and not posterior[:2].any()
        np.testing.assert_array_equal(listed.found, [False, False, True])
        assert listed.decode(llr[:0]).shape == (0, 648) and listed.erasures == 0

    @pytest.mark.parametrize("arguments, message", [
        ({"list_bits": 11}, "list_bits: got 11, allowed are 0 to 10"),
        ({"list_bits": True}, "list_bits: got True"),
        ({"keep_messages": True}, "decoder: got keep_messages=True, must be False")])
    def test_refusals(self, arguments, message):
        keep = arguments.pop("keep_messages", False)
        with pytest.raises(ValueError, match=message):
            coding.ListDecoder(ldpc.LdpcDecoder(SMALL, keep_messages=keep), **arguments)


def test_candidates_of_lost_codewords(lossy):
    """The decoder's decisions with the most doubtful bit 0 and 1, found codewords as they are."""
    llr, decoder, posterior, found, _ = lossy
    listed = coding.ListDecoder(decoder, 1, keep_candidates=True)
    listed.decode(llr)
    assert listed.candidates.shape == (2, *llr.shape)
    lost = np.flatnonzero(~listed.found)
    assert len(lost) > 10
    doubt = np.abs(posterior) - 0.5 * np.abs(posterior - llr)
    for value, candidates in zip((-1, 1), listed.candidates, strict=True):
        tried = llr[lost]
        at = doubt[lost].argmin(axis=1)
        tried[np.arange(len(lost)), at] = value * np.abs(tried).max(axis=1)
        np.testing.assert_array_equal(candidates[lost], decoder.decode(tried) > 0)
        np.testing.assert_array_equal(candidates[found], posterior[found] > 0)
