# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure a detector with one setting: the case, its run and its row in the JSON file."""

import time
from dataclasses import dataclass, field

import numpy as np

from ... import detectors
from .data import Setting
from .measuring import PILOT_UNITS, Run, error_rate

ERROR_VECTORS = 40_000
SHORT = {"num_passes": "N", "llr_clip": "clip"}


@dataclass(frozen=True)
class Case:
    """A detector with its parameters and a setting."""

    detector: str
    parameters: dict = field(default_factory=dict)
    setting: Setting = Setting()

    @property
    def label(self):
        own = ", ".join(f"{SHORT.get(key, key)}={value}" for key, value in self.parameters.items())
        name = f"{self.detector}({own})" if own else self.detector
        period = self.setting.per_channel
        return f"{name}, T = {period}" if period > 1 else name

    def create(self, **common):
        """Create the detector.

        Raises:
            ValueError: its parameters do not fit the setting.
        """
        setting = self.setting
        return detectors.create(self.detector, num_tx=setting.num_tx, num_rx=setting.num_rx,
                                constellation=setting.constellation, **self.parameters, **common)


class DetectorRun(Run):
    """Time a detector with the first vectors of ``data``; a unit of work is a vector."""

    error_vectors = ERROR_VECTORS

    def __init__(self, detector, data, error_seconds=1.0):
        self.detector, self.data, self.error_seconds = detector, data, error_seconds
        self.period = data.setting.per_channel
        self.least = (PILOT_UNITS if detector.backend != "reference" else 1) * self.period
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
        """Return the number of bit errors in each of the first vectors.

        All detectors that need at most ``error_seconds`` for these vectors use the same ones. The
        difference between their error rates is therefore more certain than the confidence intervals
        suggest.
        """
        n = min(int(self.rate * self.error_seconds), self.error_vectors)
        n = min(self.data.vectors, max(self.least, n))
        n -= n % self.period
        return np.count_nonzero(self._decide(n) != self.data.bits[:n], axis=1)

    def _decide(self, n):
        return detectors.hard_decisions(self._detect(n))


def detector_row(case, run):
    """Return a finished run as a row of the JSON file."""
    rate = run.rate
    return {"label": case.label, "detector": case.detector, "parameters": case.parameters,
            "num_tx": run.data.setting.num_tx, "num_rx": run.data.setting.num_rx,
            "constellation": run.data.setting.points.name,
            "symbols_per_channel": run.period, "backend": run.detector.backend,
            "isa": run.detector.isa, "vectors": run.units, "calls": run.calls,
            "seconds": float(np.median(run.seconds)), "vectors_per_s": rate,
            "mbit_per_s": rate * run.detector.bits_per_vector / 1e6,
            **error_rate(run.bit_errors(), run.detector.bits_per_vector)}
