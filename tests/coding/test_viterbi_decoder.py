# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Viterbi decoder against the reference, and properties of any Viterbi decoder."""

import numpy as np
import pytest
from convolutional_code import DEVIATION, LARGEST, exact, metric, quantised
from gnuradio.mimopack import _core, coding
from gnuradio.mimopack.checks import MOST_THREADS
from gnuradio.mimopack.coding.convolutional import TAIL

ISAS = _core.available_isas()

per_rate = pytest.mark.parametrize("rate", coding.CODE_RATES)
per_isa = pytest.mark.parametrize("isa", ISAS)


def make(rate, lengths, seed=0, deviation=0.0):
    """Return (code, bits of all blocks, LLRs)."""
    rng = np.random.default_rng(seed)
    code = coding.ConvolutionalCode(rate)
    bits = [rng.integers(0, 2, n, np.uint8) for n in lengths]
    coded = [code.encode(np.append(b, np.zeros(TAIL, np.uint8))) for b in bits]
    coded = np.concatenate(coded) if coded else np.zeros(0)
    y = 2.0 * coded - 1 + rng.normal(0, deviation, coded.size)
    return code, np.concatenate([np.zeros(0, np.uint8), *bits]), y.astype(np.float32)


def brute_force(llr, code, num_bits):
    """Return the best metric of all blocks with this number of bits."""
    words = np.arange(2**num_bits)[:, None] >> np.arange(num_bits) & 1
    return max(metric(llr, code, word) for word in words)


@pytest.mark.quick
@per_rate
def test_the_reference_finds_the_best_of_all_codewords(rate):
    code, _, llr = make(rate, [7], deviation=2.0)
    bits, best = exact(llr, rate)
    assert best == pytest.approx(brute_force(llr, code, 7))
    assert metric(llr, code, bits) == pytest.approx(best)


@pytest.mark.quick
@per_isa
@per_rate
@pytest.mark.parametrize("deviation", [0.7, 3.0])
def test_agrees_with_the_reference(rate, isa, deviation):
    """For the rounded LLRs, the decoder's codeword is as good as any other."""
    lengths = [1, 2, 5, 6, 17, 100, 113, 114, 115, 700, 2500]
    _, _, llr = make(rate, lengths, 1, deviation)
    code = coding.ConvolutionalCode(rate, isa=isa)
    bits = np.split(code.decode_batch(llr, lengths), np.cumsum(lengths)[:-1])
    blocks = np.split(llr, np.cumsum(code.coded_length(np.array(lengths) + TAIL))[:-1])
    for block, decided in zip(blocks, bits, strict=True):
        integers = quantised(block, rate)
        _, best = exact(integers, rate)
        assert metric(integers, code, decided) == best


@per_isa
@per_rate
def test_metrics_never_overflow(rate, isa):
    """LLRs that are all the largest integer and fit no codeword."""
    _, _, llr = make(rate, [3000], 2)
    code = coding.ConvolutionalCode(rate, isa=isa)
    rng = np.random.default_rng(2)
    n = llr.size
    for signs in (rng.choice([-1, 1], n), rng.choice([-1, 0, 0, 0, 1], n),
                  np.repeat(rng.choice([-1, 1], n), 5)[:n], np.ones(n), -np.ones(n),
                  np.resize([1, 1, -1, 1, -1, -1, -1], n)):
        llr = np.where(np.arange(n) < 0.45 * n, 1.0, 0.01) * signs    # small LLRs halve the mean
        bits = code.decode(llr)
        integers = quantised(llr, rate)
        assert np.abs(integers).max() == LARGEST[rate]
        _, best = exact(integers, rate)
        assert metric(integers, code, bits) == best


@per_rate
@pytest.mark.parametrize("deviation", [None, 4.0])
def test_a_batch_decides_as_single_blocks_do(rate, deviation):
    """Also with noise that keeps the pieces of a block from agreeing at once."""
    lengths = [0, 6000, 24, 1, 20000, 1500, 0]
    _, _, llr = make(rate, lengths, 5, DEVIATION[rate] if deviation is None else deviation)
    code = coding.ConvolutionalCode(rate)
    batch = np.split(code.decode_batch(llr, lengths), np.cumsum(lengths)[:-1])
    blocks = np.split(llr, np.cumsum(code.coded_length(np.array(lengths) + TAIL))[:-1])
    for block, decided in zip(blocks, batch, strict=True):
        if decided.size:
            np.testing.assert_array_equal(code.decode(block), decided)
            np.testing.assert_array_equal(code.decode_batch(np.tile(block, 30),
                                                            [decided.size] * 30),
                                          np.tile(decided, 30))


@pytest.mark.quick
@per_rate
def test_nan_is_an_erasure_and_infinity_is_certain(rate):
    _, bits, llr = make(rate, [1000], 6)
    code = coding.ConvolutionalCode(rate)
    erased = llr.copy()
    erased[50::97] = np.nan
    np.testing.assert_array_equal(code.decode(erased), bits)
    np.testing.assert_array_equal(code.decode(np.nan_to_num(erased, nan=0.0)), bits)
    certain = llr.copy()
    certain[::3] *= np.inf
    np.testing.assert_array_equal(code.decode(certain), bits)
    # one infinite LLR does not round the others to 0
    certain = 1e-6 * llr
    certain[5] *= np.inf
    np.testing.assert_array_equal(code.decode(certain), bits)
    np.testing.assert_array_equal(code.decode(llr * np.inf), bits)
    for nothing in (0.0, np.nan):
        assert set(code.decode(np.full(llr.size, nothing))) <= {0, 1}


@pytest.mark.quick
@per_rate
def test_int8_decides_as_the_same_floats(rate):
    lengths = [3000, 200, 1]
    _, _, llr = make(rate, lengths, 7, DEVIATION[rate])
    code = coding.ConvolutionalCode(rate)
    small = np.clip(np.rint(40 * llr), -128, 127).astype(np.int8)
    given = small.astype(np.float32)
    # with float32 the mean would be limited
    apart = np.mean(code.decode_batch(small, lengths)
                    != code.decode_batch(given, lengths, scale=1e3))
    assert apart < 5e-3
    same = code.decode_batch(small, lengths, scale=40)
    assert np.mean(same != code.decode_batch(given, lengths, scale=40)) < 5e-3


@per_rate
def test_encoding_rows(rate):
    code = coding.ConvolutionalCode(rate)
    bits = np.random.default_rng(10).integers(0, 2, (5, 77), np.uint8)
    coded = code.encode(bits)
    assert coded.shape == (5, code.coded_length(77)) and coded.dtype == np.uint8
    for row, alone in zip(coded, bits, strict=True):
        np.testing.assert_array_equal(row, code.encode(alone))
    assert code.encode(np.zeros((0, 7))).shape == (0, code.coded_length(7))
    np.testing.assert_array_equal(code.coded_length(np.arange(30)),
                                  [code.coded_length(n) for n in range(30)])


LLR = np.zeros(24, np.float32)


@pytest.mark.parametrize("llr, num_bits, others, message", [
    (LLR.astype(float), [6], {}, "llr: got float64, must be a float32 or int8 array"),
    ([0.0] * 24, [6], {}, "llr: got list, must be"),
    (LLR.reshape(2, 12), [6], {}, r"llr: got shape \(2, 12\), must be \(m,\)"),
    (LLR[::2], [0], {}, "llr: got a strided array"),
    (LLR, [7], {}, "llr: got 24 values, must be 26 for blocks of num_bits at rate 1/2"),
    (LLR, [], {}, "llr: got 24 values, must be 0"),
    (LLR, [6.0], {}, r"num_bits: got \[6.0\], must be integers"),
    (LLR, 6, {}, "num_bits: got 6, must be integers"),
    (LLR, np.array([[6]]), {}, "num_bits: got .*, must be integers"),
    (LLR, [12, -6], {}, "num_bits: got -6, allowed are 0 to 4294967295"),
    (LLR, [2**62] * 4, {}, "num_bits: got .*, allowed are 0 to"),
    (LLR, [2**70], {}, "num_bits: got .*, must be integers"),
    (LLR, [6], {"threads": -1}, f"threads: got -1, allowed are 0 to {MOST_THREADS}"),
    (LLR, [6], {"scale": 0.0}, "scale: got 0.0, must be positive"),
])
def test_bad_arguments(llr, num_bits, others, message):
    with pytest.raises(ValueError, match=message):
        coding.ConvolutionalCode("1/2").decode_batch(llr, num_bits, **others)


def test_bad_codes():
    with pytest.raises(ValueError, match="rate: got '7/8', allowed are 1/2, 2/3, 3/4, 5/6"):
        coding.ConvolutionalCode("7/8")
    with pytest.raises(ValueError, match="isa: got 'mmx'"):
        coding.ConvolutionalCode("1/2", isa="mmx")
    with pytest.raises(ValueError, match=r"bits: got shape \(1, 2, 3\), must be \(n,\) or"):
        coding.ConvolutionalCode("1/2").encode(np.zeros((1, 2, 3)))


@pytest.mark.parametrize("bits, got", [
    ([0, 1, 2], "2"), ([0, -1], "-1"), ([1, 256], "256"), ([0.5, 1.0], "0.5"), ([np.nan], "nan"),
    (np.array([[0, 1], [1, 3]], np.uint8), "3")])
def test_only_bits_are_encoded(bits, got):
    with pytest.raises(ValueError, match=f"bits: got {got}, allowed are 0 and 1"):
        coding.ConvolutionalCode("3/4").encode(bits)
