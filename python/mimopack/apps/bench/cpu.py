# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``--suite cpu``: every detector beside its target, the machine's limits, its other instruction
sets and the detectors of other projects."""

from dataclasses import replace

import numpy as np

from . import peers
from .cases import OTHERS, QAM16, TARGETS
from .limits import Limits
from .measuring import DetectorRun, error_rate, take_turns


def detector_row(case, run):
    """What one run gave, as a row of the JSON file."""
    rate = run.rate
    return {"label": case.label, "detector": case.detector, "parameters": case.parameters,
            "num_tx": run.data.setting.num_tx, "num_rx": run.data.setting.num_rx,
            "constellation": run.data.setting.points.name,
            "symbols_per_channel": run.period, "backend": run.detector.backend,
            "isa": run.detector.isa, "vectors": run.units, "calls": run.calls,
            "seconds": float(np.median(run.seconds)), "vectors_per_s": rate,
            "mbit_per_s": rate * run.detector.bits_per_vector / 1e6,
            **error_rate(run.bit_errors(), run.detector.bits_per_vector)}


def add_limits(row, case, run, limits):
    found, instructions = limits.of(case, run.detector, run.data)
    bits = case.setting.bits_per_vector
    row["instructions_per_vector"] = instructions
    row["limit_mbit_per_s"] = {name: rate * bits / 1e6 for name, rate in found.items()}
    row["limited_by"] = min(found, key=found.get)
    row["of_limit"] = row["vectors_per_s"] / found[row["limited_by"]]


def peer_row(run):
    rate = run.rate
    return {"peer": run.program.name, "method": run.method,
            "num_tx": run.setting.num_tx, "num_rx": run.setting.num_rx,
            "constellation": run.setting.points.name, "threads": run.threads,
            "vectors": run.units, "seconds": float(np.median(run.seconds)),
            "vectors_per_s": rate, "mbit_per_s": rate * run.setting.bits_per_vector / 1e6,
            **run.error_rate()}


def _add_targets(rows, cases):
    """Targets are set for the first instruction set alone."""
    for row, case in zip(rows, cases, strict=True):
        if case.target is None:
            continue
        target = case.target
        if case.relative_to:
            base = next(other for other, known in zip(rows, cases, strict=True)
                        if known.label == case.relative_to
                        and replace(known.setting, per_channel=case.setting.per_channel)
                        == case.setting)
            target *= base["mbit_per_s"]
        row["target_mbit_per_s"] = target
        row["of_target"] = row["mbit_per_s"] / target


def run(options, store, progress):
    """The suite's rows, rates and missing peers, for the JSON file."""
    first, others = options.isas[0], options.isas[1:]
    planned = [(case, first) for case in (*TARGETS, *OTHERS)]
    planned += [(case, isa) for isa in others for case in TARGETS]
    with peers.start(options.peers, options.sionna_python, store, options.threads) as (
            peer_runs, missing):
        limits = Limits(options.isas, options.threads, store.get(QAM16))
        runs = [DetectorRun(case.create(threads=options.threads, isa=isa, backend="cpu"),
                            store.get(case.setting)) for case, isa in planned]
        everything = [*limits.runs, *runs, *peer_runs]
        with progress(len(everything) * (options.rounds + 1)) as tick:
            take_turns(everything, options.seconds, options.rounds, tick)
        peer_rows = [peer_row(run) for run in peer_runs]    # they still answer
    rows = []
    for (case, _), timed in zip(planned, runs, strict=True):
        row = detector_row(case, timed)
        add_limits(row, case, timed, limits)
        rows.append(row)
    own = len(TARGETS) + len(OTHERS)
    _add_targets(rows[:own], [case for case, _ in planned[:own]])
    return {"rates": limits.rates(), "results": rows, "peers": peer_rows,
            "peers_missing": missing}
