# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the command runs: chosen detectors, or a suite of the source tree."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import click

PLACE = Path("bench") / "suites"    # in the source tree
# The source tree, where the package runs from one.
CHECKOUT = Path(__file__).resolve().parents[4]


@dataclass(frozen=True)
class Options:
    """The command's options, as a suite gets them."""

    threads: int
    vectors: int
    seconds: float
    rounds: int
    isas: tuple
    peers: str | None = None
    sionna_python: str | None = None
    antennas: tuple = ()


@dataclass(frozen=True)
class Suite:
    """Measurements of one run, and the defaults of their options.

    Attributes:
        what: one line for the screen and the JSON file.
        run: takes ``Options`` and returns the results, a dict for the JSON file.
        tables: takes the results and returns ``Table`` objects and lines of text.
        vectors, seconds, rounds, threads: defaults of these options.
        every_isa: without ``--isa``, measure every instruction set, not only the best.
        gpu: needs a GPU, which the JSON file then describes.
    """

    what: str
    run: Callable
    tables: Callable
    vectors: int
    seconds: float
    rounds: int
    threads: int = 0
    every_isa: bool = False
    gpu: bool = False


def find(name, folder=None):
    """Return a suite by its name.

    Args:
        folder: a Python package with a dict ``SUITES``; default ``bench/suites`` of the checkout
            that this package runs from, or else below the current folder.

    Raises:
        click.UsageError: there is no such folder, or no such suite in it.
    """
    folders = [Path(folder)] if folder else [root / PLACE for root in (CHECKOUT, Path.cwd())]
    found = next((path.resolve() for path in folders if (path / "__init__.py").exists()), None)
    if found is None:
        raise click.UsageError(
            f"--suite {name}: {folders[-1]} has no suites; they come with the source tree: run "
            f"this in the root of a checkout, or name its {PLACE} with --suites")
    # The path stays: suites start processes, which import them again.
    sys.path.insert(0, str(found.parent))
    suites = import_module(found.name).SUITES
    if name not in suites:
        raise click.UsageError(f"--suite {name}: allowed are {', '.join(suites)}")
    return suites[name]
