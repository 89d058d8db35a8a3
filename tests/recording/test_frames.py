# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Annotations of transmitted and received frames in a recording."""

import numpy as np
import pytest
from gnuradio.mimopack import recording


def test_truth_travels_in_the_metadata(tmp_path):
    with recording.Writer(tmp_path / "r", 2, 20e6) as writer:
        writer.write(np.zeros((2, 100)))
        recording.annotate_frame(writer, 50, 30, [b"\x00\xff\x01\x02", b"ab"], 12.5, mcs=3)
        recording.annotate_frame(writer, 10, 30, [b"abcd"], 20, label="20 dB", format="ht")
        writer.annotate(0, 100, comment="not a frame")
        writer.annotate(70, 10, **{"mimopack:snr_db": 7})
    annotations = recording.Reader(tmp_path / "r").annotations
    assert recording.read_frames(annotations) == [
        recording.TrueFrame(10, 30, (b"abcd",), 20.0),
        recording.TrueFrame(50, 30, (b"\x00\xff\x01\x02", b"ab"), 12.5),
        recording.TrueFrame(70, 10, None, 7.0)]
    told = {entry["core:sample_start"]: entry for entry in annotations}
    assert (told[10]["core:label"], told[10]["mimopack:format"]) == ("20 dB", "ht")
    assert told[50]["mimopack:mcs"] == 3


@pytest.mark.parametrize("mpdus, said", [
    ("00ff", "got another type, must be a list of hexadecimal strings"),
    ([7], "got another type"), (["0g"], "got a string that is not hexadecimal")])
def test_damaged_truth_is_named(mpdus, said):
    with pytest.raises(ValueError, match=f"mimopack:mpdus: {said}.*annotation at sample 7"):
        recording.read_frames([{"core:sample_start": 7, "mimopack:mpdus": mpdus}])


RATE = 20e6


def test_a_received_frame_becomes_an_annotation(tmp_path):
    told = {"start": 40, "num_samples": 30, "format": "ht", "mcs": 28, "bandwidth_mhz": 20.0,
            "frequency": 5.18e9, "snr_db": 23.456, "num_mpdus": 2, "num_mpdus_ok": 1,
            "problem": "", "cfo_hz": None, "antenna_snr_db": [1.0], "complete": True}
    start, count, fields = recording.frame_annotation(told)
    with recording.Writer(tmp_path / "r", 1, RATE) as writer:
        writer.write(np.zeros((1, 100)))
        writer.annotate(start, count, **fields)
    annotations = recording.Reader(tmp_path / "r").annotations
    assert annotations == [{
        "core:sample_start": 40, "core:sample_count": 30, "core:label": "HT MCS 28",
        "core:comment": "MPDUs with a good FCS: 1 of 2, SNR 23.5 dB",
        "core:generator": "gr-mimopack", "core:freq_lower_edge": 5.17e9,
        "core:freq_upper_edge": 5.19e9, "mimopack:received": True, "mimopack:format": "ht",
        "mimopack:mcs": 28, "mimopack:bandwidth_mhz": 20.0, "mimopack:measured_snr_db": 23.456,
        "mimopack:num_mpdus": 2, "mimopack:num_mpdus_ok": 1, "mimopack:problem": "",
        "mimopack:complete": True}]
    # Annotations of received frames do not say what was sent.
    assert recording.read_frames(annotations) == []
    bare = recording.frame_annotation({"start": 1, "num_samples": 2, "problem": "no signal field"})
    assert bare[2]["label"] == "FRAME"
    assert bare[2]["comment"] == "no signal field"
    with pytest.raises(ValueError, match="num_samples: got None"):
        recording.frame_annotation({"start": 1})
