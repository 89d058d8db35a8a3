# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""scripts/fuzz.py counts executions by commit, and keeps the counts in a file."""

import json
import sys

import fuzz
import pytest


@pytest.fixture
def record(tmp_path, monkeypatch):
    """Return a function that records a run of a target at a commit."""
    monkeypatch.setattr(fuzz, "WORK", tmp_path)
    monkeypatch.setattr(fuzz, "KEPT", tmp_path / "fuzz.json")
    monkeypatch.setattr("gnuradio.mimopack.crossover.processor", lambda: "one")
    (tmp_path / "alist").mkdir()

    def add(commit, executions, findings=0):
        monkeypatch.setattr(fuzz, "commit", lambda: commit)
        fuzz.add_to_record("alist", executions=executions, seconds=1, findings=findings)
    return add


def rows(content):
    return [(row["commit"], row["executions"], row["seconds"], row["findings"]) for row in content]


def test_runs_of_a_commit_are_one_row(record):
    record("a", 10)
    record("b", 20, 1)
    record("a", 5)
    assert rows(fuzz.record("alist")) == [("a", 15, 2, 0), ("b", 20, 1, 1)]


def test_kept_counts_stay_and_grow(record):
    record("a", 10)
    fuzz.keep(["alist", "ampdu"])
    assert fuzz.record("alist") == []
    record("a", 3)
    record("b", 4)
    fuzz.keep(["alist"])
    fuzz.keep(["alist"])    # nothing is counted twice
    told = json.loads(fuzz.KEPT.read_text())["targets"]
    assert rows(told["alist"]) == [("a", 13, 2, 0), ("b", 4, 1, 0)]
    assert list(told) == ["alist"] and {row["processor"] for row in told["alist"]} == {"one"}


def test_machines_have_rows_of_their_own(record, monkeypatch):
    record("a", 10)
    fuzz.keep(["alist"])
    monkeypatch.setattr("gnuradio.mimopack.crossover.processor", lambda: "other")
    record("a", 7)
    fuzz.keep(["alist"])
    assert [(row["processor"], row["executions"]) for row in fuzz.kept()["targets"]["alist"]] == [
        ("one", 10), ("other", 7)]


@pytest.mark.parametrize("total, left", [(12, None), (13, 1), (100, 88)])
def test_the_total_counts_since_the_last_finding(record, monkeypatch, total, left):
    record("a", 1000, 1)
    fuzz.keep(["alist"])
    record("b", 7)
    fuzz.keep(["alist"])
    record("b", 5)
    asked = []
    monkeypatch.setattr(fuzz, "series", lambda name, runs, *_: (asked.append(runs) or runs, True))
    monkeypatch.setattr("sys.argv", ["fuzz.py", "alist", "--total", str(total)])
    assert fuzz.main() == 0
    assert asked == [left] * (left is not None)


@pytest.mark.parametrize("status, findings", [(0, 0), (72, 0), (77, 1), (1, 1)])
def test_an_interrupted_process_is_no_finding(record, tmp_path, monkeypatch, status, findings):
    """libFuzzer ends with 72 after SIGINT, and with 77 after a finding."""
    (tmp_path / "alist/inputs").mkdir()
    script = f"print('stat::number_of_executed_units: 30'); raise SystemExit({status})"
    monkeypatch.setattr(fuzz, "command_of", lambda name: [sys.executable, "-c", script])
    monkeypatch.setattr(fuzz, "processor_seconds", iter((0.0, 1.0)).__next__)
    executed, clean = fuzz.series("alist", 30, 0, 0, 1)
    assert (executed, clean) == (30, status == 0)
    assert [(row["executions"], row["findings"]) for row in fuzz.record("alist")] == [
        (30, findings)]
