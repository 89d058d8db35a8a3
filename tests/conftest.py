# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures that several test modules share."""

import pytest
from flowgraphs import Companion
from gnuradio.mimopack.cuda import device
from gnuradio.mimopack.detectors import calibration


@pytest.fixture(scope="session")
def companion(tmp_path_factory):
    """GNU Radio Companion's library, built once."""
    return Companion(tmp_path_factory.mktemp("home"))


@pytest.fixture(autouse=True)
def calibrations(request, tmp_path, monkeypatch):
    """Nothing of the user's cache is read or written; and backend "auto" takes no GPU, but in
    tests of it, so that others do not depend on what is faster here."""
    monkeypatch.setattr(calibration, "folder", lambda: tmp_path / "calibration")
    if "gpu" not in request.keywords:
        monkeypatch.setattr(device, "count", lambda: 0)
