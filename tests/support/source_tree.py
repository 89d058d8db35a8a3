# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths of the sources, the package under test and the recorded data."""

from pathlib import Path

from gnuradio import mimopack

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data"
# The folder on Python's path that contains gnuradio/mimopack.
PACKAGES = Path(mimopack.__file__).parents[2]
