# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that several commands share: help under headings, texts, and output files."""

import math
import os
from functools import partial
from importlib import import_module

import click

from ..files import regular

__all__ = ["ALLOW_OUTSIDE", "BACKEND", "ITERATIONS", "SPEC", "CommandWithOthers", "DetectorSpec",
           "FiniteRange", "HeadedCommand", "OutputFile", "PictureFile", "heading"]

ALLOW_OUTSIDE = ("Open files in other folders if names in the metadata of a SigMF RECORDING or "
                 "symbolic links lead there. Use it only for recordings that you trust.")
BACKEND = ("auto (the CPU, or a GPU where that is faster), cpu, cuda (an NVIDIA GPU) or reference "
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


class DetectorSpec(click.ParamType):
    """A detector by its name, with parameters if wanted, such as kbest:k=8.

    Args:
        check: function that raises ValueError for a text that names no detector of the command.
    """

    name = SPEC

    def __init__(self, check):
        self._check = check

    def convert(self, value, param, ctx):
        """Return the text."""
        try:
            self._check(value)
        except ValueError as error:
            self.fail(str(error).removeprefix("detector: "), param, ctx)
        return value


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


class CommandWithOthers(HeadedCommand):
    """A command whose first argument may be the name of another command, which then runs.

    Subclasses define:

    Attributes:
        OTHERS: {name: (module in this package, click command in the module)}.
    """

    OTHERS = {}

    def make_context(self, info_name, args, parent=None, **extra):
        """Make the context of this command, or of the other one that the arguments name."""
        if args and args[0] in self.OTHERS:
            module, name = self.OTHERS[args[0]]
            other = getattr(import_module(f"{__package__}.{module}"), name)
            return other.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx):
        """Run the command of a context."""
        return super().invoke(ctx) if ctx.command is self else ctx.command.invoke(ctx)


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
