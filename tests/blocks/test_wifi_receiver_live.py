# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""wifi_receiver after gr-soapy's source with the driver of soapy/: faults, tags, load, end."""

import gc
import os
import subprocess
import sys
import time
import weakref
from types import SimpleNamespace

import pmt
import pytest
import soapy_driver as driver
from flowgraphs import Messages, until
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import recording
from gnuradio.mimopack.blocks import sample_stream
from gnuradio.mimopack.recording.timeline import between
from slow_detectors import SlowDetector, WaitingDetector
from wifi_air import FRAMES, air, data_mpdu
from wifi_blocks import run
from wifi_sky import FREQUENCY, GAP, LOST, RATE, length_of, middle_of


def _receive(sky, faults, count, num_rx=2, source=None, **options):
    """Receive the recording with faults: return frames with times, counts and statuses."""
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
    """Check that each frame except those hit by a fault is received as it was sent.

    Args:
        hit: function of the first sample of a frame and of the sample after its last one.
        moved: function from a sample number in the recording to the number in the stream.
    """
    expected = {moved(sent.start): sent for sent in sky.sent
                if not hit(sent.start, sent.start + length_of(sky, sent))}
    assert 0 < len(expected) < len(sky.sent)
    found = [frame for frame, _ in got.frames if frame.complete]
    assert [[mpdu.data for mpdu in frame.mpdus] for frame in found] \
        == [sent.mpdus for sent in expected.values()]
    for frame, start in zip(found, expected, strict=True):
        assert abs(frame.start - start) <= 2


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
    # Later times are right: they are those of the samples in the recording.
    (first, origin), *others = [pair for pair in got.frames if pair[0].complete]
    starts = [sent.start for sent in sky.sent if not any(
        sent.start < gap + LOST and gap < sent.start + length_of(sky, sent) for gap in gaps)]
    for (_, when), start in zip(others, starts[1:], strict=True):
        assert between(origin, when) * RATE == pytest.approx(start - starts[0], abs=4)
    assert abs(first.start - starts[0]) <= 2


def test_samples_that_vanish_without_a_word_cost_their_frame(sky):
    """gr-soapy does not pass on a gap that only a time stamp shows."""
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
    """Antennas that are one sample apart are a valid channel."""
    at = middle_of(sky, 6)
    got = _receive(sky, f",shift_at={at},shift_channel=1,shift_samples=1", sky.samples)
    complete = [frame.mpdus[0].data for frame, _ in got.frames if frame.complete]
    assert len(complete) >= len(sky.sent) - 1
    assert complete[-8:] == [sent.mpdus[0] for sent in sky.sent[-8:]]


def _tagged(samples, times):
    """Make a source of samples for each antenna; times: [(sample, seconds after 1000.25)]."""
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
    """Complete frames before the gap are not lost, and the cut frame is reported."""
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


def test_threads_of_a_live_receiver_share_pythons_lock_quickly():
    kept = sys.getswitchinterval()
    try:
        for before, after in ((0.005, 0.0005), (0.0001, 0.0001)):
            sys.setswitchinterval(before)
            top = gr.top_block()
            receiver = mimopack.wifi_receiver(1, RATE, overload="drop")
            top.connect(blocks.null_source(gr.sizeof_gr_complex), receiver)
            top.start()
            assert sys.getswitchinterval() == pytest.approx(after, rel=0.05)
            top.stop()
            top.wait()
            assert sys.getswitchinterval() == pytest.approx(before, rel=0.05)
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
    # The receiver goes on. Frames after the first dropped span are received, and at the right
    # positions of the recording, which repeats.
    whole = [(frame, when) for frame, when in got if frame.complete]
    assert len(whole) > 3 and whole[-1][0].start > 0.05 * RATE
    for frame, when in whole:
        assert abs((frame.start - sent[0].start + 10) % samples.shape[1] - 10) <= 2
        assert between(whole[0][1], when) * RATE == pytest.approx(
            frame.start - whole[0][0].start, abs=1e-2)


def test_auto_loses_nothing_where_samples_wait(sky, slow_nway):
    """It uses the strongest detector and keeps it, so the result does not depend on the machine."""
    got = _receive(sky, "", sky.samples, detector="auto")
    assert [frame.mpdus[0].data for frame, _ in got.frames] == [sent.mpdus[0] for sent in sky.sent]
    assert {frame.detector for frame, _ in got.frames if frame.format.num_streams == 2} == {"mla"}
    assert {one["detector"] for one in got.statuses} == {"mla"}
    assert not any(one["switch"] for one in got.statuses) and got.counts["switches"] == 0


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
    assert send(detector="kbest:k=8") == ("kbest:k=8", "kbest:k=8")
    assert send(detector="auto") == ("auto", "nway")    # K-best is not among the choices
    assert send(detector="kbest:k=0") == send(detector="kbest:q=8") == ("auto", "nway")
    assert receiver.refused_settings() == 3
    assert send(detector="best", threshold=0.5) == ("auto", "nway")
    assert receiver.threshold() == 0.5
    assert send(detector="mmse") == ("mmse", "mmse")
    assert send(detector="auto") == ("auto", "mmse")
    with pytest.raises(ValueError, match="detector: got 'best', allowed are auto, zf, "):
        receiver.set_detector("best")


@pytest.mark.parametrize("channel", ["identity", "rayleigh"])
def test_what_is_transmitted_is_received_back(channel):
    """MPDUs pass through our transmitter, gr-soapy's sink and source, and our receiver."""
    arguments = (f"loopback={channel},channels=2,rate={RATE},snr_db=35,level_db=-12,speed=0.05,"
                 f"buffer_s=5,cfo_hz=5000,serial={channel}")
    top, got = gr.top_block(), []
    source, sink = (kind("driver=mimopack", "fc32", 2, arguments, "", [""], [""])
                    for kind in (driver.soapy.source, driver.soapy.sink))
    source.set_frequency(0, FREQUENCY)
    sink.set_length_tag_name("packet_len")    # the transmitter's default
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

    # GNU Radio 3.10's sink begins with a random sample count, as if in a burst, so it may lose the
    # first samples.
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


@pytest.mark.parametrize("port", [None, "out"])
def test_a_receiver_that_python_forgot_does_not_start(port):
    """GNU Radio does not keep Python blocks alive. The result is an error, not a crash."""
    top, debug = gr.top_block(), blocks.message_debug()

    def build():
        receiver = mimopack.wifi_receiver(1, RATE)
        top.connect(blocks.null_source(gr.sizeof_gr_complex),
                    blocks.head(gr.sizeof_gr_complex, 10**5), receiver)
        if port:
            top.msg_connect(receiver, port, debug, "store")

    build()
    gc.collect()
    with pytest.raises(RuntimeError, match="'wifi_receiver': input 0 is not connected"):
        top.start()


@pytest.mark.parametrize("port", [None, "out"])
@pytest.mark.parametrize("step", ["status", "thread"])
def test_a_receiver_whose_start_fails_drops_its_samples(step, port, monkeypatch, capfd):
    def fails(*_, **__):
        raise RuntimeError("on purpose")

    receiver = mimopack.wifi_receiver(1, RATE, threads=2)
    if step == "status":
        monkeypatch.setattr(receiver._sink._status, "begin", fails)
    else:
        monkeypatch.setattr(sample_stream, "threading", SimpleNamespace(Thread=fails))
    top, source, told = gr.top_block(), blocks.vector_source_c([0j] * 10**5), Messages()
    top.connect(source, receiver)
    if port:
        top.msg_connect(receiver, port, told, "in")
    run(top)
    assert "begin(): RuntimeError: on purpose" in "".join(capfd.readouterr())
    monkeypatch.undo()
    source.rewind()
    run(top)
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
    until(lambda: not receiver._sink._thread.is_alive())
    top.stop()
    top.wait()
    # readouterr() moves the position at which the receiver's threads write: call it after they end.
    assert "the receiver has stopped taking samples: SystemExit()" in "".join(capfd.readouterr())


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
    assert done.returncode == 0 and done.stdout.startswith("True\n"), done.stderr


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
