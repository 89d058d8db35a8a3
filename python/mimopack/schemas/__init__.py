# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON Schemas of the files that commands write."""

import json
from pathlib import Path

from ..wifi.fields import fields_of

# {name: the option or file whose content the schema describes}
NAMES = {"bench": "mimopack bench --output", "play": "summary.json of mimopack play",
         "sim": "mimopack sim --output", "wifi": "mimopack wifi --json"}


def load(name):
    """Return a schema, one of ``NAMES``, as a dictionary."""
    schema = _complete(_read(name))
    if '"#/$defs/machine"' in json.dumps(schema):
        schema["$defs"] = {"machine": _read("machine")}
    return schema


def _complete(schema):
    """Add the facts of a frame to an object whose key $fields names an output of the table."""
    if not isinstance(schema, dict):
        return schema
    schema = {key: _complete(value) for key, value in schema.items()}
    if "$fields" in schema:
        fields = fields_of(schema.pop("$fields"))
        schema["properties"] = ({field.name: field.schema() for field in fields}
                                | schema["properties"])
        schema["required"] = [field.name for field in fields] + schema["required"]
    return schema


def _read(name):
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))
