# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parse names with parameters, such as "nway:num_passes=4" and "wimax:2304:1/2:factor=0.75"."""

from typing import NamedTuple

_WORDS = {"true": True, "false": False, "none": None}


class Spec(NamedTuple):
    """The parts of a name with parameters.

    Attributes:
        name: the part before the first colon.
        positional: list of the parts without "=", as text.
        keywords: dictionary of values by key. Values become numbers, True, False or None if they
            look like them.
    """

    name: str
    positional: list
    keywords: dict


def parse(text):
    """Split a name with parameters, such as "name:2304:1/2:key=value".

    A comma separates parts in the same way as a colon.

    Returns:
        :class:`Spec`.

    Raises:
        ValueError: ``text`` is no text, or a key is given twice.
    """
    if not isinstance(text, str):
        raise ValueError("must be text")
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
