# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names with parameters, as users write them: "nway:num_passes=4", "wimax:2304:1/2:factor=0.75"."""

from typing import NamedTuple

_WORDS = {"true": True, "false": False, "none": None}


class Spec(NamedTuple):
    """A name taken apart.

    Attributes:
        name: the part before the first colon.
        positional: the parts without "=", as text.
        keywords: values by key: numbers, True, False or None where they look like them.
    """

    name: str
    positional: list
    keywords: dict


def parse(text):
    """Take apart "name:2304:1/2:key=value"; commas separate as colons do.

    Returns:
        :class:`Spec`

    Raises:
        ValueError: a key is given twice.
    """
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
    return Spec(name, positional, keywords)


def _value(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return _WORDS.get(text.lower(), text)
