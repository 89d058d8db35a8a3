# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codes by a name, as command lines and blocks take it."""

from pathlib import Path

from .alist import read_alist
from .standards import nr, wifi, wimax

FORMS = ("wimax:N:RATE", "wifi:N:RATE", "nr:BASE_GRAPH:LIFTING_SIZE",
         "the path of a file in alist form")
FAMILIES = {"wimax": (wimax, int, str), "wifi": (wifi, int, str), "nr": (nr, int, int)}


def get(name):
    """The parity-check matrix that a name stands for.

    Args:
        name: "wimax:2304:1/2" or "wifi:1944:5/6" (bits of a codeword, rate), "nr:1:384" (base
            graph, lifting size), or the path of a file that :func:`read_alist` reads.

    Returns:
        :class:`Prototype` or :class:`ParityChecks`.

    Raises:
        ValueError: a name of another form, a size that the standard does not have, or a file that
            is not of alist form.
        OSError: the file cannot be read.
    """
    family, *sizes = str(name).split(":")
    if family not in FAMILIES:
        if not Path(name).is_file():
            raise ValueError(f"code: got {str(name)!r}, which is no file, allowed are "
                             + ", ".join(FORMS))
        return read_alist(name)
    make, *types = FAMILIES[family]
    try:
        values = [kind(size) for kind, size in zip(types, sizes, strict=True)]
    except ValueError:
        form = next(form for form in FORMS if form.startswith(f"{family}:"))
        raise ValueError(f"code: got {name!r}, must be {form}") from None
    try:
        return make(*values)
    except ValueError as error:
        raise ValueError(f"code: got {name!r}; {error}") from None
