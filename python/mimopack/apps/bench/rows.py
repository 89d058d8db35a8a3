# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs gave, as rows of the JSON file."""

from dataclasses import replace

import numpy as np

from .measuring import Fragile, error_rate, reason


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
            **run.error_rate(), **run.extra}


def add_targets(rows, cases):
    """For rows that were made of these cases, one of each."""
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


def missing_row(case, why):
    """In the place of a row that could not be measured."""
    return {"label": case.label, "constellation": case.setting.points.name,
            "num_tx": case.setting.num_tx, "num_rx": case.setting.num_rx, "reason": why}


def attempt(make, *runs):
    """(what make() returns of these runs, None), or (None, why there is nothing)."""
    for run in runs:
        if isinstance(run, Fragile) and run.failure:
            return None, run.failure
    try:
        return make(), None
    except Exception as error:
        return None, reason(error)
