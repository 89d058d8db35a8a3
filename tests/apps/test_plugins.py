# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands with detectors that an installed package declares."""

import json

import commands
import pytest
from own_detectors import install
from source_tree import ROOT

DEMO = ROOT / "examples/recordings/wifi_4x4_ht"


@pytest.fixture
def mimopack(tmp_path):
    """Return a function that runs ``mimopack`` with a package of two detectors, one broken."""
    packages = tmp_path / "packages"
    install(packages, ["mine = good_plugin:Mine", "bad = bad_plugin:Bad"], {
        "good_plugin": "from own_detectors import OwnZf\nclass Mine(OwnZf):\n    name = 'mine'\n",
        "bad_plugin": "raise RuntimeError('no licence')\n"})

    def run(*arguments, code=0):
        done = commands.run(*arguments, path=[packages, ROOT / "tests/support"], cwd=tmp_path)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    return run


def test_sim(mimopack):
    text = mimopack("sim", "-d", "mine:scale=1", "-d", "zf", "--num-tx", 2, "--num-rx", 2,
                    "--snr", 10, "--max-frames", 16, "-q")
    mine, zf = (line.split()[1:] for line in text.splitlines() if " dB" not in line
                and line.startswith(("mine:scale=1", "zf")))
    assert mine == zf


@pytest.mark.parametrize("command", [
    ("sim", "--snr", 9, "-d", "bad"), ("play", DEMO, "-d", "bad"), ("wifi", DEMO, "-d", "bad")])
def test_a_broken_plugin_is_one_line(mimopack, command):
    text = mimopack(*command, code=2)
    assert ("got 'bad', but its plug-in fails, bad_plugin:Bad of some_detectors 1.5: "
            "RuntimeError('no licence')") in text.splitlines()[-1]


def test_play_and_wifi(mimopack, tmp_path):
    mimopack("play", DEMO, "-d", "mine", "-d", "zf", "-q", "--no-pictures", "-o", "out")
    mine, zf = json.loads((tmp_path / "out/summary.json").read_text())["detectors"]
    assert mine["detector"] == "mine"
    assert mine["frames_decoded"] == zf["frames_decoded"] > 0
    mimopack("wifi", DEMO, "-d", "mine", "--json", "frames.json", "-q")
    frames = json.loads((tmp_path / "frames.json").read_text())
    assert {frame["detector"] for frame in frames if frame.get("detector")} == {"mine"}


def test_bench_measures_a_detector_in_python_once(mimopack):
    text = mimopack("bench", "--detector", "mine", "--detector", "zf", "--num-tx", 2, "--num-rx", 2,
                    "--seconds", 0.01, "--vectors", 200, "--rounds", 1)
    rows = [line.split()[:2] for line in text.splitlines() if line.startswith(("mine", "zf"))]
    assert rows == [["mine", "cpu"], ["zf", "cpu"], ["zf", "reference"]]


def test_doctor(mimopack):
    report = json.loads(mimopack("doctor", "--json"))
    found = {one["name"]: one for one in report["findings"]}
    assert found["detector mine"]["status"] == "ok"
    assert found["detector mine"]["text"] == "good_plugin:Mine of some_detectors 1.5"
    bad = found["detector bad"]
    assert bad["status"] == "warning" and "RuntimeError('no licence')" in bad["text"]
    assert "uninstall" in bad["mend"]
