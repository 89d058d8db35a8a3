# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The OFDM blocks in flowgraphs: every frame comes out, whatever the buffers."""

import threading

import numpy as np
import ofdm_air as air
import pmt
import pytest
from gnuradio import blocks, fft, gr, mimopack
from gnuradio.mimopack import ofdm
from gnuradio.mimopack.blocks import frame_stream


class Messages(gr.basic_block):
    """Keeps what arrives at its port."""

    def __init__(self):
        gr.basic_block.__init__(self, "messages", None, None)
        self.received = []
        self.message_port_register_in(pmt.intern("in"))
        self.set_msg_handler(pmt.intern("in"), self.keep)

    def keep(self, message):
        self.received.append(message)

    def pdus(self):
        """(dictionary, payload) of each."""
        return [(pmt.to_python(pmt.car(m)), bytes(pmt.u8vector_elements(pmt.cdr(m))))
                for m in self.received]


class Pieces(gr.sync_block):
    """Several streams, in pieces of odd lengths."""

    def __init__(self, samples, seed):
        self.samples = np.asarray(samples, np.complex64)
        self.rng = np.random.default_rng(seed)
        self.position = 0
        gr.sync_block.__init__(self, "pieces", None, [np.complex64] * len(samples))

    def work(self, _input_items, output_items):
        left = self.samples.shape[1] - self.position
        if left == 0:
            return -1
        count = min(left, len(output_items[0]), int(self.rng.integers(1, 1500)))
        for out, samples in zip(output_items, self.samples, strict=True):
            out[:count] = samples[self.position:self.position + count]
        self.position += count
        return count


def capture(rng, parameters, num_rx, gaps, snr_db=30, cfo=30e3):
    """(payloads, starts, samples) of frames with gaps before them, the last ending the stream."""
    payloads, starts, pieces, position = [], [], [], 0
    transmitter = ofdm.Transmitter(parameters)
    for gap in gaps:
        position += gap
        payloads.append(rng.bytes(parameters.payload_length))
        taps = air.random_channel(rng, num_rx, parameters.num_tx)
        taps /= np.sqrt(np.mean(np.abs(taps) ** 2))
        pieces.append((position, air.through(taps, transmitter.frame(payloads[-1]))))
        starts.append(position)
        position += parameters.frame_samples
    samples = air.offset(air.place(position, *pieces), cfo)
    return payloads, starts, samples + air.noise(rng, samples.shape, snr_db)


def run(top, seconds=60):
    """Run to the end; a flowgraph that hangs fails the test."""
    top.start()
    waiter = threading.Thread(target=top.wait, daemon=True)
    waiter.start()
    waiter.join(seconds)
    if waiter.is_alive():
        top.stop()
        waiter.join(10)
        pytest.fail("the flowgraph did not end by itself")


def receive(samples, seed=None, prepare=None, **parameters):
    """(receiver, packets, frame events) of a finished flowgraph."""
    top = gr.top_block()
    receiver = mimopack.ofdm_receiver(num_rx=len(samples), **parameters)
    if prepare:
        prepare(receiver)
    packets, events = Messages(), Messages()
    source = Pieces(samples, seed)
    for port in range(len(samples)):
        top.connect((source, port), (receiver, port))
    top.msg_connect(receiver, "packets", packets, "in")
    top.msg_connect(receiver, "frames", events, "in")
    run(top)
    return receiver, packets.pdus(), [pmt.to_python(m) for m in events.received]


FORMATS = {
    "small": {"num_tx": 2, "constellation": "wlan_qpsk", "code_rate": "3/4", "payload_length": 60},
    "usual": {"num_tx": 4, "constellation": "wlan_qam16", "code_rate": "1/2",
              "payload_length": 500},
    "single": {"num_tx": 1, "constellation": "wlan_bpsk", "code_rate": "3/4",
               "payload_length": 31},
    "ldpc": {"num_tx": 2, "constellation": "wlan_qam64", "code_rate": "ldpc:2/3",
             "payload_length": 300},
    "long": {"num_tx": 1, "constellation": "wlan_bpsk", "code_rate": "1/2",
             "payload_length": 4000},
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("seed", [0, 1])
def test_receiver_finds_every_packet(name, seed):
    rng = np.random.default_rng([1, seed])
    p = ofdm.Parameters(**FORMATS[name])
    gaps = [int(rng.integers(0, 900)) for _ in range(25)] + [0, 0]
    num_rx = 1 if name == "single" else p.num_tx + 1
    payloads, starts, samples = capture(rng, p, num_rx, gaps)
    receiver, packets, events = receive(samples, seed, detector="mla", **FORMATS[name])
    assert [payload for _, payload in packets] == payloads
    for number, (info, _) in enumerate(packets):
        assert info["crc_ok"] and info["frame"] == number
        assert abs(info["start"] - starts[number]) <= 3
        assert abs(info["cfo"] - 30e3) < 2e3
        # 30 dB over all samples; the signal fills 56 of 64 carriers.
        assert info["snr_db"] == pytest.approx(30 + 10 * np.log10(64 / 56), abs=2.5)
        assert 0 <= info["condition_db"] < 60
        assert info["coded_bits"] == p.num_coded_bits
    assert [e["event"] for e in events] == ["found"] * len(payloads)
    assert receiver.statistics() == {
        "samples_seen": samples.shape[1], "frames_found": 27, "frames_truncated": 0,
        "packets": 27, "crc_failures": 0, "items_outside": 0, "frames_broken": 0, "failures": 0}


@pytest.mark.parametrize("options", [
    {"detector": "nway"}, {"detector": "mmse", "symbols_per_channel": 5},
    {"detector": "mla", "detector_options": {"llr_type": "int8", "llr_scale": 4.0}},
    {"detector": "zf", "backend": "reference"}])
def test_receiver_with_any_detector(options):
    rng = np.random.default_rng(2)
    p = ofdm.Parameters(**FORMATS["usual"])
    payloads, _, samples = capture(rng, p, 6, [10, 200, 0, 50, 900])
    _, packets, _ = receive(samples, **options, **FORMATS["usual"])
    assert [payload for _, payload in packets] == payloads


def test_receiver_reports_bad_and_broken_frames():
    rng = np.random.default_rng(3)
    p = ofdm.Parameters(**FORMATS["usual"])
    payloads, starts, samples = capture(rng, p, 4, [300, 200, 200, 200, 200], snr_db=40)
    # Frame 1 is drowned after its preamble, frame 2 breaks off in frame 3, frame 4 at the end.
    at = starts[1] + p.preamble_samples
    samples[:, at:at + 700] += air.noise(rng, (4, 700), -10)
    samples[0, starts[1] + 900] = np.nan
    samples = np.concatenate(
        [samples[:, :starts[2] + 500], samples[:, starts[3] - 20:starts[4] + 1000]], axis=1)
    receiver, packets, events = receive(samples, detector="mla", **FORMATS["usual"])
    assert [info["crc_ok"] for info, _ in packets] == [True, False, True]
    assert [info["frame"] for info, _ in packets] == [0, 1, 3]
    assert packets[0][1] == payloads[0] and packets[2][1] == payloads[3]
    counts = receiver.statistics()
    assert (counts["frames_found"], counts["frames_truncated"]) == (3, 2)
    assert (counts["packets"], counts["crc_failures"]) == (3, 1)
    assert [e["event"] for e in events][:4] == ["found", "found", "truncated", "found"]
    assert abs(events[2]["samples"] - 520) <= 3


def test_receiver_outputs_for_views():
    rng = np.random.default_rng(4)
    p = ofdm.Parameters(**FORMATS["usual"])
    payloads, _, samples = capture(rng, p, 4, [100, 100, 0])
    top = gr.top_block()
    receiver = mimopack.ofdm_receiver(detector="mla", **FORMATS["usual"])
    source = Pieces(samples, 0)
    sinks = [blocks.vector_sink_f(16), blocks.vector_sink_c(4), blocks.vector_sink_c(16)]
    for port in range(4):
        top.connect((source, port), (receiver, port))
    for port, sink in enumerate(sinks):
        top.connect((receiver, port), sink)
    run(top)
    llr, y, h = (np.array(s.data()).reshape(3 * p.num_items, -1) for s in sinks)
    truth = np.concatenate([ofdm.coded_bits(p, payload) for payload in payloads])
    assert np.mean((llr > 0) != truth) < 0.05
    x = np.concatenate([ofdm.Transmitter(p).layers(payload) for payload in payloads])
    error = y - np.einsum("nri,ni->nr", h.reshape(-1, 4, 4), x)
    assert np.mean(np.abs(error) ** 2) < 0.01 * np.mean(np.abs(y) ** 2)
    tags = {str(tag.key): tag for tag in sinks[1].tags() if tag.offset == 2 * p.num_items}
    assert set(tags) == {"frame", "noise_var"}
    info = pmt.to_python(tags["frame"].value)
    assert info["items"] == p.num_items and info["frame"] == 2
    assert info["noise_var"] == pmt.to_double(tags["noise_var"].value)
    assert len(sinks[0].tags()) == 6 and not sinks[2].tags()


def test_receiver_refuses_unknown_detectors():
    with pytest.raises(ValueError, match="detector: got 'best', allowed are .*nway"):
        mimopack.ofdm_receiver(detector="best")


FORMAT_ARGUMENTS = ["num_tx", "constellation", "code_rate", "payload_length"]


@pytest.mark.parametrize(("make", "arguments"), [
    (mimopack.ofdm_receiver, ["num_rx", "symbols_per_channel", "threshold", "detector",
                              "iterations"]),
    (mimopack.packet_receiver, ["num_rx", "symbols_per_channel", "detector", "backend",
                                "iterations", "feedback_scale"]),
    (mimopack.ofdm_transmitter, ["gap", "input", "scrambler_seed"]),
    (mimopack.ofdm_frame_sync, ["num_rx", "threshold"]),
    (mimopack.ofdm_channel_estimator, ["num_rx", "symbols_per_channel"]),
    (mimopack.packet_decoder, ["symbols_per_channel", "llr_type", "llr_scale"])])
def test_blocks_name_the_argument_of_another_type(make, arguments):
    for argument in FORMAT_ARGUMENTS + arguments:
        for value in ([], "two", None, -2.5):
            with pytest.raises(ValueError, match=f"^{argument}: got "):
                make(**{argument: value})


@pytest.mark.parametrize("options", [
    {"prior_input": True}, {"backend": "cpu"}, {"constellation": "qpsk"}, {"num_tx": 2},
    {"num_rx": 4}, {"symbols_per_channel": 2}, {"noise_var": 0.1}, {"num_pases": 1}])
def test_receiver_names_detector_options_that_it_cannot_pass_on(options):
    (name,) = options
    with pytest.raises(ValueError, match=f"detector_options: got '{name}', allowed are .*threads"):
        mimopack.ofdm_receiver(detector_options=options)


def test_receiver_wants_detector_options_as_a_dictionary():
    with pytest.raises(ValueError, match="detector_options: got 3, must be a dictionary"):
        mimopack.ofdm_receiver(detector_options=3)


def test_receiver_leads_the_detectors_messages_out():
    top = gr.top_block()
    receiver = mimopack.ofdm_receiver(num_tx=2, num_rx=2, detector="mmse",
                                      constellation="wlan_qpsk", payload_length=60)
    p = ofdm.Parameters(**{**FORMATS["small"], "code_rate": "1/2"})
    _, starts, samples = capture(np.random.default_rng(16), p, 2, [100] * 3)
    # Data that are not finite are erased, which the detector reports.
    samples[0, starts[1] + p.preamble_samples + 50] = np.nan
    control = MessageSource([pmt.to_pmt({"threads": 3})])
    status, source = Messages(), Pieces(samples, 0)
    for port in range(2):
        top.connect((source, port), (receiver, port))
    top.msg_connect(control, "out", receiver, "control")
    top.msg_connect(receiver, "detector_status", status, "in")
    run(top)
    assert receiver.detector.threads() == 3
    assert [pmt.to_python(m)["erasures"] > 0 for m in status.received][:1] == [True]


def test_transmitter_drops_what_has_no_room():
    modulator = mimopack.ofdm_transmitter(**FORMATS["small"])._modulator
    for number in range(1010):
        modulator._take_pdu(pdu(bytes([number % 256] * 60)))
    assert len(modulator._payloads) == 1000 and modulator.pdus_dropped == 10
    assert modulator._payloads[0] == bytes(60)


def failing(method, calls):
    """The method, raising what NumPy may raise in its calls of these numbers."""
    numbers = iter(range(10**9))

    def replacement(*arguments):
        if next(numbers) in calls:
            raise np.linalg.LinAlgError("on purpose")
        return method(*arguments)
    return replacement


@pytest.mark.parametrize("part", ["estimator", "decoder"])
def test_an_exception_costs_one_frame(part):
    rng = np.random.default_rng(12)
    p = ofdm.Parameters(**FORMATS["small"])
    payloads, _, samples = capture(rng, p, 2, [100] * 6)

    def break_part(receiver):
        if part == "estimator":
            inner = receiver.estimator._estimator
            inner.estimate = failing(inner.estimate, {1, 3})
        else:
            inner = receiver.decoder._decoder
            inner.decode = failing(inner.decode, {1, 3})
    receiver, packets, _ = receive(samples, 0, detector="mla", prepare=break_part,
                                   **FORMATS["small"])
    assert [payload for _, payload in packets] == [payloads[i] for i in (0, 2, 4, 5)]
    assert getattr(receiver, part).failures() == 2
    counts = receiver.statistics()
    assert counts["failures"] == 2 and counts["packets"] == 4
    assert counts["items_outside"] == 2 * (p.num_fft_items if part == "estimator"
                                           else p.num_items)


@pytest.mark.parametrize("method", ["process", "finish"])
def test_an_exception_of_the_synchroniser_does_not_end_the_stream(method):
    rng = np.random.default_rng(13)
    payloads, starts, samples = capture(
        rng, ofdm.Parameters(**FORMATS["small"]), 2, [100_000, *[100] * 5])
    samples = np.concatenate([samples, np.zeros((2, 3000))], axis=1)

    def break_sync(receiver):
        inner = receiver.frame_sync._sync
        setattr(inner, method, failing(getattr(inner, method), {0}))
    receiver, packets, _ = receive(samples, 0, detector="mla", prepare=break_sync,
                                   **FORMATS["small"])
    assert [payload for _, payload in packets] == payloads
    assert receiver.frame_sync.failures() == receiver.statistics()["failures"] == 1
    assert all(abs(info["start"] - at) <= 3
               for (info, _), at in zip(packets, starts, strict=True))


def test_synchroniser_goes_on_after_a_failure():
    rng = np.random.default_rng(14)
    p = ofdm.Parameters(**FORMATS["small"])
    _, starts, samples = capture(rng, p, 2, [100, 500])
    sync = ofdm.FrameSync(p, 2)
    cut = starts[0] + 600
    assert sync.process(samples[:, :cut]) == []
    sync.resume(cut)
    frames = sync.process(samples[:, cut:]) + sync.finish()
    assert [f.truncated for f in frames] == [False] and abs(frames[0].start - starts[1]) <= 3
    assert (frames[0].number, sync.frames_found, sync.frames_truncated) == (1, 1, 1)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e20, 3e38])
def test_bad_samples_anywhere_do_not_end_the_receiver(value):
    rng = np.random.default_rng(15)
    p = ofdm.Parameters(**FORMATS["usual"])
    payloads, starts, samples = capture(rng, p, 4, [100] * 24)
    samples = samples.astype(np.complex64)
    # One in each even frame, at another place of it: training fields, data, guard intervals.
    for number in range(0, 24, 2):
        samples[number % 4, starts[number] + 40 + 57 * number] = value
    _, packets, _ = receive(samples, 0, detector="mmse", **FORMATS["usual"])
    good = [payload for info, payload in packets if info["crc_ok"]]
    assert set(payloads[1::2]) <= set(good) <= set(payloads)


def test_log_lines_of_a_kind_once_a_second(monkeypatch):
    lines, clock = [], [100.0]

    class Logger:
        def warn(self, line):
            lines.append(line)
    monkeypatch.setattr(frame_stream.gr, "logger", lambda _name: Logger())
    monkeypatch.setattr(frame_stream.time, "monotonic", lambda: clock[0])
    log = frame_stream.BlockLog(blocks.null_sink(8))
    for number in range(5):
        log.warn("frames", f"frame {number}")
        log.warn("packets", f"packet {number}")
    assert lines == ["frame 0", "packet 0"]
    clock[0] += 1.5
    log.warn("frames", "frame 5")
    log.flush()
    log.flush()
    assert lines[2:] == ["frame 5 (4 more before)", "packets: 4 more"]


def test_receiver_runs_twice():
    rng = np.random.default_rng(5)
    p = ofdm.Parameters(**FORMATS["small"])
    payloads, _, samples = capture(rng, p, 2, [100] * 10)
    top = gr.top_block()
    receiver = mimopack.ofdm_receiver(num_rx=2, detector="mmse", **FORMATS["small"])
    packets, source = Messages(), Pieces(samples, 0)
    for port in range(2):
        top.connect((source, port), (receiver, port))
    top.msg_connect(receiver, "packets", packets, "in")
    run(top)
    source.position = 0
    run(top)
    assert [payload for _, payload in packets.pdus()] == payloads * 2
    assert receiver.statistics()["samples_seen"] == 2 * samples.shape[1]


def test_frame_sync_block_equals_the_array_interface():
    rng = np.random.default_rng(6)
    # Frames longer than any output buffer have to wait for room.
    frame_format = {**FORMATS["long"], "payload_length": 15000}
    p = ofdm.Parameters(**frame_format)
    _, _, samples = capture(rng, p, 3, [7, 0, 0, 450, 3000, 1])
    samples = samples[:, :-100]
    expected = air.synchronise(p, samples)
    top = gr.top_block()
    sync = mimopack.ofdm_frame_sync(num_rx=3, **frame_format)
    source, events = Pieces(samples, 6), Messages()
    sinks = [blocks.vector_sink_c(64) for _ in range(3)]
    for port, sink in enumerate(sinks):
        top.connect((source, port), (sync, port))
        top.connect((sync, port), sink)
    top.msg_connect(sync, "frames", events, "in")
    run(top)
    good = [f for f in expected if not f.truncated]
    assert len(good) == 5 == sync.frames_found() and sync.frames_truncated() == 1
    for port, sink in enumerate(sinks):
        found = np.array(sink.data(), np.complex64).reshape(-1, 64)
        assert np.array_equal(found, np.concatenate([f.symbols[port] for f in good]))
        tags = [t for t in sink.tags() if str(t.key) == "frame"]
        assert [t.offset for t in tags] == [i * p.num_fft_items for i in range(5)]
        assert [pmt.to_python(t.value) for t in tags] == [
            {"frame": f.number, "start": f.start, "cfo": f.cfo, "items": p.num_fft_items}
            for f in good]


def test_gnuradios_fft_is_the_arrays():
    symbols = np.random.default_rng(7).standard_normal((10, 64)).astype(np.complex64)
    top = gr.top_block()
    source = blocks.vector_source_c(symbols.ravel(), False, 64)
    sink = blocks.vector_sink_c(64)
    top.connect(source, fft.fft_vcc(64, True, [], True, 1), sink)
    run(top)
    assert np.allclose(np.array(sink.data()).reshape(-1, 64), ofdm.to_subcarriers(symbols),
                       atol=1e-4)


def frame_tag(offset, **info):
    tag = gr.tag_t()
    tag.offset, tag.key, tag.value = offset, pmt.intern("frame"), pmt.to_pmt(info)
    return tag


def decode_stream(llr, tags, llr_type="float32", **parameters):
    top = gr.top_block()
    make = blocks.vector_source_f if llr_type == "float32" else blocks.vector_source_b
    source = make(llr.ravel().view(np.uint8) if llr_type == "int8" else llr.ravel(), False,
                  llr.shape[1], tags)
    decoder, packets = mimopack.packet_decoder(llr_type=llr_type, **parameters), Messages()
    top.connect(source, decoder)
    top.msg_connect(decoder, "packets", packets, "in")
    run(top)
    return decoder, packets.pdus()


@pytest.mark.parametrize("llr_type", ["float32", "int8"])
def test_packet_decoder_follows_the_tags(llr_type):
    p = ofdm.Parameters(**FORMATS["small"])
    rng = np.random.default_rng(8)
    payloads = [rng.bytes(60) for _ in range(4)]
    sent = [(20 * (2.0 * ofdm.coded_bits(p, x) - 1)).astype(llr_type) for x in payloads]
    stray = np.ones((5, 4), llr_type)
    # Stray items, two frames, half a frame, a frame, a tag with no frame, a frame cut by the end.
    half = sent[2][:50]
    stream = np.concatenate([stray, sent[0], sent[1], half, sent[3], stray, sent[0][:-1]])
    edges = np.cumsum([5, p.num_items, p.num_items, 50, p.num_items, 5])
    tags = [frame_tag(int(edges[i]), frame=i, items=p.num_items) for i in (0, 1, 2, 3)]
    tags += [frame_tag(int(edges[4]), frame=9), frame_tag(int(edges[5]), frame=5,
                                                          items=p.num_items)]
    decoder, packets = decode_stream(stream, tags, llr_type, **FORMATS["small"])
    assert [payload for _, payload in packets] == [payloads[0], payloads[1], payloads[3]]
    assert [info["frame"] for info, _ in packets] == [0, 1, 3]
    assert all(info["crc_ok"] and info["coded_bit_errors"] == 0 for info, _ in packets)
    assert decoder.items_outside() == 10
    assert decoder.frames_broken() == 2


def test_packet_decoder_leaves_out_frames_of_another_length():
    p = ofdm.Parameters(**FORMATS["small"])
    payload = bytes(60)
    sent = (2.0 * ofdm.coded_bits(p, payload) - 1).astype(np.float32)
    tags = [frame_tag(0, frame=0, items=70), frame_tag(70, frame=1, items=p.num_items)]
    decoder, packets = decode_stream(np.concatenate([sent[:70], sent]), tags, **FORMATS["small"])
    assert [info["frame"] for info, _ in packets] == [1]
    assert decoder.items_outside() == 70


def test_packet_decoder_refuses():
    with pytest.raises(ValueError, match="llr_type: got 'double', allowed are float32, int8"):
        mimopack.packet_decoder(llr_type="double")
    with pytest.raises(ValueError, match="llr_scale: got 0"):
        mimopack.packet_decoder(llr_type="int8", llr_scale=0)


def pdu(payload):
    return pmt.cons(pmt.PMT_NIL, pmt.init_u8vector(len(payload), list(payload)))


@pytest.mark.parametrize("eof", [True, False])
def test_transmitter_sends_pdus(eof):
    p = ofdm.Parameters(**FORMATS["small"])
    rng = np.random.default_rng(9)
    payloads = [rng.bytes(60) for _ in range(5)]
    messages = [pdu(payloads[0]), pdu(bytes(59)), pmt.intern("no payload"), pdu(payloads[1]),
                pmt.init_u8vector(60, list(payloads[2])), *map(pdu, payloads[3:])]
    messages += [pmt.PMT_EOF] if eof else []
    source = MessageSource(messages)
    top = gr.top_block()
    transmitter = mimopack.ofdm_transmitter(gap=111, **FORMATS["small"])
    sinks = [blocks.vector_sink_c() for _ in range(2)]
    top.msg_connect(source, "out", transmitter, "pdus")
    for port, sink in enumerate(sinks):
        top.connect((transmitter, port), sink)
    run(top)
    samples = np.array([s.data() for s in sinks]).reshape(2, 5, -1)
    array = ofdm.Transmitter(p)
    for number, payload in enumerate(payloads):
        assert np.array_equal(samples[:, number, :-111], array.frame(payload))
        assert not samples[:, number, -111:].any()
    assert (transmitter.frames(), transmitter.pdus_refused()) == (5, 2)
    length = p.frame_samples + 111
    assert [(t.offset, pmt.to_long(t.value)) for t in sinks[0].tags()
            if str(t.key) == "packet_len"] == [(length * i, length) for i in range(5)]


class MessageSource(gr.basic_block):
    """Publishes messages when the flowgraph starts."""

    def __init__(self, messages):
        gr.basic_block.__init__(self, "message_source", None, None)
        self.messages = messages
        self.message_port_register_out(pmt.intern("out"))

    def start(self):
        for message in self.messages:
            self.message_port_pub(pmt.intern("out"), message)
        # A block without streams ends when it is told to.
        done = pmt.cons(pmt.intern("done"), pmt.from_long(1))
        self.to_basic_block()._post(pmt.intern("system"), done)
        return gr.basic_block.start(self)


@pytest.mark.parametrize("length", [0, 1, 59, 60, 61, 600, 12345])
def test_transmitter_sends_all_bytes(length):
    p = ofdm.Parameters(**FORMATS["small"])
    data = np.random.default_rng(length).bytes(length)
    top = gr.top_block()
    transmitter = mimopack.ofdm_transmitter(input="bytes", gap=0, **FORMATS["small"])
    sinks = [blocks.vector_sink_c() for _ in range(2)]
    source = blocks.vector_source_b(list(data))
    top.connect(source, transmitter)
    for port, sink in enumerate(sinks):
        top.connect((transmitter, port), sink)
    run(top)
    count = -(-length // 60)
    assert transmitter.frames() == count
    assert transmitter.bytes_padded() == 60 * count - length
    filled = data + bytes(60 * count - length)
    expected = [ofdm.Transmitter(p).frame(filled[60 * i:60 * i + 60]) for i in range(count)]
    samples = np.array([s.data() for s in sinks], np.complex64)
    assert np.array_equal(samples, np.concatenate([np.zeros((2, 0)), *expected], axis=1))


def test_transmitter_refuses():
    with pytest.raises(ValueError, match="input: got 'packets', allowed are pdu, bytes"):
        mimopack.ofdm_transmitter(input="packets")
    with pytest.raises(ValueError, match="gap: got -1"):
        mimopack.ofdm_transmitter(gap=-1)


def test_loopback_of_blocks():
    data = np.random.default_rng(10).bytes(20 * 500)
    top = gr.top_block()
    source = blocks.vector_source_b(list(data))
    transmitter = mimopack.ofdm_transmitter(input="bytes", **FORMATS["usual"])
    channel = mimopack.mimo_channel(4, 4, profile="tdl_a", delay_spread=50e-9, cfo=40e3,
                                    snr_db=38, seed=1)
    receiver = mimopack.ofdm_receiver(detector="mla", **FORMATS["usual"])
    packets = Messages()
    top.connect(source, transmitter)
    for port in range(4):
        top.connect((transmitter, port), (channel, port))
        top.connect((channel, port), (receiver, port))
    top.msg_connect(receiver, "packets", packets, "in")
    run(top)
    assert b"".join(payload for _, payload in packets.pdus()) == data
