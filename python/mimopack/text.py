# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write counts, sample rates and JSON, and make text from untrusted sources safe for a terminal."""

import json
import unicodedata

# Unicode categories: control, format, surrogate, private use, line and paragraph separator.
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_LOW = 1e5    # sample rate below which the unit is not MS/s


def plural(count, noun):
    """Return a count with its noun, as "1 frame" or "2 frames"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def rate_in_words(rate):
    """Return a sample rate in words: "20 MS/s", or "20 samples/s" for one that is very low."""
    return f"{rate:g} samples/s" if rate < _LOW else f"{rate / 1e6:.10g} MS/s"


def rates_in_words(rates):
    """Return a choice of sample rates in words: "5, 10 or 20 MS/s"."""
    *others, last = (f"{rate / 1e6:g}" for rate in rates)
    return f"{', '.join(others)} or {last} MS/s"


def shortened(text, most):
    """Return text of at most ``most`` characters; "..." stands for what is left out at the end."""
    return text if len(text) <= most else f"{text[:most - 3]}..."


def json_rows(value, indent=""):
    """Return JSON text of a value, with one line for each row of a table.

    A table is a list of dictionaries. The text has no line end.

    Raises:
        ValueError: the value contains NaN or infinity, which JSON does not have.
    """
    inner = indent + " "
    if _is_table(value):
        rows = f",\n{inner}".join(json.dumps(row, allow_nan=False) for row in value)
        return f"[\n{inner}{rows}\n{indent}]"
    if isinstance(value, dict) and any(map(_holds_table, value.values())):
        rows = f",\n{inner}".join(f"{json.dumps(key)}: {json_rows(member, inner)}"
                                 for key, member in value.items())
        return f"{{\n{inner}{rows}\n{indent}}}"
    return json.dumps(value, allow_nan=False)


def _is_table(value):
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _holds_table(value):
    return _is_table(value) or isinstance(value, dict) and any(map(_holds_table, value.values()))


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
        character if character in keep or unicodedata.category(character) not in _HIDDEN
        else character.encode("unicode_escape").decode("ascii") for character in text)


def printable_metadata(value):
    """Return JSON metadata with all its text printable; line ends and tabs stay."""
    if isinstance(value, str):
        return printable(value, "\n\t")
    if isinstance(value, list):
        return [printable_metadata(item) for item in value]
    if isinstance(value, dict):
        return {printable(key): printable_metadata(item) for key, item in value.items()}
    return value
