# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep results in a JSON file, from which a simulation can continue."""

import hashlib
import json
from contextlib import contextmanager
from pathlib import Path

from ..files import locked, regular, replace_file
from ..text import json_rows, printable

# Entry "what" of the file, by which a file of results is recognised.
WHAT = "bit and frame error rates, simulated"
DATA = "simulated"


def _digest(content):
    """Return the SHA-256 of a dictionary's JSON text, which spaces and the order do not affect."""
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def read_results(path):
    """Return the content of a file of results, whose checksum may be missing.

    A ValueError says that the file holds something else, or is damaged.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if (not isinstance(content, dict) or content.get("what") != WHAT
                or not content.keys() >= {"parameters", "runs", "results"}):
            raise ValueError("holds no results of mimopack sim")
        checksum = content.pop("sha256", None)
        if checksum is not None and checksum != _digest(content):
            raise ValueError("the checksum sha256 is not that of the content")
    except ValueError as error:
        raise ValueError(f"{path}: {printable(error)}") from None
    return content


class Store:
    """Result rows of a simulation, kept in a file if a path is given.

    An existing file is read first, and must have the same ``parameters`` of the simulation. A file
    that cannot be continued is refused with a ValueError, and never changed.
    """

    def __init__(self, path, parameters):
        self._path = None if path is None else Path(path)
        self.parameters, self.runs, self._rows = parameters, [], {}
        if self._path:
            self._load()

    @contextmanager
    def held(self):
        """Context manager: keep other runs away from the file, and read it again first.

        ``write`` belongs inside.
        """
        if self._path is None:
            yield
            return
        with locked(self._path):
            self._load()
            yield

    def _load(self):
        if not regular(self._path).exists():
            return
        try:
            content = read_results(self._path)
        except ValueError as error:
            raise ValueError(f"output: {error}. Restore it, or name another file") from None
        self._compare(content["parameters"])
        self.runs = content["runs"]
        self._rows = {(row["detector"], row["at_db"]): row for row in content["results"]}

    def _compare(self, before):
        differences = [f"{name} = {before.get(name)!r} there, {self.parameters.get(name)!r} here"
                       for name in sorted({*before, *self.parameters})
                       if before.get(name) != self.parameters.get(name)]
        if differences:
            raise ValueError(f"output: {self._path} was made with other parameters: "
                             f"{'; '.join(differences)}. Give the same ones, or name another file")

    def state(self, detector, at_db):
        """Return the stored counts of a detector at an SNR in dB (``Tally.state``), or None."""
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
        """Write the file. Whatever happens, an older file stays until the new one is complete."""
        if self._path is None:
            return
        results = {"what": WHAT, "data": DATA, "parameters": self.parameters, "runs": self.runs,
                   "results": self.rows}
        results["sha256"] = _digest(results)
        with replace_file(self._path) as file:
            file.write(json_rows(results) + "\n")
