# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time several runs that take turns; each figure is the median of its rounds."""

import click
import numpy as np

PILOT_UNITS = 64    # units of work in the first call, which only estimates the rate


class Run:
    """Base class of timed work: ``time(n)`` does n units of work and returns the seconds."""

    least, most, step = PILOT_UNITS, 2**40, 1

    def plan(self, seconds):
        """Choose units per call and calls per round, for rounds of about ``seconds``."""
        n = min(self.least, self.most)
        self.time(n)
        elapsed = self.time(n)
        while elapsed < min(seconds / 8, 2e-3) and n < self.most:
            n = min(8 * n, self.most)
            elapsed = self.time(n)
        rate = n / max(elapsed, 1e-9)
        wanted = int(rate * seconds)
        self.units = min(self.most, max(self.least, wanted - wanted % self.step))
        self.calls = max(1, int(wanted / self.units))
        self.seconds = []

    def round(self):
        """Time a round and store the mean time of its calls."""
        self.seconds.append(sum(self.time(self.units) for _ in range(self.calls)) / self.calls)

    @property
    def rate(self):
        """Units of work per second, by the median of the rounds."""
        return self.units / float(np.median(self.seconds))


def take_turns(runs, seconds, rounds, tick=lambda: None):
    """Time all runs in turns, each for about ``seconds`` in total; call tick after each step."""
    for run in runs:
        run.plan(seconds / rounds)
        tick()
    for _ in range(rounds):
        for run in runs:
            run.round()
            tick()


def measure(runs, options):
    """Time all runs in turns with the command's options, and show a progress bar."""
    with click.progressbar(length=len(runs) * (options.rounds + 1), label="timing") as bar:
        take_turns(runs, options.seconds, options.rounds, lambda: bar.update(1))


def error_rate(errors, bits_per_vector):
    """Return the bit error rate and half the width of its 95 % confidence interval.

    ``errors`` has the number of bit errors in each vector: they cluster in vectors, so only vectors
    are independent.
    """
    n = len(errors)
    spread = float(np.std(errors, ddof=1)) if n > 1 else 0.0
    return {"ber": float(np.mean(errors)) / bits_per_vector,
            "ber_95": 1.96 * spread / (n**0.5 * bits_per_vector),
            "vectors_compared": n, "bits_compared": n * bits_per_vector}
