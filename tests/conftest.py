# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures that several test modules share."""

import os
import re
import subprocess
import sys

import pytest
from flowgraphs import Companion
from gnuradio.mimopack import detectors
from gnuradio.mimopack.cuda import device
from slow_detectors import SlowNWay
from source_tree import PACKAGES, ROOT
from wifi_sky import make_sky
from wifi_statistics import receive_frames

collect_ignore = ["sionna"]    # scripts/test.sh --sionna runs it in an environment of its own


@pytest.fixture(scope="session")
def companion(tmp_path_factory):
    """GNU Radio Companion's library, loaded once."""
    return Companion(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def sky(tmp_path_factory):
    """A recording of 15 Wi-Fi frames, as wifi_sky.make_sky() describes it."""
    return make_sky(tmp_path_factory.mktemp("sky"))


@pytest.fixture(scope="session")
def received_frames():
    """Wi-Fi frames of two antennas, as wifi_statistics.receive_frames() describes them."""
    return receive_frames()


@pytest.fixture(scope="session")
def traffic(tmp_path_factory):
    """A recording of 0.2 s of traffic."""
    path = tmp_path_factory.mktemp("traffic") / "air"
    done = subprocess.run(
        [sys.executable, ROOT / "examples/recordings/make_traffic.py", path, "--seconds", "0.2"],
        env={**os.environ, "PYTHONPATH": str(PACKAGES)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d+ frames in 0.2048 s, 0 values clipped", done.stdout)
    return path


@pytest.fixture
def usrp(sky, monkeypatch):
    """Let gr-uhd's source be ``usrp.Usrp``, a stand-in that needs no device."""
    from usrp import put_in_place

    put_in_place(sky, monkeypatch)


@pytest.fixture
def slow_nway(monkeypatch):
    """Make the N-way detector too slow for real time."""
    monkeypatch.setitem(detectors.REGISTRY, "nway", SlowNWay)


@pytest.fixture(autouse=True)
def no_gpu(request, monkeypatch):
    """Let backend "auto" find no GPU, except in tests marked gpu."""
    if "gpu" not in request.keywords:
        monkeypatch.setattr(device, "count", lambda: 0)
