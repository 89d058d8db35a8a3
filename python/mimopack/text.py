# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make text from untrusted sources safe for a terminal."""

import unicodedata

# Unicode categories: control, format, surrogate, private use, line and paragraph separator.
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def printable(text, keep=""):
    """Return text with control and format characters replaced by escapes, such as \\x1b.

    Args:
        text: any text.
        keep: control characters to keep.
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(
        one if one in keep or unicodedata.category(one) not in _HIDDEN
        else one.encode("unicode_escape").decode("ascii") for one in text)


def printable_metadata(value):
    """Return JSON metadata with all its text printable; line ends and tabs stay."""
    if isinstance(value, str):
        return printable(value, "\n\t")
    if isinstance(value, list):
        return [printable_metadata(one) for one in value]
    if isinstance(value, dict):
        return {printable(key): printable_metadata(one) for key, one in value.items()}
    return value
