# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hooks of pytest that print what the threads of a crashed test process did.

A process of pytest-xdist that crashes takes its standard error with it. Here each process writes
its traces to a file, and the end of the run shows the files that are not empty.
"""

import faulthandler
import shutil
import tempfile
from pathlib import Path

import pytest


@pytest.hookimpl(trylast=True)    # pytest's own hook writes traces to standard error
def pytest_configure(config):
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        config.crash_file = open(Path(worker["crash_folder"]) / worker["workerid"], "w")
        faulthandler.enable(config.crash_file)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Tell a process of pytest-xdist where to write, before it starts."""
    if not hasattr(node.config, "crash_folder"):
        node.config.crash_folder = tempfile.mkdtemp(prefix="mimopack-crash-traces-")
    node.workerinput["crash_folder"] = node.config.crash_folder


def pytest_terminal_summary(terminalreporter, config):
    folder = getattr(config, "crash_folder", None)
    for path in sorted(Path(folder).iterdir()) if folder else ():
        if trace := path.read_text(errors="replace"):
            terminalreporter.section(f"crash of worker {path.name}")
            terminalreporter.write_line(trace)


def pytest_unconfigure(config):
    if hasattr(config, "crash_file"):
        faulthandler.disable()
        config.crash_file.close()
    if hasattr(config, "crash_folder"):
        shutil.rmtree(config.crash_folder, ignore_errors=True)
