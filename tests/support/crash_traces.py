# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hooks of pytest that print what the threads of a crashed test process did.

A process of pytest-xdist that crashes takes its standard error with it. Here each process writes
its traces to a file, and the end of the run shows those that are not empty.
"""

import faulthandler
import os
import shutil
import tempfile
from pathlib import Path

import pytest

_FOLDER = "MIMOPACK_CRASH_TRACES"


@pytest.hookimpl(trylast=True)    # pytest's own hook writes traces to standard error
def pytest_configure(config):
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        config.crash_file = open(Path(os.environ[_FOLDER]) / worker["workerid"], "w")
        faulthandler.enable(config.crash_file)
    elif getattr(config.option, "tx", None):
        os.environ[_FOLDER] = tempfile.mkdtemp(prefix="mimopack-crash-traces-")


def pytest_terminal_summary(terminalreporter, config):
    if getattr(config, "workerinput", None) is not None or _FOLDER not in os.environ:
        return
    folder = Path(os.environ.pop(_FOLDER))
    for path in sorted(folder.iterdir()):
        if trace := path.read_text(errors="replace"):
            terminalreporter.section(f"crash of worker {path.name}")
            terminalreporter.write_line(trace)
    shutil.rmtree(folder)
