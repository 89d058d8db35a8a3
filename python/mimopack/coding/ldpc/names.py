# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parity-check matrices by the names of their codes."""

from ..registry import FAMILIES, forms, look_up


def families():
    """Return {name: family} for the LDPC families whose names stand for a matrix."""
    return {name: family for name, family in FAMILIES.items() if family.matrix}


def matrix_forms():
    """Return the forms of the names that ``get`` takes."""
    return forms(families().values())


def get(name):
    """Return the parity-check matrix with a given name.

    Args:
        name: "wimax:2304:1/2" or "wifi:1944:5/6" (bits in a codeword, rate), "nr:1:384" (base
            graph, lifting size), or the path of a file that :func:`read_alist` reads.

    Returns:
        :class:`Prototype` or :class:`ParityChecks`.

    Raises:
        ValueError: the name has another form, the standard does not have the size, or the file is
            not in alist format.
        OSError: the file cannot be read.
    """
    family, sizes, options = look_up(name, families().values())
    if options:
        raise ValueError(f"code: got {str(name)!r}, must be {family.form}")
    try:
        return family.matrix(*sizes)
    except ValueError as error:
        raise ValueError(f"code: got {str(name)!r}; {error}") from None
