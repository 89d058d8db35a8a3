# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The LDPC decoder: C++ against the reference, undecodable input, error rates."""

from functools import cache

import numpy as np
import pytest
from gnuradio.mimopack import _core
from gnuradio.mimopack.coding import ldpc
from ldpc_codes import HAMMING, SMALL, transmitted

ISAS = _core.available_isas()
CODES = {"wifi": SMALL, "hamming": HAMMING, "nr": ldpc.nr(2, 3)}


@cache
def oracle(name, **parameters):
    """Return (LLRs, the reference decoder, its output) for one of CODES."""
    _, _, llr = transmitted(CODES[name], 19, 1.5)
    decoder = ldpc.LdpcDecoder(CODES[name], backend="reference", **parameters)
    return llr, decoder, decoder.decode(llr)


@pytest.mark.quick
class TestAgainstTheReference:
    @pytest.mark.parametrize("isa", ISAS)
    @pytest.mark.parametrize("algorithm, early_stop", [
        ("normalized", True), ("offset", False), ("min-star", True)])
    @pytest.mark.parametrize("name", ["wifi", "hamming", "nr"])
    def test_same_llrs(self, name, algorithm, early_stop, isa):
        parameters = {"iterations": 6, "algorithm": algorithm, "early_stop": early_stop}
        llr, reference, expected = oracle(name, **parameters)
        decoder = ldpc.LdpcDecoder(CODES[name], isa=isa, **parameters)
        for n in (19, 1, 16):
            posterior = decoder.decode(llr[:n])
            scale = np.max(np.abs(expected[:n]), axis=1, keepdims=True)
            assert np.all(np.abs(posterior - expected[:n]) <= 1e-3 * scale)
            np.testing.assert_array_equal(decoder.found, reference.found[:n])
            np.testing.assert_array_equal(decoder.iterations_taken,
                                          reference.iterations_taken[:n])

    def test_sum_product_of_one_check(self):
        """Compare with the probabilities of all words that satisfy the check."""
        code = ldpc.ParityChecks(1, [0, 0, 0], [0, 1, 2])
        llr = np.array([[0.3, -1.2, 2.0]], np.float32)
        words = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
        weight = np.exp(words @ llr[0].astype(float))
        expected = [np.log(weight[words[:, i] == 1].sum() / weight[words[:, i] == 0].sum())
                    for i in range(3)]
        decoder = ldpc.LdpcDecoder(code, 1, "sum-product", backend="reference", early_stop=False)
        np.testing.assert_allclose(decoder.decode(llr)[0], expected, rtol=1e-5)


@pytest.mark.quick
@pytest.mark.parametrize("isa", ISAS)
class TestInt16:
    """Integers of 16 bits, whose lanes are checks, against one codeword a lane."""

    @pytest.mark.parametrize("size", [2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 48, 63, 64, 65, 384])
    def test_same_llrs_except_for_rounding(self, size, isa):
        rng = np.random.default_rng(size)
        shifts = np.where(rng.random((5, 11)) < 0.7, rng.integers(0, size, (5, 11)), -1)
        code = ldpc.Prototype(shifts, size)
        llr = rng.normal(0, 2, (5, code.num_bits)).astype(np.float32)
        for iterations, rule in (
                (1, {"factor": 0.8}), (3, {"algorithm": "offset"}), (3, {"algorithm": "min-star"})):
            posterior = [ldpc.LdpcDecoder(code, iterations, early_stop=False, isa=isa,
                                          precision=precision, **rule).decode(llr)
                         for precision in ("float32", "int16")]
            unit = np.mean(np.abs(llr), axis=1, keepdims=True) / 64
            difference = np.abs(posterior[0] - posterior[1])
            # Roundings add up, and seldom tip the choice of the smallest magnitude.
            assert np.quantile(difference / unit, 0.99) < 4 * iterations
            assert (difference < 20 * unit).all()

    @pytest.mark.parametrize("algorithm", ["offset", "min-star"])
    def test_decoded_as_with_floats(self, algorithm, isa):
        code = ldpc.nr(1, 56)
        _, _, llr = transmitted(code, 60, 1.3)
        llr[:, :10] = 0                    # as if not sent
        decoders = [ldpc.LdpcDecoder(code, 20, algorithm, precision=precision, isa=isa, threads=2)
                    for precision in ("float32", "int16")]
        decided = [decoder.decode(llr) > 0 for decoder in decoders]
        np.testing.assert_array_equal(decoders[1].decide(llr), decided[1])
        found = [decoder.found for decoder in decoders]
        assert 0.3 < found[0].mean() and np.mean(found[0] != found[1]) < 0.05
        both = found[0] & found[1]
        np.testing.assert_array_equal(decided[0][both], decided[1][both])
        taken = [decoder.iterations_taken[both] for decoder in decoders]
        assert np.abs(taken[0] - taken[1]).max() <= 2

    def test_certain_bits_and_erasures(self, isa):
        code = ldpc.nr(2, 20)
        encoder = ldpc.LdpcEncoder(code)
        bits = np.random.default_rng(1).integers(0, 2, (4, encoder.num_info), np.uint8)
        bits[:, 150:] = 0
        words = encoder.encode(bits)
        llr = (4.0 * words - 2 + np.random.default_rng(2).normal(0, 1.2, words.shape)).astype(
            np.float32)
        llr[:, 150:encoder.num_info] = -1e20
        llr[1] = 0
        llr[2, 5] = np.nan
        decoder = ldpc.LdpcDecoder(code, 30, "offset", precision="int16", isa=isa)
        posterior = decoder.decode(llr)
        np.testing.assert_array_equal(decoder.found, [True, False, False, True])
        np.testing.assert_array_equal(posterior[[0, 3]] > 0, words[[0, 3]])
        assert (posterior[0, 150:encoder.num_info] < -1e19).all()
        assert not posterior[[1, 2]].any() and decoder.erasures == 2
        np.testing.assert_array_equal(decoder.iterations_taken[[1, 2]], 0)
        assert ldpc.LdpcDecoder(code, precision="int16", isa=isa).decode(llr[:0]).shape == (
            0, code.num_bits)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_found_means_that_the_decisions_are_a_codeword(zero, backend):
    """Includes erased bits: their LLRs are 0, which is decided as bit 0 for either sign of 0."""
    _, words, _ = transmitted(SMALL, 40, 4)
    llr = np.where(words, np.float32(4), np.float32(-4))
    erased = np.random.default_rng(3).random(llr.shape) < 0.05
    llr[erased] = zero
    decoder = ldpc.LdpcDecoder(SMALL, 20, backend=backend)
    decided = decoder.decode(llr) > 0
    assert decoder.found.all() and decoder.iterations_taken.max() > 0
    np.testing.assert_array_equal(decided, words)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("early_stop", [True, False])
def test_a_check_of_one_bit_makes_it_zero(early_stop, backend):
    code = ldpc.ParityChecks(2, [0, 1, 1, 1], [2, 0, 1, 2])
    llr = np.array([[3, -1, 2], [-3, -1, 2], [2, 2, 9]], np.float32)
    decoder = ldpc.LdpcDecoder(code, 10, early_stop=early_stop, backend=backend)
    np.testing.assert_array_equal(decoder.decode(llr) > 0,
                                  [[True, True, False], [False, False, False],
                                   [True, True, False]])
    assert decoder.found.all()


@pytest.mark.parametrize("parameters, message", [
    ({"factor": 0}, "factor: got 0.0, must be positive"), ({"offset": -1}, "offset: got -1, must"),
    ({"early_stop": 1}, "early_stop: got 1, must be True or False")])
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        ldpc.LdpcDecoder(SMALL, **parameters)


def test_int16_is_for_circulant_blocks():
    for code, parameters in ((HAMMING, {}), (SMALL, {"keep_messages": True}),
                             (ldpc.Prototype(np.zeros((1, 33), int), 4), {})):
        with pytest.raises(ValueError, match="precision: got 'int16', must be 'float32' unless"):
            ldpc.LdpcDecoder(code, precision="int16", **parameters)


class TestErrorRates:
    """The literature's results: a fall within a decibel, min-sum close to sum-product.

    The error rate falls steeply. Min-sum with a factor is close to the sum-product algorithm and
    far better than without.
    """

    def frame_errors(self, code, ebn0_db, n, **parameters):
        bits, words, llr = transmitted(code, n, ebn0_db, 5)
        decoder = ldpc.LdpcDecoder(code, **parameters)
        wrong = np.any((decoder.decode(llr) > 0) != words, axis=1)
        assert not np.any(decoder.found & wrong) or np.mean(decoder.found & wrong) < 0.01
        return np.mean(wrong)

    def test_waterfall(self):
        code = ldpc.wimax(2304, "1/2")
        assert self.frame_errors(code, 0.5, 300) > 0.95
        assert self.frame_errors(code, 1.0, 300) < 0.9
        assert self.frame_errors(code, 2.0, 1000) == 0

    def test_close_to_sum_product(self):
        code = ldpc.wimax(576, "1/2")
        exact = self.frame_errors(code, 1.75, 60, algorithm="sum-product", backend="reference")
        assert abs(self.frame_errors(code, 1.75, 60) - exact) < 0.2
        assert abs(self.frame_errors(code, 1.75, 60, algorithm="min-star") - exact) < 0.1

    def test_min_star_loses_fewest_at_a_low_rate(self):
        code = ldpc.nr(1, 22)
        offset, star = (self.frame_errors(code, 0.8, 400, algorithm=algorithm)
                        for algorithm in ("offset", "min-star"))
        assert 0.05 < offset and star < 0.6 * offset
