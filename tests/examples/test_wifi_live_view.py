# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The example wifi_live_view, run with gr-soapy and the driver in soapy/."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
import soapy_driver  # noqa: F401 - tells SoapySDR where the driver is
from flowgraphs import until
from source_tree import PACKAGES, ROOT

WATCH = """
import sys
from PyQt5 import Qt
import wifi_live_view as made
application = Qt.QApplication(sys.argv)
graph = made.wifi_live_view(device=sys.argv[1])
made.snippets_main_after_init(graph)
watch, deadline = Qt.QTimer(), Qt.QTimer()
def seen():
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
refused = [view.refused() for view in (graph.meter, graph.losses, graph.levels, graph.airtime,
                                       graph.condition, graph.response, graph.symbols)]
print("seen", seen(), refused)
"""


def test_the_flowgraph_shows_all(companion, traffic, tmp_path):
    companion.compiled(ROOT / "examples/wifi_live_view.grc", tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", WATCH, f"recording={traffic},repeat=1,speed=0.1"], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{PACKAGES}{os.pathsep}{tmp_path}",
             "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path),
             "QT_QPA_PLATFORM": "offscreen"}, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "seen True [0, 0, 0, 0, 0, 0, 0]" in done.stdout


def test_the_example_without_windows_tells_all(traffic, tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples/wifi_live_view_headless.py",
         f"driver=mimopack,recording={traffic},repeat=1,speed=0.1", "--seconds", "4"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(PACKAGES)}, capture_output=True,
        text=True, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    # Log lines may come between them.
    for line in (r"[1-9]\d* frames \(.*", r"airtime \d+ %; SNR [\d.]+, [\d.]+ dB; level .* dBFS",
                 r"left on the table: MMSE -?[\d.]+ dB, ZF -?[\d.]+ dB worse than nway, margin .*",
                 r"\d+ gaps, \d+ lost, \d+ dropped"):
        assert re.search(f"^{line}$", done.stdout, re.M), line


@pytest.mark.parametrize("example", ["soapy", "view"])
def test_ctrl_c_ends_an_example_without_windows(traffic, tmp_path, example):
    process = subprocess.Popen(
        [sys.executable, ROOT / f"examples/wifi_live_{example}_headless.py",
         f"driver=mimopack,recording={traffic},repeat=1,speed=0.1", "--seconds", "60",
         "--antenna-names", "RX,RX"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(PACKAGES), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        # A shell lets what it runs in the background ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    try:
        if example == "view":
            process.stdout.readline()    # the figures of the first second
        else:
            until((tmp_path / "wifi_live_soapy.pcap").exists)
            time.sleep(1)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0, output
    assert "Traceback" not in output and "terminate" not in output
    if example == "soapy":
        assert "'decoded': " in output


@pytest.mark.parametrize("example, arguments, said", [
    ("view", ["--detector", "foo"], "detector: got 'foo'"),
    ("view", ["--antennas", "5"], "--antennas: got 5, the device has 4"),
    ("soapy", ["--antennas", "5"], "--antennas: got 5, the device has 4"),
    ("soapy", ["--antenna-names", "RX,RX2"], "antenna_names: got 'RX2', the device has RX"),
    ("view", ["--antenna-names", "RX2"], "antenna_names: got 'RX2', the device has RX")])
def test_a_wrong_argument_is_refused_in_a_sentence(tmp_path, example, arguments, said):
    done = subprocess.run(
        [sys.executable, ROOT / f"examples/wifi_live_{example}_headless.py",
         "driver=mimopack,loopback=rayleigh,channels=4", *arguments], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGES)}, capture_output=True, text=True,
        timeout=60)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert f"error: {said}" in done.stderr
