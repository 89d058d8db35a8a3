# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Capture files as tshark reads them."""

import itertools
import shutil
import subprocess

import pytest


def tshark(path, *names):
    """Return tshark's output: for each record a list with a list of the values of each field."""
    if shutil.which("tshark") is None:
        pytest.fail("tshark is missing: scripts/setup.sh --tests installs it")
    selected = ["_ws.malformed", "_ws.expert.message", *names]
    done = subprocess.run(
        ["tshark", "-r", path, "-o", "wlan.check_checksum:TRUE", "-T", "fields",
         "-E", "occurrence=a", "-E", "separator=/t", "-E", "aggregator=;",
         *itertools.chain.from_iterable(("-e", name) for name in selected)],
        capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    rows = [[cell.split(";") if cell else [] for cell in line.split("\t")]
            for line in done.stdout.splitlines()]
    # A bad frame check sequence counts as malformed; nothing else may be malformed.
    assert all(not row[0] or row[1][0].startswith("Bad checksum") for row in rows), rows
    # tshark prints a truth value as True since version 4.2, as 1 before.
    values = {"True": 1, "False": 0}
    return [[[values.get(value, value) for value in cell] for cell in row[2:]] for row in rows]


def numbers(path, *names):
    """Return the same as numbers; a single value replaces its list, None a missing field."""
    def of(cell):
        found = [float(int(value, 0)) if isinstance(value, str) and value.startswith("0x")
                 else float(value) for value in cell]
        return None if not found else found[0] if len(found) == 1 else found
    return [[of(cell) for cell in row] for row in tshark(path, *names)]
