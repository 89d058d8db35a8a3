# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The suites ``gpu`` and ``gpu-arrays``: detectors on one GPU, data on the device, and Sionna."""

import click
from gnuradio.mimopack.apps.bench.detector import detector_row
from gnuradio.mimopack.apps.bench.measuring import measure

from . import arrays, first_call, peers
from .cases import GPU_CASES
from .failures import attempt, missing_row
from .on_gpu import DeviceRun, DeviceStore


def run(options, store):
    """Measure every detector."""
    return _run(GPU_CASES, DeviceStore(store, options.vectors),
                peers.start_on_gpu(options.peers, options.sionna_python, store), options)


def run_arrays(options, store):
    """Measure detectors for many antennas."""
    sionna = peers.start_on_gpu(
        options.peers, options.sionna_python,
        arrays.SizedStore(options.vectors, arrays.SIONNA_BYTES), (arrays.SIONNA_SETTING,),
        arrays.SIONNA_METHODS)
    return _run(arrays.cases(), arrays.SizedDeviceStore(options.vectors), sionna, options)


def _run(cases, there, sionna, options):
    """Return the rows, peers and missing cases for the JSON file."""
    runs, rows, missing = [], [], []
    with sionna as (peer_runs, peers_missing), first_call.empty_cache():
        with click.progressbar(length=len(cases), label="compiling") as bar:
            compiled = first_call.all_of(cases, lambda: bar.update(1))
        peers.prepared(peer_runs)
        for case, first in zip(cases, compiled, strict=True):
            if isinstance(first, str):
                missing.append(missing_row(case, first))
            else:
                detector = case.create(backend="cuda")
                runs.append((case, first, DeviceRun(detector, there.get(case.setting))))
        measure([*(run for *_, run in runs), *peer_runs], options)
        peer_rows = peers.peer_rows(peer_runs, peers_missing)
    for case, first, run in runs:
        row, why = attempt(lambda case=case, run=run: detector_row(case, run), run)
        if row:
            rows.append(row | first)
        else:
            missing.append(missing_row(case, why))
    return {"results": rows, "missing": missing, "peers": peer_rows,
            "peers_missing": peers_missing}
