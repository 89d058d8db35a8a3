# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack wifi --scheduler: many recordings on a cluster give what each gives alone."""

import json
import os
import shutil
import signal

import pytest
from click.testing import CliRunner
from clusters import Processes
from distributed import Client
from gnuradio.mimopack.apps.cli import main
from gnuradio.mimopack.apps.progress import Progress
from gnuradio.mimopack.apps.wifi import folder as folders
from gnuradio.mimopack.files import locked
from wifi_air import FRAMES, record

NAMES = ["a", "b", "c", "d"]


def run(*arguments, code=0):
    result = CliRunner().invoke(main, ["wifi", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Four recordings, and the results of each alone."""
    folder = tmp_path_factory.mktemp("recordings")
    record(folder / "a", FRAMES * 2)
    for name in NAMES[1:]:
        for suffix in (".sigmf-meta", ".sigmf-data"):
            shutil.copy(folder / f"a{suffix}", folder / f"{name}{suffix}")
    run(folder / "a", "--json", folder / "alone.json", "--pcap", folder / "alone.pcap", "-q")
    return folder


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Processes(tmp_path_factory.mktemp("cluster") / "wifi") as running:
        running.workers("a", "b", "c")
        yield running


def check(recordings, out, names):
    """Check the files of recordings in a folder, and that there are no others."""
    assert sorted(os.listdir(out)) == sorted(
        [f"{name}.{kind}" for name in names for kind in ("json", "pcap")] + ["summary.json"])
    for name in names:
        for kind in ("json", "pcap"):
            assert (out / f"{name}.{kind}").read_bytes() == (
                recordings / f"alone.{kind}").read_bytes()
    return json.loads((out / "summary.json").read_text())


def test_each_recording_gives_what_it_gives_alone(recordings, cluster, tmp_path):
    """A run continues with what is missing. A pattern in a URL names recordings too."""
    out = tmp_path / "out"
    arguments = ("--scheduler", cluster.address, "-o", out)
    run(recordings / "a.sigmf-meta", f"file://{recordings}/b*.sigmf-meta", *arguments)
    check(recordings, out, ["a", "b"])
    before = (out / "a.json").stat().st_mtime_ns
    text = run(*(recordings / f"{name}.sigmf-meta" for name in NAMES), *arguments)
    summary = check(recordings, out, NAMES)
    assert (out / "a.json").stat().st_mtime_ns == before
    frames = len(json.loads((recordings / "alone.json").read_text()))
    assert summary["frames"] == 4 * frames and [one["frames"] for one in summary[
        "recordings"]] == [frames] * 4
    for name in NAMES:
        assert f"\n{name:<9}  {frames:>7}  " in text
    run(recordings / "a.sigmf-meta", *arguments, "--passes", 1)    # other options: once more
    assert (out / "a.json").stat().st_mtime_ns > before


def test_the_detector_may_have_parameters(recordings, cluster, tmp_path):
    out = tmp_path / "out"
    run(recordings / "a.sigmf-meta", "--scheduler", cluster.address, "-o", out, "-d", "kbest:k=8")
    frames = json.loads((out / "a.json").read_text())
    assert {one["detector"] for one in frames if one["num_streams"] == 2} == {"kbest:k=8"}
    summary = json.loads((out / "summary.json").read_text())
    assert summary["options"]["receiver"]["detector"] == "kbest:k=8"


def test_a_bad_recording_is_named_and_does_not_stop_the_others(recordings, cluster, tmp_path):
    bad = tmp_path / "bad.sigmf-meta"
    bad.write_text("{}")
    out = tmp_path / "out"
    text = run(bad, recordings / "a.sigmf-meta", "--scheduler", cluster.address, "-o", out, code=2)
    assert [line for line in text.splitlines() if line.startswith("bad  ")]
    summary = check(recordings, out, ["a"])
    assert [one["complete"] for one in summary["recordings"]] == [True, False]


def test_a_folder_that_workers_do_not_see(recordings, tmp_path):
    found = folders.decode(str(recordings / "a.sigmf-meta"), str(tmp_path), ".shared.0", {}, {}, 0)
    assert "a worker does not see the folder" in found["error"] and not os.listdir(tmp_path)


def test_workers_killed(recordings, tmp_path):
    """The recordings of killed and of frozen workers are decoded by another one."""
    class Killing(Progress):
        def update(self, share, text):
            if share and not events:
                events.append("killed")
                running.send("a", signal.SIGKILL)
                running.send("b", signal.SIGSTOP)

    events = []
    out = tmp_path / "out"
    options = {"detector": "nway", "backend": "cpu", "whitening": "antennas", "passes": 3,
               "iterations": 1, "threads": 1}
    reading = dict.fromkeys(("rate", "datatype", "channels", "frequency")) | {
        "allow_outside": False}
    paths = [str(recordings / f"{name}.sigmf-meta") for name in NAMES]
    with Processes(tmp_path / "cluster", patience=5) as running:
        running.workers("a", "b", "c")
        with Client(running.address) as client:
            assert folders.decode_all(client, paths, out, reading, options, 0.0,
                                      Killing()) == 0
    assert events
    for part in out.glob("*.part"):    # of a killed worker
        part.unlink()
    summary = check(recordings, out, NAMES)
    assert all(one["complete"] for one in summary["recordings"])


@pytest.mark.parametrize("arguments, message", [
    (("a", "b"), "got a second RECORDING, b: several need --scheduler, such as --scheduler local. "
     "If each file holds an antenna of one recording, put them into one file first"),
    (("a", "--scheduler", "local"), "--scheduler needs a RECORDING, and --output FOLDER"),
    (("--scheduler", "local", "-o", "out"), "--scheduler needs a RECORDING, and --output FOLDER"),
    (("a", "--scheduler", "local", "--json", "x"), "--json: not with --scheduler"),
    (("a", "--scheduler", "local", "-o", "out", "-d", "kbest:q=8"), "kbest has no parameter 'q'"),
    (("a", "--scheduler", "local", "-o", "out", "-d", "zf", "--iterations", "2"),
     "--detector: got 'zf', which takes no a-priori LLRs"),
    (("a", "--scheduler", "local", "--gain", "3"), "--gain is an option of --radio"),
    (("a", "--scheduler", "here", "-o", "out"), "scheduler: got 'here', allowed are local")])
def test_refusals(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert message in run(*arguments, code=2).splitlines()[-1]


def test_names_and_one_run_at_a_time(recordings, cluster, tmp_path):
    arguments = ("--scheduler", cluster.address, "-o", tmp_path)
    assert "have the same name" in run(recordings / "a.sigmf-meta", tmp_path / "a.sigmf-meta",
                                       *arguments, code=2)
    assert "file:///none/*: no such recording" in run("file:///none/*", *arguments, code=2)
    with locked(tmp_path / "summary.json"):
        assert "is in use by another run" in run(recordings / "a.sigmf-meta", *arguments, code=2)
