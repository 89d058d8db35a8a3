# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads that share frames: the same reports in the same order, and errors in the right place."""

import itertools
import sys
import threading
import time

import numpy as np
import pytest
from gnuradio.mimopack import _runtime, detectors
from gnuradio.mimopack.wifi import HT, Receiver, sample_store
from gnuradio.mimopack.wifi.synchroniser import FoundFrame
from wifi_air import FRAMES, air, data_mpdu

SAMPLES, SENT = air(8 * FRAMES, num_rx=2, gap=120)


def received(threads, **options):
    receiver = Receiver(2, threads=threads, **options)
    frames = []
    for begin in range(0, SAMPLES.shape[1], 100_001):
        frames += receiver.process(SAMPLES[:, begin:begin + 100_001])
    return frames + receiver.finish(), receiver


def test_frames_do_not_depend_on_threads():
    alone, receiver = received(1)
    assert [frame.psdu for frame in alone] == [one.psdu for one in SENT]
    for threads in (2, 3):
        frames, other = received(threads)
        assert [frame.as_json() for frame in frames] == [frame.as_json() for frame in alone]
        assert other.counts == receiver.counts
        for frame, one in zip(frames, alone, strict=True):
            np.testing.assert_array_equal(frame.channel.matrices, one.channel.matrices)


@pytest.mark.parametrize("threads", [2, 4])
def test_reports_do_not_depend_on_threads_if_samples_move(monkeypatch, threads):
    """An array of the store is full after a few pieces, while threads still search them."""
    monkeypatch.setattr(sample_store, "_BYTES", 1 << 16)

    def reports(receiver):
        frames = []
        for begin in range(0, SAMPLES.shape[1], 700):
            frames += receiver.process(SAMPLES[:, begin:begin + 700], wait=False)
        return [frame.as_json() for frame in frames + receiver.finish()]

    assert reports(Receiver(2, threads=threads)) == reports(Receiver(2))


def test_frames_are_decoded_at_the_same_time():
    """Two batches wait for each other: in a single thread, the first one would wait for ever."""
    both, calls = threading.Barrier(2), itertools.count()

    class Waiting(detectors.MMSE):
        def detect(self, *arguments):
            if next(calls) < 2:
                both.wait(timeout=60)
            return super().detect(*arguments)

    frames, _ = received(2, detector=lambda streams, rows, points: Waiting(streams, rows, points))
    assert not both.broken
    assert [frame.psdu for frame in frames] == [one.psdu for one in SENT]


def test_a_frame_needs_no_python_on_the_other_threads():
    """While this thread keeps Python's lock, another one reads the signal fields and decodes."""
    receiver = Receiver(2, threads=2)
    frame, _ = air(FRAMES[:1], num_rx=2)
    frame = np.pad(frame, ((0, 0), (0, 20_000)))
    received, deadline = receiver.process(frame) + receiver.finish(), time.monotonic() + 60
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)
    try:
        again = receiver.process(frame, wait=False)
        while not again and time.monotonic() < deadline:
            again = receiver._collected(wait=False)
    finally:
        sys.setswitchinterval(interval)
    assert [one.psdu for one in again] == [one.psdu for one in received] and len(again) == 1


def batch_sizes(receiver, length, seconds):
    """Return the sizes of the batches of twelve frames of 64-QAM with four streams."""
    f = HT(31, length)
    found = [FoundFrame(0, 0, 0.0, (0,), 0, f, "", {}, None, None, f.num_samples, False)] * 12
    return list(map(len, receiver._decoder.batches(found, 12, seconds)))


def test_costly_frames_are_decoded_one_by_one_by_a_receiver_with_time_to_spare():
    receiver = Receiver(4, threads=2)
    assert batch_sizes(receiver, 4000, 0.0) == [2] * 6
    one, _ = air([(lambda n: HT(31, n), [data_mpdu(300)])], num_rx=4)
    receiver.process(np.pad(one, ((0, 0), (0, 20_000))))
    (kind, cost), = receiver._decoder._costs.items()
    assert kind[0][:3] == ("ht", 20, 31) and cost > 0
    receiver._decoder._costs[kind] = 0.7e-3 / 31
    assert batch_sizes(receiver, 4000, 0.4e-3) == [1] * 12
    assert batch_sizes(receiver, 4000, 1e-3) == [2] * 6
    assert batch_sizes(receiver, 4000, 1.0) == [4] * 3
    receiver._decoder._costs[kind] = 0.5e-3 / 31
    assert batch_sizes(receiver, 4000, 0.4e-3) == [2] * 6


def test_frames_of_other_threads_are_announced():
    receiver, alarms = Receiver(2, threads=2), _runtime.SampleQueue(1, 100, 100, True)
    alarms.open()
    receiver.set_alarm(alarms.alarm)
    frame, sent = air(FRAMES[:1], num_rx=2)
    frames = receiver.process(np.pad(frame, ((0, 0), (0, 20_000))), wait=False)
    while not frames:
        assert receiver.in_flight
        frames, helped = receiver.ready()
        if not helped and not frames:
            assert not alarms.wait()    # would wait for ever without an alarm
    assert [one.psdu for one in frames] == [one.psdu for one in sent]
    alarms.put(0, np.ones((1, 10)), [])
    while not alarms.wait():    # the alarm of a task that had ended before
        pass


@pytest.mark.parametrize("threads", [1, 2])
def test_all_stages_of_all_threads_are_timed(threads):
    receiver = Receiver(2, threads=threads, clock=time.thread_time)
    begun = time.process_time()
    receiver.process(SAMPLES)
    receiver.finish()
    seconds = receiver.seconds
    assert set(seconds) == {"synchronisation", "demodulation", "detection", "decoding", "reporting"}
    assert 0 < min(seconds.values()) and sum(seconds.values()) < time.process_time() - begun


def test_an_error_on_a_thread_costs_its_frames():
    class Broken(detectors.MMSE):
        def detect(self, *arguments):
            if self.num_tx == 2:
                raise RuntimeError("broken")
            return super().detect(*arguments)

    frames, receiver = received(2, detector=lambda streams, rows, points: Broken(
        streams, rows, points))
    lost = [frame for frame in frames if frame.problem]
    assert {frame.problem for frame in lost} == {"failed: RuntimeError"}
    assert len(frames) == len(SENT)
    assert {frame.format.num_streams for frame in lost} == {2}
    assert receiver.counts["decoded"] == len(SENT) - len(lost) > 0


def test_the_detector_changes_between_calls():
    receiver = Receiver(2, threads=2)
    first = receiver.process(SAMPLES) + receiver.finish()
    receiver.detector = "mmse"
    second = receiver.process(SAMPLES) + receiver.finish()
    assert {frame.detector for frame in second} == {"mmse"} != {frame.detector for frame in first}


@pytest.mark.parametrize("threads", [-1, 1025, 1.5])
def test_wrong_numbers_of_threads(threads):
    with pytest.raises(ValueError, match="threads"):
        Receiver(threads=threads)
