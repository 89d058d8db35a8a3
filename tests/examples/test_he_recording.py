# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recording of HE frames: blocks and arrays find what examples/recordings/make_he.py says."""

import json

import numpy as np
from gnuradio.mimopack import recording, wifi
from source_tree import ROOT
from wifi_blocks import receive

PATH = ROOT / "examples/recordings/wifi_2rx_he"
GOLDEN = json.loads(PATH.with_name("wifi_2rx_he.golden.json").read_text())


def test_it_is_small_and_labelled_simulated():
    assert PATH.with_name("wifi_2rx_he.sigmf-data").stat().st_size < 150_000
    reader = recording.Reader(PATH, verify=True)
    assert reader.global_info["mimopack:simulated"] is True
    assert reader.global_info["core:description"].startswith("SIMULATED")
    assert [frame["format"] for frame in GOLDEN] == ["he-su", "he-er-su", "he-mu", "non-ht",
                                                     "he-tb"]


def test_golden_output():
    samples = recording.Reader(PATH).read()
    receiver = wifi.Receiver(2)
    found = receiver.process(samples) + receiver.finish()
    for frame, golden in zip(found, GOLDEN, strict=True):
        assert abs(frame.start - golden["start"]) <= 1
        assert (frame.format.name, frame.complete) == (golden["format"], True)
        assert [user.format.sta_id for user in frame.users] == golden["stations"]
        assert [mpdu.data.hex() for mpdu in frame.mpdus] == golden["mpdus"]


def test_golden_output_of_the_block():
    _, ports = receive(np.ascontiguousarray(recording.Reader(PATH).read()))
    assert [blob.hex() for _, blob in ports["out"].pdus()] == [
        mpdu[:-8] for frame in GOLDEN for mpdu in frame["mpdus"]]
