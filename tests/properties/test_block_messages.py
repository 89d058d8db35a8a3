# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Message ports in flowgraphs: any message is taken or refused, and the block goes on."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pmt
import pytest
from every_block import MESSAGES, SOURCES, STREAMS, make_with_ports, play
from fuzz_targets import pmts
from gnuradio import mimopack
from gnuradio.mimopack import coding
from gnuradio.mimopack.blocks.fec_encoder import u8_pmt
from hypothesis import given
from hypothesis import strategies as st
from strategies import NOT_FINITE, SEEDS, changed, fewer

ALL = STREAMS | MESSAGES | SOURCES
ANY = st.binary(max_size=60).map(pmts.decode)
VALUES = st.one_of(
    st.integers(-3, 300).map(pmt.from_long), st.floats().map(pmt.from_double), ANY,
    st.sampled_from(["mmse", "kbest:k=4", "auto", "no detector", ""]).map(pmt.intern))
# Blocks without message inputs.
WITHOUT = ("ber_meter", "codeword_modulator", "fec_encoder", "llr_meter",
           "sigmf_multichannel_source")
# Displays in which points may be anything.
POINTS = ("wifi_symbols",)


def is_end(message):
    """Return whether a message ends the streams of blocks that make streams of messages."""
    return pmt.is_eof_object(message)


def hostile(case, port):
    """Draw messages for a port: any ones, the good one with a few wrong bytes, and settings."""
    near = changed(pmts.encode(case.good[port])).map(pmts.decode)
    kinds = ANY | near
    if port == "control":
        names = st.sampled_from([*case.settings, "threads", "x"]).map(pmt.intern)
        pairs = st.tuples(names, VALUES)
        kinds |= pairs.map(lambda pair: pmt.cons(*pair))
        kinds |= st.lists(pairs, max_size=3).map(dictionary)
    return kinds.filter(lambda message: not is_end(message))


def dictionary(pairs):
    made = pmt.make_dict()
    for pair in pairs:
        made = pmt.dict_add(made, *pair)
    return made


@pytest.mark.parametrize("name", WITHOUT)
def test_these_have_no_message_inputs(name, tmp_path, monkeypatch):
    assert make_with_ports(ALL[name](), tmp_path, monkeypatch)[1] == []


@pytest.mark.parametrize("name", [name for name in ALL if name not in WITHOUT])
@given(data=st.data())
@fewer(5)
def test_any_message_is_taken_or_refused(name, data):
    """Hostile messages to one port, and then a good one to each."""
    case = ALL[name]()
    port = data.draw(st.sampled_from(sorted(case.good)))
    messages = data.draw(st.lists(hostile(case, port), max_size=6))
    inputs = [items[:200 if name != "iterative_receiver" else 20] for items in case.inputs]
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        block, ports, outputs = make_with_ports(case, Path(folder), patch)
        sent = {one: [*messages * (one == port), case.good[one]] for one in ports}
        got = play(block, outputs, inputs, sent)
    for items in got.items:
        assert name in POINTS or np.isfinite(items).all()
        assert not inputs or len(items) == len(inputs[0])
    for one, refused in case.refused.items():
        assert 0 <= refused(block) <= len(messages) * (one == port)
    for one, taken in case.taken.items():
        refused = case.refused[one](block) if one in case.refused else 0
        assert taken(block, got) + refused == len(sent[one])
    if case.settings:
        own = getattr(block, "_sink", block)
        assert {key: getattr(own, key)() for key in case.settings} == case.settings
        assert 0 <= block.refused_settings() <= len(messages) * (port == "control")
    if not case.refused:
        assert case.failures(block) == 0


@pytest.mark.parametrize("name", ["wifi:648:1/2", "turbo:40", "conv:100:3/4",
                                  "nr_matched:100:240:2"])
@given(data=st.data())
@fewer(5)
def test_each_pdu_leaves_the_fec_blocks_as_from_the_arrays(name, data):
    code, rng = coding.get(name), np.random.default_rng(data.draw(SEEDS))
    pdus = [rng.integers(0, 256, (n, code.num_info), np.uint8)
            for n in data.draw(st.lists(st.integers(1, 20), min_size=1, max_size=5))]
    sent = [pmt.cons(pmt.to_pmt({"x": index}), u8_pmt(bits)) for index, bits in enumerate(pdus)]
    told = play(mimopack.fec_encoder_pdu(name), ["out"], (), {"in": sent}).messages["out"]
    words = [np.reshape(pmt.u8vector_elements(pmt.cdr(one)), (-1, code.num_bits)) for one in told]
    for got, bits in zip(words, pdus, strict=True):
        np.testing.assert_array_equal(got, code.encode(bits & 1))
    assert [pmt.to_python(pmt.car(one)) for one in told] == [{"x": n} for n in range(len(pdus))]

    llrs = [(8.0 * word - 4 + rng.normal(0, 2, word.shape)).astype(np.float32) for word in words]
    for _ in range(data.draw(st.integers(0, 3))):
        data.draw(st.sampled_from(llrs))[0, 0] = data.draw(st.sampled_from(NOT_FINITE))
    block = mimopack.fec_decoder_pdu(name, backend="cpu", llr_output=True)
    sent = [pmt.cons(pmt.PMT_NIL, pmt.init_f32vector(llr.size, llr.ravel().tolist()))
            for llr in llrs]
    told = play(block, ["out", "llr"], (), {"in": sent}).messages
    decoder = code.decoder(backend="cpu")
    for bits, soft, llr in zip(told["out"], told["llr"], llrs, strict=True):
        posterior = decoder.decode(llr)
        np.testing.assert_array_equal(pmt.u8vector_elements(pmt.cdr(bits)), decoder.bits.ravel())
        np.testing.assert_array_equal(pmt.f32vector_elements(pmt.cdr(soft)), posterior.ravel())
        info = pmt.to_python(pmt.car(bits))
        assert (info["codewords"], info["erasures"]) == (len(llr), decoder.erasures)
        assert info["decoded"] == decoder.found.all()


def test_a_trigger_that_is_not_utf8_is_one(tmp_path):
    """Such a text from another program was refused, and nothing was recorded."""
    case = STREAMS["sigmf_ring_sink"]()
    block = case.make(tmp_path)
    text = pmt.deserialize_str(b"\x02\x00\x01\xff")
    told = play(block, ["written"], case.inputs, {"trigger": [text]}).messages
    assert case.taken["trigger"](block, told) == 1 and case.failures(block) == 0
