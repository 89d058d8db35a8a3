# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples' flowgraphs, and their versions without a GUI, compile and run."""

import os
import subprocess
import sys

import pytest
import yaml
from flowgraphs import run
from gnuradio.mimopack import recording
from source_tree import PACKAGES, ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.grc"))
# These examples need a radio; test_live.py runs them with the driver in soapy/.
LIVE = {"detectors_live", "wifi_live_view"}


# Show the windows off screen until some packets or codewords are counted, and print the numbers of
# counted and lost ones.
WATCH = """
import importlib, sys
from PyQt5 import Qt
name, counter, lost, arguments = *sys.argv[1:4], sys.argv[4:]
application = Qt.QApplication(sys.argv)
graph = getattr(importlib.import_module(name), name)(*arguments)
watch, deadline = Qt.QTimer(), Qt.QTimer()
def count(path):
    block, getter = path.split(".")
    return getattr(getattr(graph, block), getter)()
watch.timeout.connect(lambda: count(counter) >= 50 and application.quit())
deadline.timeout.connect(application.quit)
watch.start(50)
deadline.start(60000)
graph.start()
graph.show()
application.exec_()
graph.stop()
graph.wait()
print(count(counter), count(lost))
"""
COUNTERS = {"detectors": ("nway_meter.codewords", "nway.erasures"),
            "detectors_recording": ("nway_meter.frames", "nway_meter.lost"),
            "iterative_receiver": ("meter.codewords", "receiver.undecoded"),
            "own_ofdm": ("nway_meter.codewords", "nway.erasures"),
            "nr_loopback": ("nway_decoder.blocks", "nway_decoder.lost"),
            "wifi_loopback": ("meter.frames", "meter.lost"),
            "wifi_recording": ("meter.frames", "meter.lost")}
PLAYED = dict.fromkeys(("detectors_recording", "wifi_recording"), "wifi_4x4_ht")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_blocks_do_not_overlap(companion, path):
    assert companion.overlaps(path) == []


@pytest.mark.parametrize("path", [path for path in EXAMPLES if path.stem not in LIVE],
                         ids=lambda path: path.name)
def test_example_compiles_and_runs(companion, tmp_path, path):
    companion.compiled(path, tmp_path)
    arguments = ([str(ROOT / f"examples/recordings/{PLAYED[path.stem]}.sigmf-meta")]
                 if path.stem in PLAYED else [])
    counters = COUNTERS[path.stem]
    ran = subprocess.run(
        [sys.executable, "-c", WATCH, path.stem, *counters, *arguments], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{PACKAGES}{os.pathsep}{tmp_path}",
             "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path),
             "QT_QPA_PLATFORM": "offscreen"}, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    packets, lost = map(int, ran.stdout.split()[-2:])
    assert packets >= 50
    assert lost < packets / 2


def test_the_sliders_change_running_blocks(companion, tmp_path):
    made = companion.compiled(ROOT / "examples/detectors.grc", tmp_path).read_text()
    assert "self.channel.control.set_snr_db(self.snr_db)" in made
    assert "self.nway.control.set_num_passes(self.num_passes)" in made


def headless(name, folder, *arguments):
    """Run an example without a GUI; return the lines that it prints."""
    return run(ROOT / "examples" / f"{name}_headless.py", folder, *arguments).splitlines()


def test_every_example_has_a_headless_twin():
    assert EXAMPLES
    for path in EXAMPLES:
        assert path.with_name(f"{path.stem}_headless.py").exists()


def test_the_twin_has_the_detector_of_the_embedded_python_block():
    graph = yaml.safe_load((ROOT / "examples/detectors_recording.grc").read_text(encoding="utf-8"))
    own, = (block for block in graph["blocks"] if block["id"] == "epy_block")
    code = own["parameters"]["_source_code"]
    twin = (ROOT / "examples/detectors_recording_headless.py").read_text(encoding="utf-8")
    assert code[code.index("class own_detector"):] in twin


def test_the_twin_has_the_embedded_module():
    graph = yaml.safe_load((ROOT / "examples/own_ofdm.grc").read_text(encoding="utf-8"))
    module, = (block for block in graph["blocks"] if block["id"] == "epy_module")
    code = module["parameters"]["source_code"]
    twin = (ROOT / "examples/own_ofdm_headless.py").read_text(encoding="utf-8")
    assert code[code.index("from gnuradio"):code.index("BITS, WAVES")] in twin


def test_own_ofdm_without_windows(tmp_path):
    lines = headless("own_ofdm", tmp_path, "--slots", "100")
    assert lines[-3] == "100 slots, SNR 25 dB"
    mmse, nway = (float(line.split()[-1]) for line in lines[-2:])
    assert 0.03 > mmse > 3 * nway > 0


def test_detectors_without_windows(tmp_path):
    lines = headless("detectors", tmp_path, "--vectors", "5000", "--detectors", "mmse",
                     "nway:num_passes=1", "nway", "mla")
    assert lines[-5] == "5000 vectors, SNR 20 dB"
    mmse, one_pass, nway, exact = (float(line.split()[-1]) for line in lines[-4:])
    assert mmse > 2 * one_pass > 3 * nway > 2.9 * exact > 0


def test_detectors_on_a_recording_without_windows(tmp_path):
    """The detector "own" is MMSE in NumPy."""
    lines = headless("detectors_recording", tmp_path, "--detectors", "zf", "mmse", "own", "nway")
    assert lines[-5] == "80 frames with 4 streams of 16-QAM"
    zf, mmse, own, nway = (int(line.split()[1]) for line in lines[-4:])
    assert zf < mmse == own < nway - 20 < 60


def test_wifi_loopback_without_windows(tmp_path):
    lines = headless("wifi_loopback", tmp_path, "--frames", "40", "--snr", "35")
    assert lines[-2:] == ["mmse: 40 found, 40 decoded", "nway: 40 found, 40 decoded"]
    lines = headless("wifi_loopback", tmp_path, "--frames", "150", "--snr", "24", "--mcs", "13")
    decoded = {line.split(":")[0]: int(line.split()[-2]) for line in lines[-2:]}
    assert decoded["nway"] > decoded["mmse"] > 50


def test_nr_loopback_without_windows(tmp_path):
    lines = headless("nr_loopback", tmp_path, "--slots", "40")
    assert lines[-3] == "40 slots sent, 4 layers, SNR 14 dB"
    received, decoded = zip(*(map(int, line.split()[1:4:2]) for line in lines[-2:]), strict=True)
    # The last slot is incomplete, as the channel delays it.
    assert received == (39, 39) and decoded[1] >= 38 > decoded[0] + 5 > 15


def test_wifi_recording_without_windows(tmp_path):
    played = recording.Reader(ROOT / "examples/recordings/wifi_4x4_ht.sigmf-meta")
    sent = len(played.annotations)
    decoded = {}
    for name in ("mmse", "nway"):
        # GNU Radio's log lines may come between them.
        lines = headless("wifi_recording", tmp_path, "--detector", name)
        frames = [line for line in lines if line.startswith("sample ")]
        assert len(frames) == sent
        decoded[name] = sum(line.endswith("1 of 1 MPDUs right") for line in frames)
        assert lines[-1] == f"{sent} frames, {decoded[name]} decoded, {decoded[name]} MPDUs"
    assert decoded["mmse"] + 10 < decoded["nway"] <= sent


def test_iterative_receiver_without_windows(tmp_path):
    lines = headless("iterative_receiver", tmp_path, "--codewords", "150", "--snr", "11",
                     "--iterations", "3")
    assert lines[-5] == "150 codewords, SNR 11 dB, mmsepic"
    rates = [float(line.split()[-1]) for line in lines[-4:-1]]
    assert rates[0] > 2 * rates[1] > 4 * rates[2]
    assert lines[-1].endswith("passes on average")
