# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decoders take LLRs in arrays of any library, batch shape, layout and precision."""

import numpy as np
import pytest
from elsewhere import Elsewhere
from gnuradio.mimopack import coding
from gnuradio.mimopack.coding import ldpc

NAMES = ["wifi:648:1/2", "nr_matched:100:300:2", "turbo_matched:100:280", "conv:100:3/4",
         "conv:100:3/4:algorithm=viterbi"]
ATTRIBUTES = ("bits", "found", "iterations_taken")


def make(name, **options):
    """Return LLRs of 12 codewords, one of them erased, and a decoder that loses a few."""
    rng, code = np.random.default_rng(1), coding.get(name)
    words = code.encode(rng.integers(0, 2, (12, code.num_info), np.uint8))
    llr = (4 * (2.0 * words - 1) + rng.normal(0, 3, words.shape)).astype(np.float32)
    llr[5] = 0
    return llr, code.decoder(**options)


def results(decoder, llr):
    return {"posterior": decoder.decode(llr), **{
        name: getattr(decoder, name) for name in ATTRIBUTES}}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", [
    lambda llr: llr.astype(float), np.asfortranarray, lambda llr: np.repeat(llr, 2, axis=0)[::2],
    lambda llr: llr.reshape(2, 3, 2, -1), lambda llr: llr[:, None].astype(float),
    lambda llr: llr[3], lambda llr: llr[:0].reshape(0, 3, llr.shape[1]), lambda llr: llr.tolist()])
def test_any_form(name, change):
    llr, decoder = make(name)
    changed = change(llr)
    shape = np.shape(changed)[:-1]
    rows = llr[3:4] if shape == () else llr[:np.prod(shape, dtype=int)]
    expected, erasures = results(decoder, rows), decoder.erasures
    for key, found in results(decoder, changed).items():
        wanted = expected[key].reshape((*shape, *expected[key].shape[1:]))
        np.testing.assert_array_equal(found, wanted, key)
        assert isinstance(found, np.ndarray) and found.dtype == wanted.dtype
    assert decoder.erasures == erasures == (1 if len(rows) == 12 else 0)
    np.testing.assert_array_equal(decoder.decide(changed), decoder.bits)


@pytest.mark.quick
@pytest.mark.parametrize("name", NAMES)
def test_another_library(name):
    llr, decoder = make(name)
    expected = results(decoder, llr)
    for key, found in results(decoder, Elsewhere(llr)).items():
        assert isinstance(found, Elsewhere), key
        np.testing.assert_array_equal(found.values, expected[key], key)
    np.testing.assert_array_equal(decoder.decide(Elsewhere(llr)).values, expected["bits"])


def test_decisions_of_a_decoder_without_bits():
    llr, _ = make("wifi:648:1/2")
    decoder = ldpc.LdpcDecoder(ldpc.get("wifi:648:1/2"))
    expected = decoder.decode(llr) > 0
    posterior = decoder.decode(Elsewhere(llr.reshape(3, 4, -1)))
    for bits in decoder.decisions(posterior), decoder.decide(Elsewhere(llr.reshape(3, 4, -1))):
        np.testing.assert_array_equal(bits.values, expected.reshape(3, 4, -1))


def test_list_decoder():
    """The check gets rows, and the candidates have the batch's shape too."""
    llr, decoder = make("wifi:648:1/2", iterations=1)
    seen = []
    listed = coding.ListDecoder(
        decoder, 2, lambda bits: seen.append(bits.shape[1:]) or np.zeros(len(bits), bool), True)
    expected, candidates = results(listed, llr), listed.candidates
    found = results(listed, llr.astype(float).reshape(3, 4, -1))
    for key, values in expected.items():
        np.testing.assert_array_equal(found[key], values.reshape(3, 4, *values.shape[1:]))
    np.testing.assert_array_equal(listed.candidates, candidates.reshape(4, 3, 4, -1))
    assert set(seen) == {(324,)}


def test_frames_of_wifi():
    matching = ldpc.WifiRateMatching(2000, "3/4", 432)
    decoder = ldpc.WifiFrameDecoder(matching, ldpc.LdpcDecoder(matching.code))
    llr = np.random.default_rng(1).normal(0, 3, (6, matching.num_coded)).astype(np.float32)
    expected = results(decoder, llr)
    for key, found in results(decoder, llr.astype(float).reshape(2, 3, -1)).items():
        np.testing.assert_array_equal(
            found, expected[key].reshape(2, 3, *expected[key].shape[1:]))


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_cupy_arrays(name):
    import cupy

    llr, decoder = make(name, backend="cuda")
    llr = cupy.asarray(llr)
    expected = results(decoder, llr)
    changed = cupy.asfortranarray(llr.astype(float).reshape(3, 4, -1))
    for key, found in results(decoder, changed).items():
        assert isinstance(found, cupy.ndarray), key
        cupy.testing.assert_array_equal(found,
                                        expected[key].reshape(3, 4, *expected[key].shape[1:]))
    assert decoder.erasures == 1
