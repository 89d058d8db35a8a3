# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of results, from which a simulation continues."""

import json
from pathlib import Path

from gnuradio.mimopack.sim.store import Store
from gnuradio.mimopack.sim.tally import Tally

from . import contract, mutations

MAX_LEN = 4096
mutate = mutations.of_json(
    ("what", "data", "parameters", "runs", "results", "detector", "at_db", "counts", "blocks",
     "frames", "undetected", "passes", "decoder_iterations", "frame_errors", "bit_errors",
     "detected_bit_errors", "iterations", "complete", "noise_var", "sha256", "machine", "backend",
     "seconds"))
_FOLDER = contract.folder()
_FILE = Path(_FOLDER.name, "results.json")
_PASSES = {"mmse": 1, "kbest:k=8": 2}
_PARAMETERS = {"num_tx": 4, "num_rx": 4, "constellation": "qam16", "code": "wifi:648:1/2",
               "iterations": 2, "feedback_scale": 0.6, "early_stop": True}
_BITS = 324, 648    # of a frame: information and transmitted bits
_RUN = {"machine": {}, "backend": "cpu", "seconds": 3.5}


def check(data):
    """A file is refused by name, or a simulation can continue from it and write it again."""
    _FILE.write_bytes(data)
    try:
        store = Store(_FILE, _PARAMETERS, _PASSES)
    except ValueError as error:
        contract.check_error(error, _FILE.name)
        assert _FILE.read_bytes() == data    # a file that is refused stays as it is
        return
    for detector, passes in _PASSES.items():
        for row in store.rows:
            if row["detector"] == detector:
                tally = Tally(passes, store.state(detector, row["at_db"]))
                assert tally.frames >= tally.frame_errors >= 0
                json.dumps(tally.rates(*_BITS), allow_nan=False)
    with store.held():
        store.runs.append(_RUN)
        store.write()
    again = Store(_FILE, _PARAMETERS, _PASSES)
    assert again.rows == store.rows and again.runs == store.runs


def _row(detector, at_db):
    passes = _PASSES[detector]
    counts = {"blocks": 2, "frames": 32, "undetected": 1, "passes": 32 * passes,
              "decoder_iterations": 300, "frame_errors": [5, 3][:passes],
              "bit_errors": [[40, 900], [20, 300]][:passes], "detected_bit_errors": [900, 30000]}
    return {"detector": detector, "at_db": at_db, "snr_db": at_db, "ebn0_db": 3.0,
            "noise_var": 0.1, "frames": 32, "complete": True, "counts": counts,
            **Tally(passes, counts).rates(*_BITS)}


def seeds():
    """Return files with three points, without a point, and of other parameters.

    Most have no checksum, so that changes are not refused at once.
    """
    _FILE.unlink(missing_ok=True)
    store = Store(_FILE, _PARAMETERS, _PASSES)
    for point in (("mmse", 9.0), ("kbest:k=8", 9.0), ("kbest:k=8", 10.5)):
        store.put(_row(*point))
    with store.held():
        store.runs.append(_RUN)
        store.write()
    file = json.loads(_FILE.read_bytes())
    bare = {name: value for name, value in file.items() if name != "sha256"}
    return [json.dumps(one).encode() for one in (
        file, bare, bare | {"results": []}, bare | {"parameters": {"num_tx": 2}})]
