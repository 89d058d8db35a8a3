# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack wifi over recordings that others sent, in the folder MIMOPACK_CAPTURES."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from gnuradio.mimopack.apps.cli import main

CAPTURES = os.environ.get("MIMOPACK_CAPTURES")


def _captures():
    if CAPTURES is None:
        return [pytest.param(None, marks=pytest.mark.skip(
            reason="MIMOPACK_CAPTURES is not set: no folder of recordings with known frames"))]
    found = sorted(Path(CAPTURES).rglob("*.truth.json"))
    return [pytest.param(path, id=path.name.removesuffix(".truth.json")) for path in found]


@pytest.mark.parametrize("truth_file", _captures())
def test_recordings_of_others_decode(truth_file, tmp_path):
    """Every frame that a truth file has is delivered, and no MPDU that it does not have.

    Frames that are cut, that collide, or that their own source could not decode need not be; and
    of recordings named hard_ only more than a plain MMSE receiver decodes.
    """
    truth = json.loads(truth_file.read_text())
    meta = truth_file.with_name(truth_file.name.replace(".truth.json", ".sigmf-meta"))
    result = CliRunner().invoke(main, [
        "wifi", str(meta), "-q", "--json", str(tmp_path / "f.json")])
    assert result.exit_code == 0, result.output

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
        needed = Counter(mpdus(frame))    # equal ones, such as acknowledgements, count singly
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
        pytest.skip("MIMOPACK_CAPTURES is not set: no folder of recordings with known frames")
    assert list(Path(CAPTURES).rglob("*.truth.json")), f"{CAPTURES} has no *.truth.json"
