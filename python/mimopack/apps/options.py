# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the commands: types, texts that several commands share, and help under headings."""

import math
import os
from functools import partial

import click

from ..files import regular
from ..recording import DATATYPES, get_datatype

ALLOW_OUTSIDE = ("Open files in other folders if names in the metadata of a SigMF RECORDING or "
                 "symbolic links lead there. Use it only for recordings that you trust.")
BACKEND = ("auto (the CPU), cpu, cuda (an NVIDIA GPU) or reference "
           "(slow NumPy code, for comparison).")
ITERATIONS = ("Maximum number of iterations between detector and decoder, for frames with several "
              "streams that the first iteration does not decode.")
SPEC = "NAME[:KEY=VALUE]"    # of a detector and its parameters

_OTHERS = "Other options"


class _Option(click.Option):
    """An option with the heading under which help lists it."""

    def __init__(self, *declarations, heading, **attributes):
        super().__init__(*declarations, **attributes)
        self.heading = heading


class FiniteRange(click.FloatRange):
    """A range of numbers; unlike click's own, it refuses nan and infinity."""

    def convert(self, value, param, context):
        """Return the number as a float."""
        number = super().convert(value, param, context)
        if not math.isfinite(number):
            self.fail(f"got {value!r}, must be a finite number", param, context)
        return number


class Parsed(click.ParamType):
    """A value that a function makes of the option's text.

    Args:
        name: name of the value in the help.
        parse: function that raises ValueError for a wrong text, with what must be given.
    """

    def __init__(self, name, parse):
        self.name, self._parse = name, parse

    def convert(self, value, param, ctx):
        """Return the value; a default that is no text stays as it is."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def detector_spec(check):
    """Return the type of a detector's name, with parameters if wanted, such as kbest:k=8.

    Args:
        check: function that raises ValueError for a text that names no detector of the command.
    """
    def parse(text):
        try:
            check(text)
        except ValueError as error:
            raise ValueError(str(error).removeprefix("detector: ")) from None
        return text

    return Parsed(SPEC, parse)


def _number(text):
    factor = {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1:])
    try:
        number = float(text[:-1]) * factor if factor else float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < 1e15:
        raise ValueError(f"got {text!r}, must be a positive number of Hz, such as 20e6 or 20M")
    return number


def _datatype(text):
    try:
        return get_datatype(text).name
    except ValueError:
        raise ValueError(f"got {text!r}, allowed are {', '.join(DATATYPES)} (short forms: cf32, "
                         "ci16, cs16, complex64 ...)") from None


def _gains(text):
    if text == "auto":
        return text
    try:
        gains = tuple(map(float, text.split(",")))
    except ValueError:
        gains = (math.nan,)
    if not all(map(math.isfinite, gains)):
        raise ValueError(f"got {text!r}, must be dB, such as 30 or 30,32, or auto")
    return gains


def _names(text):
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise ValueError(f"got {text!r}, must be names such as RX2 or RX2,TX/RX")
    return names


def _address(text):
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""
    if not port.isdecimal() or int(port) > 65535 or (colon and not host):
        raise ValueError(f"got {text!r}, must be [HOST:]PORT with a port of 0 to 65535, such as "
                         "9100 or 0.0.0.0:9100")
    return host or "127.0.0.1", int(port)


# A positive number, such as 20e6 or 20M.
NUMBER = Parsed("HZ", _number)
# A datatype of recordings, or the name that other programs use for it.
DATATYPE = Parsed("NAME", _datatype)
# Gains in dB separated by commas, or "auto": a tuple, or "auto".
GAINS = Parsed("DB", _gains)
# Names separated by commas: a tuple.
NAMES = Parsed("NAMES", _names)
# A port to listen at, with an optional host: (host, port) of 9100, 0.0.0.0:9100 or [::1]:9100.
ADDRESS = Parsed("[HOST:]PORT", _address)


class HeadedCommand(click.Command):
    """A command with options made by :func:`heading`; all others come last in its help."""

    def format_options(self, ctx, formatter):
        """Write the options, with headings in the order in which options first name them."""
        sections = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                title = getattr(parameter, "heading", _OTHERS)
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


class OutputFile(click.Path):
    """Path of a file that a command writes when it ends, refused now if this cannot succeed."""

    def __init__(self):
        super().__init__(dir_okay=False)

    def convert(self, value, param, ctx):
        """Return the path, or fail."""
        value = super().convert(value, param, ctx)
        try:
            folder = regular(value).parent
        except (ValueError, OSError) as error:
            self.fail(str(error), param, ctx)
        if not folder.is_dir():
            self.fail(f"{value}: there is no folder {folder}", param, ctx)
        if not os.access(folder, os.W_OK | os.X_OK):
            self.fail(f"{value}: files cannot be written in the folder {folder}", param, ctx)
        return value


class PictureFile(OutputFile):
    """Path of a picture that a command draws when it ends."""

    def convert(self, value, param, ctx):
        """Return the path, or fail."""
        value = super().convert(value, param, ctx)
        try:
            from .style import picture_format

            picture_format(value)
        except (ValueError, ImportError) as error:
            self.fail(str(error), param, ctx)
        return value


def heading(title):
    """Return a decorator like ``click.option``, for options under this heading."""
    return partial(click.option, cls=_Option, heading=title)
