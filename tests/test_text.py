# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
import json

import pytest
from gnuradio.mimopack.text import json_rows


def test_json_has_a_line_for_each_row():
    value = {"what": "speeds", "machine": {"threads": 2}, "results": [{"a": 1, "b": [2]}, {"a": 3}],
             "parts": {"first": [{"c": [{"d": 4}]}], "second": []}}
    text = json_rows(value)
    assert json.loads(text) == value
    assert '  {"a": 1, "b": [2]},\n  {"a": 3}\n ]' in text
    assert '  "first": [\n   {"c": [{"d": 4}]}\n  ]' in text
    with pytest.raises(ValueError):
        json_rows({"ber": float("nan")})
