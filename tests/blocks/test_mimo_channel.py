# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mimo_channel block in flowgraphs: its output equals that of the array interface."""

import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack.channel import MIMOChannel

LENGTH = 9001
SETTINGS = dict(profile="tdl_a", delay_spread=50e-9, snr_db=20.0, cfo=30e3, seed=1)


def _samples(num_tx=2, n=LENGTH):
    parts = np.random.default_rng(0).standard_normal((num_tx, n, 2)).astype(np.float32)
    return parts.view(np.complex64)[..., 0]


def _connect(channel, samples, num_rx):
    top = gr.top_block()
    for port, row in enumerate(samples):
        top.connect(blocks.vector_source_c(row.tolist()), (channel, port))
    sinks = [blocks.vector_sink_c() for _ in range(num_rx)]
    for port, sink in enumerate(sinks):
        top.connect((channel, port), sink)
    return top, sinks


def _tags(sink):
    """Return the tags of a vector sink: sorted list of (offset, key, value)."""
    return sorted((tag.offset, pmt.to_python(tag.key), pmt.to_python(tag.value))
                  for tag in sink.tags())


@pytest.mark.parametrize("ppm", [0.0, -700.0])
@pytest.mark.parametrize("max_noutput_items", [100000, 37])
def test_result_does_not_depend_on_buffer_sizes(ppm, max_noutput_items):
    n = LENGTH if max_noutput_items > 100 else 3001
    samples = _samples(n=n)
    expected = MIMOChannel(2, 3, sampling_offset=ppm, **SETTINGS).process(samples)
    channel = mimopack.mimo_channel(2, 3, sampling_offset=ppm, **SETTINGS)
    top, sinks = _connect(channel, samples, 3)
    top.run(max_noutput_items)
    received = np.array([sink.data() for sink in sinks])
    assert received.shape == expected.shape
    np.testing.assert_allclose(received, expected, atol=2e-5)


@pytest.mark.quick
def test_setters_and_messages_reach_the_stream():
    channel = mimopack.mimo_channel(1, 1, seed=2)
    channel.set_cfo(1e6)
    channel.set_snr_db(30.0)
    assert (channel.cfo(), channel.snr_db()) == (1e6, 30.0)
    post = channel.to_basic_block()._post
    control = pmt.intern("control")
    post(control, pmt.cons(pmt.intern("snr_db"), pmt.from_double(60.0)))
    post(control, pmt.to_pmt({"cfo": -2.5e6}))
    post(control, pmt.to_pmt({"gain": 3.0}))  # unknown name: only reported
    post(control, pmt.to_pmt({"cfo": "much"}))
    top, (sink,) = _connect(channel, np.ones((1, 4000), np.complex64), 1)
    top.run()
    received = np.array(sink.data())
    assert len(received) == 4000
    assert (channel.cfo(), channel.snr_db()) == (-2.5e6, 60.0)
    step = np.angle(np.mean(received[1:] * received[:-1].conj())) * 20e6 / (2 * np.pi)
    assert step == pytest.approx(-2.5e6, rel=1e-3)


@pytest.mark.parametrize("settings", [
    dict(sampling_offset=-1000.0), dict(profile="tdl_a", delay_spread=20e-9)])
def test_a_tag_moves_with_its_sample(settings):
    n = 20_000
    places = np.linspace(0, n - 50, 7).astype(int)
    samples = np.zeros(n, np.complex64)
    samples[places] = 1
    tags = [gr.tag_utils.python_to_tag((int(at), pmt.intern("number"), pmt.from_long(number)))
            for number, at in enumerate(places)]
    channel = mimopack.mimo_channel(1, 1, seed=1, **settings)
    sink = blocks.vector_sink_c()
    top = gr.top_block()
    top.connect(blocks.vector_source_c(samples.tolist(), False, 1, tags), channel, sink)
    top.run(100)
    received = np.abs(sink.data())
    moved = _tags(sink)
    assert [value for _, _, value in moved] == list(range(len(places)))
    for at, _, _ in moved:
        first = max(at - 40, 0)
        # All paths of the profile lie within one sample.
        assert abs(first + np.argmax(received[first:at + 40]) - at) <= 1


def test_each_output_carries_the_tags_of_all_inputs():
    top = gr.top_block()
    channel = mimopack.mimo_channel(4, 2, profile="tdl_a", delay_spread=50e-9, seed=1)
    sinks = [blocks.vector_sink_c() for _ in range(2)]
    for port in range(4):
        tag = gr.tag_utils.python_to_tag((500, pmt.intern("antenna"), pmt.from_long(port)))
        top.connect(blocks.vector_source_c([1] * 1000, False, 1, [tag]), (channel, port))
    for port, sink in enumerate(sinks):
        top.connect((channel, port), sink)
    top.run()
    assert channel.latency == 16
    for sink in sinks:
        assert _tags(sink) == [(516, "antenna", port) for port in range(4)]
