# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several simulations in one file, whose points are computed together."""

import inspect
import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .. import checks
from ..text import printable
from .link import SNR_KINDS, Link
from .plan import MOST_FRAMES
from .simulation import Simulation, run_together

_LINK = [field.name for field in fields(Link) if field.name != "snr_kind"]
_SIMULATION = ["detectors", *(
    name for name in inspect.signature(Simulation).parameters
    if name not in ("link", "detectors", "output", "threads", "client"))]
_RUN = {"errors": 100, "max_frames": 100_000}
_KEYS = [*SNR_KINDS, *_LINK, *_SIMULATION, *_RUN]
_TOP = ("title", "results", "plot", "defaults", "simulation")
_MOST_SNRS = 10_000


def snr_values(value):
    """Return the SNRs that a value means: a list, a number, "FIRST:LAST:STEP" or "1,2,3"."""
    if isinstance(value, list):
        numbers = []
        for entry in value:
            numbers += snr_values(entry)
            if len(numbers) > _MOST_SNRS:
                raise ValueError(f"the list has more than {_MOST_SNRS} values")
        return numbers
    try:
        if isinstance(value, bool):
            raise TypeError
        if not isinstance(value, str):
            return [float(value)]
        if ":" not in value:
            return [float(part) for part in value.split(",")]
        first, last, step = (float(part) for part in value.split(":"))
    except (ValueError, OverflowError, TypeError):
        raise ValueError(f"{value!r} is neither FIRST:LAST:STEP nor numbers separated by commas"
                         ) from None
    if not 0 < step < math.inf or not 0 <= (last - first) / step < _MOST_SNRS:
        raise ValueError(f"{value!r} is not FIRST:LAST:STEP with STEP > 0, LAST >= FIRST and at "
                         f"most {_MOST_SNRS} values")
    count = int((last - first) / step + 1e-9) + 1
    return [round(first + i * step, 6) for i in range(count)]


@dataclass(frozen=True)
class Part:
    """A simulation of a campaign.

    Attributes:
        name: its name.
        output: path of its file of results.
        link: arguments of ``Link``.
        simulation: arguments of ``Simulation``.
        run: {name: argument} of ``Simulation.run``.
    """

    name: str
    output: Any
    link: dict
    simulation: dict
    run: dict

    def state(self, rows):
        """Return (complete, begun, waiting): numbers of points, by the rows of results.

        A point is complete too if its detector has skipped it, because it made no frame error at a
        lower SNR.
        """
        points = {(row["detector"], row["at_db"]): row for row in rows}
        complete = begun = 0
        for detector in self.simulation["detectors"]:
            skipped = False
            for snr in self.run["snrs"]:
                row = points.get((detector, snr))
                done = row is not None and (
                    row["counts"]["frame_errors"][-1] >= self.run["errors"]
                    or row["frames"] >= self.run["max_frames"])
                complete += done or skipped
                begun += row is not None and not done and not skipped
                skipped |= done and not row["counts"]["frame_errors"][-1]
        count = len(self.simulation["detectors"]) * len(self.run["snrs"])
        return complete, begun, count - complete - begun


class Campaign:
    """The simulations of a TOML file; docs/campaigns.md describes it.

    Args:
        path: path of the file.

    Attributes:
        title: title of the figure.
        plot: path of the picture, or None.
        parts: list of ``Part``.

    Raises:
        ValueError: the file is no campaign.
        OSError: the file cannot be read.
    """

    def __init__(self, path):
        import tomllib  # Python 3.11

        path = Path(path)
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
            _known(content, _TOP, "")
            defaults = content.get("defaults", {})
            _known(defaults, _KEYS, "defaults.")
            entries = content.get("simulation")
            if not isinstance(entries, list) or not entries:
                raise ValueError("simulation: missing, must be at least one [[simulation]]")
            for key in ("title", "results", "plot"):
                _text(key, content.get(key, path.stem))
            self.title = content.get("title", path.stem)
            self.plot = path.parent / content["plot"] if "plot" in content else None
            folder = path.parent / content.get("results", path.stem)
            self.parts = [_part(f"simulation[{index}]", defaults, entry, folder)
                          for index, entry in enumerate(entries)]
            names = [part.name for part in self.parts]
            for index, name in enumerate(names):
                if name in names[:index]:
                    raise ValueError(f"simulation[{index}].name: {name} is taken already")
        except ValueError as error:
            raise ValueError(f"campaign: {path}: {printable(error)}") from None

    def simulations(self, threads=0, client=None):
        """Return {name: ``Simulation``}, with these of its arguments."""
        simulations = {}
        for part in self.parts:
            part.output.parent.mkdir(parents=True, exist_ok=True)
            try:
                simulations[part.name] = Simulation(
                    Link(**part.link), **part.simulation, threads=threads, output=part.output,
                    client=client)
            except ValueError as error:
                raise ValueError(f"{part.name}: {error}") from None
            except ImportError as error:
                raise ImportError(f"{part.name}: {error}") from None
        return simulations

    def run(self, simulations, seconds=None):
        """Run the ``simulations()``, see ``run_together``."""
        run_together([(simulations[part.name], part.run) for part in self.parts], seconds)


def _known(table, allowed, place):
    if not isinstance(table, dict):
        raise ValueError(f"{place.rstrip('.')}: must be a table")
    for key in table:
        if key not in allowed:
            raise ValueError(f"{place}{key}: unknown, allowed are {', '.join(allowed)}")


def _text(name, value):
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{name}: got {checks.shown(value)}, must be printable text")


def _part(place, defaults, entry, folder):
    _known(entry, ["name", *_KEYS], f"{place}.")
    name = entry.get("name")
    if (not isinstance(name, str) or not name or not name.isprintable()
            or name != Path(name).name):
        raise ValueError(f"{place}.name: got {checks.shown(name)}, must be text that can name a "
                         "file")
    settings = {**{key: value for key, value in defaults.items()
               if key not in SNR_KINDS or not entry.keys() & set(SNR_KINDS)}, **entry}
    kinds = [kind for kind in SNR_KINDS if kind in settings]
    if len(kinds) != 1:
        raise ValueError(f"{place}: give either snr or ebn0")
    detectors = settings.get("detectors")
    if not isinstance(detectors, list) or not all(isinstance(name, str) for name in detectors):
        raise ValueError(f"{place}.detectors: got {checks.shown(detectors)}, must be a list of "
                         "texts")
    try:
        snrs = sorted(set(snr_values(settings[kinds[0]])))
    except ValueError as error:
        raise ValueError(f"{place}.{kinds[0]}: {error}") from None
    if not snrs:
        raise ValueError(f"{place}.{kinds[0]}: got none, must be at least one")
    for snr in snrs:
        checks.snr(f"{place}.{kinds[0]}", snr)
    for index, detector in enumerate(detectors):
        _text(f"{place}.detectors[{index}]", detector)
    settings["detectors"] = list(dict.fromkeys(detectors))    # as ``Simulation`` does
    _text(f"{place}.constellation", settings.get("constellation", ""))    # no points
    run = {"snrs": snrs} | {
        key: checks.integer(f"{place}.{key}", settings.get(key, default), 1, MOST_FRAMES)
        for key, default in _RUN.items()}
    return Part(name, folder / f"{name}.json",
                {key: settings[key] for key in _LINK if key in settings} | {"snr_kind": kinds[0]},
                {key: settings[key] for key in _SIMULATION if key in settings}, run)
