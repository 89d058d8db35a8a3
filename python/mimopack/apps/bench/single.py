# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack bench`` without a suite: chosen detectors and backends on one setting."""

from ... import detectors
from .cases import Case
from .measuring import DetectorRun, take_turns
from .rows import detector_row


def make_cases(names, backends, setting, isas=("auto",), threads=0):
    """[(case, detector)] for each detector, variant and backend, and why others were left out."""
    made, refused = [], []
    for name in names:
        passes = sorted({n for n in (1, 2, setting.num_tx) if n <= setting.num_tx})
        variants = [{"num_passes": n} for n in passes] if name == "nway" else [{}]
        for parameters in variants:
            case = Case(name, parameters, setting)
            for backend in backends:
                for isa in isas if backend == "cpu" else ("auto",):
                    try:
                        detector = case.create(backend=backend, isa=isa, threads=threads)
                    except (ValueError, ImportError) as error:    # no CuPy
                        refused.append(f"{name}, {backend}: {error}")
                    else:
                        made.append((case, detector))
    return made, refused


def run(made, options, store, progress):
    """One row for each of ``make_cases``, with the ratio to the reference backend."""
    runs = [DetectorRun(detector, store.get(case.setting)) for case, detector in made]
    with progress(len(runs) * (options.rounds + 1)) as tick:
        take_turns(runs, options.seconds, options.rounds, tick)
    rows = [detector_row(case, timed) for (case, _), timed in zip(made, runs, strict=True)]
    reference = {row["label"]: row["vectors_per_s"]
                 for row in rows if row["backend"] == "reference"}
    for row in rows:
        if row["backend"] != "reference" and row["label"] in reference:
            row["ratio_to_reference"] = row["vectors_per_s"] / reference[row["label"]]
    return {"results": rows}


def all_names():
    return list(detectors.REGISTRY)
