# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results name the machine and the commit. No program of the working folder runs for that."""

import sys

from gnuradio.mimopack import _commit
from gnuradio.mimopack.apps.machine import describe
from source_tree import ROOT

RECORDING = ROOT / "examples/recordings/wifi_4x4_ht"

MIMOPACK = "from gnuradio.mimopack.apps.cli import main\nif __name__ == '__main__':\n    main()\n"
DESCRIBE = "from gnuradio.mimopack.apps.machine import describe\nprint(describe())\n"


def test_tells_the_commit_of_the_package():
    assert describe()["commit"] == _commit.COMMIT


def test_command_names_no_folders(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/opt/bench/wifi.py", "--case", "80 MHz=2", "--output",
                                      "/home/someone/wifi.json", "a/b.json"])
    assert describe()["command"] == "wifi.py --case '80 MHz=2' --output wifi.json a/b.json"
