# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The suite ``cpu``: compare every detector with its target, limits and peers.

The limits are those of the machine. The peers are detectors of other projects. The suite also
measures all instruction sets.
"""

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
        peer_rows = [peer_row(run) for run in peer_runs]    # before their programs end
    rows = []
    for (case, _), timed in zip(planned, runs, strict=True):
        row = detector_row(case, timed)
        add_limits(row, case, timed, limits)
        rows.append(row)
    own = len(TARGETS) + len(OTHERS)
    # Only the first instruction set has targets.
    add_targets(rows[:own], [case for case, _ in planned[:own]])
    return {"rates": limits.rates(), "results": rows, "peers": peer_rows,
            "peers_missing": missing}
