# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors of a receiver, given by a name with parameters, a class or an object."""

import re

import pytest
from gnuradio.mimopack import detectors
from gnuradio.mimopack.wifi import FrameDetectors, Receiver, can_iterate
from own_detectors import OwnPrior, OwnZf
from wifi_air import FRAMES, air, frames_in

SAMPLES, SENT = air(FRAMES, num_rx=2, gap=120)


def frames_of(detector, **options):
    return frames_in(SAMPLES, detector=detector, backend="cpu", **options)


def told(frames):
    return [(frame.facts(), frame.psdu, frame.evm_db) for frame in frames]


def test_parameters_reach_the_detector():
    make = FrameDetectors("kbest:k=3", backend="cpu", threads=1)
    made = make(2, 3, "wlan_qam16")
    assert (made.k, made.num_tx, made.num_rx, made.backend, made.threads) == (3, 2, 3, "cpu", 1)
    assert make.label == made.label == "kbest:k=3"
    assert make(2, 2, "wlan_qam16", extrinsic=True).extrinsic
    assert make(1, 2, "wlan_qam16").label == "mmse"    # exact for one stream
    assert FrameDetectors("nway:num_passes=2")(2, 2, "wlan_bpsk").label == "nway:num_passes=2"


@pytest.mark.parametrize("detector", ["kbest:k=2", detectors.KBest(4, 4, "qam64", k=2, threads=3)])
def test_frames_are_those_of_a_function_that_makes_the_same(detector):
    def make(unknowns, rows, constellation):
        kind, given = (detectors.MMSE, {}) if unknowns == 1 else (detectors.KBest, {"k": 2})
        return kind(unknowns, rows, constellation, backend="cpu", **given)

    frames = frames_of(detector)
    assert told(frames) == told(frames_of(make))
    assert [frame.psdu for frame in frames] == [one.psdu for one in SENT]
    assert {(frame.format.num_streams, frame.detector) for frame in frames} == {
        (1, "mmse"), (2, "kbest:k=2")}


def test_iterations_after_a_name_override_the_argument():
    make = FrameDetectors("mmsepic:iterations=3,feedback_scale=0.5,num_iterations=2", iterations=9)
    assert (make.iterations, make.feedback_scale) == (3, 0.5)
    assert make(2, 2, "wlan_qpsk").num_iterations == 2
    receiver = Receiver(2, detector="nway", iterations=2)
    assert receiver._decoder.settings.iterations == 2
    receiver.detector = "mmsepic:iterations=4"
    assert receiver._decoder.settings.iterations == 4
    receiver.detector = "mmse:iterations=1"
    assert receiver._decoder.settings.iterations == 1
    assert can_iterate("kbest:k=2") and can_iterate(OwnPrior) and not can_iterate("zf")


@pytest.mark.parametrize("tells_size", [True, False])
def test_a_users_object_detects_the_frames_that_it_fits(tells_size):
    given = OwnZf(2, 2, "wlan_qam16")
    if not tells_size:
        del given.num_tx, given.num_rx
    frames = frames_of(given)
    two = [frame for frame in frames if frame.format.num_streams == 2]
    assert {frame.format.constellation for frame in two} == {"wlan_qpsk", "wlan_qam16"}
    for frame in two:
        fits = frame.format.constellation == "wlan_qam16"
        assert frame.problem == ("" if fits else (
            "own_zf cannot detect 2 streams of QPSK: detector: own_zf has the constellation "
            "wlan_qam16, but the link has wlan_qpsk"))
        assert frame.complete == fits and frame.detector == ("own_zf" if fits else "")
    assert all(frame.complete for frame in frames if frame.format.num_streams == 1)
    problem, = {frame.problem for frame in frames_of(OwnZf(4, 4, "wlan_qam16"))
                if frame.format.constellation == "wlan_qam16" and frame.format.num_streams == 2}
    assert problem == ("own_zf cannot detect 2 streams of 16-QAM: detector: own_zf has num_tx = 4, "
                       "but the link has 2")


@pytest.mark.parametrize("detector, message", [
    ("kbest:q=8", "'kbest:q=8': kbest has no parameter 'q', allowed are k, llr_clip, iterations, "
                  "feedback_scale, device, isa"),
    ("kbest:k=0", "'kbest:k=0': k: got 0, allowed are 1 to 256"),
    ("nway:num_passes=5", "'nway:num_passes=5': num_passes: got 5, allowed are 1 to 4"),
    ("kbest:8", "where '8' is not key=value"), ("kbest:k=8:k=8", "k is given twice"),
    ("zf:llr_type=int8", "zf has no parameter 'llr_type'"),
    ("best:k=8", "got 'best', allowed are zf, mmse"),
    ("mmsepic:iterations=0", "iterations: got 0, allowed are 1 to 1000"),
    ("mmsepic:feedback_scale=-1", "feedback_scale: got -1.0, must be positive"),
    ("zf:iterations=2", "got 'zf:iterations=2', which takes no a-priori LLRs; with iterations = 2 "
                        "allowed are mmsepic"),
    (None, "detector: got None"), (3, "detector: got 3")])
def test_refusals(detector, message):
    for make in (FrameDetectors, lambda one: Receiver(2, detector=one)):
        with pytest.raises(ValueError, match=re.escape(message)):
            make(detector)
    receiver = Receiver(2)
    with pytest.raises(ValueError, match=re.escape(message)):
        receiver.detector = detector
    assert receiver.detector == "nway"


def test_parameters_that_suit_some_frames_are_taken():
    make = FrameDetectors("nway:num_passes=4")
    assert make(4, 4, "wlan_qam16").num_passes == 4
    with pytest.raises(ValueError, match="num_passes: got 4, allowed are 1 to 2"):
        make(2, 4, "wlan_qam16")
