# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names with parameters, as a command line takes them: "nway:num_passes=4", "wimax:2304:1/2"."""

_WORDS = {"true": True, "false": False, "none": None}


def parse(text):
    """("name", ["2304", "1/2"], {"key": value}) of "name:2304:1/2:key=value"; commas separate as
    colons do. Values of keys become numbers, True, False or None where they look like them."""
    name, *parts = text.replace(",", ":").split(":")
    positional, keywords = [], {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals:
            positional.append(part)
        elif key in keywords:
            raise ValueError(f"{key} is given twice")
        else:
            keywords[key] = _value(value)
    return name, positional, keywords


def _value(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return _WORDS.get(text.lower(), text)
