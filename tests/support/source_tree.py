# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the sources, the package under test and recorded data are."""

from pathlib import Path

from gnuradio import mimopack

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data"
# The folder on Python's path that holds gnuradio/mimopack.
PACKAGES = Path(mimopack.__file__).parents[2]
