# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF source and sink blocks in flowgraphs: bit-exact, aligned, valid metadata."""

import shutil

import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import recording
from sigmf.sigmffile import fromfile

LENGTH = 100003
KINDS = [(layout, datatype) for layout in recording.LAYOUTS for datatype in recording.DATATYPES]


def _samples(channels=3, n=LENGTH, datatype="ci16_le"):
    """On the grid of 16 bits or, where the datatype has them, 8: it keeps them exactly."""
    steps = 1 << (7 if datatype.endswith("8") else 15)
    parts = np.random.default_rng(0).integers(-steps, steps, (channels, n, 2))
    return (parts / steps).astype(np.float32).view(np.complex64)[..., 0]


def _record(sink, samples):
    top = gr.top_block()
    for port, row in enumerate(samples):
        top.connect(blocks.vector_source_c(row.tolist()), (sink, port))
    top.run()
    top.disconnect_all()


def _play(source, channels):
    top = gr.top_block()
    sinks = [blocks.vector_sink_c() for _ in range(channels)]
    for port, sink in enumerate(sinks):
        top.connect((source, port), sink)
    top.run()
    return np.array([sink.data() for sink in sinks], np.complex64), sinks


@pytest.mark.parametrize(("layout", "datatype"), KINDS)
def test_flowgraph_round_trip_is_bit_exact(tmp_path, layout, datatype):
    samples = _samples(datatype=datatype)
    sink = mimopack.sigmf_multichannel_sink(str(tmp_path / "r"), 3, datatype, 2e6, layout,
                                            frequency=2.4e9, description="a test")
    _record(sink, samples)
    loaded = fromfile(sink.writer.path)
    metas = ([loaded] if layout == "interleaved"
             else [loaded.get_SigMFFile(stream_index=i) for i in range(3)])
    for meta in metas:
        meta.validate()
        assert meta.sample_count == LENGTH
        info, (capture,) = meta.get_global_info(), meta.get_captures()
        assert info["core:sample_rate"] == 2e6
        assert info["core:description"] == "a test"
        assert capture["core:frequency"] == 2.4e9
        assert capture["core:datetime"].endswith("Z")
    source = mimopack.sigmf_multichannel_source(str(sink.writer.path))
    assert source.sample_rate() == 2e6
    assert np.array_equal(_play(source, 3)[0], samples)


def test_the_recording_goes_on_after_stop_and_start(tmp_path):
    samples = _samples(2)
    sink = mimopack.sigmf_multichannel_sink(str(tmp_path / "r"), 2, "ci16_le")
    first, second = np.array_split(samples, 2, axis=1)
    _record(sink, first)
    assert np.array_equal(recording.Reader(tmp_path / "r", verify=True).read(), first)
    _record(sink, second)
    assert np.array_equal(recording.Reader(tmp_path / "r", verify=True).read(), samples)


def test_clipping_is_counted(tmp_path):
    sink = mimopack.sigmf_multichannel_sink(str(tmp_path / "r"), 1, "ci16_le")
    _record(sink, np.array([[2.0, 0.5, -3j]], np.complex64))
    assert sink.writer.clipped == 2


def test_an_error_at_the_end_does_not_end_the_process(tmp_path):
    (tmp_path / "folder").mkdir()
    sink = mimopack.sigmf_multichannel_sink(str(tmp_path / "folder" / "r"), 1)
    shutil.rmtree(tmp_path / "folder")
    _record(sink, np.ones((1, 10), np.complex64))
    assert not (tmp_path / "folder").exists()


def test_source_tags_its_first_sample(tmp_path):
    path = recording.write(tmp_path / "r", _samples(2, 50), 2e6, frequency=5.2e9)
    _, sinks = _play(mimopack.sigmf_multichannel_source(str(path)), 2)
    for sink in sinks:
        tags = {pmt.symbol_to_string(tag.key): (tag.offset, pmt.to_double(tag.value))
                for tag in sink.tags()}
        assert tags == {"rx_rate": (0, 2e6), "rx_freq": (0, 5.2e9)}


def test_repeat_starts_again_at_once(tmp_path):
    samples = _samples(2, 1000)
    path = recording.write(tmp_path / "r", samples, 2e6)
    source = mimopack.sigmf_multichannel_source(str(path), num_channels=2, repeat=True)
    top = gr.top_block()
    sinks = []
    for port in range(2):
        head, sink = blocks.head(gr.sizeof_gr_complex, 3500), blocks.vector_sink_c()
        top.connect((source, port), head, sink)
        sinks.append(sink)
    top.run()
    received = np.array([sink.data() for sink in sinks])
    assert np.array_equal(received, np.tile(samples, 4)[:, :3500])
    source.set_repeat(False)
    assert source.repeat() is False


def test_wrong_parameters_are_named(tmp_path):
    path = recording.write(tmp_path / "r", _samples(2, 50), 2e6)
    with pytest.raises(ValueError, match="num_channels: got 3, r.sigmf-meta has 2"):
        mimopack.sigmf_multichannel_source(str(path), num_channels=3)
    with pytest.raises(FileNotFoundError, match="missing"):
        mimopack.sigmf_multichannel_source(str(tmp_path / "missing"))
    with pytest.raises(ValueError, match="layout: got 'planar'"):
        mimopack.sigmf_multichannel_sink(str(tmp_path / "w"), 2, layout="planar")
    with pytest.raises(FileExistsError):
        mimopack.sigmf_multichannel_sink(str(path), 2)
