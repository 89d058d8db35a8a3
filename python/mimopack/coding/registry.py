# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The families of codes, which define the names that users write for codes.

``families`` defines the built-in families. ``register`` adds another family, which then works
everywhere the built-in ones do: in blocks, the command line, GRC and receivers::

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

FAMILIES = {}    # {name: Family}, in the order of menus and documents


@dataclass(frozen=True, eq=False)
class Family:
    """A family of codes.

    Attributes:
        form: the form of a code's name: the family's name followed by sizes, optional ones in
            brackets, as in "turbo_matched:INFO_BITS:CODED_BITS[:VERSION]".
        summary: description of the codes and their sizes, for documents and command lines.
        make: a function of the sizes in a code's name that returns the :class:`Code`, or raises
            ValueError if there is no such code. A size with a slash, such as a rate, is text; all
            others are integers.
        decoders: the classes of decoders that ``Code.decoder`` makes. Their keyword arguments are
            the options that a code's name may set. If the tuple is empty, all options are passed
            on unchecked.
        examples: names of codes, for menus.
        matrix: for LDPC codes, a function of sizes that returns the parity-check matrix; None for
            other codes.
        in_files: whether a code's name is the path of a file. ``form`` then describes the file, and
            the path is the only size.
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
        """Raise ValueError if an option does not exist in any decoder of the family."""
        if self.decoders:
            check_options(options, self.options, f"a decoder of {self.form}")

    def sizes(self, texts):
        """Return the sizes in the types that ``make`` takes.

        Raises:
            ValueError: the sizes do not fit ``form``.
        """
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


def check_options(options, allowed, whose="the decoder"):
    """Check the names of a decoder's options.

    Args:
        options: {name: value}.
        allowed: allowed names; None allows all.
        whose: the decoder, for the message.

    Raises:
        ValueError: a name is not allowed.
    """
    for name in options if allowed is not None else ():
        if name not in allowed:
            raise ValueError(f"{name}: no option of {whose}, allowed are {', '.join(allowed)}")


def register(family):
    """Add a family of codes, so that the names of its codes are known.

    Raises:
        ValueError: another family has the same name.
    """
    if family.name in FAMILIES:
        raise ValueError(f"family: got {family.name!r}, which is registered already")
    FAMILIES[family.name] = family


def forms(families=None):
    """Return the forms of all names, files last.

    Args:
        families: the families to consider; None for all.
    """
    families = sorted(families or FAMILIES.values(), key=lambda family: family.in_files)
    return tuple(family.form for family in families)


def look_up(name, families=None):
    """Find the family, sizes and options that the name of a code stands for.

    Args:
        name: a name in one of the ``forms``; options of the decoder may follow as "key=value".
        families: the families to search; None for all registered ones.

    Returns:
        (family, sizes, options)

    Raises:
        ValueError: the name has none of the forms.
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
        raise ValueError(f"code: got {str(name)!r}, which is not a file, allowed are {allowed}")
    return of_files, (path,), options
