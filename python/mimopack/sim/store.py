# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep results in a JSON file, from which a simulation can continue."""

import json
import os
from pathlib import Path

# Entry "what" of the file, by which a file of results is recognised.
WHAT = "bit and frame error rates, simulated"


class Store:
    """Result rows of a simulation, kept in a file if a path is given.

    Args:
        path: path of the file, or None.
        parameters: dictionary of the simulation's parameters; an existing file must have the same.

    Raises:
        ValueError: the file holds something else, or has other parameters.
    """

    def __init__(self, path, parameters):
        self._path = None if path is None else Path(path)
        self.parameters, self.runs, self._rows = parameters, [], {}
        if self._path and self._path.exists():
            self._load()

    def _load(self):
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            if kept["what"] != WHAT:
                raise KeyError("what")
            was, rows = kept["parameters"], kept["results"]
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"output: {self._path} holds no results of mimopack sim; name "
                             "another file") from None
        differ = [f"{name} = {was.get(name)!r} there, {self.parameters.get(name)!r} here"
                  for name in sorted({*was, *self.parameters})
                  if was.get(name) != self.parameters.get(name)]
        if differ:
            raise ValueError(f"output: {self._path} was made with other parameters: "
                             f"{'; '.join(differ)}. Give the same ones, or name another file")
        self.runs = kept["runs"]
        self._rows = {(row["detector"], row["at_db"]): row for row in rows}

    def state(self, detector, at_db):
        """Return the stored counts of a detector at an SNR in dB (see ``Tally.state``), or None."""
        row = self._rows.get((detector, at_db))
        return row and row["counts"]

    def put(self, row):
        """Store a row, a dictionary with at least the keys detector, at_db and counts."""
        self._rows[row["detector"], row["at_db"]] = row

    @property
    def rows(self):
        """List of all rows, grouped by detector and sorted by SNR."""
        order = {detector: i for i, detector in enumerate(
            dict.fromkeys(detector for detector, _ in self._rows))}
        return sorted(self._rows.values(), key=lambda row: (order[row["detector"]], row["at_db"]))

    def write(self):
        """Write the file; an interruption never leaves it incomplete."""
        if self._path is None:
            return
        results = {"what": WHAT, "data": "simulated", "parameters": self.parameters,
                   "runs": self.runs, "results": self.rows}
        beside = self._path.with_name(self._path.name + ".part")
        beside.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        os.replace(beside, self._path)
