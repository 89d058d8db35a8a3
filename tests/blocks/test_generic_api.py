# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""GNU Radio's own methods work on every block: log level, affinity, alias, buffers."""

import numpy as np
import pmt
import pytest
from every_block import MESSAGES, SOURCES, STREAMS, make_with_ports, play
from flowgraphs import until
from gnuradio import blocks, gr, mimopack

ALL = STREAMS | MESSAGES | SOURCES


def in_flowgraph(made, inputs, outputs):
    """Return a flowgraph that contains a block, with all its ports connected."""
    top = gr.top_block()
    for index in range(made.input_signature().max_streams()):
        size = made.input_signature().sizeof_stream_item(index)
        top.connect(blocks.null_source(size), (made, index))
    for index in range(made.output_signature().max_streams()):
        size = made.output_signature().sizeof_stream_item(index)
        top.connect((made, index), blocks.null_sink(size))
    debug = blocks.message_debug()
    for port in outputs:
        top.msg_connect(made, port, debug, "store")
    strobe = blocks.message_strobe(pmt.PMT_NIL, 1000)
    for port in inputs:
        top.msg_connect(strobe, "strobe", made, port)
    return top


@pytest.mark.parametrize("name", ALL)
def test_a_block_takes_log_level_and_affinity(name, tmp_path):
    made = ALL[name]().make(tmp_path)
    for level in ("error", "info"):
        made.set_log_level(level)
        assert made.log_level() == level
    made.set_processor_affinity([0])
    assert made.processor_affinity() == [0]
    made.unset_processor_affinity()
    assert made.processor_affinity() == []


@pytest.mark.parametrize("name", ALL)
def test_a_flowgraph_sets_log_level_and_affinity_of_its_blocks(name, tmp_path, monkeypatch):
    made, inputs, outputs = make_with_ports(ALL[name](), tmp_path, monkeypatch)
    top = in_flowgraph(made, inputs, outputs)
    top.set_log_level("error")
    top.set_processor_affinity([0])
    assert (made.log_level(), made.processor_affinity()) == ("error", [0])
    assert top.log_level() == "error" and top.processor_affinity() == [0]
    top.unset_processor_affinity()
    assert made.processor_affinity() == []


def test_the_log_level_decides_what_a_block_logs(capfd):
    made = mimopack.mmse_detector(num_tx=2, num_rx=2)
    y = np.full(2 * 64, np.nan, np.complex64)
    for level, logged in (("warn", 1), ("off", 0), ("error", 0)):
        made.set_log_level(level)
        made.set_block_alias(f"detector_{level}")
        detect(made, y)
        assert capfd.readouterr().out.count(f"detector_{level} :warning: ") == logged


def detect(made, y):
    top = gr.top_block()
    received = blocks.vector_source_c(y, vlen=2)
    channel = blocks.vector_source_c(np.ones(2 * len(y)), vlen=4)
    llr = blocks.null_sink(made.output_signature().sizeof_stream_item(0))
    top.connect(received, (made, 0), llr)
    top.connect(channel, (made, 1))
    top.run()


@pytest.mark.parametrize("name", ["wifi_receiver", "wifi_synchroniser"])
def test_the_alias_stands_in_the_log(name, capfd):
    made = getattr(mimopack, name)(1)
    made.set_block_alias("first_antenna")
    assert made.alias() == "first_antenna"
    top = gr.top_block()
    top.connect(blocks.null_source(8), blocks.throttle(8, 1e6), made)
    strobe = blocks.message_strobe(pmt.to_pmt({"threshold": -1}), 10)
    top.msg_connect(strobe, "strobe", made, "control")
    top.start()
    until(lambda: made.refused_settings())
    top.stop()
    top.wait()
    assert "first_antenna :warning: " in capfd.readouterr().out


# Blocks without stream outputs, or whose output comes from an inner block.
SILENT = ("fec_decoder_pdu", "fec_encoder_pdu", "llr_meter", "sigmf_multichannel_sink",
          "sigmf_ring_sink", "wifi_channel_estimator", "wifi_decoder", "wifi_llr_decoder",
          "wifi_pcap_sink", "wifi_receiver", "wifi_synchroniser")
# Blocks that can only send many items at once.
WHOLE = ("ofdm_grid", "ofdm_vectors")
SENDERS = [name for name in ALL if name not in SILENT + WHOLE]
BATCHED = [name for name in SENDERS if name not in ("ber_meter", "mimo_channel")]
UNEQUAL = ("rayleigh_channel",)    # draws its channels call by call


def played(name, folder, monkeypatch, prepare):
    """Return the items that a block has sent, after prepare(block)."""
    folder.mkdir()
    case = ALL[name]()
    made, inputs, outputs = make_with_ports(case, folder, monkeypatch)
    prepare(made)
    sent = {port: () if case.inputs else [case.good[port]] for port in inputs}
    return play(made, outputs, case.inputs, sent).items


@pytest.mark.parametrize("name", SENDERS)
def test_a_buffer_limit_makes_calls_smaller(name, tmp_path, monkeypatch):
    expected = played(name, tmp_path / "one", monkeypatch, lambda made: None)
    got = played(name, tmp_path / "two", monkeypatch,
                 lambda made: made.set_max_output_buffer(2))
    for items, wanted in zip(got, expected, strict=True):
        assert items.shape == wanted.shape
        assert name in UNEQUAL or items == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize("name", BATCHED)
@pytest.mark.parametrize("setter", ["set_output_multiple", "set_min_noutput_items"])
def test_a_multiple_or_minimum_of_items_costs_only_the_rest(name, setter, tmp_path, monkeypatch):
    items = 7
    expected = played(name, tmp_path / "one", monkeypatch, lambda made: None)
    got = played(name, tmp_path / "two", monkeypatch, lambda made: getattr(made, setter)(items))
    for items_out, wanted in zip(got, expected, strict=True):
        rest = len(wanted) % items if setter == "set_output_multiple" else 0
        assert len(wanted) - rest <= len(items_out) <= len(wanted)
        assert name in UNEQUAL or items_out == pytest.approx(wanted[:len(items_out)], abs=1e-4)


@pytest.mark.parametrize("name", BATCHED)
def test_a_buffer_too_small_is_refused_with_the_least_size(name, tmp_path):
    made = ALL[name]().make(tmp_path)
    before = made.max_output_buffer(0), made.output_multiple()
    with pytest.raises(ValueError, match=rf"^{made.alias()}: .* 1 items .*allowed are 2 and more"):
        made.set_max_output_buffer(1)
    assert (made.max_output_buffer(0), made.output_multiple()) == before
    made.set_max_output_buffer(0, 100)
    for setter in (made.set_output_multiple, made.set_min_noutput_items):
        with pytest.raises(ValueError, match=rf"^{made.alias()}: .* 100 items .* allowed are 102 "):
            setter(51)
    assert made.max_output_buffer(0) == 100
    made.set_output_multiple(50)
    made.set_max_output_buffer(-1)
    made.set_output_multiple(1)
    assert made.output_multiple() == before[1]
