# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF source and sink blocks in flowgraphs: bit-exact, aligned, valid metadata."""

import os
import threading
import time

import numpy as np
import pmt
import pytest
from flowgraphs import Messages
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import recording
from gnuradio.mimopack.recording.timeline import between
from limits import small_files
from recordings import exact_samples
from sigmf.sigmffile import fromfile
from source_tree import ROOT
from wifi_blocks import moment

LENGTH = 100003


def _samples(channels=3, n=LENGTH):
    """Return samples that ci16_le stores exactly."""
    return exact_samples(channels, n, "ci16_le")


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


@pytest.mark.quick
@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_flowgraph_round_trip_is_bit_exact(tmp_path, layout):
    samples = _samples()
    sink = mimopack.sigmf_multichannel_sink(str(tmp_path / "r"), 3, "ci16_le", 2e6, layout,
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


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_a_recording_that_is_cut_ends_the_stream_with_an_error(tmp_path, layout, capfd):
    samples = _samples(2, 300_000)
    path = recording.write(tmp_path / "r", samples, 2e6, datatype="ci16_le", layout=layout)
    source = mimopack.sigmf_multichannel_source(recording.Reader(path))
    data = sorted(tmp_path.glob("*.sigmf-data"))[-1]
    os.truncate(data, data.stat().st_size // 2)
    received, _ = _play(source, 2)
    assert np.array_equal(received, samples[:, :received.shape[1]])
    assert received.shape[1] <= 150_000
    assert f"the stream ends here: {source.error}" in "".join(capfd.readouterr())
    assert f"{data} ends at sample 150000" in str(source.error)


@pytest.mark.parametrize("overload", recording.OVERLOADS)
def test_a_full_disk_is_logged_and_ends_the_recording(tmp_path, capfd, overload):
    """The disk thread writes the last block after the last call of work()."""
    sink = mimopack.sigmf_multichannel_sink(str(tmp_path / "r"), 1, overload=overload)
    with small_files(4000):
        _record(sink, np.ones((1, 1000), np.complex64))
    assert "recording ends here: [Errno 27] File too large: " in "".join(capfd.readouterr())
    assert sink.counts()["dropped"] == 500
    assert recording.Reader(tmp_path / "r").num_samples == 500
    if overload == "wait":
        with pytest.raises(OSError, match="File too large"):
            sink.close()
    sink.close()


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


class _Radio(gr.sync_block):
    """Play the same samples on all outputs, with tags {sample: {key: PMT}} on the first output.

    The source stops at each sample in ``pauses`` until ``go`` is set.
    """

    def __init__(self, samples, tags=None, piece=1000, pauses=()):
        gr.sync_block.__init__(self, "radio", None, [np.complex64] * len(samples))
        self._samples, self._tags, self._piece = samples, tags or {}, piece
        self.pauses = {at: threading.Event() for at in pauses}

    def work(self, _input_items, output_items):
        at = self.nitems_written(0)
        if at in self.pauses:
            self.pauses[at].wait()
        ends = [stop - at for stop in (*self.pauses, self._samples.shape[1]) if stop > at]
        if not ends:
            return -1
        count = min(len(output_items[0]), self._piece, *ends)
        for row, out in zip(self._samples, output_items, strict=True):
            out[:count] = row[at:at + count]
        for sample in range(at, at + count):
            for key, value in self._tags.get(sample, {}).items():
                self.add_item_tag(0, sample, pmt.intern(key), value)
        return count


def _facts(**values):
    message = pmt.make_dict()
    for key, value in values.items():
        message = pmt.dict_add(message, pmt.intern(key), pmt.to_pmt(value))
    return message


def _run(radio, sink, channels):
    top = gr.top_block()
    for port in range(channels):
        top.connect((radio, port), (sink, port))
    top.run()


def test_tags_of_a_radio_reach_the_metadata_and_come_back(tmp_path):
    samples, rate = _samples(2, 10_000), 19.2e6
    tags = {0: {"rx_time": moment(1767323045, 0.25), "rx_rate": pmt.from_double(rate),
                "rx_freq": pmt.from_double(5.18e9)},
            2000: {"rx_time": moment(1767323045, 0.25 + 2000 / rate)},    # no gap
            3000: {"rx_time": moment(1767323046, 0.125), "rx_rate": pmt.from_double(rate)},
            7000: {"rx_freq": pmt.from_double(5.2e9)}}
    sink = mimopack.sigmf_multichannel_sink(str(tmp_path / "r"), 2, "ci16_le", 20e6,
                                            frequency=2.4e9)
    _run(_Radio(samples, tags), sink, 2)
    reader = recording.Reader(tmp_path / "r", verify=True)
    assert np.array_equal(reader.read(), samples)
    assert reader.sample_rate == rate
    assert [(segment.start, segment.frequency) for segment in reader.segments] == [
        (0, 5.18e9), (3000, 5.18e9), (7000, 5.2e9)]
    assert reader.segments[0].time == (1767323045, 0.25)
    assert reader.segments[1].time == (1767323046, 0.125)
    assert between(reader.segments[1].time, reader.segments[2].time) == pytest.approx(
        4000 / rate, abs=2e-9)
    assert sink.counts()["gaps"] == 1
    assert sink.counts()["lost"] == round(0.875 * rate) - 3000

    source = mimopack.sigmf_multichannel_source(str(tmp_path / "r"))
    again = mimopack.sigmf_multichannel_sink(str(tmp_path / "again"), 2, "ci16_le", 1e6)
    _run(source, again, 2)
    copy = recording.Reader(tmp_path / "again", verify=True)
    assert np.array_equal(copy.read(), samples)
    assert copy.captures == reader.captures
    assert copy.segments == reader.segments


def test_frames_annotate_their_samples_even_after_the_stream(tmp_path):
    samples = _samples(1, 3000)
    radio = _Radio(samples)
    sink = mimopack.sigmf_multichannel_sink(str(tmp_path / "r"), 1, "ci16_le", 1e6)
    feed = _Feed()
    top = gr.top_block()
    top.connect(radio, sink)
    top.msg_connect(feed, "out", sink, "frames")
    top.start()
    while not (tmp_path / "r.sigmf-meta").exists():    # the stream has ended
        time.sleep(0.01)
    feed.send(_facts(start=1000, num_samples=50, format="ht", mcs=15, num_mpdus=1, num_mpdus_ok=1))
    feed.send(_facts(start=2990, num_samples=50, format="ht"))    # beyond the end
    for wrong in (pmt.PMT_NIL, pmt.intern("a"), _facts(start=1), _facts(start="a", num_samples=5),
                  _facts(start=5, num_samples=-5)):
        feed.send(wrong)
    feed.send(pmt.dict_add(_facts(start=0, num_samples=10, label="x"), pmt.PMT_T, pmt.PMT_NIL))
    feed.end()
    top.wait()
    annotations = recording.Reader(tmp_path / "r", verify=True).annotations
    assert [(note["core:sample_start"], note["core:sample_count"], note["core:label"])
            for note in annotations] == [(0, 10, "x"), (1000, 50, "HT MCS 15")]
    assert sink.counts()["annotations_left_out"] == 1
    assert sink.counts()["failures"] == 5


class _Feed(gr.basic_block):
    """Send messages from the test, and end on request."""

    def __init__(self):
        gr.basic_block.__init__(self, "feed", None, None)
        self.message_port_register_out(pmt.intern("out"))

    def send(self, message):
        self.message_port_pub(pmt.intern("out"), message)

    def end(self):
        self.to_basic_block()._post(pmt.intern("system"),
                                    pmt.cons(pmt.intern("done"), pmt.from_long(1)))


@pytest.mark.quick
def test_the_last_seconds_are_written_on_a_message(tmp_path):
    samples = _samples(2, 20_000)
    radio = _Radio(samples, {0: {"rx_time": moment(1000), "rx_rate": pmt.from_double(1e6)}},
                   pauses=(500, 12_000))
    sink = mimopack.sigmf_ring_sink(str(tmp_path / "what"), 2, 2000 / 1e6, "ci16_le", 1e6,
                                    frequency=5e9, description="test")
    (tmp_path / "what-001.sigmf-meta").write_text("of somebody else")
    feed, written = _Feed(), blocks.message_debug()
    top = gr.top_block()
    for port in range(2):
        top.connect((radio, port), (sink, port))
    top.msg_connect(feed, "out", sink, "trigger")
    top.msg_connect(sink, "written", written, "store")
    assert sink.trigger() is False
    top.start()
    try:
        for pause, text in ((500, "what was that?"), (12_000, "and that?")):
            while sink._samples.nitems_read(0) < pause:
                time.sleep(0.01)
            before = written.num_messages()
            feed.send(pmt.intern(text))
            while written.num_messages() == before:
                time.sleep(0.01)
            radio.pauses[pause].set()
    finally:
        for event in radio.pauses.values():
            event.set()
        feed.end()
        top.wait()
    for index, (name, start, stop, text) in enumerate([
            ("what-002", 0, 500, "test: what was that?"),
            ("what-003", 10_000, 12_000, "test: and that?")], written.num_messages() - 2):
        message = written.get_message(index)
        reader = recording.Reader(pmt.symbol_to_string(
            pmt.dict_ref(message, pmt.intern("path"), pmt.PMT_NIL)))
        assert reader.path == tmp_path / f"{name}.sigmf-meta"
        assert np.array_equal(reader.read(), samples[:, start:stop])
        assert reader.description == text
        assert reader.segments[0].frequency == 5e9
        assert between((1000, 0.0), reader.segments[0].time) == pytest.approx(start / 1e6)
        assert pmt.to_long(pmt.dict_ref(message, pmt.intern("start"), pmt.PMT_NIL)) == start
    counts = sink.counts()
    assert (counts["written"], counts["refused"], counts["failed"]) == (2, 1, 0)


@pytest.mark.parametrize("senders", [(), ("frames", "trigger")])
def test_a_ring_ends_with_its_samples_and_triggers(tmp_path, senders):
    """Port written is connected; the flowgraph must end by itself."""
    for number in range(1, 3):
        sink = mimopack.sigmf_ring_sink(str(tmp_path / f"r{number}"), 1, 1e-3, sample_rate=1e6)
        top, written, feeds = gr.top_block(), Messages(), [_Feed() for _ in senders]
        radio = _Radio(_samples(1, 2000), pauses=(2000,))
        top.connect(radio, sink)
        top.msg_connect(sink, "written", written, "in")
        for feed, port in zip(feeds, senders, strict=True):
            top.msg_connect(feed, "out", sink, port)
        top.start()
        while sink._samples.nitems_read(0) < 2000:
            time.sleep(0.01)
        assert sink.trigger()
        radio.pauses[2000].set()
        for feed in feeds:
            feed.end()
        top.wait()
        top.disconnect_all()
        assert len(written.values()) == 1 and sink.counts()["written"] == 1


def test_what_was_received_while_it_was_recorded_is_received_again(tmp_path):
    played = ROOT / "examples/recordings/wifi_4x4_ht"
    reported = []
    for path, recorded in ((played, tmp_path / "r"), (tmp_path / "r", None)):
        source = mimopack.sigmf_multichannel_source(str(path), num_channels=4)
        receiver, frames = mimopack.wifi_receiver(4, detector="mmse"), Messages()
        top = gr.top_block()
        for port in range(4):
            top.connect((source, port), (receiver, port))
        top.msg_connect(receiver, "frames", frames, "in")
        if recorded is not None:
            sink = mimopack.sigmf_multichannel_sink(str(recorded), 4, "ci16_le",
                                                    source.sample_rate())
            for port in range(4):
                top.connect((source, port), (sink, port))
            top.msg_connect(receiver, "frames", sink, "frames")
        top.run()
        reported.append([{key: value for key, value in frame.items()
                          if key in ("start", "num_samples", "num_mpdus_ok", "mcs", "problem")}
                         for frame in frames.values()])
    reader = recording.Reader(tmp_path / "r", verify=True)
    assert len(reported[0]) >= 80
    assert reported[1] == reported[0]
    assert [(note["core:sample_start"], note["core:sample_count"],
             note["mimopack:num_mpdus_ok"], note["mimopack:problem"])
            for note in reader.annotations] == [
        (frame["start"], frame["num_samples"], frame["num_mpdus_ok"], frame["problem"])
        for frame in sorted(reported[0], key=lambda frame: frame["start"])]
    assert all(note["core:freq_upper_edge"] - note["core:freq_lower_edge"] == 20e6
               for note in reader.annotations)
