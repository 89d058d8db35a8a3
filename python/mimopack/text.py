# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text of strangers: what may reach a terminal of it."""

import unicodedata

# Control and format characters, surrogates, private ones, and separators of lines.
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def printable(text, keep=""):
    """Return text with each character that a terminal would act upon as an escape, such as \\x1b.

    Args:
        keep: control characters that stay.
    """
    return "".join(
        one if one in keep or unicodedata.category(one) not in _HIDDEN
        else one.encode("unicode_escape").decode("ascii") for one in str(text))


def printable_metadata(value):
    """Return metadata as JSON gives it with all its text printable; line ends and tabs stay."""
    if isinstance(value, str):
        return printable(value, "\n\t")
    if isinstance(value, list):
        return [printable_metadata(one) for one in value]
    if isinstance(value, dict):
        return {printable(key): printable_metadata(one) for key, one in value.items()}
    return value
