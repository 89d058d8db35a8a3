# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Wi-Fi blocks in flowgraphs: every MPDU comes out, whatever the buffers and messages."""

import time
from types import SimpleNamespace

import flowgraphs
import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import wifi
from gnuradio.mimopack._runtime import to_pmt
from gnuradio.mimopack.blocks import wifi_pmt
from wifi_air import air, data_mpdu
from wifi_blocks import (
    DEEP,
    HOSTILE,
    LOOPS,
    Messages,
    Samples,
    Sender,
    bursts,
    expected,
    loop,
    mixed,
    moment,
    pdu,
    post,
    receive,
    receive_arrays,
    run,
)


@pytest.mark.parametrize("name", LOOPS)
def test_loopback(name):
    mpdus = [data_mpdu(30 + 57 * i, i)[:-4] for i in range(8)]
    settings = LOOPS[name]
    source, receiver, ports = loop([pdu(mpdu) for mpdu in mpdus], settings, frequency=5.18e9)
    assert (source.frames(), source.refused(), source.dropped()) == (8, 0, 0)
    assert source.peak() < 1.1
    assert [data for _, data in ports["out"].pdus()] == mpdus
    for info, data in ports["out"].pdus():
        assert (info["format"], info["mcs"]) == (settings["format"], settings["mcs"])
        assert (info["dlt"], info["frame_bytes"]) == (105, len(data) + 4)
        assert info["fcs_ok"] is True
        assert info["freq"] == 5.18e9
        assert info["freq_offset"] == pytest.approx(40e3, abs=2e3)
        assert 30 < info["snr"] < 55
        assert info["time"] == pytest.approx(info["start"] / settings.get("sample_rate_mhz", 20)
                                             / 1e6)
    assert [info["problem"] for info in ports["frames"].values()] == [""] * 8
    counts = receiver.counts()
    assert (counts["frames"], counts["mpdus_ok"], receiver.failures()) == (8, 8, 0)


@pytest.mark.parametrize("most", [37, 1000, 4096, 100000000])
def test_the_same_as_of_arrays_whatever_the_buffers(most):
    samples, sent = mixed(cfo_hz=50e3)
    if most < 100:
        samples = samples[:, :20000]
    engine = wifi.Receiver(2)
    wanted = engine.process(samples) + engine.finish()
    assert [mpdu.data[:-4] for frame in wanted for mpdu in frame.mpdus if mpdu.fcs_ok] \
        == expected(sent)[:sum(len(frame.mpdus) for frame in wanted if frame.fcs_ok)]
    receiver, ports = receive(samples, most)
    got = ports["frames"].values()
    assert len(got) == len(wanted) > 3
    for info, frame in zip(got, wanted, strict=True):
        told = frame.as_json()
        for key in ("start", "num_samples", "format", "mcs", "length", "coding", "problem",
                    "scrambler_seed", "detector"):
            assert info.get(key) == told[key], key
        assert info["cfo_hz"] == pytest.approx(told["cfo_hz"], abs=1e-3)
        assert info["snr_db"] == pytest.approx(told["snr_db"], abs=1e-2)
        assert info["num_mpdus_ok"] == sum(mpdu.fcs_ok for mpdu in frame.mpdus)
    assert [data for _, data in ports["out"].pdus()] \
        == [mpdu.data[:-4] for frame in wanted for mpdu in frame.mpdus if mpdu.fcs_ok]
    assert receiver.counts() == {**engine.counts, "gaps": 0, "lost": 0, "dropped": 0, "switches": 0,
                                 "failures": 0}


def two_halves(samples, **parameters):
    """(synchroniser, decoder, messages between them, messages of each port)."""
    top, source = gr.top_block(), Samples(samples)
    synchroniser = mimopack.wifi_synchroniser(len(samples), **parameters)
    decoder = mimopack.wifi_decoder(len(samples))
    cut, ports = Messages(), {name: Messages() for name in ("out", "frames", "csi", "symbols")}
    for port in range(len(samples)):
        top.connect((source, port), (synchroniser, port))
    top.msg_connect(synchroniser, "frames", decoder, "in")
    top.msg_connect(synchroniser, "frames", cut, "in")
    for name, sink in ports.items():
        top.msg_connect(decoder, name, sink, "in")
    run(top)
    return synchroniser, decoder, cut, ports


def test_two_halves_tell_what_is_announced_of_frames_that_are_not_received():
    samples, _ = air([(lambda n: wifi.VHT.of_length(0, n, group_id=5, short_gi=True),
                       [data_mpdu(50)])])
    _, whole = receive(samples)
    (info,), (message,) = whole["frames"].values(), whole["frames"].messages()
    assert (info["format"], info["short_gi"]) == ("vht", True)
    assert info["problem"] == "several users (group 5)"
    *_, ports = two_halves(samples)
    assert list(map(pmt.serialize_str, ports["frames"].messages())) \
        == [pmt.serialize_str(message)]


def test_two_halves_do_what_the_receiver_does():
    samples, sent = mixed(cfo_hz=-70e3)
    _, whole = receive(samples, frequency=2.412e9)
    synchroniser, decoder, cut, ports = two_halves(samples, frequency=2.412e9)
    assert len(ports["out"].pdus()) == len(expected(sent))
    for name in ("out", "frames", "csi"):
        assert list(map(pmt.serialize_str, ports[name].messages())) \
            == list(map(pmt.serialize_str, whole[name].messages())), name
    for message, frame in zip(cut.messages(), sent, strict=True):
        info = pmt.to_python(pmt.car(message))
        assert abs(info["start"] - frame.start) <= 8    # cyclic shifts of several antennas
        assert (info["format"], info["mcs"], info["problem"]) \
            == (frame.format.name, frame.format.mcs, "")
        part = np.array(pmt.c32vector_elements(pmt.cdr(message)), np.complex64).reshape(2, -1)
        assert part.shape[1] >= info["num_samples"]
        assert np.array_equal(part, samples[:, info["first"]:info["first"] + part.shape[1]])
    assert (synchroniser.counts()["frames"], decoder.failures()) == (len(sent), 0)


@pytest.mark.parametrize("cut", [0, 1, 15, 16, 200])
def test_frames_at_the_very_end_come_out_in_every_run(cut):
    samples, sent = mixed(count=5)
    last = sent[-1]
    end = last.start + last.format.num_samples
    receiver, ports = receive(samples[:, :end - cut], runs=3)
    # A guard interval of the last symbol may be missing.
    got = expected(sent if cut == 0 else sent[:-1])
    assert [data for _, data in ports["out"].pdus()] in (3 * got, 3 * expected(sent))
    frames = ports["frames"].values()
    assert [info["start"] for info in frames[:5]] == [info["start"] for info in frames[5:10]]
    assert len(frames) == 15
    assert [bool(info["problem"]) for info in frames] == 3 * [False, False, False, False, cut > 16]
    assert receiver.failures() == 0


def test_stopped_from_outside_and_started_again():
    samples, sent = mixed(count=5)
    top, source = gr.top_block(), blocks.vector_source_c(samples[0].tolist(), True)
    second = blocks.vector_source_c(samples[1].tolist(), True)
    # This sink does not forget that its sender has ended, so it must not be told so.
    receiver, sink = mimopack.wifi_receiver(2), flowgraphs.Messages()
    top.connect(source, (receiver, 0))
    top.connect(second, (receiver, 1))
    top.msg_connect(receiver, "out", sink, "in")
    for _ in range(3):
        before = len(sink.received)
        top.start()
        for _ in range(600):
            if len(sink.received) >= before + 5:
                break
            time.sleep(0.1)
        top.stop()
        top.wait()
        assert len(sink.received) >= before + 5
    assert {bytes(pmt.u8vector_elements(pmt.cdr(message))) for _, message in sink.received} \
        <= set(expected(sent))
    assert receiver.failures() == 0


def test_mpdus_with_bad_fcs_on_request():
    samples, sent = mixed(count=3)
    at = sent[1].start + 800
    samples[:, at:at + 60] *= -1
    good = expected([sent[0], sent[2]])
    _, ports = receive(samples)
    assert [data for _, data in ports["out"].pdus()] == good
    _, ports = receive(samples, bad_fcs=True)
    assert [info["fcs_ok"] for info, _ in ports["out"].pdus()] == [True, False, True, True, True]
    assert [info["num_mpdus_ok"] for info in ports["frames"].values()] == [1, 0, 3]


def test_csi_is_the_channel():
    rng = np.random.default_rng(5)
    matrix = (rng.standard_normal((3, 2)) + 1j * rng.standard_normal((3, 2))) / 2
    delayed = rng.standard_normal((3, 2)) * 0.3
    mpdus = [data_mpdu(100, 77)]
    f, signal = wifi.Transmitter(2).mpdu(lambda n: wifi.HT(9, n), mpdus)
    samples = np.zeros((3, signal.shape[1] + 1000), complex)
    samples[:, 500:500 + signal.shape[1]] = matrix @ signal
    samples[:, 505:505 + signal.shape[1]] += delayed @ signal
    samples *= 0.2
    samples += 1e-4 * (rng.standard_normal(samples.shape) + 1j * rng.standard_normal(samples.shape))
    _, ports = receive(samples.astype(np.complex64), frequency=5e9)
    message, = ports["csi"].messages()
    info = pmt.to_python(pmt.car(message))
    assert (info["num_rx"], info["num_space_time_streams"], info["num_streams"]) == (3, 2, 2)
    assert (info["sequence_number"], info["fcs_ok"], info["format"]) == (77, True, "ht")
    assert (info["transmitter"], info["destination"]) == ("02:00:00:00:00:01",
                                                          "02:00:00:00:00:02")
    assert info["frequency"] == 5e9 and abs(info["start"] - 500) <= 3
    k = np.array(info["carriers"])
    assert np.array_equal(k, [*range(-28, 0), *range(1, 29)])
    found = np.array(pmt.c32vector_elements(pmt.cdr(message))).reshape(len(k), 3, 2)
    true = 0.2 * (matrix + delayed * np.exp(-2j * np.pi * 5 / 64 * k)[:, None, None])
    # E|X|^2 = 1 and the transmitted power is 1: each stream's share of a subcarrier.
    true = true / np.sqrt(2 * len(k))
    # Neither the timing nor the transmitter's phase can be known.
    turn = np.sum(found * true.conj(), axis=(1, 2))
    slope = np.angle(np.sum(turn[1:28] * turn[:27].conj()))
    assert abs(slope) < 2 * np.pi * 8 / 64
    aligned = found * np.exp(-1j * np.angle(turn))[:, None, None]
    assert np.linalg.norm(aligned - true) < 0.01 * np.linalg.norm(true)
    power = np.sum(np.abs(found)**2, axis=(0, 2))
    assert 10 * np.log10(power) == pytest.approx(info["level_dbfs"], abs=0.6)
    assert 10 * np.log10(info["noise"] * 64) == pytest.approx(10 * np.log10(2e-8), abs=2)


def test_control_messages_and_setters():
    samples, sent = mixed(count=4)
    refused = [pmt.to_pmt({"detector": "best"}), pmt.to_pmt({"threshold": 2.0}), pmt.PMT_T,
               pmt.to_pmt({"detector": "mmse", "gain": 1})]
    taken = [pmt.to_pmt({"detector": "mla"}),
             pmt.cons(pmt.intern("threshold"), pmt.from_double(0.5))]
    receiver, ports = receive(samples, controls=[*refused, *taken])
    assert (receiver.detector(), receiver.threshold()) == ("mla", 0.5)
    assert ports["frames"].values()[-1]["detector"] == "mmse"    # one stream: exact
    assert ports["frames"].values()[2]["detector"] == "mla"
    assert [data for _, data in ports["out"].pdus()] == expected(sent)
    for setter, value, said in (("detector", "best", "detector: got 'best'"),
                                ("threshold", 0.1, "threshold: got 0.1"),
                                ("frequency", -1.0, "frequency: got -1")):
        with pytest.raises(ValueError, match=said):
            getattr(receiver, f"set_{setter}")(value)
    assert (receiver.detector(), receiver.threshold()) == ("mla", 0.5)


def changed_at(samples, at, name, value, **parameters):
    """Messages of a receiver of which a setter is called when it has taken so many samples."""
    box = []

    def change():
        # Buffers hold more than the stream: go on when what came before was received.
        deadline = time.monotonic() + 30
        while box[0].counts()["samples"] < at and time.monotonic() < deadline:
            time.sleep(0.01)
        getattr(box[0], f"set_{name}")(value)
    source = Samples(samples, events={at: change})
    return receive(samples, source=source, prepare=box.append, **parameters)[1]


def test_detector_changes_while_it_runs():
    samples, sent = mixed(count=10)
    ports = changed_at(samples, sent[5].start - 200, "detector", "mmse", detector="mla")
    # Frames 1, 2, 4, 6, 7 and 9 have two streams; one stream always takes MMSE.
    assert [info["detector"] for info in ports["frames"].values()] \
        == ["mmse", "mla", "mla", "mmse", "mla"] + ["mmse"] * 5


def test_threshold_changes_while_it_runs():
    samples, sent = air([(lambda n: wifi.NonHT(6, n), [data_mpdu(50, i)]) for i in range(6)],
                        snr_db=8)
    ports = changed_at(samples, sent[3].start - 150, "threshold", 0.95)
    # At 8 dB the correlation is 10^0.8 / (1 + 10^0.8) = 0.86.
    assert [data for _, data in ports["out"].pdus()] == expected(sent[:3])


def test_time_and_frequency_of_tags():
    samples, sent = mixed(count=6)
    at = sent[3].start - 100
    tags = [(0, "rx_freq", pmt.from_double(2.4e9)),
            (0, "rx_time", pmt.make_tuple(pmt.from_uint64(1700000000), pmt.from_double(0.25))),
            (0, "rx_rate", pmt.from_double(30e6)),    # not the block's: a warning only
            (at, "rx_freq", pmt.from_double(5.2e9)),
            (at, "rx_time", pmt.make_tuple(pmt.from_uint64(1700000009), pmt.from_double(0.999999))),
            (at + 1, "rx_time", pmt.intern("soon")), (at + 1, "rx_freq", pmt.from_double(-1.0))]
    receiver, ports = receive(samples, source=Samples(samples, tags=tags), frequency=1e9)
    starts = [info["start"] for info in ports["frames"].values()]
    assert len(starts) == 6
    for name in ("out", "frames", "csi"):
        for message in ports[name].messages():
            info = pmt.to_python(message if name == "frames" else pmt.car(message))
            late = info["start"] >= at
            assert info["freq" if name == "out" else "frequency"] == (5.2e9 if late else 2.4e9)
            base = (9, 0.999999, at) if late else (0, 0.25, 0)
            seconds, fraction = info["rx_time"]
            true = base[1] + (info["start"] - base[2]) / 20e6
            assert (seconds - 1700000000 - base[0]) + fraction == pytest.approx(true, abs=1e-9)
            assert 0 <= fraction < 1
            assert info["time"] == pytest.approx(1700000000 + base[0] + true, abs=1e-6)
    assert receiver.failures() == 2    # the last two tags


@pytest.mark.parametrize(("name", "value"), [
    ("rx_time", DEEP), ("rx_time", pmt.make_tuple(DEEP, DEEP)), ("rx_freq", DEEP),
    ("rx_rate", DEEP), ("rx_rate", pmt.intern("fast")), ("rx_time", moment(2**64 - 1, 0.0)),
    *(("rx_time", moment(17, fraction)) for fraction in (np.nan, np.inf, 1e300, 1.0, -0.5)),
    ("rx_time", pmt.make_tuple(pmt.PMT_T, pmt.from_double(0.0)))])
def test_a_tag_of_another_type_or_range_changes_nothing(name, value):
    samples, sent = mixed(count=2)
    tags = [(0, "rx_time", moment(1700000000, 0.25)), (10, name, value)]
    receiver, ports = receive(samples, source=Samples(samples, tags=tags))
    assert [data for _, data in ports["out"].pdus()] == expected(sent)
    for info in ports["frames"].values():
        assert info["rx_time"] == (1700000000, pytest.approx(0.25 + info["start"] / 20e6))
    assert receiver.failures() == 1


@pytest.mark.parametrize("first", [moment(1700000000, 0.0), moment(0, 0.0)])
def test_frames_before_the_first_time_have_its_time_base(first):
    samples, sent = mixed(count=3)
    at = sent[1].start + 5
    _, ports = receive(samples, source=Samples(samples, tags=[(at, "rx_time", first)]))
    base = pmt.to_python(first)[0]
    infos = ports["frames"].values()
    assert len(infos) == 3
    for info in infos:
        seconds, fraction = info["rx_time"]
        assert 0 <= fraction < 1
        wanted = max(0, base + (info["start"] - at) / 20e6)
        assert seconds - base + fraction == pytest.approx(wanted - base, abs=1e-6)
        assert info["time"] == pytest.approx(wanted, abs=1e-6)


def test_setter_of_the_frequency():
    samples, _ = mixed(count=2)
    receiver, ports = receive(samples, prepare=lambda block: block.set_frequency(2.437e9))
    assert [info["frequency"] for info in ports["frames"].values()] == [2.437e9] * 2
    assert receiver.frequency() == 2.437e9
    _, ports = receive(samples)
    assert not any("frequency" in info for info in ports["frames"].values())


def test_an_exception_inside_costs_the_samples_at_hand_only(monkeypatch):
    monkeypatch.setattr("gnuradio.mimopack.blocks.wifi_stream.BATCH", 1000)
    samples, sent = mixed(count=10)
    at = sent[4].start - 390

    def breaks(receiver):
        engine = receiver._sink.engine
        process = engine.process

        def fails_once(part, **options):
            if engine.counts["samples"] > at:
                engine.process = process
                raise RuntimeError("on purpose")
            return process(part, **options)
        engine.process = fails_once
    receiver, ports = receive(samples, most=1000, prepare=breaks)
    assert receiver.failures() == 1
    starts = [info["start"] for info in ports["frames"].values()]
    wanted = [frame.start for frame in sent]
    assert len(starts) >= 8
    for start in starts:
        assert min(abs(start - one) for one in wanted) <= 3
    data = [data for _, data in ports["out"].pdus()]
    assert [one for one in expected(sent) if one in data] == data
    assert receiver.counts()["samples"] > samples.shape[1] - 2000


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
def test_samples_that_are_not_finite_do_no_harm(value):
    samples, sent = mixed(count=9)
    for frame, antenna, offset in ((2, 0, -150), (4, 1, 1000), (6, 0, 50)):
        samples[antenna, sent[frame].start + offset] = value
    receiver, ports = receive(samples)
    safe = expected([frame for index, frame in enumerate(sent) if index not in (2, 4, 6)])
    data = [data for _, data in ports["out"].pdus()]
    assert [one for one in data if one in safe] == safe
    assert set(data) <= set(expected(sent))
    assert receiver.failures() == 0


def test_listens_to_noise_and_silence():
    rng = np.random.default_rng(3)
    noise = (rng.standard_normal((1, 300000)) + 1j * rng.standard_normal((1, 300000)))
    noise[:, 100000:200000] = 0
    receiver, ports = receive(noise.astype(np.complex64))
    assert receiver.counts()["samples"] == 300000
    assert not any(sink.received for sink in ports.values())


@pytest.mark.parametrize("name", HOSTILE)
def test_transmitter_goes_on_after(name):
    mpdu = data_mpdu(50)[:-4]
    source, _, ports = loop([pdu(mpdu), HOSTILE[name], pdu(mpdu)], LOOPS["non-ht"])
    assert [data for _, data in ports["out"].pdus()] == [mpdu, mpdu]
    assert (source.frames(), source.refused()) == (2, 1)


@pytest.mark.parametrize("settings", [
    {"mcs": 99}, {"mcs": "fast"}, {"mcs": True}, {"format": "ax"}, {"format": 3},
    {"format": "vht", "num_streams": 2}, {"format": "ht", "mcs": 8}, {"bandwidth_mhz": 40},
    {"format": "ht", "coding": "turbo"}, {"format": "ht", "stbc": 7},
    {"format": "ht", "short_gi": 2}, {"scrambler_seed": 128}, {"scrambler_seed": "x"},
    {"encoding": 8}, {"ampdu": np.array([3, 4])}, {"ampdu": np.array([], int)},
    {"ampdu": 5}, {"format": "ht", "ampdu": np.array([-1, 75])}, {"mcs": 12.5},
    {"bandwidth_mhz": 7}, {"tx_time": DEEP}, {"tx_time": "now"}, {"tx_time": 3.5},
    {"tx_time": moment(1, 1.5)}, {"tx_time": moment(1, np.nan)}, {"tx_time": moment(2**64 - 1, 0)},
    {"tx_time": pmt.make_tuple(pmt.PMT_T, pmt.from_double(0.0))}])
def test_transmitter_refuses_a_frame(settings):
    mpdu = data_mpdu(50)[:-4]
    source, _, ports = loop([pdu(mpdu, **settings), pdu(mpdu)], LOOPS["non-ht"])
    assert [data for _, data in ports["out"].pdus()] == [mpdu]
    assert (source.frames(), source.refused()) == (1, 1)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("control", [False, True])
def test_decoder_goes_on_after(name, control):
    samples, sent = mixed(count=2)
    found = wifi.Synchroniser(2)
    good = [wifi_pmt.found_to_pmt(one, 20e6) for one in found.process(samples) + found.finish()]
    top, sender, other = gr.top_block(), Sender([good[0], good[1]]), Sender([HOSTILE[name]])
    if not control:
        sender.messages.insert(1, HOSTILE[name])
    decoder, sink = mimopack.wifi_decoder(2), Messages()
    top.msg_connect(sender, "out", decoder, "in")
    if control:
        top.msg_connect(other, "out", decoder, "control")
    top.msg_connect(decoder, "out", sink, "in")
    run(top)
    assert [data for _, data in sink.pdus()] == expected(sent)
    assert decoder.failures() == (not control)
    assert decoder.detector() == "nway"


@pytest.mark.parametrize(("key", "value"), [
    ("num_rx", 1), ("num_rx", "2"), ("sample_rate", 40e6), ("start", 1.5), ("window", 10**9),
    ("first", -2**62), ("cfo", float("nan")), ("subchannels", np.array([7])),
    ("subchannels", 0), ("noise", [0.0, 1.0]), ("noise", [-1.0, 1.0]),
    ("signal", [float("nan"), 1.0]), ("format", "ax"), ("format", 3), ("format_mcs", 999),
    ("format_mcs", "x"), ("format_length", 10**12), ("truncated", 3), ("problem", 5),
    ("centre", "low"), ("num_samples", float("inf")), ("rx_time", DEEP),
    ("rx_time", pmt.make_tuple(DEEP, DEEP)),
    ("rx_time", pmt.make_tuple(pmt.from_uint64(1), pmt.from_double(1e300)))])
def test_decoder_refuses_a_frame_with(key, value):
    samples, _ = mixed(count=1)
    found = wifi.Synchroniser(2)
    one, = found.process(samples) + found.finish()
    good = wifi_pmt.found_to_pmt(one, 20e6)
    if not isinstance(value, pmt.pmt_base):
        value = to_pmt(value)
    bad = pmt.cons(pmt.dict_add(pmt.car(good), pmt.intern(key), value), pmt.cdr(good))
    top, sender = gr.top_block(), Sender([bad, good])
    decoder, sink = mimopack.wifi_decoder(2), Messages()
    top.msg_connect(sender, "out", decoder, "in")
    top.msg_connect(decoder, "out", sink, "in")
    run(top)
    assert len(sink.received) == 1
    assert decoder.failures() == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_receiver_goes_on_after_a_control_message(name):
    samples, sent = mixed(count=2)
    receiver, ports = receive(samples, controls=[HOSTILE[name]])
    assert [data for _, data in ports["out"].pdus()] == expected(sent)
    assert (receiver.detector(), receiver.threshold()) == ("nway", 0.35)


def test_settings_of_each_frame():
    a, b, c = (data_mpdu(n, n) for n in (60, 61, 62))
    messages = [
        pdu(a[:-4]), pdu(a[:-4], mcs=54), pdu(a[:-4], encoding=2),
        pdu(a, crc_included=True), pdu(a[:-4], mcs=36.0, scrambler_seed=99),
        pdu(a[:-4], format="ht"), pdu(a[:-4], format="ht", mcs=11, short_gi=True),
        pdu(a[:-4], format="vht", num_streams=2, mcs=5, coding="ldpc"),
        pdu(a[:-4] + b[:-4] + c[:-4], format="ht", mcs=12,
            ampdu=np.array([len(a) - 4, len(b) - 4, len(c) - 4])),
        pdu(a + b, format="vht", mcs=1, ampdu=np.array([len(a), len(b)]), crc_included=True),
        pdu(b"", format="vht", num_streams=2), pdu(b"", format="ht", mcs=8),
        pdu(a[:-4], snr=3.0, dlt=105, fcs_ok=True, mcs=9)]
    source, samples, _ = bursts(messages, num_tx=2, mcs=12)
    frames = receive_arrays(samples)
    assert (source.frames(), source.refused()) == (13, 0)
    assert [(f.format.name, f.format.mcs, f.format.num_streams, f.format.coding, f.format.short_gi)
            for f in frames] == [
        ("non-ht", 12, 1, "bcc", False), ("non-ht", 54, 1, "bcc", False),
        ("non-ht", 12, 1, "bcc", False), ("non-ht", 12, 1, "bcc", False),
        ("non-ht", 36, 1, "bcc", False), ("ht", 0, 1, "bcc", False), ("ht", 11, 2, "bcc", True),
        ("vht", 5, 2, "ldpc", False), ("ht", 12, 2, "bcc", False), ("vht", 1, 1, "bcc", False),
        ("vht", 0, 2, "bcc", False), ("ht", 8, 2, "bcc", False), ("non-ht", 9, 1, "bcc", False)]
    assert [[mpdu.data for mpdu in f.mpdus] for f in frames] \
        == [[a]] * 8 + [[a, b, c], [a, b], [], [], [a]]
    assert frames[4].scrambler_seed == 99
    assert frames[10].channel.matrices.shape == (56, 2, 2)


def test_pdus_of_the_receiver_can_be_sent_again():
    mpdus = [data_mpdu(40 + i, i)[:-4] for i in range(4)]
    _, _, first = loop([pdu(mpdu) for mpdu in mpdus], LOOPS["vht"])
    source, _, again = loop(first["out"].messages(), {"num_tx": 4, "gap": 700})
    assert source.refused() == 0
    for (old, data), (new, same) in zip(first["out"].pdus(), again["out"].pdus(), strict=True):
        assert data == same
        assert [old[key] for key in ("format", "mcs", "num_streams", "coding")] \
            == [new[key] for key in ("format", "mcs", "num_streams", "coding")]


@pytest.mark.parametrize("rate", [5e6, 10e6])
def test_pdus_of_a_receiver_with_a_slower_clock_can_be_sent_again(rate):
    samples, sent = air([(lambda n: wifi.NonHT(12, n), [data_mpdu(50)])])
    _, ports = receive(samples, sample_rate=rate)
    (info, data), = ports["out"].pdus()
    assert (info["bandwidth_mhz"], data) == (rate / 1e6, *expected(sent))
    source, samples, _ = bursts(ports["out"].messages())
    assert source.refused() == 0
    frame, = receive_arrays(samples, sample_rate=rate)
    assert [mpdu.data for mpdu in frame.mpdus] == sent[0].mpdus


def test_whole_floats_of_a_flowgraph_s_variables():
    source, samples, _ = bursts([pdu(data_mpdu(50)[:-4])], sample_rate_mhz=40e6 / 1e6,
                                bandwidth_mhz=20e6 / 1e6, centre=32)
    assert (source.frames(), source.refused()) == (1, 0)
    assert len(samples[0]) == 2 * wifi.NonHT(6, len(data_mpdu(50))).num_samples + 320


def test_bursts_are_tagged_on_every_output():
    when = moment(12, 0.5)
    mpdus = [data_mpdu(30)[:-4], data_mpdu(333)[:-4]]
    messages = [pdu(mpdus[0], tx_time=when), pdu(mpdus[1])]
    source, samples, tags = bursts(messages, num_tx=2, format="ht", mcs=8, gap=111,
                                   tag="burst", backoff_db=6.0, clip=False)
    lengths = [wifi.HT(8, len(mpdu) + 4).num_samples + 111 for mpdu in mpdus]
    assert samples.shape == (2, sum(lengths))
    for port in tags:
        assert sorted((t.offset, str(t.key), pmt.to_python(t.value)) for t in port) == [
            (0, "burst", lengths[0]), (0, "frame", 0), (0, "tx_time", (12, 0.5)),
            (lengths[0], "burst", lengths[1]), (lengths[0], "frame", 1)]
    assert not samples[:, lengths[0] - 111:lengths[0]].any()
    power = np.mean(np.abs(samples[:, :lengths[0] - 111])**2, axis=1).sum()
    assert 10 * np.log10(power) == pytest.approx(-6, abs=0.3)
    assert source.peak() == pytest.approx(np.abs(samples).max())
    source.set_backoff_db(20)
    assert source.backoff_db() == 20


@pytest.mark.parametrize(("seed", "wanted"), [(0, [1, 2, 3]), (77, [77, 77, 77])])
def test_scrambler_seeds(seed, wanted):
    _, samples, _ = bursts([pdu(data_mpdu(40)[:-4])] * 3, scrambler_seed=seed, gap=500)
    assert [frame.scrambler_seed for frame in receive_arrays(samples)] == wanted


def test_transmitter_ends_at_eof_and_starts_again():
    source = mimopack.wifi_transmitter(gap=0)
    sink = blocks.vector_sink_c()
    top = gr.top_block()
    top.connect(source, sink)
    for runs in (1, 2):
        post(source, "in", pdu(data_mpdu(40)[:-4]))
        post(source, "in", pmt.PMT_EOF)
        run(top)
        assert len(sink.data()) == runs * wifi.NonHT(6, len(data_mpdu(40))).num_samples


def test_transmitter_drops_what_it_cannot_hold():
    source, samples, _ = bursts([pdu(b"x" * 20, mcs=54)] * 1500, gap=0)
    assert source.frames() + source.dropped() == 1500
    assert source.frames() >= 1000
    assert samples.shape[1] == source.frames() * wifi.NonHT(54, 24).num_samples


@pytest.mark.parametrize(("block", "arguments", "said"), [
    ("wifi_receiver", {"num_rx": 9}, "num_rx: got 9"),
    ("wifi_receiver", {"sample_rate": 25e6}, "sample_rate: got"),
    ("wifi_receiver", {"detector": "best"}, "detector: got 'best'"),
    ("wifi_receiver", {"threshold": 0.1}, "threshold: got 0.1"),
    ("wifi_receiver", {"frequency": 0}, "frequency: got 0"),
    ("wifi_receiver", {"passes": 0}, "passes: got 0"),
    ("wifi_receiver", {"whitening": "all"}, "whitening: got 'all'"),
    ("wifi_receiver", {"iterations": 0}, "iterations: got 0"),
    ("wifi_receiver", {"iterations": 2, "detector": "zf"}, "detector: got 'zf'"),
    ("wifi_receiver", {"bad_fcs": 1}, "bad_fcs: got 1"),
    ("wifi_receiver", {"smoothing": "yes"}, "smoothing: got 'yes'"),
    ("wifi_synchroniser", {"threshold": 1}, "threshold: got 1"),
    ("wifi_synchroniser", {"whitening": None}, "whitening: got None"),
    ("wifi_synchroniser", {"num_rx": 0}, "num_rx: got 0"),
    ("wifi_decoder", {"detector": 3}, "detector: got 3"),
    ("wifi_decoder", {"sample_rate": "x"}, "sample_rate: got 'x'"),
    ("wifi_transmitter", {"num_tx": 5}, "num_tx: got 5"),
    ("wifi_transmitter", {"format": "ax"}, "format: got 'ax'"),
    ("wifi_transmitter", {"mcs": 7}, "mcs: got 7"),
    ("wifi_transmitter", {"format": "ht", "mcs": 8}, "num_tx: got 1"),
    ("wifi_transmitter", {"bandwidth_mhz": 40}, "sample_rate_mhz: got 20"),
    ("wifi_transmitter", {"num_streams": 0}, "num_streams: got 0"),
    ("wifi_transmitter", {"fcs": "none"}, "fcs: got 'none'"),
    ("wifi_transmitter", {"gap": -1}, "gap: got -1"),
    ("wifi_transmitter", {"backoff_db": 1000}, "backoff_db: got 1000"),
    ("wifi_transmitter", {"scrambler_seed": 128}, "scrambler_seed: got 128"),
    ("wifi_transmitter", {"tag": ""}, "tag: got ''"),
    ("wifi_transmitter", {"centre": 16}, "centre: got 16"),
    ("wifi_transmitter", {"mapping": [[1], [1]]}, r"mapping: got shape \(2, 1\)"),
    ("wifi_transmitter", {"mapping": "dft"}, "mapping: got another type"),
    ("wifi_transmitter", {"num_tx": 2, "format": "ht", "mcs": 8, "mapping": [[1], [1]]},
     r"mapping: got shape \(2, 1\), the frame needs \(2, 2\) or \(56, 2, 2\)"),
    ("wifi_symbols", {"num_streams": 5}, "num_streams: got 5"),
    ("wifi_channel_view", {"num_carriers": 32}, "num_carriers: got 32"),
    ("wifi_channel_view", {"num_carriers": 65}, "num_carriers: got 65, allowed are 64, 128, 256"),
    ("wifi_channel_view", {"floor_db": float("nan")}, "floor_db: got nan"),
    ("wifi_channel_view", {"floor_db": float("-inf")}, "floor_db: got -inf"),
    ("wifi_channel_view", {"floor_db": None}, "floor_db: got None, must be a number"),
    ("wifi_transmitter", {"bandwidth_mhz": 10}, "bandwidth_mhz: got 10"),
    ("wifi_channel_view", {"num_rx": 0}, "num_rx: got 0"),
    ("wifi_meter", {"length": 0}, "length: got 0")])
def test_blocks_refuse(block, arguments, said):
    with pytest.raises(ValueError, match=said):
        getattr(mimopack, block)(**arguments)


def test_transmitter_setters():
    source = mimopack.wifi_transmitter(num_tx=2, format="ht", mcs=3)
    source.set_mcs(12)
    with pytest.raises(ValueError, match="num_tx: got 2"):
        source.set_mcs(16)
    with pytest.raises(ValueError, match="backoff_db: got nan"):
        source.set_backoff_db(float("nan"))
    assert (source.mcs(), source.backoff_db()) == (12, 12.0)


def view(block, messages, sinks):
    """Messages through a view into sinks."""
    top, sender = gr.top_block(), Sender(messages)
    top.msg_connect(sender, "out", block, {"wifi_symbols": "symbols", "wifi_meter": "frames"}.get(
        block.name(), "csi"))
    for port, sink in enumerate(sinks):
        top.connect((block, port), sink)
    run(top)


def test_symbols_of_each_stream():
    samples, _ = mixed(count=2)
    _, ports = receive(samples)
    one, two = ports["symbols"].messages()
    info = pmt.to_python(pmt.car(two))
    assert (info["constellation"], info["num_streams"]) == ("wlan_qam16", 2)
    block, sinks = mimopack.wifi_symbols(2), [blocks.vector_sink_c() for _ in range(2)]
    view(block, [one, *HOSTILE.values(), two], sinks)
    points = np.array([sink.data() for sink in sinks])
    first = pmt.to_python(pmt.car(one))["num_points"]
    assert points.shape[1] == first + info["num_points"]
    assert 100 < first <= 1000 and not points[1, :first].any()
    grid = np.array([-3, -1, 1, 3]) / np.sqrt(10)
    for axis in (points[:, first:].real, points[:, first:].imag):
        assert np.abs(axis[..., None] - grid).min(axis=-1).mean() < 0.1
    assert block.refused() == len(HOSTILE)


@pytest.mark.parametrize("symbols", [20, 23, 52, 1000])
@pytest.mark.parametrize("carriers", [48, 52, 108, 234])
def test_symbols_of_long_frames_show_all_subcarriers(symbols, carriers):
    # Each point is the number of its subcarrier.
    points = np.broadcast_to(np.arange(carriers)[None, :, None], (symbols, carriers, 2))
    frame = SimpleNamespace(start=0, format=wifi.HT(8, 50), evm_db=(-30.0, -30.0), symbols=points)
    message = wifi_pmt.symbols_to_pmt(frame, 1000)
    told = pmt.to_python(pmt.car(message))
    shown = np.array(pmt.c32vector_elements(pmt.cdr(message))).real.reshape(2, -1)
    assert 200 < told["num_points"] == shown.shape[1] <= 1000
    assert all(len(np.unique(row)) == carriers for row in shown)


def test_view_of_the_channel():
    samples, _ = mixed(count=2, num_rx=3)
    _, ports = receive(samples)
    one, two = ports["csi"].messages()
    block = mimopack.wifi_channel_view(3, 2)
    sinks = [blocks.vector_sink_f(64) for _ in range(6)]
    view(block, [one, *HOSTILE.values(), two], sinks)
    shown = np.array([sink.data() for sink in sinks]).reshape(3, 2, 2, 2, 64)
    assert np.array_equal(shown[:, :, :, 0], shown[:, :, :, 1])    # for GNU Radio's vector sink
    shown = shown[:, :, :, 0]
    assert np.all(shown[:, 1, 0] == -60)    # a frame of one stream
    matrices = np.array(pmt.c32vector_elements(pmt.cdr(two))).reshape(56, 3, 2)
    used = [*range(4, 32), *range(33, 61)]
    decibels = 20 * np.log10(np.abs(matrices)).transpose(1, 2, 0)
    assert np.allclose(shown[:, :, 1][..., used], np.maximum(decibels, -60), atol=1e-3)
    assert np.all(shown[..., [0, 1, 2, 3, 32, 61, 62, 63]] == -60)
    assert block.refused() == len(HOSTILE)


def test_meter_counts_frames_and_keeps_the_last():
    samples, sent = mixed(count=4)
    cut = samples[:, :sent[3].start + 900]
    _, ports = receive(cut)
    block = mimopack.wifi_meter(3)
    sinks = [blocks.vector_sink_f(3) for _ in range(3)]
    view(block, [*ports["frames"].messages(), *HOSTILE.values()], sinks)
    assert (block.frames(), block.lost(), block.mpdus()) == (4, 1, 5)
    assert block.refused() == len(HOSTILE)
    assert block.text() == "4 frames (2 ht, 1 non-ht, 1 vht), 1 lost (25.0 %), 5 MPDUs"
    snr, evm, lost = (np.array(sink.data()).reshape(-1, 3)[::2] for sink in sinks)
    assert lost.tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]]
    wanted = [info["snr_db"] for info in ports["frames"].values()]
    assert snr[-1] == pytest.approx(wanted[1:], abs=1e-3)
    assert np.all(evm[-1, :2] < -20)
    assert block.history() == pytest.approx(np.array([snr[-1], evm[-1], lost[-1]]))
