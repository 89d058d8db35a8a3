# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack wifi --scheduler: many recordings on a cluster give what each gives alone."""

import json
import os
import shutil
from functools import partial

import pytest
from commands import output_of
from gnuradio.mimopack.files import locked
from wifi_air import FRAMES, record

distributed = pytest.importorskip("distributed")


run = partial(output_of, "wifi")


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Two recordings, and the results of each alone."""
    folder = tmp_path_factory.mktemp("recordings")
    record(folder / "a", FRAMES)
    for suffix in (".sigmf-meta", ".sigmf-data"):
        shutil.copy(folder / f"a{suffix}", folder / f"b{suffix}")
    run(folder / "a", "--json", folder / "alone.json", "--pcap", folder / "alone.pcap", "-q")
    return folder


@pytest.fixture(scope="module")
def scheduler():
    with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, protocol="tcp",
            dashboard_address=None, silence_logs="CRITICAL") as running:
        yield running.scheduler_address


def test_each_recording_gives_what_it_gives_alone(recordings, scheduler, tmp_path):
    """A run continues with what is missing; a bad recording does not stop the others."""
    out = tmp_path / "out"
    bad = tmp_path / "bad.sigmf-meta"
    bad.write_text("{}")
    arguments = ("--scheduler", scheduler, "-o", out)
    run(recordings / "a.sigmf-meta", *arguments)
    before = (out / "a.json").stat().st_mtime_ns
    text = run(recordings / "a.sigmf-meta", recordings / "b.sigmf-meta", bad, *arguments, code=2)
    assert (out / "a.json").stat().st_mtime_ns == before
    assert sorted(os.listdir(out)) == ["a.json", "a.pcap", "b.json", "b.pcap", "summary.json"]
    frames = len(json.loads((recordings / "alone.json").read_text()))
    for name in "ab":
        assert f"\n{name}          {frames:>7}  " in text
        for kind in ("json", "pcap"):
            assert (out / f"{name}.{kind}").read_bytes() == (
                recordings / f"alone.{kind}").read_bytes()
    assert "\nbad        " in text
    summary = json.loads((out / "summary.json").read_text())
    assert summary["frames"] == 2 * frames
    complete = {os.path.basename(entry["recording"]): entry["complete"]
                for entry in summary["recordings"]}
    assert complete == {"a.sigmf-meta": True, "b.sigmf-meta": True, "bad.sigmf-meta": False}
    run(recordings / "a.sigmf-meta", *arguments, "-d", "kbest:k=8")    # other options: once more
    assert (out / "a.json").stat().st_mtime_ns > before


@pytest.mark.parametrize("arguments, message", [
    (("a", "b"), "got a second RECORDING, b: several need --scheduler, such as --scheduler local. "
     "If each file holds an antenna of one recording, put them into one file first"),
    (("a", "--scheduler", "local"), "--scheduler needs a RECORDING, and --output FOLDER"),
    (("a", "--scheduler", "local", "--json", "x"), "--json: not with --scheduler"),
    (("a", "--scheduler", "local", "-o", "out", "-d", "kbest:q=8"), "kbest has no parameter 'q'"),
    (("a", "--scheduler", "local", "--gain", "3"), "--gain is an option of --radio"),
    (("a", "--scheduler", "here", "-o", "out"), "scheduler: got 'here', allowed are local")])
def test_refusals(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert message in run(*arguments, code=2).splitlines()[-1]


def test_names_and_one_run_at_a_time(recordings, scheduler, tmp_path):
    arguments = ("--scheduler", scheduler, "-o", tmp_path)
    assert "have the same name" in run(recordings / "a.sigmf-meta", tmp_path / "a.sigmf-meta",
                                       *arguments, code=2)
    with locked(tmp_path / "summary.json"):
        assert "is in use by another run" in run(recordings / "a.sigmf-meta", *arguments, code=2)
