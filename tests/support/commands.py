# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run ``mimopack`` in this process, or in one of its own."""

import os
import subprocess
import sys

from click.testing import CliRunner
from gnuradio.mimopack.apps.cli import main
from source_tree import PACKAGES


def invoke(*arguments):
    """Return the result of the command, run in this process."""
    return CliRunner().invoke(main, [*map(str, arguments)])


def output_of(*arguments, code=0):
    """Return what the command prints. Its exit status must be ``code``."""
    result = invoke(*arguments)
    assert result.exit_code == code, result.output[-2000:]
    return result.output


def start(*arguments, **options):
    """Start the command in a process of its own, with options of ``Popen``."""
    return subprocess.Popen(
        [sys.executable, "-c",
         "from gnuradio.mimopack.apps.cli import main; main(prog_name='mimopack')",
         *map(str, arguments)], text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, **options)


def run(*arguments, path=(), cwd=None, **environment):
    """Run the command in a process of its own, with folders at the start of Python's path."""
    folders = os.pathsep.join(str(folder) for folder in [*path, PACKAGES])
    return subprocess.run(
        [sys.executable, "-c", "from gnuradio.mimopack.apps.cli import main; main()",
         *map(str, arguments)], env={**os.environ, "PYTHONPATH": folders, **environment}, cwd=cwd,
        capture_output=True, text=True, timeout=300)
