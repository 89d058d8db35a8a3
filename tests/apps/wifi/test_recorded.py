# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack wifi with recordings that change while they are decoded, or lead to other files."""

import json
import os
import re
from functools import partial

import numpy as np
import pytest
from commands import invoke
from gnuradio.mimopack import recording
from gnuradio.mimopack.apps.wifi.recorded import RecordedFrames
from gnuradio.mimopack.wifi import HT
from wifi_air import FRAMES, air, data_mpdu, record

_wifi = partial(invoke, "wifi")


def test_a_recording_that_is_cut_while_it_is_decoded_keeps_its_frames(tmp_path, monkeypatch):
    path, sent = record(tmp_path / "r", FRAMES[:2])
    with recording.Writer(tmp_path / "long", 2, 20e6) as writer:
        writer.write(recording.Reader(path).read())
        writer.write(np.zeros((2, 3 << 20), np.complex64))
    data = tmp_path / "long.sigmf-data"
    monkeypatch.setattr(RecordedFrames, "_compare_checksums",
                        lambda *_: os.truncate(data, 16 * (3 << 19)))
    result = _wifi(writer.path, "-q", "--json", tmp_path / "f.json")
    assert result.exit_code == 2
    assert re.search(r"Incomplete: stopped by an error within the first 1048576 of", result.output)
    assert result.output.splitlines()[-1].startswith(f"Error: {data} ends at sample {3 << 19}: ")
    assert [bytes.fromhex(one["mpdus"][0]["hex"]) for one in json.loads(
        (tmp_path / "f.json").read_text())] == [one.mpdus[0] for one in sent]


@pytest.mark.parametrize("command", ["wifi", "play"])
def test_files_in_other_folders_need_an_option(tmp_path, command):
    samples, _ = air(FRAMES[:1], 2)
    (tmp_path / "inside").mkdir()
    path = recording.write(tmp_path / "inside/r", samples, 20e6, layout="collection")
    for ending in ("meta", "data"):
        (tmp_path / f"inside/r-1.sigmf-{ending}").rename(tmp_path / f"outside.sigmf-{ending}")
    metadata = json.loads(path.read_text())
    metadata["collection"]["core:streams"][1]["name"] = "../outside"
    path.write_text(json.dumps(metadata))
    options = [command, str(path), "-q", "-d", "mmse", "--no-pictures", "-o", str(tmp_path / "o")]
    refused = invoke(*options)
    assert refused.exit_code == 2
    assert refused.output.splitlines()[-1] == (
        f"Error: {path}: collection.core:streams[1]: outside.sigmf-meta leads to the folder "
        f"{tmp_path}, must be in the same folder; allow_outside permits others")
    allowed = invoke(*options, "--allow-outside")
    assert allowed.exit_code == 0, allowed.output


def test_half_clocked_ht_frames_are_doubted(tmp_path):
    path, _ = record(tmp_path / "r", [(lambda n: HT(9, n), [data_mpdu(40)])])
    doubt = "is the sample rate (--rate) right?"
    assert doubt in _wifi(path, "--rate", "10e6").output
    assert doubt not in _wifi(path).output
