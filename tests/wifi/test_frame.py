# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports that are completed when somebody reads them."""

import copy
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from gnuradio.mimopack.wifi import HT, Receiver, Transmitter, mac
from gnuradio.mimopack.wifi.frame import ReceivedFrame
from memory import allocated_bytes
from wifi_frames import mpdu_bytes, received

KNOWN = {one.name: getattr(received(HT(0, 100)), one.name)
         for one in fields(ReceivedFrame)[:14]}
REST = {one.name: getattr(received(HT(0, 100)), one.name) for one in fields(ReceivedFrame)[14:]}


@pytest.fixture
def calls():
    return []


@pytest.fixture
def frame(calls):
    def rest():
        calls.append(1)
        return dict(REST)

    return ReceivedFrame.unread(dict(KNOWN), [(0, 10, True)], rest)


def test_the_two_parts_are_all_fields(frame):
    assert list(KNOWN)[-1] == "symbols"
    assert {one.name: getattr(frame, one.name) for one in fields(frame)} == KNOWN | REST


def test_the_rest_is_made_once_when_it_is_read(frame, calls):
    assert (frame.start, frame.time, frame.packed[1]) == (4000, 2e-4, [(0, 10, True)])
    frame.frequency = 2.4e9
    assert not calls
    assert (frame.mpdus, frame.fcs_ok, frame.condition_db) == (
        REST["mpdus"], True, REST["condition_db"])
    assert len(calls) == 1 and frame.frequency == 2.4e9


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, replace,
                                 lambda frame: pickle.loads(pickle.dumps(frame))])
def test_copies_are_whole(frame, calls, how):
    other = how(frame)
    assert len(calls) == 1
    assert repr(other) == repr(frame) == repr(ReceivedFrame(**KNOWN, **REST))
    assert [ok for _, _, ok in other.packed[1]] == [True]


def test_other_mpdus_take_the_place_of_those_received(frame):
    frame.mpdus = ()
    assert frame.packed == (b"", [])
    frame.mpdus = REST["mpdus"]
    assert frame.packed[1] == [(0, len(REST["mpdus"][0].data), True)]


def test_another_thread_reads_the_rest_at_the_same_time():
    """It fills in the attributes after this thread has not found one."""
    frame = ReceivedFrame.unread(dict(KNOWN), [(0, 10, True)], lambda: dict(REST))
    name = next(iter(REST))
    expected = getattr(frame, name)
    assert frame.__getattr__(name) == expected    # Python calls it for what it has not found


def test_attributes_that_no_frame_has(frame):
    for one in (frame, ReceivedFrame(**KNOWN, **REST)):
        with pytest.raises(AttributeError, match="ReceivedFrame has no attribute 'mcs'"):
            _ = one.mcs


def test_an_error_is_raised_each_time_the_rest_is_read():
    def fail():
        raise MemoryError("on purpose")

    frame = ReceivedFrame.unread(dict(KNOWN), [], fail)
    for _ in range(2):
        with pytest.raises(MemoryError, match="on purpose"):
            _ = frame.channel
    assert frame.start == 4000


def test_mpdus_of_a_frame_made_by_hand_are_packed():
    frame = received(HT(0, 100), [mpdu_bytes(1, 60), mpdu_bytes(2, 20, fcs_ok=False)])
    data, places = frame.packed
    assert [data[at:at + size] for at, size, _ in places] == [one.data for one in frame.mpdus]
    assert [ok for _, _, ok in places] == [True, False]


@pytest.mark.parametrize("correct", [True, False])
@pytest.mark.parametrize("part", [lambda frame: frame, lambda frame: frame.channel.matrices])
def test_a_frame_keeps_little_memory(part, correct):
    """Frames must not fill the memory, whether they were decoded again or read, or not."""
    rng = np.random.default_rng(1)
    f, psdu = HT(8, 4000), rng.bytes(3996)
    psdu += mac.fcs(psdu) if correct else bytes(4)
    samples = np.pad(Transmitter(2).frame(f, psdu), ((0, 0), (500, 900))).astype(np.complex64)
    receiver = Receiver(2)

    def receive():
        frame, = receiver.process(samples) + receiver.finish()
        return part(frame)

    warm = [receive() for _ in range(5)]
    before = allocated_bytes()
    kept = [receive() for _ in range(20)]
    assert len(warm) == 5
    assert (allocated_bytes() - before) / len(kept) < 60_000 < samples.nbytes / 4
