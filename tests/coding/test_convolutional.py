# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The convolutional code as a block code.

The tests compare a-posteriori LLRs with all codewords and with the reference, compare decisions
with the Viterbi algorithm, and check names and the gain by iterations.
"""

import ctypes

import numpy as np
import pytest
from convolutional_code import DEVIATION, transmitted
from gnuradio import fec
from gnuradio.mimopack import _core, coding, reference
from gnuradio.mimopack.coding.convolutional import CODE_RATES, GENERATORS, PUNCTURING, TAIL

ISAS = _core.available_isas()
RNG = np.random.default_rng

per_rate = pytest.mark.parametrize("rate", CODE_RATES)
per_isa = pytest.mark.parametrize("isa", ISAS)


def of_all_codewords(llr, size, rate, join):
    """Compute a-posteriori LLRs of all bits from the metrics of all codewords."""
    bits = (np.arange(2**size)[:, None] >> np.arange(size) & 1).astype(np.uint8)
    words = coding.ConvolutionalEncoder(size, rate).encode(bits)
    metrics = llr.astype(float) @ words.T
    return np.stack([[join.reduce(metric[column == 1]) - join.reduce(metric[column == 0])
                      for column in words.T] for metric in metrics])


@pytest.mark.quick
class TestEncoder:
    @per_rate
    def test_is_the_codes_with_a_tail(self, rate):
        bits, words, _ = transmitted(50, rate, 7)
        encoder, code = coding.ConvolutionalEncoder(50, rate), coding.ConvolutionalCode(rate)
        sent = code.encode(np.pad(bits, ((0, 0), (0, TAIL))))
        np.testing.assert_array_equal(words, np.hstack([bits, sent]))
        assert encoder.num_info == 50 and encoder.num_bits == words.shape[1]
        np.testing.assert_array_equal(words[:, encoder.information], bits)

    @pytest.mark.parametrize("arguments, message", [
        ((2,), "num_info: got 2, allowed are 3 to 524288"),
        ((2**19 + 1,), "num_info: got 524289, allowed are 3"),
        ((100.0,), "num_info: got 100.0, must be an integer"),
        ((100, "7/8"), "rate: got '7/8', allowed are 1/2, 2/3, 3/4, 5/6")])
    def test_other_codes_are_refused(self, arguments, message):
        for make in (coding.ConvolutionalEncoder, coding.ConvolutionalDecoder,
                     coding.ViterbiDecoder):
            with pytest.raises(ValueError, match=message):
                make(*arguments)


@pytest.mark.quick
class TestLlrs:
    @per_rate
    @pytest.mark.parametrize("size", [3, 8])
    @pytest.mark.parametrize("algorithm, join", [("max-log", np.maximum),
                                                 ("log-map", np.logaddexp)])
    def test_the_reference_is_the_sum_over_all_codewords(self, size, rate, algorithm, join):
        _, _, llr = transmitted(size, rate, 5, 1.5, prior=1.0)
        decoder = coding.ConvolutionalDecoder(size, rate, algorithm=algorithm, backend="reference")
        np.testing.assert_allclose(decoder.decode(llr), of_all_codewords(llr, size, rate, join),
                                   rtol=1e-4, atol=1e-4)

    # Lengths close to a window's 32 steps, including the tail; batches close to the number of
    # lanes.
    @per_rate
    @pytest.mark.parametrize("size, n", [(3, 1), (26, 16), (27, 17), (200, 33)])
    def test_agrees_with_the_reference(self, size, n, rate):
        _, _, llr = transmitted(size, rate, n, prior=1.0)
        expected = coding.ConvolutionalDecoder(size, rate, backend="reference")
        posterior = expected.decode(llr)
        for isa in ISAS:
            decoder = coding.ConvolutionalDecoder(size, rate, backend="cpu", isa=isa)
            np.testing.assert_allclose(decoder.decode(llr), posterior, rtol=1e-5, atol=2e-3)
            np.testing.assert_array_equal(decoder.found, expected.found)
            np.testing.assert_array_equal(decoder.iterations_taken, expected.iterations_taken)

    @per_rate
    def test_int16_is_near(self, rate):
        """LLRs are rounded to 1/32 of their mean; a sum of some tens is off by up to half of it."""
        bits, _, llr = transmitted(500, rate, 70, seed=2)
        exact = coding.ConvolutionalDecoder(500, rate, backend="cpu")
        rounded = coding.ConvolutionalDecoder(500, rate, precision="int16", backend="cpu")
        posterior, expected = rounded.decode(llr), exact.decode(llr)
        mean = np.abs(llr[:, 500:]).mean()
        assert np.quantile(np.abs(posterior - expected), 0.999) < 0.5 * mean
        wrong, of_exact = (np.sum((of[:, :500] > 0) != bits) for of in (posterior, expected))
        assert of_exact > 100 and wrong < 1.1 * of_exact

    @per_isa
    @per_rate
    @pytest.mark.parametrize("size", [3, 300])
    def test_int16_never_overflows(self, size, rate, isa):
        """LLRs that are all the largest integer and fit no codeword.

        Nothing is rounded, so the result equals the reference.
        """
        length = coding.ConvolutionalEncoder(size, rate).num_bits
        rng = RNG(3)
        signs = np.concatenate([rng.choice([-1, 1], (30, length)), np.ones((1, length)),
                                -np.ones((1, length)),
                                np.repeat(rng.choice([-1, 1], (5, length)), 5, 1)[:, :length]])
        share = rng.random((len(signs), length)) < 0.1    # the mean is about a ninth
        llr = np.where(share, 255.0, 1.0) * signs
        llr[0] = 64 * signs[0]
        decoders = [coding.ConvolutionalDecoder(size, rate, backend="reference"),
                    coding.ConvolutionalDecoder(size, rate, precision="int16", isa=isa)]
        mean = np.abs(llr).mean(axis=1, keepdims=True)
        unit = mean / 32
        integers = np.clip(np.rint(llr / unit), -255, 255) * unit
        assert np.max(np.abs(integers / unit)) > 254.5
        expected, posterior = (decoder.decode(given.astype(np.float32))
                               for decoder, given in zip(decoders, (integers, llr), strict=True))
        np.testing.assert_allclose(posterior - llr, expected - integers, rtol=1e-4, atol=1e-3)

class TestDecisions:
    @per_rate
    def test_path_metrics_are_the_viterbi_algorithms(self, rate):
        """The signs of max-log LLRs are the best codeword, for information bits and coded bits."""
        _, _, llr = transmitted(300, rate, 40, 0.9)
        _, best = reference.viterbi(llr[:, 300:], PUNCTURING[rate], GENERATORS)
        decided = coding.ConvolutionalDecoder(300, rate).decode(llr) > 0
        words = coding.ConvolutionalEncoder(300, rate).encode(
            np.ascontiguousarray(decided[:, :300]).view(np.uint8))
        np.testing.assert_array_equal(decided, words)
        np.testing.assert_allclose(np.sum(llr * decided, axis=1, dtype=float), best, rtol=1e-6)

    @per_rate
    def test_viterbi_decoder(self, rate):
        """The Viterbi decoder with the interface of the other decoders."""
        bits, words, llr = transmitted(1000, rate, 200)
        sent, code = np.ascontiguousarray(llr[:, 1000:]), coding.ConvolutionalCode(rate)
        decoder = coding.ViterbiDecoder(1000, rate)
        posterior = decoder.decode(sent)
        expected = code.decode_batch(sent.ravel(), [1000] * 200).reshape(200, 1000)
        np.testing.assert_array_equal(decoder.bits, expected)
        np.testing.assert_array_equal(
            posterior, 2.0 * coding.ConvolutionalEncoder(1000, rate).encode(expected)[:, 1000:] - 1)
        np.testing.assert_array_equal(decoder.decide(sent), expected)
        assert decoder.found.all() and np.all(decoder.iterations_taken == 1)
        assert decoder.num_bits == sent.shape[1]
        soft = coding.ConvolutionalDecoder(1000, rate).decode(llr)[:, :1000] > 0
        wrong, of_soft = np.sum(decoder.bits != bits), np.sum(soft != bits)
        assert 500 < of_soft and abs(wrong - of_soft) < 0.15 * of_soft

    @per_rate
    def test_found_is_the_margin_to_the_second_codeword(self, rate):
        size, rng = 8, RNG(4)
        _, _, llr = transmitted(size, rate, 300, 1.4 * DEVIATION[rate])
        bits = (np.arange(2**size)[:, None] >> np.arange(size) & 1).astype(np.uint8)
        metrics = np.sort(llr @ coding.ConvolutionalEncoder(size, rate).encode(bits).T, axis=1)
        margins = metrics[:, -1] - metrics[:, -2]
        for margin in (0, 5.0, rng.uniform(3, 8)):
            decoder = coding.ConvolutionalDecoder(size, rate, margin=margin)
            decoder.decode(llr)
            np.testing.assert_array_equal(decoder.found, margins > margin)
            assert 0.01 < np.mean(margins > margin)


@pytest.mark.parametrize("parameters, message", [
    ({"margin": -1}, "margin: got -1, allowed are numbers from 0"),
    ({"margin": np.nan}, "margin: got nan, allowed are numbers from 0"),
    ({"precision": "int8"}, "precision: got 'int8', allowed are float32, int16")])
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        coding.ConvolutionalDecoder(100, **parameters)


def bits_of(text):
    return np.array([int(c) for c in text], np.uint8)


@pytest.mark.quick
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
    # Figure 17-9: of A1 B1 A2 B2 A3 B3, rate 3/4 keeps A1 B1 A2 B3 and rate 2/3 keeps A1 B1 A2.
    kept = {"3/4": (6, [0, 1, 2, 5]), "2/3": (4, [0, 1, 2]), "5/6": (10, [0, 1, 2, 5, 6, 9])}
    bits = np.random.default_rng(1).integers(0, 2, 60)
    for rate, (period, places) in kept.items():
        expected = mother.reshape(-1, period)[:, places].ravel()
        assert np.array_equal(coding.ConvolutionalCode(rate).encode(bits), expected)
