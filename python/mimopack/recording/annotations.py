# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Annotations as JSON text, which takes less memory than dictionaries."""

import json

from ..checks import integer, shown
from .timeline import LARGEST_HZ

_EDGES = ("core:freq_lower_edge", "core:freq_upper_edge")
_KINDS = {**dict.fromkeys(_EDGES, (int, float)),
          **dict.fromkeys(("core:label", "core:comment", "core:generator", "core:uuid"), str)}


def annotation_text(start, count, **fields):
    """Check an annotation of ``Writer.annotate`` and return it, without its start, as JSON text."""
    integer("start", start, 0, 2**63 - 1)
    values = {"core:sample_count": integer("count", count, 0, 2**63 - 1),
            **{key if ":" in key else f"core:{key}": value for key, value in fields.items()}}
    for key, value in values.items():
        kind = _KINDS.get(key)
        if kind is None or isinstance(value, kind) and not isinstance(value, bool):
            continue
        wanted = "text" if kind is str else "a number"
        raise ValueError(f"{key}: got {shown(value)}, must be {wanted}")
    edges = [values[key] for key in _EDGES if key in values]
    if len(edges) == 1 or not all(abs(edge) <= LARGEST_HZ for edge in edges):
        raise ValueError(f"{', '.join(_EDGES)}: got {edges}, must be two numbers of "
                         f"{-LARGEST_HZ:g} to {LARGEST_HZ:g} Hz")
    try:
        return json.dumps(values, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"fields: got a value that JSON cannot represent: {error}") from error


def annotation_line(start, text):
    """Return an annotation with a start and an ``annotation_text`` as JSON text."""
    return f'{{"core:sample_start": {start}, {text[1:]}'
