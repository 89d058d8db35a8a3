# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person at the radio sees, live: the terminal view and the examples, over gr-soapy and the
driver of soapy/, which plays a recording of simulated traffic."""

import os
import re
import subprocess
import sys
import urllib.request

import pytest
from gnuradio.mimopack import recording
from source_tree import PACKAGES, ROOT
from terminal import in_terminal


def test_the_recording_of_traffic_is_received(traffic):
    done = _command(traffic, "-q")
    assert done.returncode == 0, done.stdout
    assert recording.Reader(traffic).num_channels == 2
    for kind in ("non-HT 6", "non-HT 24", "HT MCS 7", "HT MCS 11", "VHT MCS 5"):
        assert kind in done.stdout
    share = float(re.search(r"^all .* ([\d.]+) %", done.stdout, re.M)[1])
    assert share > 95


def _command(*arguments):
    return subprocess.run(
        [sys.executable, "-c",
         "from gnuradio.mimopack.apps.cli import main; main(prog_name='mimopack')",
         "wifi", *map(str, arguments)], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, timeout=60)


def test_the_terminal_view_of_a_radio(traffic):
    radio = f"driver=mimopack,recording={traffic},speed=0.05"
    text, status = in_terminal(80, 24, "--radio", radio, "--frequency", "5.18e9", "--antennas",
                               2, "--duration", 0.2, "--view", "--metrics", 0)
    assert status == 0, text
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.split("\x1b[?1049l")[1])
    for words in ("driver=mimopack", "VHT MCS 5 x2", "constellation: ", "load", "MMSE",
                  "gaps 0", "dropped", "\nall "):
        assert words in plain.replace("\r", ""), words
    assert "- %" not in plain.split("load")[1][:40]    # it has been told
    assert re.search(r"metrics: http://127\.0\.0\.1:\d+/metrics", text)


def test_ctrl_c_gives_the_terminal_back(traffic):
    radio = f"driver=mimopack,recording={traffic},repeat=1,speed=0.05"
    text, status = in_terminal(80, 24, "--radio", radio, "--frequency", "5.18e9", "--antennas", 2,
                               "--view", interrupt="HT MCS 11")
    assert status == 130, text
    assert text.count("\x1b[?1049h") == text.count("\x1b[?1049l") == 1
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")    # the cursor is back
    assert "Ended by Ctrl-C." in text.split("\x1b[?1049l")[1]


def test_prometheus_reads_a_running_radio(traffic):
    pytest.importorskip("prometheus_client")
    process = subprocess.Popen(
        [sys.executable, "-uc",
         "from gnuradio.mimopack.apps.cli import main; main(prog_name='mimopack')", "wifi",
         "--radio", f"driver=mimopack,recording={traffic},repeat=1,speed=0.05", "--frequency",
         "5.18e9", "--antennas", "2", "--metrics", "127.0.0.1:0"], text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    try:
        url, frames = None, 0
        for line in process.stdout:
            if line.startswith("metrics: "):
                url = line.split()[1]
            frames += "  SNR " in line
            if frames >= 30:
                break
        with urllib.request.urlopen(url, timeout=20) as answer:
            text = answer.read().decode()
        counted = sum(float(line.split()[-1]) for line in text.splitlines()
                      if line.startswith("mimopack_wifi_frames_total"))
        assert counted >= 30
        assert 'mimopack_wifi_linear_loss_db{detector="mmse"}' in text
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()


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
    # Lines of the log may stand between them.
    for line in (r"[1-9]\d* frames \(.*", r"airtime \d+ %; SNR [\d.]+, [\d.]+ dB; level .* dBFS",
                 r"left on the table: MMSE -?[\d.]+ dB, ZF -?[\d.]+ dB worse than nway, margin .*",
                 r"\d+ gaps, \d+ lost, \d+ dropped"):
        assert re.search(f"^{line}$", done.stdout, re.M), line


def test_a_wrong_argument_is_refused_in_a_sentence(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples/wifi_live_view_headless.py",
         "driver=mimopack,loopback=identity", "--detector", "foo"], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGES)}, capture_output=True, text=True,
        timeout=60)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "error: detector: got 'foo'" in done.stderr
