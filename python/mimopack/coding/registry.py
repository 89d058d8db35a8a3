# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Families of codes, by the names that users write for their codes.

``families`` has those that are built in. ``register`` adds another one, which blocks, the command
line, GRC and receivers then take like those::

    coding.register(coding.Family(
        "repetition:INFO_BITS:TIMES", "each bit TIMES times", make_repetition,
        (RepetitionDecoder,), ("repetition:100:3",)))
    coding.get("repetition:100:3")
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..specs import parse

FAMILIES = {}    # Family by name, in the order of menus and documents


@dataclass(frozen=True, eq=False)
class Family:
    """A family of codes.

    Attributes:
        form: how the name of a code is written: the family's name and sizes behind it, those in
            brackets optional, as in "turbo_matched:INFO_BITS:CODED_BITS[:VERSION]".
        summary: what the codes are and which sizes there are, for documents and command lines.
        make: makes the :class:`Code` of sizes, which are integers, or text where they have a slash
            (rates); ValueError where there is none.
        decoders: classes that ``Code.decoder`` makes decoders of; their keyword arguments are the
            options of the code's decoder. None listed: any option is passed on.
        examples: names of codes, for menus.
        matrix: of LDPC codes, makes the parity-check matrix of sizes; None for other codes.
        in_files: whether names are paths, of which ``form`` says what is there, and the only size
            is the path.
    """

    form: str
    summary: str
    make: Callable
    decoders: tuple = ()
    examples: tuple = ()
    matrix: Callable | None = None
    in_files: bool = False

    @property
    def name(self):
        """The part of ``form`` before the first colon."""
        return self.form.partition(":")[0]

    @cached_property
    def options(self):
        """Names of the decoders' options, sorted."""
        sizes = re.findall("[A-Z_]+", self.form)
        return tuple(sorted({
            name for decoder in self.decoders
            for name, parameter in inspect.signature(decoder).parameters.items()
            if parameter.default is not parameter.empty and name.upper() not in sizes}))

    def check(self, options):
        """Raise ValueError where a decoder's option is of another name."""
        for name in options if self.decoders else ():
            if name not in self.options:
                raise ValueError(f"{name}: no decoder of {self.form} has it, allowed are "
                                 + ", ".join(self.options))

    def sizes(self, texts):
        """Return sizes as ``make`` takes them; ValueError where they do not fit ``form``."""
        required = self.form.partition("[")[0].count(":")
        if not required <= len(texts) <= self.form.count(":"):
            raise ValueError(f"must be {self.form}")
        return tuple(map(self._size, texts))

    def _size(self, text):
        if text.isdecimal():
            return int(text)
        if "/" not in text:
            raise ValueError(f"must be {self.form}")
        return text


def register(family):
    """Let the names of a family's codes be known.

    Raises:
        ValueError: another family has the name.
    """
    if family.name in FAMILIES:
        raise ValueError(f"family: got {family.name!r}, which is registered already")
    FAMILIES[family.name] = family


def forms(families=None):
    """Return the forms of all names, files last: of the families given (None: of all)."""
    families = sorted(families or FAMILIES.values(), key=lambda family: family.in_files)
    return tuple(family.form for family in families)


def look_up(name, families=None):
    """Find out what the name of a code stands for.

    Args:
        name: of a form in ``forms``, maybe with options of the decoder behind it as "key=value".
        families: those to look in; None for all that are registered.

    Returns:
        (family, sizes, options)

    Raises:
        ValueError: the name is of none of the forms.
    """
    families = families or FAMILIES.values()
    allowed = ", ".join(forms(families))
    if not isinstance(name, str | Path):
        raise ValueError(f"code: got {name!r}, allowed are {allowed}")
    of_files = next(family for family in families if family.in_files)
    if Path(name).is_file():
        return of_files, (Path(name),), {}
    try:
        text, positional, options = parse(str(name))
        for family in families:
            if family.name == text and not family.in_files:
                return family, family.sizes(positional), options
    except ValueError as error:
        raise ValueError(f"code: got {str(name)!r}, {error}") from None
    path = Path(":".join([text, *positional]))
    if not path.is_file():
        raise ValueError(f"code: got {str(name)!r}, which is no file, allowed are {allowed}")
    return of_files, (path,), options
