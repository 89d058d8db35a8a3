# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the command line in a terminal of a given size."""

import os
import pty
import signal
import subprocess
import sys

import pytest


def in_terminal(width, height, *arguments, interrupt=None):
    """Run the command in a terminal; return its output and exit status.

    Send SIGINT as soon as the text ``interrupt`` appears.
    """
    pytest.importorskip("rich")
    outer, inner = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm-256color",
                   "COLUMNS": str(width), "LINES": str(height)}
    process = subprocess.Popen(
        [sys.executable, "-c",
         "from gnuradio.mimopack.apps.cli import main; main(prog_name='mimopack')",
         *map(str, arguments)], stdin=inner, stdout=inner, stderr=inner, env=environment)
    os.close(inner)
    parts = []
    while True:
        try:
            parts.append(os.read(outer, 65536))
        except OSError:    # the process has ended
            break
        if interrupt is not None and interrupt in b"".join(parts).decode(errors="replace"):
            process.send_signal(signal.SIGINT)
            interrupt = None
    os.close(outer)
    # Output of gr-soapy, such as "sO", can split a character.
    return b"".join(parts).decode(errors="replace"), process.wait(timeout=60)
