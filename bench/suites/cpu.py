# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The suite ``cpu``: every detector, all instruction sets, and detectors of other projects."""

from gnuradio.mimopack.apps.bench.detector import DetectorRun, detector_row
from gnuradio.mimopack.apps.bench.measuring import measure

from . import peers
from .cases import MAIN, OTHERS


def run(options, store):
    """Return the rows and missing peers for the JSON file."""
    planned = [(case, options.isas[0]) for case in (*MAIN, *OTHERS)]
    planned += [(case, isa) for isa in options.isas[1:] for case in MAIN]
    with peers.start(options.peers, options.sionna_python, store, options.threads) as (
            peer_runs, missing):
        runs = [DetectorRun(case.create(threads=options.threads, isa=isa, backend="cpu"),
                            store.get(case.setting)) for case, isa in planned]
        measure([*runs, *peer_runs], options)
        peer_rows = [run.row() for run in peer_runs]    # before their programs end
    return {"results": [detector_row(case, run)
                        for (case, _), run in zip(planned, runs, strict=True)],
            "peers": peer_rows, "peers_missing": missing}
