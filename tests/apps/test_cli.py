# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line as a whole."""

import os
import subprocess
import sys

import pytest
from source_tree import PACKAGES


def run(*arguments, path=(), **environment):
    """Run ``mimopack`` with folders at the start of Python's path."""
    folders = os.pathsep.join(str(folder) for folder in [*path, PACKAGES])
    return subprocess.run(
        [sys.executable, "-c", "from gnuradio.mimopack.apps.cli import main; main()", *arguments],
        env={**os.environ, "PYTHONPATH": folders, **environment},
        capture_output=True, text=True, timeout=120)


def test_help_lists_the_commands_without_loading_gnuradio_or_numpy():
    code = ("import sys; from gnuradio.mimopack.apps.cli import main\n"
            "main(['--help'], standalone_mode=False)\n"
            "print([m for m in ('numpy', 'gnuradio.gr') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(PACKAGES)}, timeout=60)
    assert done.returncode == 0, done.stderr
    for command in ("bench", "doctor", "play"):
        assert f"  {command}  " in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", ["bench", "doctor", "play"])
def test_every_command_has_help(command):
    done = run(command, "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage:")


def test_unknown_command_is_refused():
    done = run("detect")
    assert done.returncode == 2
    assert "No such command 'detect'" in done.stderr
