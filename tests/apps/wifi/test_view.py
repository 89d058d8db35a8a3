# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The terminal view of mimopack wifi."""

import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from commands import invoke
from gnuradio.mimopack.wifi.linear_loss import LinearLoss
from missing_packages import hide
from terminal import in_terminal
from wifi_air import FRAMES, record


def test_the_view_shows_the_mean_of_several_losses():
    pytest.importorskip("rich")
    from gnuradio.mimopack.apps.wifi.view import mean_loss

    one, two = LinearLoss(1, 2, 3, "nway"), LinearLoss(3, 6, -3, "mla")
    assert mean_loss([]) is None and mean_loss([one]) == one
    assert mean_loss([one, two]) == LinearLoss(2, 4, 0, "mla")
    assert mean_loss([one, replace(two, zf_db=np.inf)]).zf_db == np.inf


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    return record(tmp_path_factory.mktemp("simulated") / "r", FRAMES * 3)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (132, 43), (200, 60)])
def test_the_view_fits_the_terminal_and_shows_all(simulated, width, height):
    path, sent = simulated
    text, status = in_terminal(width, height, "wifi", path, "--view")
    assert status == 0, text
    assert "\x1b[?1049h" in text and "\x1b[?1049l" in text    # takes and releases the screen
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.split("\x1b[?1049l")[1])
    lines = plain.replace("\r", "").split("\n")
    assert f"{len(sent)} frames" in lines[0] and lines[height - 1].strip() == ""
    assert all(len(line) == width for line in lines[:height])
    shown = "\n".join(lines[:height])
    for words in ("frames: ", "FCS ok 100 %", "HT MCS 9 ", "VHT MCS 4 x2", "non-HT 24 Mbit/s",
                  "constellation: VHT MCS 4", "antennas", "|H|", "condition", "airtime",
                  "dB left on the table", "MMSE", "ZF", "gaps 0"):
        assert words in shown, words
    assert sum("\u2801" <= character <= "\u28ff" for character in shown) > 40
    assert "\nall " in plain    # the table follows
    assert "sample " not in plain    # instead of lines


def test_a_view_needs_a_terminal_and_rich(simulated, monkeypatch):
    result = invoke("wifi", simulated[0], "--view")
    assert result.exit_code == 2 and "--view: standard output is not a terminal" in result.output
    monkeypatch.setattr(sys.modules["gnuradio.mimopack.apps.wifi.watch"], "_is_terminal",
                        lambda: True)
    hide(monkeypatch, "rich")
    result = invoke("wifi", simulated[0], "--view")
    assert result.exit_code == 2
    assert "--view needs rich: install python3-rich with apt" in result.output
