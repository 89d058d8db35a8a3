# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Report failed measurements with their reasons, without stopping the others."""

from functools import partial


def reason(error):
    """Describe an exception in one line."""
    text = str(error).strip().partition("\n")[0][:200]
    return f"{type(error).__name__}: {text}"


class Fragile:
    """Mixin for a ``Run``: record the first failure, and do nothing afterwards."""

    failure = None

    def plan(self, seconds):
        self._attempt(super().plan, seconds)

    def round(self):
        self._attempt(super().round)

    def _attempt(self, step, *arguments):
        if self.failure is None:
            try:
                step(*arguments)
            except Exception as error:
                self.failure = reason(error)


def attempt(make, *runs):
    """Return (result of make() with these runs, None), or (None, reason of the failure)."""
    for run in runs:
        if isinstance(run, Fragile) and run.failure:
            return None, run.failure
    try:
        return make(), None
    except Exception as error:
        return None, reason(error)


def missing_row(case, why):
    """Return the row of the JSON file for a case that could not be measured."""
    return {"label": case.label, "constellation": case.setting.points.name,
            "num_tx": case.setting.num_tx, "num_rx": case.setting.num_rx, "reason": why}


def runs_of(timed):
    return [run for _, *runs in timed for run in runs]


def rows_of(timed, make):
    """Return the rows that make(*key, *runs) returns for each (key, *runs), and the missing ones.

    A key starts with the case.
    """
    rows, missing = [], []
    for key, *runs in timed:
        row, why = attempt(partial(make, *key, *runs), *runs)
        if row:
            rows.append(row)
        else:
            missing.append(missing_row(key[0], why))
    return {"results": rows, "missing": missing}
