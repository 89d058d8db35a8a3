# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""bench/compare_builds.py: a build compared with itself, and wrong builds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from gnuradio import mimopack

PROGRAM = Path(__file__).parents[2] / "bench/compare_builds.py"
BUILD = Path(mimopack.__file__).parents[2]


def compare(*arguments):
    return subprocess.run([sys.executable, PROGRAM, *map(str, arguments)], timeout=300,
                          capture_output=True, text=True, check=False)


def test_a_build_and_itself(tmp_path):
    output = tmp_path / "builds.json"
    done = compare(f"old={BUILD}", f"new={BUILD}", "--suite", "codes", "--turns", 1,
                   "--output", output, "--", "--seconds", 0.001, "--rounds", 1)
    assert done.returncode == 0, done.stderr
    written = json.loads(output.read_text(encoding="utf-8"))
    assert (written["old"], written["new"], written["turns"]) == ("old", "new", 1)
    rows = written["results"]
    assert {(row["code"].split()[0], row.get("precision")) for row in rows} == {
        ("ldpc", None), ("turbo", "float32"), ("turbo", "int16"), ("conv", "float32"),
        ("conv", "int16")}
    for row in rows:
        assert row["old_per_s"] > 0 and row["old_spread"] == 1
        assert row["time_ratio"] == pytest.approx(row["old_per_s"] / row["new_per_s"])
    assert f"{len(rows)} rows" in done.stdout


@pytest.mark.parametrize("build", ["old", "old=/nowhere", "=/nowhere"])
def test_wrong_builds(build):
    done = compare(build, f"new={BUILD}")
    assert done.returncode == 2
    assert "must be COMMIT=FOLDER" in done.stderr
