# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The terminal view and the metrics of a radio.

The driver of soapy/ plays a recording of simulated traffic.
"""

import re
import subprocess
import urllib.request

import pytest
import soapy_driver  # noqa: F401 - tells SoapySDR where the driver is
from commands import start
from terminal import in_terminal


def test_the_terminal_view_of_a_radio(traffic):
    radio = f"driver=mimopack,recording={traffic},speed=0.05"
    text, status = in_terminal(80, 24, "wifi", "--radio", radio, "--frequency", "5.18e9",
                               "--antennas", 2, "--duration", 0.2, "--view", "--metrics", 0)
    assert status == 0, text
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.split("\x1b[?1049l")[1])
    for words in ("driver=mimopack", "VHT MCS 5 x2", "constellation: ", "load", "MMSE",
                  "gaps 0", "dropped", "\nall "):
        assert words in plain.replace("\r", ""), words
    assert "- %" not in plain.split("load")[1][:40]    # the load is known
    assert re.search(r"metrics: http://127\.0\.0\.1:\d+/metrics", text)


def test_ctrl_c_gives_the_terminal_back(traffic):
    radio = f"driver=mimopack,recording={traffic},repeat=1,speed=0.05"
    text, status = in_terminal(80, 24, "wifi", "--radio", radio, "--frequency", "5.18e9",
                               "--antennas", 2, "--view", interrupt="HT MCS 11")
    assert status == 130, text
    assert text.count("\x1b[?1049h") == text.count("\x1b[?1049l") == 1
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")    # the cursor is back
    assert "Ended by Ctrl-C." in text.split("\x1b[?1049l")[1]


def test_prometheus_reads_a_running_radio(traffic):
    pytest.importorskip("prometheus_client")
    process = start(
        "wifi", "--radio", f"driver=mimopack,recording={traffic},repeat=1,speed=0.05",
        "--frequency", "5.18e9", "--antennas", 2, "--metrics", "127.0.0.1:0",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
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
