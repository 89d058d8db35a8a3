# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON Schemas of the files that commands write."""

import json
from pathlib import Path

# {name: the option or file whose content the schema describes}
NAMES = {"bench": "mimopack bench --output", "play": "summary.json of mimopack play",
         "sim": "mimopack sim --output", "wifi": "mimopack wifi --json"}


def load(name):
    """Return a schema, one of ``NAMES``, as a dictionary."""
    schema = _read(name)
    if '"#/$defs/machine"' in json.dumps(schema):
        schema["$defs"] = {"machine": _read("machine")}
    return schema


def _read(name):
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))
