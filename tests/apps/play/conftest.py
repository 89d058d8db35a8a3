# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures for mimopack play: a small recording, and short speed measurements."""

import pytest
from demo import make_recording
from gnuradio.mimopack.apps.play import command as command_module


@pytest.fixture(autouse=True)
def _short_timing(monkeypatch):
    monkeypatch.setattr(command_module, "_TIMED_SECONDS", 0.0)


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """A recording of twelve frames at 20 and 35 dB; MMSE loses some of them."""
    path = tmp_path_factory.mktemp("small") / "small"
    result = make_recording(path, "--frames", 12, "--snr", 20, "--snr", 35, "--seed", 3)
    assert result.exit_code == 0, result.output
    return path
