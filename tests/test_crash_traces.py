# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the end of a run of tests shows of a process that crashed."""

import subprocess
import sys

from source_tree import ROOT

CRASHING = """
from crash_traces import pytest_configure, pytest_terminal_summary

def test_that_crashes():
    import ctypes
    ctypes.string_at(0)

def test_that_passes():
    pass
"""


def test_traces_of_a_crashed_process(tmp_path):
    (tmp_path / "conftest.py").write_text(CRASHING)
    (tmp_path / "test_crash.py").write_text("from conftest import *")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "1", "-p", "no:cacheprovider", "-c", "/dev/null",
         "--rootdir", tmp_path, tmp_path], capture_output=True, text=True, timeout=120,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "tests/support")})
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout
    section = done.stdout.split("crash of worker gw0")[1]
    assert "Fatal Python error: Segmentation fault" in section
    assert "in test_that_crashes" in section
