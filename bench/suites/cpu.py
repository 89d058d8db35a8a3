# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``--suite cpu``: every detector beside its target, the machine's limits, its other instruction
sets and the detectors of other projects."""

from gnuradio.mimopack.apps.bench.detector import DetectorRun, detector_row
from gnuradio.mimopack.apps.bench.measuring import measure

from . import peers
from .cases import OTHERS, QAM16, TARGETS
from .limits import Limits
from .rows import add_limits, add_targets, peer_row


def run(options, store):
    """Return the rows, rates and missing peers for the JSON file."""
    first, others = options.isas[0], options.isas[1:]
    planned = [(case, first) for case in (*TARGETS, *OTHERS)]
    planned += [(case, isa) for isa in others for case in TARGETS]
    with peers.start(options.peers, options.sionna_python, store, options.threads) as (
            peer_runs, missing):
        limits = Limits(options.isas, options.threads, store.get(QAM16))
        runs = [DetectorRun(case.create(threads=options.threads, isa=isa, backend="cpu"),
                            store.get(case.setting)) for case, isa in planned]
        measure([*limits.runs, *runs, *peer_runs], options)
        peer_rows = [peer_row(run) for run in peer_runs]    # they still answer
    rows = []
    for (case, _), timed in zip(planned, runs, strict=True):
        row = detector_row(case, timed)
        add_limits(row, case, timed, limits)
        rows.append(row)
    own = len(TARGETS) + len(OTHERS)
    # Targets are set for the first instruction set alone.
    add_targets(rows[:own], [case for case, _ in planned[:own]])
    return {"rates": limits.rates(), "results": rows, "peers": peer_rows,
            "peers_missing": missing}
