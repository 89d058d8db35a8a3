# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep results in a JSON file, from which a simulation can continue."""

from contextlib import contextmanager
from pathlib import Path

from ..files import locked, regular, replace_file
from ..text import json_rows, printable
from .content import DATA, WHAT, check, digest, parse


class Store:
    """Result rows of a simulation, kept in a file if a path is given.

    An existing file is read, and checked first. A file that cannot be continued is never changed.

    Args:
        path: path of the file, or None.
        parameters: dictionary of the simulation's parameters; an existing file must have the same.
        passes: {detector: number of passes of detector and decoder}, for rows in an existing file.

    Raises:
        ValueError: the path is no regular file, or the file holds something else, is damaged, or
            has other parameters.
        OSError: the file cannot be read.
    """

    def __init__(self, path, parameters, passes):
        self._path = None if path is None else Path(path)
        self.parameters, self.runs, self._rows = parameters, [], {}
        self._passes, self._held = passes, False
        if self._path:
            self._load()

    @contextmanager
    def held(self):
        """Context manager: keep other runs away from the file, and read it again first.

        It may be nested. ``write`` belongs inside.

        Raises:
            ValueError: another run holds the file; or as for the class.
            OSError: the file cannot be locked or read.
        """
        if self._path is None or self._held:
            yield
            return
        with locked(self._path):
            self._load()
            self._held = True
            try:
                yield
            finally:
                self._held = False

    def _load(self):
        if not regular(self._path).exists():
            return
        try:
            kept = parse(self._path.read_text(encoding="utf-8"))
            if not isinstance(kept, dict) or kept.get("what") != WHAT:
                raise ValueError("holds no results of mimopack sim")
            check(kept, self._passes)
        except ValueError as error:
            raise ValueError(f"output: {self._path} cannot be continued: {printable(error)}. "
                             "Restore it, or name another file") from None
        self._compare(kept["parameters"])
        self.runs = kept["runs"]
        self._rows = {(row["detector"], row["at_db"]): row for row in kept["results"]}

    def _compare(self, was):
        differ = [f"{name} = {was.get(name)!r} there, {self.parameters.get(name)!r} here"
                  for name in sorted({*was, *self.parameters})
                  if was.get(name) != self.parameters.get(name)]
        if differ:
            raise ValueError(f"output: {self._path} was made with other parameters: "
                             f"{'; '.join(differ)}. Give the same ones, or name another file")

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
        """Write the file. Whatever happens, an older file stays until the new one is complete.

        Raises:
            OSError: the file cannot be written.
        """
        if self._path is None:
            return
        results = {"what": WHAT, "data": DATA, "parameters": self.parameters, "runs": self.runs,
                   "results": self.rows}
        results["sha256"] = digest(results)
        with replace_file(self._path) as file:
            file.write(json_rows(results) + "\n")
