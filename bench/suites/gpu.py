# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The suite ``gpu``: compare every detector on a GPU with its target, the GPU's limits and Sionna.
"""

from functools import partial

import click
from gnuradio.mimopack.apps.bench.detector import detector_row
from gnuradio.mimopack.apps.bench.measuring import measure

from . import first_call, peers
from .cases import GPU_OTHERS, GPU_TARGETS, QAM16
from .failures import attempt, missing_row
from .on_gpu import DeviceLimits, DeviceRun, DeviceStore
from .rows import add_limits, add_targets


def _row(case, first, run, limits):
    row = detector_row(case, run) | first
    add_limits(row, case, run, limits)
    return row


def run(options, store):
    """Return the rows, rates, peers and missing cases for the JSON file."""
    cases = (*GPU_TARGETS, *GPU_OTHERS)
    rows, missing = [], []
    with (peers.start_on_gpu(options.peers, options.sionna_python, store) as (
            peer_runs, peers_missing), first_call.empty_cache()):
        with click.progressbar(length=len(cases), label="compiling") as bar:
            compiled = first_call.all_of(cases, lambda: bar.update(1))
        peers.prepared(peer_runs)
        there = DeviceStore(store, options.vectors)
        limits = DeviceLimits(there.get(QAM16))
        runs = []
        for case, first in zip(cases, compiled, strict=True):
            if isinstance(first, str):
                missing.append(missing_row(case, first))
            else:
                detector = case.create(backend="cuda")
                runs.append((case, first, DeviceRun(detector, there.get(case.setting))))
        measure([*limits.runs, *(run for *_, run in runs), *peer_runs], options)
        peer_rows = peers.peer_rows(peer_runs, peers_missing)
    done = []
    for case, first, run in runs:
        row, why = attempt(partial(_row, case, first, run, limits), run)
        if row:
            rows.append(row)
            done.append(case)
        else:
            missing.append(missing_row(case, why))
    add_targets(rows, done)
    return {"rates": limits.rates(), "results": rows, "missing": missing, "peers": peer_rows,
            "peers_missing": peers_missing}
