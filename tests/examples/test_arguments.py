# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Examples without a GUI: invalid arguments."""

import os
import subprocess
import sys

import pytest
from source_tree import PACKAGES, ROOT


@pytest.mark.parametrize("name, arguments, said", [
    ("detectors", ["--detectors", "foo"], "detector: got 'foo'"),
    ("wifi_recording", ["cap.dat"], "no recording cap.dat"),
    ("wifi_loopback", ["--mcs", "40"], "--mcs: got 40, allowed are 8 to 15"),
    ("nr_loopback", ["--slots", "1"], "--slots: got 1, must be 2 or more"),
    ("own_ofdm", ["--slots", "1"], "--slots: got 1, must be 2 or more"),
    ("wifi_live_view", ["driver=foo"], "device: no device for 'driver=foo': is it plugged in"),
    ("wifi_live_view", ["driver=uhd,type=foo"], "device: UHD finds no device 'type=foo'"),
    ("detectors_recording", ["cap.dat"], "no recording cap.dat"),
    ("iterative_receiver", ["--code", "foo"], "code: got 'foo'")])
def test_a_wrong_argument_is_refused_in_a_sentence(tmp_path, name, arguments, said):
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / f"{name}_headless.py", *arguments], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGES), "HOME": str(tmp_path)},
        capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    # UHD logs from a separate thread, which may be later.
    error, = (line for line in done.stderr.splitlines() if "_headless.py: error: " in line)
    assert f"{name}_headless.py: error: " in error and said in error
