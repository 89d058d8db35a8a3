# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Examples for radios, run with the driver in soapy/."""

import os
import subprocess
import sys
import time

import pytest
import soapy_driver  # noqa: F401 - tells SoapySDR where the driver is
from source_tree import PACKAGES, ROOT
from wifi_sky import pcap_times


@pytest.mark.parametrize("name", ["soapy", "uhd"])
def test_the_examples_for_radios_compile(companion, tmp_path, name):
    script = companion.compiled(ROOT / f"examples/wifi_live_{name}.grc", tmp_path)
    made = script.read_text()
    compile(made, str(script), "exec")
    assert 'overload="drop"' in made and "(self.source, 1), (self.rx, 1)" in made


WATCH = """
import sys, time
from PyQt5 import Qt
import wifi_live_soapy as made
application = Qt.QApplication(sys.argv)
graph = made.wifi_live_soapy(driver="mimopack", device=sys.argv[1], antenna="RX",
                             capture="live.pcap")
made.snippets_main_after_init(graph)
watch, deadline = Qt.QTimer(), Qt.QTimer()
watch.timeout.connect(lambda: graph.meter.frames() >= 20 and application.quit())
deadline.timeout.connect(application.quit)
watch.start(50)
deadline.start(20000)
graph.start()
graph.show()
application.exec_()
graph.stop()
graph.wait()
print("received", graph.rx.counts()["decoded"])
"""


def test_the_example_for_soapy_receives(companion, sky, tmp_path):
    companion.compiled(ROOT / "examples/wifi_live_soapy.grc", tmp_path)
    before = time.time()
    done = subprocess.run(
        [sys.executable, "-c", WATCH, f"recording={sky.path},repeat=1,speed=0.05"], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{PACKAGES}{os.pathsep}{tmp_path}",
             "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path),
             "QT_QPA_PLATFORM": "offscreen"}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split("received ")[1].split()[0]) >= 20
    times = pcap_times(tmp_path / "live.pcap")
    assert len(times) >= 20 and before - 1 < times[0] <= times[-1] < time.time() + 1


def test_the_example_without_windows_receives(sky, tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples/wifi_live_soapy_headless.py",
         f"driver=mimopack,recording={sky.path}", "--seconds", "2", "--capture", "c.pcap"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(PACKAGES)}, capture_output=True,
        text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "'decoded': 15" in done.stdout
    assert len(pcap_times(tmp_path / "c.pcap")) == sum(len(sent.mpdus) for sent in sky.sent)
