# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Examples for radios, run with the driver in soapy/."""

import os
import subprocess
import sys
import time

import pytest
import soapy_driver  # noqa: F401 - tells SoapySDR where the driver is
import yaml
from gnuradio.mimopack.wifi import HT, VHT, NonHT
from source_tree import PACKAGES, ROOT
from wifi_air import data_mpdu, record
from wifi_sky import FREQUENCY, pcap_times

# Parameters of UHD's block for the third and fourth antenna.
CHANNEL = {"center_freq": "frequency", "rx_agc": "Disabled", "gain": "gain",
           "gain_type": "default", "ant": "antenna", "bw": "0", "dc_offs_enb": "auto",
           "iq_imbal_enb": "auto", "dc_offs": "0+0j", "iq_imbal": "0+0j", "lo_source": "internal",
           "lo_export": "False"}
# {(block, parameter): its value with four antennas}, where it is not that with two antennas.
DIFFERENCES = {
    "soapy": {
        ("options", "description"):
            "Receives Wi-Fi with four antennas of a radio, through SoapySDR.",
        ("options", "title"): "Wi-Fi live (SoapySDR, four antennas)",
        # A LimeSDR has two antennas and ends at 3.8 GHz.
        ("driver", "value"): "uhd", ("antenna", "value"): "RX2", ("frequency", "value"): "5.18e9"},
    "uhd": {
        ("options", "description"): "Receives Wi-Fi with four antennas of USRPs, through UHD.",
        ("options", "title"): "Wi-Fi live (UHD, four antennas)",
        ("source", "comment"):
            "One device with four channels, such as an N310. For two devices of two channels\n"
            "each: Num Mboards 2, clock and time source of both external, Sync: PC Clock on Next "
            "PPS.",
        **{("source", f"{name}{channel}"): value for channel in (2, 3)
           for name, value in CHANNEL.items()}}}
# The views of the third and fourth stream: {block: where it differs from that of the second one}.
MORE_VIEWS = {
    f"points_{stream}": {"name": f'"Stream {stream}"', "color1": f'"{colour}"',
                         "gui_hint": f"1,{stream},4,1"}
    for stream, colour in ((2, "dark green"), (3, "magenta"))}
MORE_CONNECTIONS = [
    connection for number in "23" for connection in (
        ["response", number, "magnitude", number], ["source", number, "rx", number],
        ["symbols", number, f"points_{number}", "0"])]


@pytest.mark.parametrize("name", ["soapy", "uhd", "soapy_4", "uhd_4"])
def test_the_examples_for_radios_compile(companion, tmp_path, name):
    script = companion.compiled(ROOT / f"examples/wifi_live_{name}.grc", tmp_path)
    made = script.read_text()
    compile(made, str(script), "exec")
    assert 'overload="drop"' in made
    for antenna in range(4 if name.endswith("_4") else 2):
        assert f"(self.source, {antenna}), (self.rx, {antenna})" in made


def parts(name):
    """Return ({block: its description}, connections, the rest) of a flowgraph."""
    text = (ROOT / f"examples/{name}.grc").read_text(encoding="utf-8")
    graph = yaml.safe_load(text)
    blocks = {block.pop("name"): block for block in graph.pop("blocks")}
    blocks["options"] = graph.pop("options")
    assert len(blocks) == text.count("\n- name: ") + 1
    return blocks, graph.pop("connections"), graph


@pytest.mark.parametrize("kind", ["soapy", "uhd"])
def test_four_antennas_differ_from_two_only_where_they_must(kind):
    two, connections, rest = parts(f"wifi_live_{kind}")
    four, more_connections, more_rest = parts(f"wifi_live_{kind}_4")
    for name, view in MORE_VIEWS.items():
        assert four[name]["parameters"] == two["points_1"]["parameters"] | view
        assert four.pop(name)["id"] == two["points_1"]["id"]
    expected = DIFFERENCES[kind] | {
        ("options", "id"): f"wifi_live_{kind}_4", ("capture", "value"): f"wifi_live_{kind}_4.pcap",
        ("num_rx", "value"): "4", ("symbols", "num_streams"): "4",
        ("magnitude", "nconnections"): "4"}
    for (block, parameter), value in expected.items():
        assert two[block]["parameters"].get(parameter) != value
        two[block]["parameters"][parameter] = value
    assert four == two and more_rest == rest
    assert sorted(more_connections) == sorted([*connections, *MORE_CONNECTIONS])


WATCH = """
import importlib, sys
from PyQt5 import Qt
name, device, capture, antennas = *sys.argv[1:4], int(sys.argv[4])
made = importlib.import_module(name)
application = Qt.QApplication(sys.argv)
graph = getattr(made, name)(driver="mimopack", device=device, antenna="RX", capture=capture,
                            frequency=5.18e9)
made.snippets_main_after_init(graph)
views = [getattr(graph, f"points_{stream}") for stream in range(antennas)]
def seen():
    return graph.meter.frames() >= 20 and all(view.nitems_read(0) for view in views)
watch, deadline = Qt.QTimer(), Qt.QTimer()
watch.timeout.connect(lambda: seen() and application.quit())
deadline.timeout.connect(application.quit)
watch.start(50)
deadline.start(20000)
graph.start()
graph.show()
application.exec_()
graph.stop()
graph.wait()
print("received", graph.rx.counts()["decoded"], seen())
"""


@pytest.fixture(scope="module")
def recordings(sky, tmp_path_factory):
    """{number of antennas: recording with frames of as many streams}."""
    mpdus = [data_mpdu(100, number) for number in range(3)]
    frames = [(lambda n: NonHT(24, n), mpdus[:1]), (lambda n: HT(25, n), mpdus[1:2]),
              (lambda n: VHT.of_length(1, n, 4), mpdus[2:])]
    path, _ = record(tmp_path_factory.mktemp("four") / "air", frames * 3, num_rx=4, gap=1500,
                     options={"frequency": FREQUENCY, "datatype": "ci16_le"})
    return {2: sky.path, 4: path}


@pytest.mark.parametrize("name, antennas", [("wifi_live_soapy", 2), ("wifi_live_soapy_4", 4)])
def test_the_example_for_soapy_receives(companion, recordings, tmp_path, name, antennas):
    companion.compiled(ROOT / f"examples/{name}.grc", tmp_path)
    before = time.time()
    done = subprocess.run(
        [sys.executable, "-c", WATCH, name,
         f"recording={recordings[antennas]},repeat=1,speed=0.05", "live.pcap", str(antennas)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{PACKAGES}{os.pathsep}{tmp_path}",
             "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path),
             "QT_QPA_PLATFORM": "offscreen"}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    decoded, seen = done.stdout.split("received ")[1].split()[:2]
    assert int(decoded) >= 20 and seen == "True"
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
