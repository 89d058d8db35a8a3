# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Wi-Fi receiver as an open chain: estimator, any detector, LLR decoder."""

import threading
from dataclasses import replace

import numpy as np
import pmt
import pytest
from every_block import spoiled
from flowgraphs import until
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import detectors, recording, wifi
from gnuradio.mimopack.blocks.wifi_chain import FRAME
from gnuradio.mimopack.blocks.wifi_pmt import frame_to_pmt, vectors_to_pmt
from source_tree import ROOT
from wifi_air import air, data_mpdu, frames_in, multipath
from wifi_blocks import Messages, Samples, chain, mixed, moment, play, run

TWO = {"num_streams": 2, "constellation": "wlan_qam16"}


def of_format(message, num_streams, constellation):
    """Return whether a message of the receiver is about a frame of the chain."""
    told = pmt.to_python(pmt.car(message) if pmt.is_uniform_vector(pmt.cdr(message)) else message)
    bits = {"non-ht": {6: 1, 9: 1, 12: 2, 18: 2, 24: 4, 36: 4, 48: 6, 54: 6}}.get(
        told["format"], (1, 2, 2, 4, 4, 6, 6, 6, 8, 8))
    index = told["mcs"] if told["format"] != "ht" else told["mcs"] % 8
    names = {1: "wlan_bpsk", 2: "wlan_qpsk", 4: "wlan_qam16", 6: "wlan_qam64", 8: "wlan_qam256"}
    return told["num_streams"] == num_streams and names[bits[index]] == constellation


def facts(message):
    """Return a message without what the open chain cannot know."""
    if pmt.is_uniform_vector(pmt.cdr(message)):
        told = pmt.to_python(pmt.car(message))
        told.pop("ampdu_reference", None)    # other frames count too
        return str(told), bytes(pmt.u8vector_elements(pmt.cdr(message)))
    told = pmt.to_python(message)
    told.pop("detector")
    return str(told)


def several(kinds, num_rx, **arguments):
    """Return samples with frames of several formats through multipath channels."""
    return air([(kind, [data_mpdu(60 + 40 * i, i)] if not kind(4).aggregated else
                 [data_mpdu(60 + k, 10 * i + k) for k in range(3)])
                for i, kind in enumerate(kinds)], num_rx, channel=multipath, **arguments)[0]


CASES = {
    "the recording": (lambda: recording.Reader(
        ROOT / "examples/recordings/wifi_4x4_ht.sigmf-meta").read(), mimopack.nway_detector,
        {"num_streams": 4, "constellation": "wlan_qam16"}),
    "two streams": (lambda: several([
        lambda n: wifi.HT(11, n), lambda n: wifi.HT(9, n), lambda n: wifi.HT(12, n, coding="ldpc"),
        lambda n: wifi.VHT.of_length(3, n, 2), lambda n: wifi.HT(11, n, aggregated=True),
        lambda n: wifi.VHT.of_length(4, n, 2, coding="ldpc", short_gi=True),
        lambda n: wifi.NonHT(24, n)], 2), mimopack.nway_detector, TWO),
    "one stream": (lambda: several([
        lambda n: wifi.NonHT(6, n), lambda n: wifi.HT(0, n), lambda n: wifi.NonHT(9, n),
        lambda n: wifi.VHT.of_length(0, n), lambda n: wifi.HT(8, n)], 3), mimopack.mmse_detector,
        {"num_streams": 1, "constellation": "wlan_bpsk"})}


@pytest.mark.parametrize("name", [
    "the recording", pytest.param("two streams", marks=pytest.mark.quick), "one stream"])
def test_the_chain_sends_the_frames_of_the_receiver(name):
    make, detector, chosen = CASES[name]
    samples = make()
    receiver = mimopack.wifi_receiver(len(samples), passes=1, backend="cpu", frequency=5.2e9)
    ports = play(samples, [receiver], {name: (receiver, name) for name in ("out", "frames")})
    _, decoder, found = chain(samples, detector, **chosen, of_rx={"frequency": 5.2e9})
    for port in ("out", "frames"):
        wanted = [message for message in ports[port] if of_format(message, **chosen)]
        assert list(map(facts, found[port])) == list(map(facts, wanted)) != []
    others = len(ports["frames"]) - len(found["frames"])
    assert len(found["others"]) == others
    counts = decoder.counts()
    assert (counts["frames"], counts["mpdus_ok"]) == (len(found["frames"]), len(found["out"]))


def items(samples, **chosen):
    """Return (y, h, {item: dictionary of its tag wifi_frame}) of a finished flowgraph."""
    num_rx, streams = len(samples), chosen["num_streams"]
    estimator = mimopack.wifi_channel_estimator(num_rx, **chosen)
    top, source = gr.top_block(), Samples(samples)
    sinks = [blocks.vector_sink_c(num_rx), blocks.vector_sink_c(num_rx * streams)]
    for port in range(num_rx):
        top.connect((source, port), (estimator, port))
    for port, sink in enumerate(sinks):
        top.connect((estimator, port), sink)
    run(top)
    tags = {tag.offset: pmt.to_python(tag.value) for tag in sinks[0].tags()
            if pmt.eqv(tag.key, FRAME)}
    return (np.reshape(sinks[0].data(), (-1, num_rx)),
            np.reshape(sinks[1].data(), (-1, num_rx, streams)), tags)


@pytest.mark.parametrize("cut", [0, 16, 200])
def test_a_frame_is_whole_or_not_there(cut):
    samples, sent = mixed(count=5)
    frames = [one for one in sent if one.format.num_streams == 2
              and one.format.constellation == "wlan_qam16"]
    last = frames[-1]
    end = last.start + last.format.num_samples
    y, h, tags = items(samples[:, :end - cut], **TWO)
    sizes = [52 * one.format.num_symbols for one in frames[:None if cut < 17 else -1]]
    assert [tag["num_vectors"] for tag in tags.values()] == sizes and len(frames) > 1
    assert list(tags) == [sum(sizes[:i]) for i in range(len(sizes))]
    assert len(y) == len(h) == sum(sizes)
    assert [tag["start"] for tag in tags.values()] == pytest.approx(
        [one.start for one in frames[:len(sizes)]], abs=3)


def test_the_time_of_the_samples_reaches_the_messages():
    samples, _ = mixed(count=5)
    source = Samples(samples, tags=[(0, "rx_time", moment(1000, 0.25)),
                                    (0, "rx_freq", pmt.from_double(5.5e9))])
    _, _, found = chain(samples, source=source, **TWO)
    for message in found["frames"] + found["others"]:
        told = pmt.to_python(message)
        assert told["time"] == pytest.approx(1000.25 + told["start"] / 20e6)
        assert told["frequency"] == 5.5e9 and told["rx_time"][0] == 1000
    assert found["frames"] and found["others"]


def test_int8_llrs():
    samples, _ = mixed(count=5)
    _, decoder, found = chain(samples, llr_type="int8", **TWO)
    assert decoder.counts()["decoded"] == decoder.counts()["frames"] == len(found["frames"]) > 0


def test_llrs_and_tags_in_a_file(tmp_path):
    samples, path = mixed(count=5)[0], str(tmp_path / "llr")
    _, _, wanted = chain(samples, **TWO)
    estimator = mimopack.wifi_channel_estimator(2, **TWO)
    detector = mimopack.nway_detector(2, 2, "wlan_qam16", backend="cpu")
    sink = blocks.file_meta_sink(8 * 4, path, type=blocks.GR_FILE_FLOAT, complex=False)
    play(samples, [estimator, detector, sink], {})
    sink.close()
    decoder, top, found = mimopack.wifi_llr_decoder(**TWO), gr.top_block(), Messages()
    top.connect(blocks.file_meta_source(path), decoder)
    top.msg_connect(decoder, "out", found, "in")
    run(top)
    assert list(map(facts, found.messages())) == list(map(facts, wanted["out"])) != []


def decoded(parts, **chosen):
    """Return (counts, {port: messages}) of the decoder for LLRs.

    Args:
        parts: list of (value of the tag wifi_frame or None, LLRs (n, width)).
        chosen: parameters of the decoder.
    """
    decoder = mimopack.wifi_llr_decoder(**chosen)
    llr = np.concatenate([part for _, part in parts])
    ends = np.cumsum([len(part) for _, part in parts])
    tags = [gr.tag_utils.python_to_tag((int(end) - len(part), FRAME, value, pmt.PMT_F))
            for end, (value, part) in zip(ends, parts, strict=True) if value is not None]
    top, sinks = gr.top_block(), {name: Messages() for name in ("out", "frames")}
    top.connect(blocks.vector_source_f(llr.ravel().tolist(), False, llr.shape[1], tags), decoder)
    for name, sink in sinks.items():
        top.msg_connect(decoder, name, sink, "in")
    run(top)
    return decoder.counts(), {name: sink.messages() for name, sink in sinks.items()}


@pytest.fixture(scope="module")
def frames():
    """Return [(FrameVectors, its LLRs)] of frames with two streams of 16-QAM."""
    samples, estimator = mixed(count=12)[0], wifi.ChannelEstimator(2, **TWO)
    detector = detectors.NWay(2, 2, "wlan_qam16", backend="cpu")
    return [(one, detector.detect(one.y, one.h, one.noise_var))
            for one in estimator.process(samples) + estimator.finish() if one.y is not None]


@pytest.mark.quick
def test_cut_frames_and_malformed_tags_cost_their_frame(frames):
    (first, llr), (second, other), *_ = frames
    whole, tag = (vectors_to_pmt(first), llr), vectors_to_pmt(second)
    counts, found = decoded([
        (None, llr[:3]), whole, (tag, other[:-1]), whole, (pmt.intern("no dictionary"), other),
        (pmt.dict_add(tag, pmt.intern("num_vectors"), pmt.from_long(5)), other),
        (pmt.dict_add(tag, pmt.intern("format_mcs"), pmt.from_long(9)), other),    # QPSK
        whole, (tag, other[:1])], **TWO)
    assert counts == {"frames": 4, "decoded": 3, "mpdus": 3, "mpdus_ok": 3, "cut": 2,
                      "malformed": 3, "untagged": 3 + 3 * len(other), "failures": 0}
    told = [pmt.to_python(message) for message in found["frames"]]
    assert [one["problem"][:3] for one in told] == ["", "cut", "", ""]
    assert [one["start"] for one in told] == [
        one.frame.start for one in (first, second, first, first)]
    assert len(found["out"]) == 3


def test_hostile_values_in_a_tag_cost_at_most_their_frame(frames):
    (vectors, llr), *_ = frames
    tag = vectors_to_pmt(vectors)
    counts, found = decoded([*((bad, llr) for bad in spoiled(tag)), (tag, llr)], **TWO)
    assert counts["failures"] == 0 < counts["malformed"] and counts["decoded"] > 0
    assert facts(found["frames"][-1]) == facts(decoded([(tag, llr)], **TWO)[1]["frames"][0])


def test_a_frame_inside_another_is_sent_if_an_mpdu_is_good(frames):
    (vectors, llr), *_ = frames
    tag = vectors_to_pmt(replace(vectors, nested=True))
    counts, found = decoded([(tag, llr), (tag, -llr), (vectors_to_pmt(vectors), -llr)], **TWO)
    assert (counts["frames"], counts["decoded"], len(found["out"])) == (2, 1, 1)


class Gate(gr.sync_block):
    """Take no items until it is open."""

    def __init__(self, width):
        self.open = threading.Event()
        gr.sync_block.__init__(self, "gate", [(np.complex64, width)], None)

    def work(self, input_items, _output_items):
        self.open.wait(60)
        return len(input_items[0])


def test_slow_blocks_behind_the_estimator_hold_up_the_samples():
    samples = np.tile(mixed(count=5)[0], 200)
    estimator, gate = mimopack.wifi_channel_estimator(2, **TWO), Gate(2)
    top, source = gr.top_block(), Samples(samples)
    for port in range(2):
        top.connect((source, port), (estimator, port))
    top.connect((estimator, 0), gate)
    top.connect((estimator, 1), blocks.null_sink(8 * 4))
    top.start()
    before = -1
    while estimator.counts()["samples"] > before:
        before = estimator.counts()["samples"]
        threading.Event().wait(0.5)
    gate.open.set()
    top.wait()
    assert 0 < before < estimator.counts()["samples"] == samples.shape[1]
    assert estimator.counts()["demodulated"] == 400


def test_stopped_from_outside_and_started_again():
    samples = mixed(count=5)[0]
    estimator, decoder = mimopack.wifi_channel_estimator(2, **TWO), mimopack.wifi_llr_decoder(**TWO)
    detector, top = mimopack.nway_detector(2, 2, "wlan_qam16", backend="cpu"), gr.top_block()
    for port, antenna in enumerate(samples):
        top.connect(blocks.vector_source_c(antenna.tolist(), True), (estimator, port))
        top.connect((estimator, port), (detector, port))
    top.connect(detector, decoder)
    for run_ in range(3):
        before = decoder.counts()["decoded"]
        top.start()
        until(lambda before=before: decoder.counts()["decoded"] > before)
        if run_ == 1:
            top.lock()
            top.unlock()
            before = decoder.counts()["decoded"]
            until(lambda before=before: decoder.counts()["decoded"] > before)
        top.stop()
        top.wait()
    assert estimator.failures() == decoder.failures() == 0


def test_the_flowgraph_ends_with_the_readers_of_the_vectors():
    """The source, like a radio, never ends."""
    samples, _ = mixed()
    top, estimator = gr.top_block(), mimopack.wifi_channel_estimator(2, **TWO)
    for port, row in enumerate(samples):
        top.connect(blocks.vector_source_c(row.tolist(), True), (estimator, port))
    for port, width in enumerate((2, 4)):
        top.connect((estimator, port), blocks.head(8 * width, 100), blocks.null_sink(8 * width))
    run(top)


@pytest.mark.parametrize("whitening", [
    pytest.param("antennas", marks=pytest.mark.quick), "covariance"])
def test_the_chain_of_arrays_gives_the_frames_of_the_receiver(whitening):
    samples = several([
        lambda n: wifi.HT(11, n), lambda n: wifi.HT(3, n, stbc=1), lambda n: wifi.NonHT(24, n),
        lambda n: wifi.HT(9, n, coding="ldpc"), lambda n: wifi.VHT.of_length(3, n, 2),
        lambda n: wifi.HT(18, n), lambda n: wifi.HT(7, n, greenfield=True)], 2)
    wanted = frames_in(samples, passes=1, backend="cpu", whitening=whitening)
    estimator, decoder = wifi.ChannelEstimator(2, whitening=whitening), wifi.LlrDecoder()
    found = []
    for vectors in estimator.process(samples) + estimator.finish():
        frame = vectors.frame
        if not frame.problem:
            nr, nt = vectors.h.shape[1:]
            kind = detectors.NWay if nt > 1 else detectors.MMSE
            detector = kind(nt, nr, frame.format.constellation, backend="cpu")
            frame = decoder.decode(vectors, detector.detect(vectors.y, vectors.h,
                                                            vectors.noise_var))
        found.append(frame)
    assert [frame.psdu for frame in found] == [frame.psdu for frame in wanted]
    assert [facts(frame_to_pmt(frame)) for frame in found] == [
        facts(frame_to_pmt(frame)) for frame in wanted]
    assert estimator.counts["demodulated"] == sum(frame.fcs_ok for frame in found) == 6


def test_wrong_llrs_are_refused():
    samples, _ = mixed(count=3)
    estimator, decoder = wifi.ChannelEstimator(2, num_streams=2), wifi.LlrDecoder()
    other, vectors = estimator.process(samples)[:2]
    with pytest.raises(ValueError, match="vectors: got a frame without LLRs"):
        decoder.decode(other, np.zeros(8))
    with pytest.raises(ValueError, match="llr: got 8 values, must be"):
        decoder.decode(vectors, np.zeros(8))
    with pytest.raises(ValueError, match="constellation"):
        wifi.ChannelEstimator(2, constellation="qam16")
    with pytest.raises(ValueError, match="constellation: got a list of 2"):
        wifi.ChannelEstimator(4, num_streams=3, constellation="wlan_qam16,wlan_qpsk")
