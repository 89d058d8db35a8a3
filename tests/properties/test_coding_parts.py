# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands around codes: CRCs, interleavers, scramblers, segmentation, convolutional code."""

import numpy as np
import pytest
from gnuradio.mimopack import coding
from gnuradio.mimopack.coding import crc, ldpc, turbo
from gnuradio.mimopack.coding.convolutional import CODE_RATES, TAIL, ConvolutionalCode
from gnuradio.mimopack.coding.scrambler import scramble, seed_from_service
from hypothesis import given
from hypothesis import strategies as st
from strategies import NOT_FINITE, SEEDS, fewer, junk, wrong


def draw_bits(draw, *shape):
    return np.random.default_rng(draw(SEEDS)).integers(0, 2, shape, np.uint8)


def refused_or_done(function, *arguments, names):
    """Call a function; a ValueError must begin with one of these names of arguments."""
    try:
        return function(*arguments)
    except ValueError as error:
        assert str(error).startswith(tuple(f"{name}: got " for name in names)), error


@pytest.mark.parametrize("name", crc.CRCS)
@given(data=st.data())
def test_a_crc_fits_and_finds_any_single_error(name, data):
    one = coding.Crc(name)
    bits = draw_bits(data.draw, data.draw(st.integers(1, 5)), data.draw(st.integers(0, 300)))
    sent = one.attach(bits)
    body, fits = one.check(sent)
    np.testing.assert_array_equal(body, bits)
    assert fits.all()
    sent[0, data.draw(st.integers(0, sent.shape[1] - 1))] ^= 1
    np.testing.assert_array_equal(one.check(sent)[1], np.arange(len(sent)) > 0)


@given(value=junk(), data=st.data())
def test_a_crc_refuses_by_name(value, data):
    refused_or_done(coding.Crc, value, names=["name"])
    one, bits = coding.Crc("16"), draw_bits(data.draw, 3, 40)
    bad = data.draw(wrong(bits).filter(
        lambda value: not (isinstance(value, np.ndarray) and value.dtype == np.uint8
                           and value.ndim == 2 and value.flags.c_contiguous)) | st.none())
    for function in (one.parity, one.attach, one.check):
        with pytest.raises(ValueError, match="^bits: "):
            function(bad)


@given(order=st.integers(1, 200), seed=SEEDS, blocks=st.integers(0, 4), data=st.data())
def test_interleavers_restore_what_they_permute(order, seed, blocks, data):
    interleaver = coding.RandomInterleaver(order, seed)
    values = draw_bits(data.draw, *data.draw(st.lists(st.integers(0, 3), max_size=2)),
                       blocks * order)
    permuted = interleaver.permute(values)
    np.testing.assert_array_equal(interleaver.restore(permuted), values)
    np.testing.assert_array_equal(np.sort(permuted, axis=-1), np.sort(values, axis=-1))


@given(value=junk(), other=junk())
def test_interleavers_and_scramblers_refuse_by_name(value, other):
    refused_or_done(coding.Interleaver, value, names=["order"])
    refused_or_done(coding.Interleaver([1, 0]).permute, value, names=["values"])
    refused_or_done(coding.Interleaver([1, 0]).restore, value, names=["values"])
    if not isinstance(value, int) or abs(value) < 10**6:
        refused_or_done(coding.RandomInterleaver, value, other, names=["size", "seed"])
        refused_or_done(coding.gold_sequence, other, value, names=["c_init", "length"])
        refused_or_done(coding.scrambler_sequence, other, value, names=["seed", "length"])
    refused_or_done(scramble, value, other, names=["bits", "seed"])
    refused_or_done(coding.gold_scramble, value, other, names=["bits", "c_init"])


@pytest.mark.parametrize("function, arguments, message", [
    (coding.Interleaver([1, 0]).permute, ([1, 2],), "values: got list, must be an array"),
    (coding.Interleaver([1, 0]).restore, (np.array(2),), "values: got ndarray, must be an array"),
    (coding.Interleaver, ([[1], [1, 2]],), "order: got list, must be an array of real numbers"),
    (coding.Selection, (5, 10, [[1], [1, 2]]), "sent: got list, must be an array of real"),
    (ldpc.Prototype, ("x", 4), "shifts: got str, must be an array of real numbers"),
    (turbo.TurboEncoder, (np.True_,), "size: got True, must be an integer"),
    (coding.scrambler_sequence, (2.5, 10), "seed: got 2.5, must be an integer"),
    (coding.scrambler_sequence, (3, -1), "length: got -1, allowed are 0 to "),
    (scramble, ("x", 3), "bits: got str, must be an array of real numbers"),
    (scramble, ([2], 3), "bits: got 2, allowed are 0 and 1"),
    (coding.gold_sequence, ([], 3), "c_init: got [], must be an integer"),
    (coding.gold_scramble, (1, 3), "bits: got a single value, must be (..., length)"),
    (coding.NrSegmentation(100, 1).join, (7,), "blocks: got int, must be a list of arrays"),
    (ConvolutionalCode, ("1/2", None), "isa: got None, allowed are auto, avx512"),
    (ConvolutionalCode("1/2").encode, ("x",), "bits: got str, must be an array of real numbers"),
    (ConvolutionalCode("1/2").decode, ([[1], [1, 2]],), "llr: got list, must be an array of real")])
def test_what_once_was_another_error(function, arguments, message):
    with pytest.raises(ValueError) as caught:
        function(*arguments)
    assert str(caught.value).startswith(message)


@given(seed=st.integers(1, 127), c_init=st.integers(0, 2**31 - 1), data=st.data())
def test_scrambling_twice_changes_nothing(seed, c_init, data):
    bits = draw_bits(data.draw, data.draw(st.integers(7, 400)))
    np.testing.assert_array_equal(scramble(scramble(bits, seed), seed), bits)
    twice = coding.gold_scramble(coding.gold_scramble(bits, c_init), c_init)
    np.testing.assert_array_equal(twice, bits)
    bits[:7] = 0
    assert seed_from_service(scramble(bits, seed)) == seed


@given(size=st.integers(1, 30_000), symbols=st.integers(0, 100), data=st.data())
@fewer(2)
def test_segments_join_to_what_was_cut(size, symbols, data):
    kinds = [coding.LteSegmentation(size), refused_or_done(
        coding.NrSegmentation, size, data.draw(st.sampled_from([1, 2])), names=["transport_bits"])]
    for segmentation in filter(None, kinds):
        bits = draw_bits(data.draw, 2, size)
        blocks = segmentation.segment(bits)
        assert [block.shape[1] for block in blocks] == list(segmentation.block_bits)
        joined, fits, of_blocks = segmentation.join(blocks)
        np.testing.assert_array_equal(joined, bits)
        assert fits.all() and of_blocks.shape == (2, segmentation.num_blocks)
        depth, layers = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 4))
        total = depth * layers * (segmentation.num_blocks + symbols)
        shares = segmentation.coded_bits(total, depth, layers)
        assert sum(shares) == total and max(shares) - min(shares) in (0, depth * layers)


@given(value=junk(), data=st.data())
def test_segmentation_refuses_by_name(value, data):
    refused_or_done(coding.LteSegmentation, value, names=["transport_bits"])
    refused_or_done(coding.NrSegmentation, value, 1, names=["transport_bits"])
    refused_or_done(coding.NrSegmentation, 100, value, names=["base_graph"])
    segmentation = coding.NrSegmentation(100, 1)
    for function, name in ((segmentation.segment, "bits"), (segmentation.join, "blocks"),
                           (segmentation.coded_bits, "total")):
        refused_or_done(function, value, names=[name, "blocks[0]"])
    bad = data.draw(wrong(draw_bits(data.draw, 2, 100)))
    with pytest.raises(ValueError, match="^bits: "):
        segmentation.segment(bad)


@given(value=junk(), other=junk())
def test_rate_matching_refuses_by_name(value, other):
    assumed = [one for one in (value, other) if not isinstance(one, int) or abs(one) < 10**6]
    for one in assumed:
        names = ["info_bits", "coded_bits", "redundancy_version", "bits_per_symbol", "base_graph",
                 "buffer_bits", "prune", "sent", "num_bits", "payload_bits", "rate",
                 "symbol_bits", "size", "order", "shifts", "rows", "columns", "rows, columns",
                 "num_checks"]
        for function, arguments in (
                (ldpc.NrRateMatching, (100, 300, None, 0, 1, None, True)),
                (turbo.RateMatching, (100, 300, 0, None)),
                (coding.Selection, (5, 10, [1, 2])), (ldpc.WifiRateMatching, (100, "1/2", 52)),
                (ldpc.Prototype, ([[0, -1]], 4)), (ldpc.ParityChecks, (2, [0, 1], [0, 1], 2)),
                (turbo.TurboEncoder, (40,)), (turbo.qpp_interleaver, (40,))):
            for place in range(len(arguments)):
                changed = [*arguments[:place], one, *arguments[place + 1:]]
                refused_or_done(function, *changed, names=names)


@pytest.mark.parametrize("rate", CODE_RATES)
@given(data=st.data())
def test_the_viterbi_decoder_returns_bits_whatever_the_llrs(rate, data):
    code = ConvolutionalCode(rate)
    sizes = data.draw(st.lists(st.integers(1, 60), min_size=1, max_size=20))
    blocks = [draw_bits(data.draw, size) for size in sizes]
    coded = [code.encode(np.pad(block, (0, TAIL))) for block in blocks]
    llr = np.concatenate([20 * (2.0 * word - 1) for word in coded]).astype(np.float32)
    decided = code.decode_batch(llr, sizes, threads=data.draw(st.integers(1, 3)))
    np.testing.assert_array_equal(decided, np.concatenate(blocks))
    for _ in range(data.draw(st.integers(1, 9))):
        llr[data.draw(st.integers(0, len(llr) - 1))] = data.draw(st.sampled_from(
            [*NOT_FINITE, 3e38, -3e38, 1e-45, 0.0]))
    decided = code.decode_batch(llr, sizes)
    assert decided.dtype == np.uint8 and decided.max(initial=0) <= 1
    ends, at = np.cumsum([len(word) for word in coded]), np.cumsum([0, *sizes])
    for i, part in enumerate(np.split(llr, ends[:-1])):
        np.testing.assert_array_equal(code.decode(part), decided[at[i]:at[i + 1]])


@given(value=junk(), other=junk(), data=st.data())
def test_the_convolutional_code_refuses_by_name(value, other, data):
    refused_or_done(ConvolutionalCode, value, names=["rate"])
    refused_or_done(ConvolutionalCode, "1/2", value, names=["isa"])
    code = ConvolutionalCode("1/2")
    refused_or_done(code.encode, value, names=["bits"])
    refused_or_done(code.decode, value, names=["llr"])
    llr = np.zeros(code.coded_length(10 + TAIL), np.float32)
    for arguments in ((value, [10]), (llr, value), (llr, [10], other), (llr, [10], 1, other)):
        refused_or_done(code.decode_batch, *arguments,
                        names=["llr", "num_bits", "threads", "scale"])
