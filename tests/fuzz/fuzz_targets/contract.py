# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that several targets share."""

import math
import tempfile
import unicodedata
from pathlib import Path

# A file system in memory makes files as fast as arrays.
_MEMORY = Path("/dev/shm")


def folder():
    """Return a new temporary folder in memory, which lives as long as the returned object."""
    return tempfile.TemporaryDirectory(prefix="mimopack-fuzz-",
                                       dir=_MEMORY if _MEMORY.is_dir() else None)


def is_shown_safely(text):
    """Return whether text has only characters that change nothing else on a terminal.

    Characters that Python does not know yet, such as new Chinese ones, are among them.
    """
    return all(one.isprintable() or one in "\n\t" or unicodedata.category(one) in ("Cn", "Zs")
               for one in text)


def check_error(error, *names):
    """Check that the text of an error has one line, and names one of the given things."""
    text = str(error)
    assert any(name in text for name in names), f"{text!r} names none of {names}"
    assert "\n" not in text, f"{text!r} has several lines"


def equal(first, second):
    """Return whether two values are equal, where NaN equals NaN."""
    if isinstance(first, float) and isinstance(second, float):
        return first == second or math.isnan(first) and math.isnan(second)
    return first == second
