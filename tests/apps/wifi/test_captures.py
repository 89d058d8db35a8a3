# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack wifi over other people's recordings, in the folder MIMOPACK_CAPTURES."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from commands import output_of

CAPTURES = os.environ.get("MIMOPACK_CAPTURES")


def _captures():
    if CAPTURES is None:
        return [pytest.param(None, marks=pytest.mark.skip(
            reason="MIMOPACK_CAPTURES, a folder of recordings with known frames, is not set"))]
    found = sorted(Path(CAPTURES).rglob("*.truth.json"))
    return [pytest.param(path, id=path.name.removesuffix(".truth.json")) for path in found]


@pytest.mark.parametrize("truth_file", _captures())
def test_recordings_of_others_decode(truth_file, tmp_path):
    """The command delivers every frame in a truth file, and no MPDU that is not in the file.

    Frames may be missing if they are cut, collide, or could not be decoded by their own source. In
    recordings named hard_, only frames that a plain MMSE receiver decodes must not be missing.
    """
    truth = json.loads(truth_file.read_text())
    meta = truth_file.with_name(truth_file.name.replace(".truth.json", ".sigmf-meta"))
    output_of("wifi", meta, "-q", "--json", tmp_path / "f.json")

    def mpdus(frame):
        data = bytes.fromhex(frame["psdu"])
        return [data[one["offset"]:one["offset"] + one["length"]].hex()
                for one in frame["mpdus"] if one["fcs_ok"]]

    delivered = Counter(one["hex"] for frame in json.loads((tmp_path / "f.json").read_text())
                        for one in frame["mpdus"] if one["fcs_ok"])
    known = {one for frame in truth["frames"] for one in mpdus(frame)}
    assert not set(delivered) - known
    hard = truth["recording"].startswith("hard_")
    due = [frame for frame in truth["frames"] if mpdus(frame) and not (
        frame.get("truncated") or frame.get("collision")
        or not hard and not frame.get("decoded_by_openofdm", True))]
    assert due, "the truth file has no frame that must decode"
    lost = []
    for frame in due:
        needed = Counter(mpdus(frame))    # equal MPDUs, such as acknowledgements, count separately
        if needed - delivered:
            lost.append(frame["start"])
        else:
            delivered -= needed
    if hard:
        assert len(due) - len(lost) > sum(bool(frame.get("reference", {}).get("mmse"))
                                          for frame in due)
    else:
        assert lost == []


def test_the_folder_of_captures_has_some():
    if CAPTURES is None:
        pytest.skip("MIMOPACK_CAPTURES, a folder of recordings with known frames, is not set")
    assert list(Path(CAPTURES).rglob("*.truth.json")), f"{CAPTURES} has no *.truth.json"
