# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep a long measurement in a JSON file, to which each run adds a piece."""

import json
import time
from contextlib import contextmanager
from pathlib import Path

from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.files import locked, replace_file
from gnuradio.mimopack.text import json_rows

RESULTS = Path(__file__).parent / "results"
_MACHINE = ("processor", "commit", "command", "date")


class Pieces:
    """The pieces of a measurement, and their totals.

    A piece is a dictionary. Its numbers under "counts" are summed over all pieces.

    Attributes:
        totals: dictionary of the sums over all pieces.
    """

    def __init__(self, path, what):
        self._path, self._what, self._pieces = path, what, []
        if path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept.get("what") != what:
                raise SystemExit(f"{path} holds another measurement: {kept.get('what')}")
            self._pieces = kept["pieces"]
        machine = describe()
        self._piece = {"machine": {name: machine[name] for name in _MACHINE}, "seconds": 0.0}
        self._begun = time.monotonic()

    @property
    def totals(self):
        sums = {}
        for piece in (*self._pieces, self._piece):
            for name, value in piece.get("counts", {}).items():
                sums[name] = sums.get(name, 0) + value
        return sums

    @property
    def seconds(self):
        """Seconds that this run has taken so far."""
        return time.monotonic() - self._begun

    def write(self, counts, **facts):
        """Write the file with this run's piece: its counts so far, and other facts."""
        self._piece |= {"seconds": round(self.seconds, 1), "counts": dict(counts), **facts}
        content = {"what": self._what, "totals": self.totals,
                   "seconds": round(sum(piece["seconds"]
                                        for piece in (*self._pieces, self._piece)), 1),
                   "pieces": [*self._pieces, self._piece]}
        with replace_file(self._path) as file:
            file.write(json_rows(content) + "\n")


@contextmanager
def continued(path, what):
    """Context manager: return the :class:`Pieces` in a file, which no other run may use."""
    with locked(path):
        yield Pieces(path, what)
