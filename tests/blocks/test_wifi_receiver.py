# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""wifi_receiver in flowgraphs: every MPDU comes out, whatever the buffers and messages."""

import time

import numpy as np
import pmt
import pytest
from gnuradio import mimopack
from gnuradio.mimopack import detectors, wifi
from wifi_air import data_mpdu
from wifi_blocks import DEEP, LOOPS, Samples, expected, loop, mixed, moment, pdu, receive


@pytest.mark.quick
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
        assert info["time"] == pytest.approx(info["start"] / settings.get("sample_rate", 20e6))
    assert [info["problem"] for info in ports["frames"].values()] == [""] * 8
    counts = receiver.counts()
    assert (counts["frames"], counts["mpdus_ok"], receiver.failures()) == (8, 8, 0)


@pytest.mark.parametrize("most", [37, 4096])
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
                                 "refused_settings": 0, "failures": 0}


@pytest.mark.parametrize("cut", [0, 16, 200])
def test_frames_at_the_very_end_come_out_in_every_run(cut):
    samples, sent = mixed(count=5)
    last = sent[-1]
    end = last.start + last.format.num_samples
    receiver, ports = receive(samples[:, :end - cut], runs=3)
    # The last symbol may lack a guard interval of samples.
    got = expected(sent if cut == 0 else sent[:-1])
    assert [data for _, data in ports["out"].pdus()] in (3 * got, 3 * expected(sent))
    frames = ports["frames"].values()
    assert [info["start"] for info in frames[:5]] == [info["start"] for info in frames[5:10]]
    assert len(frames) == 15
    assert [bool(info["problem"]) for info in frames] == 3 * [False, False, False, False, cut > 16]
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
    # E|X|^2 = 1 and the transmitted power is 1, so each stream has this share of a subcarrier.
    true = true / np.sqrt(2 * len(k))
    # Neither the timing nor the phase of the transmitter can be known.
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
    assert ports["frames"].values()[-1]["detector"] == "mmse"    # exact with one stream
    assert ports["frames"].values()[2]["detector"] == "mla"
    assert [data for _, data in ports["out"].pdus()] == expected(sent)
    for setter, value, said in (("detector", "best", "detector: got 'best'"),
                                ("threshold", 0.1, "threshold: got 0.1"),
                                ("frequency", -1.0, "frequency: got -1")):
        with pytest.raises(ValueError, match=said):
            getattr(receiver, f"set_{setter}")(value)
    assert (receiver.detector(), receiver.threshold()) == ("mla", 0.5)


def changed_at(samples, at, name, value, **parameters):
    """Return the messages of a receiver whose setter is called after ``at`` samples."""
    box = []

    def change():
        # Buffers hold more than the stream, so wait until the earlier samples are received.
        deadline = time.monotonic() + 30
        while box[0].counts()["samples"] < at and time.monotonic() < deadline:
            time.sleep(0.01)
        getattr(box[0], f"set_{name}")(value)
    source = Samples(samples, events={at: change})
    return receive(samples, source=source, prepare=box.append, **parameters)[1]


@pytest.mark.parametrize("first, then", [("mla", "mmse"), ("kbest:k=8", "nway:num_passes=1"),
                                         (detectors.KBest(2, 2, k=4), detectors.EP)])
def test_detector_changes_while_it_runs(first, then):
    samples, sent = mixed(count=10)
    ports = changed_at(samples, sent[5].start - 200, "detector", then, detector=first)
    a, b = (one if isinstance(one, str) else detectors.look_up(one).label for one in (first, then))
    # Frames 1, 2, 4, 6, 7 and 9 have two streams. A single stream always uses MMSE.
    assert [info["detector"] for info in ports["frames"].values()] \
        == ["mmse", a, a, "mmse", a, "mmse", b, b, "mmse", b]


def test_time_and_frequency_of_tags():
    samples, sent = mixed(count=6)
    at = sent[3].start - 100
    tags = [(0, "rx_freq", pmt.from_double(2.4e9)),
            (0, "rx_time", pmt.make_tuple(pmt.from_uint64(1700000000), pmt.from_double(0.25))),
            (0, "rx_rate", pmt.from_double(30e6)),    # not the block's rate: only a warning
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
    ("rx_time", DEEP), ("rx_freq", DEEP), ("rx_rate", pmt.intern("fast")),
    ("rx_time", moment(17, np.nan)), ("rx_time", moment(17, 1.0))])
def test_a_tag_of_another_type_or_range_changes_nothing(name, value):
    samples, sent = mixed(count=2)
    tags = [(0, "rx_time", moment(1700000000, 0.25)), (10, name, value)]
    receiver, ports = receive(samples, source=Samples(samples, tags=tags))
    assert [data for _, data in ports["out"].pdus()] == expected(sent)
    for info in ports["frames"].values():
        assert info["rx_time"] == (1700000000, pytest.approx(0.25 + info["start"] / 20e6))
    assert receiver.failures() == 1


def test_an_exception_inside_costs_the_samples_at_hand_only(monkeypatch):
    monkeypatch.setattr("gnuradio.mimopack.blocks.sample_stream.BATCH", 1000)
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


@pytest.mark.parametrize("value", [np.nan, 3e38])
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


@pytest.mark.parametrize(("block", "arguments", "said"), [
    ("wifi_receiver", {"num_rx": 9}, "num_rx: got 9"),
    ("wifi_receiver", {"sample_rate": 25e6}, "got 25 MS/s, allowed are 5, 10, 20, 40, 80 or 160"),
    ("wifi_receiver", {"detector": "best"}, "detector: got 'best'"),
    ("wifi_receiver", {"iterations": 2, "detector": "zf"}, "detector: got 'zf'"),
    ("wifi_receiver", {"bad_fcs": 1}, "bad_fcs: got 1"),
    ("wifi_synchroniser", {"threshold": 1}, "threshold: got 1"),
    ("wifi_decoder", {"detector": 3}, "detector: got 3"),
    ("wifi_transmitter", {"sample_rate": 10e6}, "got 10 MS/s, allowed are 20, 40, 80, 160, "),
    ("wifi_transmitter", {"format": "ht", "mcs": 8}, "num_tx: got 1"),
    ("wifi_transmitter", {"fcs": "none"}, "fcs: got 'none'"),
    ("wifi_transmitter", {"backoff_db": 1000}, "backoff_db: got 1000"),
    ("wifi_transmitter", {"length_tag_name": ""}, "length_tag_name: got ''"),
    ("wifi_transmitter", {"num_tx": 2, "format": "ht", "mcs": 8, "mapping": [[1], [1]]},
     r"mapping: got shape \(2, 1\), the frame needs \(2, 2\) or \(56, 2, 2\)"),
    ("wifi_symbols", {"num_streams": 5}, "num_streams: got 5"),
    ("wifi_channel_view", {"num_carriers": 65}, "num_carriers: got 65, allowed are 64, 128, 256"),
    ("wifi_channel_view", {"floor_db": float("nan")}, "floor_db: got nan"),
    ("wifi_meter", {"length": 0}, "length: got 0")])
def test_blocks_refuse(block, arguments, said):
    with pytest.raises(ValueError, match=said):
        getattr(mimopack, block)(**arguments)
