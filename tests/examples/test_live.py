# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples for radios, run with gr-soapy and the driver in soapy/."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
import soapy_driver  # noqa: F401 - tells SoapySDR where the driver is
from source_tree import PACKAGES, ROOT
from wifi_sky import pcap_times

WATCH = """
import importlib, sys
from PyQt5 import Qt
name = sys.argv[1]
made = importlib.import_module(name)
application = Qt.QApplication(sys.argv)
graph = getattr(made, name)(device=sys.argv[2])
made.snippets_main_after_init(graph)
watch, deadline = Qt.QTimer(), Qt.QTimer()
def seen():
    if name == "detectors_live":
        return (min(graph.zf_meter.frames(), graph.nway_meter.frames()) >= 5
                and graph.histograms.nitems_read(1) > 0 and graph.snr.nitems_read(0) > 0)
    return (graph.meter.frames() >= 20 and graph.raster.nitems_read(0) >= 64
            and "MMSE" in graph.losses.text() and graph.levels.messages() >= 20
            and graph.condition_curve.nitems_read(0) >= 2 and graph.points_1.nitems_read(0) > 0)
watch.timeout.connect(lambda: seen() and application.quit())
deadline.timeout.connect(application.quit)
watch.start(50)
deadline.start(40000)
graph.start()
graph.show()
application.exec_()
graph.stop()
graph.wait()
print("seen", seen(), sum(block.refused() for block in vars(graph).values()
                          if type(block).__name__.startswith("wifi") and hasattr(block, "refused")))
"""


@pytest.mark.parametrize("name", ["detectors_live", "wifi_live_view"])
def test_the_flowgraph_shows_all(companion, traffic, tmp_path, name):
    script = companion.compiled(ROOT / f"examples/{name}.grc", tmp_path)
    assert 'overload="drop"' in script.read_text()
    before = time.time()
    done = subprocess.run(
        [sys.executable, "-c", WATCH, name,
         f"driver=mimopack,recording={traffic},repeat=1,speed=0.1"], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{PACKAGES}{os.pathsep}{tmp_path}",
             "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path),
             "QT_QPA_PLATFORM": "offscreen"}, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "seen True 0" in done.stdout
    if name == "wifi_live_view":
        times = pcap_times(tmp_path / "wifi_live_view.pcap")
        assert len(times) >= 20 and before - 1 < times[0] <= times[-1] < time.time() + 1


def test_the_detectors_without_windows_decode(traffic, tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples/detectors_live_headless.py",
         f"driver=mimopack,recording={traffic},speed=0.2", "--seconds", "3"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(PACKAGES)}, capture_output=True,
        text=True, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    found = int(re.search(r"(?m)^\d+ frames, (\d+) with 2 streams of wlan_qam64, 0 samples",
                          done.stdout)[1])
    decoded = [int(re.search(rf"(?m)^{name}: (\d+) decoded$", done.stdout)[1])
               for name in ("zf", "nway")]
    assert 10 < decoded[0] <= decoded[1] <= found


def test_the_example_without_windows_writes_a_capture(sky, tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples/wifi_live_view_headless.py",
         f"driver=mimopack,recording={sky.path}", "--seconds", "2", "--capture", "c.pcap"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(PACKAGES)}, capture_output=True,
        text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "15 frames" in done.stdout
    assert len(pcap_times(tmp_path / "c.pcap")) == sum(len(sent.mpdus) for sent in sky.sent)


def test_ctrl_c_ends_an_example_without_windows(traffic, tmp_path):
    process = subprocess.Popen(
        [sys.executable, ROOT / "examples/wifi_live_view_headless.py",
         f"driver=mimopack,recording={traffic},repeat=1,speed=0.1", "--seconds", "60",
         "--antenna-names", "RX,RX"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(PACKAGES), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        # A shell lets what it runs in the background ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    try:
        process.stdout.readline()    # the figures of the first second
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0, output
    assert "Traceback" not in output and "terminate" not in output


@pytest.mark.parametrize("name, arguments, said", [
    ("detectors_live", ["--constellation", "qam16"], "constellation: got 'qam16'"),
    ("wifi_live_view", ["--antennas", "5"], "--antennas: got 5, the device has 4")])
def test_a_wrong_argument_is_refused_in_a_sentence(tmp_path, name, arguments, said):
    done = subprocess.run(
        [sys.executable, ROOT / f"examples/{name}_headless.py",
         "driver=mimopack,loopback=rayleigh,channels=4", *arguments], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGES)}, capture_output=True, text=True,
        timeout=60)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert f"error: {said}" in done.stderr
