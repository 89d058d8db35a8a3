# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ``mimopack`` command.

The module of a subcommand is imported only when the subcommand runs. Help is therefore fast, and
``doctor`` works even if GNU Radio or NumPy cannot be imported.
"""

import os
import sys
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module

try:
    import click
except ImportError:
    sys.exit("mimopack: the command needs the Python package click: pip install 'mimopack[cli]', "
             "or with Debian's packages apt install python3-click")

from .. import __version__
from ..text import printable
from .interrupt import exiting

# name: (module in this package, click command in the module, line of the help text)
_COMMANDS = {
    "bench": ("bench", "bench_command", "Measure the speed of the MIMO detectors."),
    "doctor": ("doctor", "doctor_command", "Check the installation and suggest fixes."),
    "nr": ("nr", "nr_command", "Decode 5G NR slots of a recording."),
    "play": ("play", "play_command", "Compare detectors on a recording of Wi-Fi frames."),
    "schema": ("schema", "schema_command", "Print the JSON Schema of a command's output."),
    "sim": ("sim", "sim_command", "Simulate bit and frame error rates."),
    "wifi": ("wifi", "wifi_command", "Decode Wi-Fi frames of a recording, or live from a radio."),
}


@contextmanager
def _printable_errors():
    """Escape control characters in error messages: click quotes arguments in them."""
    try:
        yield
    except click.ClickException as error:
        error.message = printable(error.message, "\n")
        raise


def _escape_what_cannot_be_encoded():
    """Let names of files that are not UTF-8 be printed."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


class _LazyGroup(click.Group):
    def main(self, *args, **options):
        _escape_what_cannot_be_encoded()
        # Libraries read these variables when they are loaded, with a command's module. OpenMP's
        # idle threads would spin on cores that other threads need, and so would OpenBLAS's.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        with exiting():
            return super().main(*args, **options)

    def make_context(self, *args, **options):
        with _printable_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx):
        with _printable_errors():
            return super().invoke(ctx)

    def resolve_command(self, ctx, args):
        """Find a subcommand; if there is none, name those that exist."""
        if args and not args[0].startswith("-") and args[0] not in _COMMANDS:
            near = get_close_matches(args[0], _COMMANDS, 1)
            ctx.fail(f"No such command {args[0]!r}. "
                     + (f"Did you mean {near[0]!r}?" if near
                        else f"The commands are {', '.join(sorted(_COMMANDS))}."))
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx):
        return sorted(_COMMANDS)

    def get_command(self, ctx, name):
        if name not in _COMMANDS:
            return None
        module, command, _ = _COMMANDS[name]
        return getattr(import_module(f"{__package__}.{module}"), command)

    def summary(self, name):
        """Return the line of the help text about a subcommand."""
        return _COMMANDS[name][2]

    def format_commands(self, ctx, formatter):
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.summary(name)) for name in sorted(_COMMANDS)])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mimopack")
def main():
    """MIMO receivers for GNU Radio, on the command line.

    mimopack COMMAND --help explains a command.
    """
