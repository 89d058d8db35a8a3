# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack bench`` without a suite: chosen detectors and backends with one setting."""

from functools import partial

import click

from ... import detectors
from .data import Store
from .detector import Case, DetectorRun, detector_row
from .measuring import measure
from .suite import Suite
from .table import Table, bit_error_rate, number, spelled

VECTORS, SECONDS, ROUNDS = 200_000, 3.0, 7    # defaults of the command's options


def chosen(setting, names, backends):
    """Return a ``Suite`` of the named detectors, or of all if there are no names."""
    return Suite("detectors on arrays", partial(_run, setting, names, backends), _tables,
                 vectors=VECTORS, seconds=SECONDS, rounds=ROUNDS)


def make_cases(names, backends, setting, isas=("auto",), threads=0):
    """Create all detectors, with variants, backends and instruction sets.

    A name may have parameters, as in "kbest:k=8".

    Returns:
        (made, refused): a list of (case, detector), and a list of messages about detectors that
        could not be created.
    """
    made, refused = [], []
    for name in names:
        passes = sorted({n for n in (1, 2, setting.num_tx) if n <= setting.num_tx})
        factory = detectors.look_up(name)
        variants = [{"num_passes": n} for n in passes] if name == "nway" else [
            factory.keywords]
        for parameters in variants:
            case = Case(factory.kind.name, parameters, setting)
            for backend in backends:
                for isa in isas if backend == "cpu" else ("auto",):
                    try:
                        detector = case.create(backend=backend, isa=isa, threads=threads)
                    except (ValueError, ImportError) as error:    # ImportError: no CuPy
                        refused.append(f"{name}, {backend}: {error}")
                    else:
                        # A detector in Python does the same on each backend: measure it once.
                        if not (detector.IN_PYTHON and made and made[-1][0] is case):
                            made.append((case, detector))
    return made, refused


def _run(setting, names, backends, options):
    made, refused = make_cases(names or detectors.REGISTRY, backends, setting, options.isas,
                               options.threads)
    for line in refused:
        click.echo(f"left out: {line}", err=True)
    if not made:
        raise click.UsageError("no detector is left to time")
    store = Store(options.vectors)
    runs = [DetectorRun(detector, store.get(setting), min(1.0, options.seconds))
            for _, detector in made]
    measure(runs, options)
    rows = [detector_row(case, run) for (case, _), run in zip(made, runs, strict=True)]
    reference = {row["label"]: row["vectors_per_s"]
                 for row in rows if row["backend"] == "reference"}
    for row in rows:
        if row["backend"] != "reference" and row["label"] in reference:
            row["ratio_to_reference"] = row["vectors_per_s"] / reference[row["label"]]
    return {"case": {"num_tx": setting.num_tx, "num_rx": setting.num_rx,
                     "constellation": setting.points.name, "snr_db": setting.snr_db,
                     "noise_var": setting.noise_var, "symbols_per_channel": setting.per_channel,
                     "threads": options.threads}, "results": rows}


def _tables(results):
    return [Table(
        ["detector", "backend", "vectors/s", "Mbit/s", "bit error rate", "speed-up over reference"],
        [[spelled(row["label"]), f"{row['backend']} {row['isa'] or ''}".rstrip(),
          f"{row['vectors_per_s']:.2e}", number(row["mbit_per_s"]), bit_error_rate(row),
          number(row.get("ratio_to_reference"))] for row in results["results"]])]
