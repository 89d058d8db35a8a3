# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Add limits, targets and peers to the rows of the JSON file."""

from dataclasses import replace

import numpy as np

from .cases import Target


def add_limits(row, case, run, limits):
    found, instructions = limits.of(case, run.detector, run.data)
    bits = case.setting.bits_per_vector
    row["instructions_per_vector"] = instructions
    row["limit_mbit_per_s"] = {name: rate * bits / 1e6 for name, rate in found.items()}
    row["limited_by"] = min(found, key=found.get)
    row["of_limit"] = row["vectors_per_s"] / found[row["limited_by"]]


def peer_row(run):
    """Return a peer's finished run as a row."""
    rate = run.rate
    return {"peer": run.program.name, "method": run.method,
            "num_tx": run.setting.num_tx, "num_rx": run.setting.num_rx,
            "constellation": run.setting.points.name, "threads": run.threads,
            "vectors": run.units, "seconds": float(np.median(run.seconds)),
            "vectors_per_s": rate, "mbit_per_s": rate * run.setting.bits_per_vector / 1e6,
            **run.error_rate(), **run.extra}


def add_targets(rows, cases):
    """Add each case's target to its row; rows and cases are in the same order."""
    for row, case in zip(rows, cases, strict=True):
        if not isinstance(case, Target):
            continue
        target = case.rate
        if case.relative_to:
            base = next(other for other, known in zip(rows, cases, strict=True)
                        if known.label == case.relative_to
                        and replace(known.setting, per_channel=case.setting.per_channel)
                        == case.setting)
            target *= base["mbit_per_s"]
        row["target_mbit_per_s"] = target
        row["of_target"] = row["mbit_per_s"] / target
