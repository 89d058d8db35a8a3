# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times of several runs that take turns; each figure is the median of its rounds."""

import time

import numpy as np

from ... import _core, detectors

PILOT_VECTORS = 64    # a first, untimed call takes so many vectors to guess the rate
ERROR_VECTORS = 40_000


class Run:
    """Something that can be timed: ``time(n)`` does n units of work and says the seconds."""

    least, most, step = PILOT_VECTORS, 2**40, 1

    def plan(self, seconds):
        """Choose how many units a call takes and how many calls a round, for about so long."""
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
        """Seconds of a call, the mean of this round's."""
        self.seconds.append(sum(self.time(self.units) for _ in range(self.calls)) / self.calls)

    @property
    def rate(self):
        """Units per second, the median of the rounds."""
        return self.units / float(np.median(self.seconds))


def take_turns(runs, seconds, rounds, tick=lambda: None):
    """Time all runs, each for about so many seconds, in turns; tick after each step."""
    for run in runs:
        run.plan(seconds / rounds)
        tick()
    for _ in range(rounds):
        for run in runs:
            run.round()
            tick()


class Fragile:
    """Mixed into a ``Run``: what goes wrong is noted, and leaves the other runs alone."""

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


def reason(error):
    """One line of it."""
    text = str(error).strip().partition("\n")[0][:200]
    return f"{type(error).__name__}: {text}"


class DetectorRun(Run):
    """A detector on the first vectors of ``data``; a unit is a vector."""

    error_vectors = ERROR_VECTORS

    def __init__(self, detector, data):
        self.detector, self.data = detector, data
        self.period = data.setting.per_channel
        self.least = (PILOT_VECTORS if detector.backend != "reference" else 1) * self.period
        self.most, self.step = data.vectors, self.least

    def _detect(self, n):
        data = self.data
        return self.detector.detect(data.y[:n], data.h[:n // self.period],
                                    data.setting.noise_var, out=data.llr[:n])

    def time(self, n):
        n -= n % self.period
        start = time.perf_counter()
        self._detect(n)
        return time.perf_counter() - start

    def bit_errors(self):
        """Errors in each of the first vectors: as many for all detectors that do them in a second.

        So the rates of one table are comparable more closely than their intervals say.
        """
        n = min(self.data.vectors, max(self.least, min(int(self.rate), self.error_vectors)))
        n -= n % self.period
        return np.count_nonzero(self._decide(n) != self.data.bits[:n], axis=1)

    def _decide(self, n):
        return detectors.hard_decisions(self._detect(n))


class ArithmeticRun(Run):
    """Multiply-adds and additions without memory; a unit is a turn of the loop."""

    least = 1000

    def __init__(self, isa, threads):
        self.isa, self.threads = isa, threads
        self.instructions = 0    # per unit

    def time(self, n):
        start = time.perf_counter()
        issued = _core.issue_arithmetic(self.isa, self.threads, n)
        elapsed = time.perf_counter() - start
        self.instructions = issued / n
        return elapsed

    @property
    def instructions_per_s(self):
        return self.rate * self.instructions


class CopyRun(Run):
    """Copies the channel matrices of ``data``; a unit is a byte read and one written."""

    def __init__(self, data, threads):
        self.data, self.threads = data, threads
        self.most = self.least = data.h.nbytes
        self.room = np.zeros_like(data.h)

    def time(self, n):
        start = time.perf_counter()
        _core.copy(self.room, self.data.h, self.threads)
        return time.perf_counter() - start

    @property
    def bytes_per_s(self):
        """Read and written together."""
        return 2 * self.rate


def error_rate(errors, bits_per_vector):
    """Bit error rate from errors per vector, with half the width of its 95 % interval.

    Bit errors come several to a vector, so that the vectors are what is independent.
    """
    n = len(errors)
    spread = float(np.std(errors, ddof=1)) if n > 1 else 0.0
    return {"ber": float(np.mean(errors)) / bits_per_vector,
            "ber_95": 1.96 * spread / (n**0.5 * bits_per_vector),
            "vectors_compared": n, "bits_compared": n * bits_per_vector}
