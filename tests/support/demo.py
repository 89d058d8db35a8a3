# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the demo's recording, and similar ones."""

import importlib.util
import json

from click.testing import CliRunner
from source_tree import ROOT

FOLDER = ROOT / "examples/recordings"
DEMO = FOLDER / "wifi_4x4_ht"
GOLDEN = json.loads(DEMO.with_name(DEMO.name + ".golden.json").read_text())


def make_recording(path, *options):
    spec = importlib.util.spec_from_file_location("make_wifi", FOLDER / "make_wifi.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return CliRunner().invoke(module.main, ["--output", str(path), *map(str, options)])
