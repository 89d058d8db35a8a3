# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results name the machine and the commit."""

import sys

from gnuradio.mimopack import _commit
from gnuradio.mimopack.apps.machine import describe


def test_tells_the_commit_of_the_package():
    assert describe()["commit"] == _commit.COMMIT


def test_command_names_no_folders(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/opt/bench/wifi.py", "--case", "80 MHz=2", "--output",
                                      "/home/someone/wifi.json", "a/b.json"])
    assert describe()["command"] == "wifi.py --case '80 MHz=2' --output wifi.json a/b.json"
