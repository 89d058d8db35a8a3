# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wi-Fi from a radio: gr-soapy's source, the driver of soapy/ and its faults, the receiver."""

import errno
import gc
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
import weakref
from types import SimpleNamespace

import numpy as np
import pmt
import pytest
import soapy_driver as driver
from flowgraphs import Messages, until
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import _runtime, recording
from gnuradio.mimopack.apps.wifi import live as live_module
from gnuradio.mimopack.apps.wifi.outputs import JsonFile
from gnuradio.mimopack.apps.wifi.radio import RadioSettings, open_radio
from gnuradio.mimopack.recording.timeline import between
from slow_detectors import SlowDetector, WaitingDetector
from source_tree import PACKAGES, ROOT
from wifi_air import FRAMES, air, data_mpdu
from wifi_sky import (
    FREQUENCY,
    GAP,
    LOST,
    RATE,
    frames_of,
    invoke,
    length_of,
    middle_of,
    on_air,
    pcap_times,
    spawn,
)


@pytest.fixture
def impatient(monkeypatch):
    """A radio that is silent is soon given up."""
    monkeypatch.setattr(live_module, "_SILENCE", 0.5)


def _timeless(frames):
    return [{key: value for key, value in one.items() if key != "rx_time"} for one in frames]


def _receive(sky, faults, count, num_rx=2, source=None, **options):
    """What the block makes of the recording with faults: frames with times, counts, statuses."""
    got, statuses = [], []
    top = gr.top_block()
    source = source or driver.soapy.source(
        "driver=mimopack", "fc32", num_rx, f"recording={sky.path},speed=0{faults}", "", [""], [""])
    receiver = mimopack.wifi_receiver(num_rx, RATE, **options)
    receiver.listen(lambda frame, when: got.append((frame, when)), statuses.append)
    for port in range(num_rx):
        top.connect((source, port), (receiver, port))
    driver.run(top, lambda: receiver.counts()["samples"] >= count)
    assert receiver.counts()["failures"] == 0
    return SimpleNamespace(frames=got, counts=receiver.counts(), statuses=statuses)


def _check_all_but(sky, got, hit, moved):
    """Each frame but those that a fault hit is received as it was sent.

    Args:
        hit: function of a frame's first sample and of that behind it.
        moved: function of a sample's number in the recording: its number in the stream.
    """
    expected = {moved(sent.start): sent for sent in sky.sent
                if not hit(sent.start, sent.start + length_of(sky, sent))}
    assert 0 < len(expected) < len(sky.sent)
    found = [frame for frame, _ in got.frames if frame.complete]
    assert [[mpdu.data for mpdu in frame.mpdus] for frame in found] \
        == [sent.mpdus for sent in expected.values()]
    for frame, start in zip(found, expected, strict=True):
        assert abs(frame.start - start) <= 2


def test_a_radio_gives_what_its_recording_gives(sky, tmp_path):
    before = time.time()
    result = on_air(sky, "--json", tmp_path / "live.json", "--pcap", tmp_path / "live.pcap",
                    "--csi", tmp_path / "live.npz", "--duration", (sky.samples - 100) / RATE)
    assert result.exit_code == 0, result.output
    assert "2 antennas, 20 MS/s, 5180 MHz" in result.output.splitlines()[0]
    assert result.output.count("FCS") >= len(sky.sent)
    invoke(sky.path, "--json", tmp_path / "file.json", "--csi", tmp_path / "file.npz")
    live, file = frames_of(tmp_path / "live.json"), frames_of(tmp_path / "file.json")
    assert len(file) == len(sky.sent) and _timeless(live) == file
    assert (tmp_path / "live.npz").stat().st_size > 1000
    # The device's clock was set to the host's; times continue by the sample rate.
    times = [one["rx_time"] for one in live]
    assert before - 1 < sum(times[0]) < time.time() + 1
    for one, when in zip(live, times, strict=True):
        assert between(times[0], when) == pytest.approx((one["start"] - live[0]["start"]) / RATE,
                                                        abs=1e-9)
    stamps = pcap_times(tmp_path / "live.pcap")
    expected = [sum(one["rx_time"]) for one in live for _ in one["mpdus"]]
    assert stamps == pytest.approx(expected, abs=1e-6)


def test_what_is_recorded_is_received_again(sky, tmp_path):
    seconds = (sky.samples - LOST - 100) / RATE
    result = on_air(sky, "-q", "--json", tmp_path / "live.json", "--record", tmp_path / "r",
                    "--duration", seconds,
                    faults=f",overflow_at={middle_of(sky, 4)},overflow_samples={LOST}")
    assert result.exit_code == 0, result.output
    assert f"1 gap: the radio lost {LOST} samples of each antenna" in result.output
    assert f"{tmp_path / 'r.sigmf-meta'}" in result.output
    live = frames_of(tmp_path / "live.json")
    reader = recording.Reader(tmp_path / "r", verify=True)
    assert len(reader.segments) == 2    # one for each gap
    received = [one for one in reader.annotations if one.get("mimopack:received")]
    assert [one["core:sample_start"] for one in received] == [one["start"] for one in live]
    assert reader.frequency == FREQUENCY and reader.sample_rate == RATE
    first = live[0]
    assert between(reader.segments[0].time, first["rx_time"]) == pytest.approx(
        first["start"] / RATE, abs=1e-9)
    invoke("-q", tmp_path / "r", "--json", tmp_path / "again.json")
    again = frames_of(tmp_path / "again.json")
    assert len(again) == len(sky.sent) and _timeless(again) == _timeless(live)
    assert sum(not one["complete"] for one in again) == 1
    for one, other in zip(again, live, strict=True):
        assert abs(between(one["rx_time"], other["rx_time"])) < 2e-9
    second = on_air(sky, "-q", "--record", tmp_path / "r", "--duration", seconds)
    assert second.exit_code == 2 and "--record: " in second.output


@pytest.mark.parametrize("overload", ["wait", "drop"])
def test_an_overflow_costs_the_frames_in_which_it_falls(sky, overload):
    gaps = middle_of(sky, 4), middle_of(sky, 9)
    got = _receive(sky, f",overflow_at={gaps[0]}:{gaps[1]},overflow_samples={LOST}",
                   sky.samples - 2 * LOST, overload=overload, buffer_seconds=10)

    def lost_before(sample):
        return LOST * sum(gap < sample for gap in gaps)

    _check_all_but(sky, got, lambda begin, end: any(
        begin < gap + LOST and gap < end for gap in gaps), lambda at: at - lost_before(at))
    assert (got.counts["gaps"], got.counts["lost"]) == (2, 2 * LOST)
    assert sum(one["gaps"] for one in got.statuses) == 2
    # The next frames' times are right: those of their samples in the recording.
    (first, origin), *others = [pair for pair in got.frames if pair[0].complete]
    starts = [sent.start for sent in sky.sent if not any(
        sent.start < gap + LOST and gap < sent.start + length_of(sky, sent) for gap in gaps)]
    for (_, when), start in zip(others, starts[1:], strict=True):
        assert between(origin, when) * RATE == pytest.approx(start - starts[0], abs=4)
    assert abs(first.start - starts[0]) <= 2


def test_samples_that_vanish_without_a_word_cost_their_frame(sky):
    """gr-soapy does not pass on what only a time stamp tells."""
    gap = middle_of(sky, 6)
    got = _receive(sky, f",drop_at={gap},drop_samples={LOST}", sky.samples - LOST)
    _check_all_but(sky, got, lambda begin, end: begin < gap + LOST and gap < end,
                   lambda at: at - LOST * (at > gap))


@pytest.mark.parametrize("stamps", ["old", "new"])
def test_repeated_samples_cost_their_frame(sky, stamps):
    at = middle_of(sky, 6)
    count = sky.samples + LOST * (stamps == "old")
    got = _receive(sky, f",duplicate_at={at},duplicate_samples={LOST},duplicate_time={stamps}",
                   count)
    _check_all_but(sky, got, lambda begin, end: begin < at + LOST * (stamps == "new") and at < end,
                   lambda sample: sample + LOST * (sample > at and stamps == "old"))


def test_a_channel_that_slips_by_a_sample_costs_its_frame_at_most(sky):
    """Antennas that are apart by a sample are a channel like any other."""
    at = middle_of(sky, 6)
    got = _receive(sky, f",shift_at={at},shift_channel=1,shift_samples=1", sky.samples)
    complete = [frame.mpdus[0].data for frame, _ in got.frames if frame.complete]
    assert len(complete) >= len(sky.sent) - 1
    assert complete[-8:] == [sent.mpdus[0] for sent in sky.sent[-8:]]


def _tagged(samples, times):
    """A source of samples for each antenna; times: [(sample, seconds after 1000.25)]."""
    top_tags = []
    for offset, seconds in times:
        tag = gr.tag_t()
        tag.offset, tag.key = offset, pmt.intern("rx_time")
        whole, fraction = divmod(0.25 + seconds, 1)
        tag.value = pmt.make_tuple(pmt.from_uint64(1000 + int(whole)), pmt.from_double(fraction))
        top_tags.append(tag)
    return [blocks.vector_source_c(one, False, 1, top_tags if port == 0 else [])
            for port, one in enumerate(samples)]


@pytest.mark.parametrize("late", [LOST, -LOST, 1, 0.4, 0], ids=str)
def test_time_tags_tell_late_and_repeated_samples(sky, late):
    samples = recording.Reader(sky.path).read()
    cut = sky.sent[7].start - GAP // 2
    tags = [(0, 0.0), (cut, (cut + late) / RATE)]
    top, receiver, statuses = gr.top_block(), mimopack.wifi_receiver(2, RATE), Messages()
    got = []
    receiver.listen(lambda frame, when: got.append((frame, when)))
    top.msg_connect(receiver, "status", statuses, "in")
    for port, source in enumerate(_tagged(samples, tags)):
        top.connect(source, (receiver, port))
    driver.run(top, lambda: sum(one["frames"] for one in statuses.values()) >= 15)
    assert all(frame.complete for frame, _ in got) and len(got) == len(sky.sent)
    counts = receiver.counts()
    is_gap = abs(late) > 0.5
    assert (counts["gaps"], counts["lost"]) == (is_gap, max(0, late) if is_gap else 0)
    for (frame, when), sent in zip(got, sky.sent, strict=True):
        shift = late if is_gap and sent.start > cut else 0
        assert between((1000, 0.25), when) * RATE == pytest.approx(frame.start + shift, abs=1e-2)
    said = statuses.values()
    assert sum(one["gaps"] for one in said) == is_gap
    assert sum(one["frames"] for one in said) == len(sky.sent)


def test_a_gap_in_a_frame_ends_it_there(sky):
    """What was complete before the gap is not lost, and the frame that it cuts is reported."""
    cut = middle_of(sky, 3)
    samples = recording.Reader(sky.path).read()
    sources = _tagged(samples, [(0, 0.0), (cut, (cut + 5000) / RATE)])
    top, receiver, got = gr.top_block(), mimopack.wifi_receiver(2, RATE), []
    receiver.listen(lambda frame, when: got.append(frame))
    for port, source in enumerate(sources):
        top.connect(source, (receiver, port))
    driver.run(top, lambda: receiver.counts()["frames"] >= 15)
    assert [frame.complete for frame in got] == [index != 3 for index in range(15)]
    assert got[3].problem.startswith("truncated")


def test_hostile_tags_change_nothing(sky):
    samples = recording.Reader(sky.path).read()
    bad = [pmt.PMT_NIL, pmt.from_long(3), pmt.make_tuple(pmt.from_long(-1), pmt.from_double(0)),
           pmt.make_tuple(pmt.from_uint64(2**63), pmt.from_double(0.5)),
           pmt.make_tuple(pmt.from_uint64(5), pmt.from_double(float("nan")))]
    tags = []
    for index, value in enumerate(bad):
        for key in ("rx_time", "rx_rate", "rx_freq"):
            tag = gr.tag_t()
            tag.offset, tag.key, tag.value = 100 * index, pmt.intern(key), value
            tags.append(tag)
    top, receiver = gr.top_block(), mimopack.wifi_receiver(2, RATE)
    for port in range(2):
        top.connect(blocks.vector_source_c(samples[port], False, 1, tags if not port else []),
                    (receiver, port))
    driver.run(top, lambda: receiver.counts()["frames"] >= 15)
    counts = receiver.counts()
    assert counts["decoded"] == 15 and counts["gaps"] == 0
    # A frequency of 3 Hz is one, and a rate of 3 Hz a warning.
    assert counts["failures"] == 3 * len(bad) - 2


def test_a_disk_that_is_full_ends_the_command(sky, tmp_path, monkeypatch):
    def write(self, frame, when=None, _write=JsonFile.write):
        if frame.start > sky.sent[4].start:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        _write(self, frame, when)

    monkeypatch.setattr(JsonFile, "write", write)
    result = on_air(sky, "-q", "--record", tmp_path / "r", "--json", tmp_path / "f.json",
                    "--csi", tmp_path / "c.npz", "--duration", (sky.samples - 100) / RATE)
    assert result.exit_code == 2 and "--json: cannot write" in result.output
    assert "No space left" in result.output and "Broken off." in result.output
    reader = recording.Reader(tmp_path / "r", verify=True)
    assert reader.num_channels == 2 and reader.num_samples > 0
    assert (tmp_path / "c.npz").is_file() and not (tmp_path / "f.json").exists()


def test_a_radio_that_disappears_ends_the_command(sky, tmp_path, impatient):
    at = sky.sent[8].start - GAP // 2
    result = on_air(sky, "--json", tmp_path / "f.json", faults=f",disappear_at={at}")
    assert result.exit_code == 2
    assert "no sample came for 0.5 s" in result.output
    frames = frames_of(tmp_path / "f.json")
    assert [one["mpdus"][0]["hex"] for one in frames] \
        == [sent.mpdus[0].hex() for sent in sky.sent[:8]]


@pytest.mark.parametrize(("overload", "before", "while_running"), [
    ("drop", 0.005, 0.0005), ("drop", 0.0001, 0.0001), ("wait", 0.005, 0.005)])
def test_threads_of_a_live_receiver_share_pythons_lock_quickly(overload, before, while_running):
    kept, seen = sys.getswitchinterval(), []
    try:
        sys.setswitchinterval(before)
        top = gr.top_block()
        # The first one to end is not the last. GNU Radio does not keep blocks of Python alive.
        receivers = [mimopack.wifi_receiver(1, RATE, overload=overload) for _ in range(2)]
        for receiver in receivers:
            receiver.listen(lambda *_: None, lambda _: seen.append(sys.getswitchinterval()))
            top.connect(blocks.vector_source_c([0j] * 10_000), receiver)
        for _ in range(2):
            top.run()
        assert len(seen) >= 2 and seen == pytest.approx([while_running] * len(seen))
        assert sys.getswitchinterval() == pytest.approx(before)
    finally:
        sys.setswitchinterval(kept)


def test_what_a_stage_waits_is_not_its_work(sky, monkeypatch):
    monkeypatch.setattr(WaitingDetector, "waited", 0.0)
    stages = []
    top = gr.top_block()
    receiver = mimopack.wifi_receiver(2, RATE)
    receiver._sink._detector = receiver._sink.engine.detector = WaitingDetector
    receiver.listen(lambda frame, when: None, lambda told: stages.append(told["stages"]))
    for port, row in enumerate(recording.Reader(sky.path).read()):
        top.connect(blocks.vector_source_c(row.tolist()), (receiver, port))
    top.run()
    assert WaitingDetector.waited > 0
    assert 0 < sum(one["detection"] for one in stages) < WaitingDetector.waited / 2


def test_a_machine_that_is_too_slow_drops_spans_and_says_why(tmp_path):
    samples, sent = air(FRAMES[1:2], 2, gap=40_000)
    path = recording.write(tmp_path / "air", samples, RATE, frequency=FREQUENCY)

    got, statuses = [], []
    top = gr.top_block()
    source = driver.soapy.source("driver=mimopack", "fc32", 2,
                                 f"recording={path},repeat=1,buffer_s=5", "", [""], [""])
    receiver = mimopack.wifi_receiver(2, RATE, overload="drop", buffer_seconds=0.02)
    receiver._sink._detector = receiver._sink.engine.detector = SlowDetector
    receiver.listen(lambda frame, when: got.append((frame, when)), statuses.append)
    for port in range(2):
        top.connect((source, port), (receiver, port))
    driver.run(top, lambda: any(one["dropped"] for one in statuses))
    dropped = [one for one in statuses if one["dropped"]]
    assert dropped and receiver.counts()["dropped"] >= sum(one["dropped"] for one in dropped)
    assert dropped[-1]["slowest"] == "detection" and 0.2 < dropped[-1]["slowest_share"] <= 1
    assert receiver.counts()["failures"] == 0
    # The receiver goes on: frames behind the first span that was dropped are received, and at the
    # right places of the air, which repeats.
    whole = [(frame, when) for frame, when in got if frame.complete]
    assert len(whole) > 3 and whole[-1][0].start > 0.05 * RATE
    for frame, when in whole:
        assert abs((frame.start - sent[0].start + 10) % samples.shape[1] - 10) <= 2
        assert between(whole[0][1], when) * RATE == pytest.approx(
            frame.start - whole[0][0].start, abs=1e-2)


@pytest.mark.parametrize("threads", [1, 2])
def test_auto_takes_a_detector_that_keeps_up(sky, slow_nway, tmp_path, threads):
    result = on_air(sky, "-q", "--detector", "auto", "--duration", 4, "--json", tmp_path / "f.json",
                    "--output", tmp_path, "--no-pictures", "--threads", threads,
                    faults=",repeat=1")
    assert result.exit_code == 0, result.output
    told = json.loads((tmp_path / "summary.json").read_text())
    switch, = told["detector_switches"]
    assert (switch["before"], switch["after"], told["detector"]) == ("nway", "mmse", "mmse")
    assert "% of it detection, is too much" in switch["reason"]
    assert f"detector nway -> mmse: {switch['reason']}" in result.output
    several = [one for one in frames_of(tmp_path / "f.json")
               if one["num_streams"] == 2 and one["mpdus"]]
    names = [one["detector"] for one in several]
    change = names.index("mmse")
    assert 0 < change < len(names) - 1
    assert set(names[:change]) == {"nway"} and set(names[change:]) == {"mmse"}


def test_auto_loses_nothing_where_samples_wait(sky, slow_nway):
    """It takes the strongest, and changes nothing: what comes out does not hang on the machine."""
    got = _receive(sky, "", sky.samples, detector="auto")
    assert [frame.mpdus[0].data for frame, _ in got.frames] == [sent.mpdus[0] for sent in sky.sent]
    assert {frame.detector for frame, _ in got.frames if frame.format.num_streams == 2} == {"mla"}
    assert {one["detector"] for one in got.statuses} == {"mla"}
    assert not any(one["switch"] for one in got.statuses) and got.counts["switches"] == 0


def test_a_recording_takes_the_strongest_with_auto(sky, tmp_path):
    result = invoke("-q", sky.path, "--detector", "auto", "--json", tmp_path / "f.json")
    assert result.exit_code == 0, result.output
    frames = frames_of(tmp_path / "f.json")
    assert all(one["complete"] for one in frames) and len(frames) == len(sky.sent)
    assert {one["detector"] for one in frames if one["num_streams"] == 2} == {"mla"}


def test_messages_end_and_begin_auto():
    receiver = mimopack.wifi_receiver(2, RATE, detector="auto", overload="drop")

    def send(**settings):
        receiver._sink._on_control(pmt.to_pmt(settings))
        return receiver.detector(), receiver.detector_in_use()

    assert (receiver.detector(), receiver.detector_in_use()) == ("auto", "nway")
    receiver._sink._auto.detector = "mmse"
    assert send(detector="best") == ("auto", "mmse")    # refused: nothing changes
    assert send(detector="auto") == ("auto", "mmse")
    assert send(detector="kbest") == ("kbest", "kbest")
    assert send(detector="auto") == ("auto", "nway")    # K-best is none of the choices
    assert send(detector="mmse", threshold=9) == ("auto", "nway")
    assert send(detector="mmse") == ("mmse", "mmse")
    assert send(detector="auto") == ("auto", "mmse")
    with pytest.raises(ValueError, match="detector: got 'best', allowed are auto, zf, "):
        receiver.set_detector("best")


@pytest.mark.parametrize("channel", ["identity", "rayleigh"])
def test_what_is_transmitted_is_received_back(channel):
    """MPDUs through our transmitter, gr-soapy's sink and source, and our receiver."""
    arguments = (f"loopback={channel},channels=2,rate={RATE},snr_db=35,level_db=-12,speed=0.05,"
                 f"buffer_s=5,cfo_hz=5000,serial={channel}")
    top, got = gr.top_block(), []
    source, sink = (kind("driver=mimopack", "fc32", 2, arguments, "", [""], [""])
                    for kind in (driver.soapy.source, driver.soapy.sink))
    source.set_frequency(0, FREQUENCY)
    sink.set_length_tag_name("packet_len")    # the transmitter's, if not told another
    transmitter = mimopack.wifi_transmitter(2, "ht", 9, fcs="included")
    receiver = mimopack.wifi_receiver(2, RATE, overload="drop", buffer_seconds=5)
    receiver.listen(lambda frame, when: got.append((frame, when)))
    for port in range(2):
        top.connect((transmitter, port), (sink, port))
        top.connect((source, port), (receiver, port))
    mpdus = [data_mpdu(100, number) for number in range(12)]

    def send(some):
        for mpdu in some:
            transmitter.to_basic_block()._post(pmt.intern("in"), pmt.cons(
                pmt.PMT_NIL, pmt.init_u8vector(len(mpdu), list(mpdu))))

    # GNU Radio 3.10's sink begins with a random count of samples that it takes for a burst's: it
    # can lose what comes first.
    send(mpdus[:1])
    end, rest = time.monotonic() + 10, mpdus[1:]

    def sends_the_rest():
        if rest and sink.nitems_read(0) and transmitter.frames() == 1:
            send(rest)
            rest.clear()
        return time.monotonic() > end or len(got) >= 11 and got[-1][0].fcs_ok and (
            got[-1][0].mpdus[0].data == mpdus[-1])

    driver.run(top, sends_the_rest)
    data = [mpdu.data for frame, _ in got for mpdu in frame.mpdus]
    assert [one for one in data if one != mpdus[0]] == mpdus[1:]
    assert transmitter.clipped() == 0 and transmitter.peak() < 1
    assert all(abs(frame.cfo_hz - 5000) < 500 for frame, _ in got)
    times = [when[0] + when[1] for _, when in got]
    assert times == sorted(times)


def test_a_clock_is_set_at_a_pulse(sky, tmp_path):
    """With a time source of its own, the device's time is that of the pulse."""
    before = time.time()
    result = on_air(sky, "-q", "--json", tmp_path / "f.json", "--time-source", "external",
                    "--duration", (sky.samples - 100) / RATE)
    assert result.exit_code == 0, result.output
    frames = frames_of(tmp_path / "f.json")
    assert len(frames) == len(sky.sent)
    assert before - 1 < sum(frames[0]["rx_time"]) < time.time() + 1


def test_a_clock_that_cannot_be_set_is_a_warning(sky, tmp_path, monkeypatch):
    def refuses(self, *_):
        raise RuntimeError("not implemented")

    monkeypatch.setattr(driver.soapy.source, "set_hardware_time", refuses)
    result = on_air(sky, "-q", "--duration", (sky.samples - 100) / RATE)
    assert result.exit_code == 0, result.output
    assert "times are its own: not implemented" in result.output


@pytest.mark.parametrize("asked_by", ["signal", "key"])
def test_ctrl_c_ends_with_the_summary_and_what_was_kept_stays(sky, tmp_path, asked_by):
    keyboard, terminal = pty.openpty()
    child = spawn(
        "--radio", f"driver=mimopack,recording={sky.path},repeat=1,speed=0.05", "--frequency",
        FREQUENCY, "--antennas", 2, "--json", tmp_path / "f.json", "--record", tmp_path / "k",
        "--keep", 0.05, stdin=terminal)
    watchdog = threading.Timer(30, child.kill)
    watchdog.start()
    try:
        lines = []
        while not any("FCS" in line for line in lines[-1:]):
            lines.append(child.stdout.readline())
            assert lines[-1], lines
        if asked_by == "key":
            os.write(keyboard, b"\n")
        else:
            child.send_signal(signal.SIGUSR1)
        while not lines[-1].startswith("written: "):
            lines.append(child.stdout.readline())
            assert lines[-1], lines
        child.send_signal(signal.SIGINT)
        rest = child.communicate(timeout=30)[0]
    finally:
        watchdog.cancel()
        child.kill()
        os.close(keyboard)
        os.close(terminal)
    assert child.returncode == 130, rest
    assert "Ended by Ctrl-C." in rest and "of 2 antennas searched" in rest
    assert frames_of(tmp_path / "f.json")
    kept = recording.Reader(tmp_path / "k-001")
    assert 0 < kept.num_samples <= 0.05 * RATE and kept.num_channels == 2


def taker(queue, wait=lambda: None):
    """Take what is in a queue, on a thread: (the thread, list of (first, samples, tags))."""
    took = []

    def run():
        while (taken := queue.take()) is not None:
            wait()
            first, samples, tags = taken
            took.append((first, samples.copy(), [tag.offset for tag in tags]))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, took


def ended(thread):
    thread.join(10)
    return not thread.is_alive()


def test_a_queue_drops_whole_spans_and_keeps_their_tags():
    """Dropping goes on until half of the queue is free; tags come with the samples behind."""
    goes_on = threading.Event()
    queue = _runtime.SampleQueue(2, 1000, 65536, True)
    stream = np.arange(4000) + 1j * np.array([[1], [2]])

    def put(first, count):
        tag = gr.tag_t()
        tag.offset, tag.key = first, pmt.intern("rx_time")
        queue.put(first, stream[:, first:first + count], [tag])

    queue.open()
    thread, took = taker(queue, lambda: goes_on.wait(10))
    put(0, 400)
    put(400, 400)
    put(800, 400)     # 1200 are too many
    put(1200, 100)    # 900 are still more than half
    assert (queue.dropped, queue.waiting) == (500, 800)
    goes_on.set()
    until(lambda: not queue.waiting)
    put(1300, 300)
    put(1600, 500)
    queue.close()
    assert ended(thread)
    assert (queue.dropped, queue.waiting) == (500, 0)
    firsts = [first for first, _, _ in took]
    assert firsts == sorted(firsts)
    for first, samples, _ in took:
        assert np.array_equal(samples, stream[:, first:first + samples.shape[1]])
    taken = np.concatenate([first + np.arange(samples.shape[1]) for first, samples, _ in took])
    assert np.array_equal(taken, np.r_[0:800, 1300:2100])
    tags = {first: offsets for first, _, offsets in took}
    assert [offset for offsets in tags.values() for offset in offsets] == [
        0, 400, 800, 1200, 1300, 1600]
    assert tags[1300][:3] == [800, 1200, 1300]
    queue.open()    # another stream
    thread, took = taker(queue)
    queue.put(0, stream[:, :10], [])
    queue.close()
    assert ended(thread)
    (first, samples, tags), = took
    assert (first, tags) == (0, []) and np.array_equal(samples, stream[:, :10])


def test_a_queue_holds_back_who_is_too_fast():
    goes_on = threading.Event()
    queue = _runtime.SampleQueue(1, 900, 300, False)
    stream = np.arange(5000) + 0j
    queue.open()
    thread, took = taker(queue, lambda: goes_on.wait(10))
    bringer = threading.Thread(target=lambda: queue.put(0, stream[None], []), daemon=True)
    bringer.start()
    until(lambda: queue.waiting >= 900)
    time.sleep(0.05)    # in which more would come if nothing held them back
    assert bringer.is_alive() and queue.waiting == 900 and queue.has_more
    goes_on.set()
    assert ended(bringer)
    queue.close()
    assert ended(thread)
    assert (queue.dropped, queue.waiting) == (0, 0)
    assert [first for first, _, _ in took] == sorted(first for first, _, _ in took)
    assert max(len(samples[0]) for _, samples, _ in took) == 300
    assert np.array_equal(np.concatenate([samples[0] for _, samples, _ in took]), stream)


def test_who_brings_samples_rests_until_they_are_taken():
    goes_on = threading.Event()
    queue = _runtime.SampleQueue(1, 1000, 1000, True)
    queue.open()
    thread, _ = taker(queue, lambda: goes_on.wait(10))
    queue.put(0, np.zeros((1, 100)), [])
    queue.rest(0, 0.01)
    assert queue.waiting == 100    # not for longer than that
    threading.Timer(0.05, goes_on.set).start()
    queue.rest(0, 10)
    assert queue.waiting == 0
    queue.close()
    assert ended(thread)


def test_a_queue_refuses_another_number_of_antennas():
    queue = _runtime.SampleQueue(2, 1000, 1000, True)
    with pytest.raises(ValueError, match=r"samples: must be \(2, n\)"):
        queue.put(0, np.zeros((1, 100)), [])


def test_an_abandoned_queue_drops_what_comes():
    queue = _runtime.SampleQueue(1, 900, 300, False)
    queue.open()
    bringer = threading.Thread(target=lambda: queue.put(0, np.zeros((1, 5000)), []), daemon=True)
    bringer.start()
    until(lambda: queue.waiting == 900)
    assert queue.take()[1].shape == (1, 300)
    queue.abandon()
    assert ended(bringer) and queue.take() is None
    assert queue.dropped == 5000 - 900
    queue.open()    # nothing is left of the stream before
    assert queue.waiting == 0 and not queue.wait(0)
    queue.put(0, np.ones((1, 10)), [])
    first, samples, _ = queue.take()
    assert first == 0 and np.array_equal(samples, np.ones((1, 10)))


@pytest.mark.parametrize("port", [None, "out"])
def test_a_receiver_that_python_forgot_drops_its_samples(port, capfd):
    """GNU Radio does not keep Python's blocks; that ends in a line, and not in a crash."""
    top, debug = gr.top_block(), blocks.message_debug()

    def build():
        receiver = mimopack.wifi_receiver(1, RATE)
        top.connect(blocks.null_source(gr.sizeof_gr_complex),
                    blocks.head(gr.sizeof_gr_complex, 10**5), receiver)
        if port:
            top.msg_connect(receiver, port, debug, "store")

    build()
    gc.collect()
    top.start()
    until(lambda: "its Python object is gone" in "".join(capfd.readouterr()))
    top.stop()
    top.wait()


def test_a_receiver_whose_start_fails_drops_its_samples(monkeypatch, capfd):
    def fails(*_):
        raise RuntimeError("on purpose")

    receiver = mimopack.wifi_receiver(1, RATE, threads=2)
    monkeypatch.setattr(receiver._sink._status, "begin", fails)
    top, source = gr.top_block(), blocks.vector_source_c([0j] * 10**5)
    top.connect(source, receiver)
    top.run()
    assert "the start: RuntimeError: on purpose" in "".join(capfd.readouterr())
    monkeypatch.undo()
    source.rewind()
    top.run()
    assert receiver.counts()["samples"] == 10**5


@pytest.mark.parametrize("overload", ["wait", "drop"])
def test_who_ends_the_receivers_thread_does_not_stop_the_flowgraph(overload, capfd):
    def ends(_):
        raise SystemExit

    receiver = mimopack.wifi_receiver(1, RATE, overload=overload)
    receiver.listen(None, ends)
    top = gr.top_block()
    top.connect(blocks.null_source(gr.sizeof_gr_complex), receiver)
    top.start()
    told = []
    until(lambda: told.append("".join(capfd.readouterr())) or "takes no more" in "".join(told))
    top.stop()
    top.wait()
    assert "the receiver takes no more samples: SystemExit()" in "".join(told)


def test_python_can_end_while_a_receiver_runs():
    script = """
import time
from gnuradio import blocks, gr, mimopack
top = gr.top_block()
receiver = mimopack.wifi_receiver(1, 20e6, threads=3)
source = blocks.null_source(gr.sizeof_gr_complex)
throttle = blocks.throttle(gr.sizeof_gr_complex, 5e6)
top.connect(source, throttle, receiver)
top.start()
time.sleep(0.3)
print(receiver.counts()["samples"] > 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          timeout=60, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_a_receiver_goes_with_its_last_reference():
    def run():
        receiver = mimopack.wifi_receiver(1, RATE, threads=2)
        receiver.listen(lambda *_: receiver, None)
        top = gr.top_block()
        top.connect(blocks.vector_source_c([0j] * 1000), receiver)
        top.run()
        return weakref.ref(receiver._sink)

    sink = run()
    gc.collect()
    assert sink() is None


@pytest.mark.parametrize("arguments, said", [
    (["--antennas", 3], "--antennas: got 3, the device has 2"),
    (["--antennas", 9], "9 is not in the range 1<=x<=8"),
    (["--rate", "40e6"], "--rate: Unsupported sample rate"),
    (["--rate", "21e6"], "--rate: got 21 MS/s, the receiver takes 5, 10, 20, 40, 80 MS/s"),
    (["--frequency", "5.2G"], "--frequency: frequency: got 5200000000, allowed is 5180000000"),
    (["--gain", "100"], "--gain: got 100 dB, the device has 0 to 80 dB"),
    (["--gain", "10,20,30"], "--gain: got 3 values, must be 1 or one for each of 2 antennas"),
    (["--gain", "loud"], "'--gain': got 'loud', must be dB, such as 30 or 30,32, or auto"),
    (["--gain", "auto"], "--gain: the device has no automatic gain"),
    (["--antenna-names", "RX2"], "--antenna-names: got 'RX2', the device has RX"),
    (["--bandwidth", "2e9"], "--bandwidth: got 2000 MHz, the device has 0 to 1000 MHz"),
    (["--bandwidth", "wide"], "'--bandwidth': got 'wide', must be a positive number of Hz"),
    (["--clock-source", "gps"], "--clock-source: got 'gps', the device has internal, external"),
    (["--time-source", "gps"], "--time-source: got 'gps', the device has internal, external"),
    (["--keep", "1"], "--keep: with --radio only together with --record"),
    (["--format", "ci16"], "--format: with --radio only together with --record"),
    (["--duration", "0"], "'--duration': 0.0 is not in the range x>0"),
    (["--record", "/no/where"], "--record: "),
    (["--record", "r", "--keep", "1e6"], "--keep: got 1000000.0, which take"),
    (["a.sigmf-meta"], "--radio DEVICE --frequency HZ, not both")])
def test_a_wrong_setting_is_refused_in_a_sentence(sky, arguments, said):
    result = on_air(sky, *arguments)
    assert result.exit_code == 2 and said in result.output, result.output
    assert "Traceback" not in result.output


def test_a_run_that_does_not_begin_leaves_no_recording(sky, tmp_path):
    result = on_air(sky, "--record", tmp_path / "r", "--json", tmp_path / "no" / "f.json")
    assert result.exit_code == 2 and "--json: cannot write" in result.output
    result = on_air(sky, "--record", tmp_path / "r", "--json", tmp_path / "r.sigmf-meta")
    assert result.exit_code == 2 and "is the recording too" in result.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments, said", [
    (["--radio", "driver=none_such", "--frequency", "5.18G"], "no device for 'driver=none_such'"),
    (["--radio", "driver=mimopack,foo=1", "--frequency", "5.18G"], '--radio: argument: got "foo"'),
    (["--radio", "soapy,driver=none_such", "--frequency", "5.18G"],
     "no device for 'driver=none_such'"),
    (["--radio", "driver=uhd,type=none_such", "--frequency", "5.18G"], "--radio: "),
    (["--radio", "none_such", "--frequency", "5.18G"],
     "--radio: got 'none_such', must be driver=NAME"),
    (["--radio", "driver=mimopack,recording", "--frequency", "5.18G"],
     "--radio: got 'recording', must be driver=NAME"),
    (["--radio", "driver=mimopack"], "--radio needs --frequency"),
    ([], "give a RECORDING, or a radio with --radio DEVICE"),
    (["a.sigmf-meta", "--gain", "3"], "--gain is an option of --radio"),
    (["a.sigmf-meta", "--no-correction"], "--correction is an option of --radio")])
def test_what_is_no_radio_is_refused_in_a_sentence(arguments, said):
    result = invoke(*arguments)
    assert result.exit_code == 2 and said in result.output, result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("module, device", [("soapy", "driver=mimopack"), ("uhd", "driver=uhd")])
def test_a_library_that_is_missing_is_named(monkeypatch, module, device):
    monkeypatch.delattr(f"gnuradio.{module}", raising=False)
    monkeypatch.setitem(sys.modules, f"gnuradio.{module}", None)
    result = invoke("--radio", device, "--frequency", "5.18G")
    assert result.exit_code == 2 and f"--radio: gr-{module} is missing" in result.output


class Usrp(gr.sync_block):
    """What gr-uhd's source has for a device of two channels; it loses samples in a frame."""

    made = None

    def __init__(self, address, stream_args):
        channels = list(stream_args.channels)
        if len(channels) > 2:
            raise RuntimeError("LookupError: IndexError: multi_usrp: RX channel 2 out of range")
        gr.sync_block.__init__(self, "usrp_source", None, [np.complex64] * len(channels))
        self.address, self.calls, self.position, self.clock = address, [], 0, 0.0
        Usrp.made = self

    def __getattr__(self, name):
        if name not in self.real:
            return gr.sync_block.__getattr__(self, name)
        answers = {"num_mboards": 1, "antennas": ["TX/RX", "RX2"], "samp_rate": RATE,
                   "center_freq": FREQUENCY, "clock_sources": ["internal", "external"],
                   "time_sources": ["internal", "external"],
                   "gain_range": SimpleNamespace(start=lambda: 0.0, stop=lambda: 76.0),
                   "bandwidth_range": SimpleNamespace(start=lambda: 2e5, stop=lambda: 56e6),
                   "bandwidth": 18e6}

        def call(*arguments):
            self.calls.append((name, *arguments))
            return answers.get(name.removeprefix("get_"))
        return call

    def get_time_now(self):
        return self.uhd.time_spec(self.clock)

    def set_time_now(self, spec):
        self.clock = spec.get_real_secs()

    def set_start_time(self, spec):
        self.begins = spec

    def work(self, _inputs, outputs):
        """The samples, but for a gap behind which UHD tags the time again."""
        if self.position in (0, self.gap):
            sample = self.position + LOST * bool(self.position)
            spec = self.begins + self.uhd.time_spec(sample / RATE)
            for port in range(len(outputs)):
                self.add_item_tag(port, self.nitems_written(port), pmt.intern("rx_time"),
                                  pmt.make_tuple(pmt.from_uint64(int(spec.get_full_secs())),
                                                 pmt.from_double(spec.get_frac_secs())))
        end = self.gap if self.position < self.gap else self.samples.shape[1]
        count = min(len(outputs[0]), end - self.position)
        for port, output in enumerate(outputs):
            output[:count] = self.samples[port, self.position:self.position + count]
        self.position += count
        return count or -1


@pytest.fixture
def usrp(sky, monkeypatch):
    uhd = pytest.importorskip("gnuradio.uhd")
    gap = middle_of(sky, 4)
    samples = recording.Reader(sky.path).read()
    # Only what gr-uhd has may be called.
    own = set(dir(uhd.usrp_source)) - set(dir(blocks.head))
    monkeypatch.setattr(Usrp, "real", own, raising=False)
    monkeypatch.setattr(Usrp, "uhd", uhd, raising=False)
    monkeypatch.setattr(Usrp, "gap", gap, raising=False)
    monkeypatch.setattr(Usrp, "samples", np.delete(samples, np.s_[gap:gap + LOST], axis=1),
                        raising=False)
    monkeypatch.setattr(uhd, "usrp_source", Usrp)


@pytest.mark.parametrize("device", ["driver=uhd,serial=F5", "uhd,serial=F5"])
def test_a_usrp(sky, tmp_path, usrp, device):
    before = time.time()
    result = invoke("--radio", device, "--frequency", FREQUENCY, "--antennas", 2, "--gain", "30,40",
                    "--antenna-names", "RX2", "--clock-source", "external", "--json",
                    tmp_path / "f.json")
    assert result.exit_code == 0, result.output
    source = Usrp.made
    assert source.address == "serial=F5"
    assert [call for call in source.calls if call[0].startswith("set_")] == [
        ("set_clock_source", "external", 0), ("set_samp_rate", RATE),
        ("set_antenna", "RX2", 0), ("set_antenna", "RX2", 1),
        ("set_center_freq", FREQUENCY, 0), ("set_gain", 30.0, 0),
        ("set_auto_dc_offset", True, 0), ("set_auto_iq_balance", True, 0),
        ("set_center_freq", FREQUENCY, 1), ("set_gain", 40.0, 1),
        ("set_auto_dc_offset", True, 1), ("set_auto_iq_balance", True, 1)]
    # The device's clock was set to the host's, and its channels begin together a little later.
    assert before < source.clock < source.begins.get_real_secs() < time.time() + 1
    frames = frames_of(tmp_path / "f.json")
    assert [one["complete"] for one in frames] == [index != 4 for index in range(15)]
    begins = int(source.begins.get_full_secs()), source.begins.get_frac_secs()
    for one, sent in zip(frames, sky.sent, strict=True):
        assert between(begins, one["rx_time"]) * RATE == pytest.approx(sent.start, abs=3)
    assert f"1 gap: the radio lost {LOST} samples" in result.output


def test_gnu_radio_says_nothing_of_buffers(sky):
    process = spawn("--radio", f"driver=mimopack,recording={sky.path}", "--frequency", FREQUENCY,
                    "--antennas", 2, "-q", "--duration", 0.001)
    output, _ = process.communicate(timeout=60)
    assert output.startswith("driver=mimopack") and "set_min_output_buffer" not in output


def test_the_filters_of_a_radio_are_set(sky, usrp):
    result = invoke("--radio", "uhd", "--frequency", FREQUENCY, "--antennas", 2, "--bandwidth",
                    "20M")
    assert [call for call in Usrp.made.calls if call[0] == "set_bandwidth"] == [
        ("set_bandwidth", 20e6, 0), ("set_bandwidth", 20e6, 1)]
    assert "filters 18 MHz wide" in result.output.splitlines()[0]
    assert "note: the device's filter is 18 MHz wide, not 20 MHz" in result.output
    radio = open_radio(RadioSettings(f"driver=mimopack,recording={sky.path}", FREQUENCY, RATE, 2,
                                     bandwidth=15e6))
    assert [radio.source.get_bandwidth(channel) for channel in range(2)] == [15e6, 15e6]
    assert not radio.notes


@pytest.mark.parametrize("arguments, said", [
    (["--antennas", 3], "--antennas: got 3, the device has fewer"),
    (["--bandwidth", "80M"], "--bandwidth: got 80 MHz, the device has 0.2 to 56 MHz"),
    (["--gain", "80"], "--gain: got 80 dB, the device has 0 to 76 dB"),
    (["--rate", "40e6"], "--rate: got 40 MS/s, the device gives 20 MS/s instead"),
    (["--frequency", "2.4e9"], "--frequency: got 2400 MHz, the device is at 5180 MHz instead"),
    (["--antenna-names", "RX1"], "--antenna-names: got 'RX1', the device has TX/RX, RX2"),
    (["--time-source", "gps"], "--time-source: got 'gps', the device has internal, external")])
def test_a_usrp_refuses_in_a_sentence(usrp, arguments, said):
    result = invoke("--radio", "uhd", "--frequency", FREQUENCY, *arguments)
    assert result.exit_code == 2 and said in result.output, result.output


@pytest.mark.parametrize("name", ["soapy", "uhd"])
def test_the_examples_for_radios_compile(companion, tmp_path, name):
    script = companion.compiled(ROOT / f"examples/wifi_live_{name}.grc", tmp_path)
    made = script.read_text()
    compile(made, str(script), "exec")
    assert 'overload="drop"' in made and "(self.source, 1), (self.rx, 1)" in made


WATCH = """
import sys, time
from PyQt5 import Qt
import wifi_live_soapy as made
application = Qt.QApplication(sys.argv)
graph = made.wifi_live_soapy(driver="mimopack", device=sys.argv[1], antenna="RX",
                             capture="live.pcap")
made.snippets_main_after_init(graph)
watch, deadline = Qt.QTimer(), Qt.QTimer()
watch.timeout.connect(lambda: graph.meter.frames() >= 20 and application.quit())
deadline.timeout.connect(application.quit)
watch.start(50)
deadline.start(20000)
graph.start()
graph.show()
application.exec_()
graph.stop()
graph.wait()
print("received", graph.rx.counts()["decoded"])
"""


def test_the_example_for_soapy_receives(companion, sky, tmp_path):
    companion.compiled(ROOT / "examples/wifi_live_soapy.grc", tmp_path)
    before = time.time()
    done = subprocess.run(
        [sys.executable, "-c", WATCH, f"recording={sky.path},repeat=1,speed=0.05"], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{PACKAGES}{os.pathsep}{tmp_path}",
             "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path),
             "QT_QPA_PLATFORM": "offscreen"}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split("received ")[1].split()[0]) >= 20
    times = pcap_times(tmp_path / "live.pcap")
    assert len(times) >= 20 and before - 1 < times[0] <= times[-1] < time.time() + 1


def test_the_example_without_windows_receives(sky, tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples/wifi_live_soapy_headless.py",
         f"driver=mimopack,recording={sky.path}", "--seconds", "2", "--capture", "c.pcap"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(PACKAGES)}, capture_output=True,
        text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "'decoded': 15" in done.stdout
    assert len(pcap_times(tmp_path / "c.pcap")) == sum(len(sent.mpdus) for sent in sky.sent)
