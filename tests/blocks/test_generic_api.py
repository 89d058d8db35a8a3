# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""GNU Radio's own methods work on blocks: log level, alias, limits of buffers."""

import numpy as np
import pytest
from every_block import MESSAGES, SOURCES, STREAMS, make_with_ports, play
from gnuradio import blocks, gr, mimopack

ALL = STREAMS | MESSAGES | SOURCES


def test_a_hierarchical_block_sets_level_and_affinity_of_its_inner_blocks():
    made = mimopack.wifi_receiver(1)
    made.set_log_level("error")
    made.set_processor_affinity([0])
    for block in made._inner:
        assert (block.log_level(), block.processor_affinity()) == ("error", [0])
    made.unset_processor_affinity()
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


def played(name, folder, monkeypatch, prepare):
    """Return the items that a block has sent, after prepare(block)."""
    folder.mkdir()
    case = ALL[name]()
    made, inputs, outputs = make_with_ports(case, folder, monkeypatch)
    prepare(made)
    sent = {port: () if case.inputs else [case.good[port]] for port in inputs}
    return play(made, outputs, case.inputs, sent).items


@pytest.mark.parametrize("name", ["nway_detector", "wifi_transmitter"])
def test_a_buffer_limit_makes_calls_smaller(name, tmp_path, monkeypatch):
    expected = played(name, tmp_path / "one", monkeypatch, lambda made: None)
    got = played(name, tmp_path / "two", monkeypatch,
                 lambda made: made.set_max_output_buffer(2))
    for items, wanted in zip(got, expected, strict=True):
        assert items.shape == wanted.shape
        np.testing.assert_allclose(items, wanted, atol=1e-4)
