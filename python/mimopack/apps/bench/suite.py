# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe a suite of measurements, and find suites in the source tree."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import click

PLACE = Path("bench") / "suites"    # in the source tree
# Folders that may be the root of the source tree to which the running package belongs: it runs from
# the tree, or from its .venv.
ROOTS = [Path(__file__).resolve().parents[4]]
if Path(sys.prefix).name == ".venv":
    ROOTS.append(Path(sys.prefix).parent)


@dataclass(frozen=True)
class Options:
    """Options of the command that a suite receives."""

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
    """A set of measurements made in one run, and its default options.

    Attributes:
        what: title, for the screen and the JSON file.
        run: function that takes ``Options`` and returns the results, a dict for the JSON file.
        tables: function that takes the results and returns ``Table`` objects and lines of text.
        vectors, seconds, rounds, threads: defaults of these options.
        every_isa: without ``--isa``, measure all instruction sets instead of the best one.
        gpu: the suite needs a GPU, and the JSON file describes it.
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

    ``folder`` is a Python package with a dict ``SUITES``. Default: ``bench/suites`` of the checkout
    to which this package belongs. That of the current folder may be somebody else's.
    """
    folders = [Path(folder)] if folder else [root / PLACE for root in ROOTS]
    found = next((path.resolve() for path in folders if (path / "__init__.py").exists()), None)
    if found is None and folder:
        raise click.UsageError(f"--suites: {folder} has no suites, must be a Python package")
    if found is None:
        raise click.UsageError(
            f"--suite {name}: this command does not belong to a source tree, which has the suites: "
            f"name its folder {PLACE} with --suites")
    # The path stays: suites start processes that import the suite again.
    sys.path.insert(0, str(found.parent))
    suites = import_module(found.name).SUITES
    if name not in suites:
        raise click.UsageError(f"--suite {name}: allowed are {', '.join(suites)}")
    return suites[name]
