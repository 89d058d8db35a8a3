# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""pytest prints the stacks of its processes that crashed, at the end of a run."""

import os
import subprocess
import sys

import pytest
from source_tree import ROOT

HOOKS = """
from crash_traces import (pytest_configure, pytest_configure_node, pytest_terminal_summary,
                          pytest_unconfigure)
"""
TESTS = """
import ctypes, subprocess, sys

def test_of_a_run_inside(tmp_path):
    assert subprocess.run([sys.executable, "-m", "pytest", "-c", "/dev/null", "--collect-only",
                           __file__]).returncode == 0

def test_that_crashes():
    ctypes.string_at(0)

def test_that_passes():
    pass
"""


def test_traces_of_a_crashed_process(tmp_path):
    pytest.importorskip("xdist")
    (tmp_path / "conftest.py").write_text(HOOKS)
    (tmp_path / "test_crash.py").write_text(TESTS)
    (tmp_path / "temporary").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "1", "-p", "no:cacheprovider", "-c", "/dev/null",
         "--rootdir", tmp_path, tmp_path], capture_output=True, text=True, timeout=120,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "tests/support"),
             "PYTHONNOUSERSITE": "1", "TMPDIR": str(tmp_path / "temporary")})
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 2 passed" in done.stdout
    section = done.stdout.split("crash of worker gw0")[1]
    assert "Fatal Python error: Segmentation fault" in section
    assert "in test_that_crashes" in section
    assert not [*(tmp_path / "temporary").glob("mimopack-crash-traces-*")]
