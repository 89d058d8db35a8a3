# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Choose the strongest MIMO detector that keeps up with a stream of samples."""

from collections import deque
from dataclasses import dataclass

from .. import detectors
from ..constellation import get as get_constellation
from ..detectors.exhaustive import sliced_candidates
from .iterations import ITERATING

AUTO = "auto"
# Strongest first. Zero forcing is not among them: the whole receiver is no faster with it than with
# MMSE.
LADDER = ("mla", "nway", "mmse")
START = "nway"
# Time that detection takes, over MMSE's, where it was not measured: two to four streams of 16- and
# 64-QAM took 3 to 15 with N-way, and 2 to 65 with MLA.
_COST = {"mla": 20.0, "nway": 7.0, "mmse": 1.0}
# Candidates per vector up to which MLA is taken: 4x4 16-QAM.
_MOST_CANDIDATES = 8192

# Loads are seconds of work for each second of samples.
_FULL = 0.9        # with a higher one, lost samples are the load's fault
_FITS = 0.9        # what a weaker detector is expected to need at most
_CLIMB = 0.7       # likewise a stronger one
_GAIN = 0.9        # a weaker detector is of use below this share of the present load
_SHORTEST = 0.5    # seconds of an interval that is judged
_PATIENCE = 10.0, 640.0    # seconds of calm before a climb: at first, and at most
_HELD = 10         # a detector held for so many times its patience was no mistake
_REMEMBERED = 600.0    # seconds after which a detector's measured cost is no longer trusted


@dataclass(frozen=True)
class Switch:
    """A change of the detector.

    Attributes:
        time: seconds of the stream's intervals before it.
        before, after: names of the detectors.
        reason: why, in words.
    """

    time: float
    before: str
    after: str
    reason: str

    def __str__(self):
        return f"detector {self.before} -> {self.after}: {self.reason}"


class AutoDetector:
    """Choose from ``LADDER`` by what a receiver tells of each second.

    Loads are seconds of work for each second of samples. A switch of detector changes a load by
    the time of detection alone; that is expected to be the demodulation's time, multiplied by
    the detector's ratio of the two when it was last in use.

    Down: samples were lost, or half of the buffer waits, at a load above 0.9 or for the second
    time in a row. The strongest weaker detector whose expected load is below 0.9 takes over,
    or the weakest. Where that would save less than a tenth, the detector is not what takes the
    time, and stays.

    Up, one step: nothing was lost for the time of patience, 10 s at first, and in none of its
    seconds would the stronger detector's load have exceeded 0.7. Each time a detector is left for
    a weaker one its patience doubles, up to 640 s, unless it had been held for ten times as long.

    Args:
        buffer_seconds: seconds of samples that may wait before some are dropped.
        iterations: of detector and decoder; more than 1 leaves out detectors that take no
            a-priori LLRs.
        start: name of the first detector; one that is not on the ladder stands for N-way.

    Attributes:
        detector: name of the detector to use.
    """

    def __init__(self, buffer_seconds, iterations=1, start=START):
        self._ladder = ladder(iterations)
        self._half = buffer_seconds / 2
        self.detector = start if start in self._ladder else START
        self._time, self._since = 0.0, 0.0
        self._costs = {}       # {name: (time, seconds of detection for one of demodulation)}
        self._patience = dict.fromkeys(self._ladder, _PATIENCE[0])
        self._calm, self._calm_seconds = deque(), 0.0
        self._lost_before = False

    def tell(self, told, sample_rate):
        """Take what a receiver tells of an interval.

        Args:
            told: dictionary with ``seconds``, ``load`` (share of them in which the receiver
                worked), ``samples`` (searched), ``dropped``, ``waiting`` (seconds of samples), and
                ``stages``, {stage: seconds that it took, of all threads}.
            sample_rate: samples per second.

        Returns:
            :class:`Switch`, or None.
        """
        self._time += told["seconds"]
        streamed = told["samples"] / sample_rate
        if told["seconds"] < _SHORTEST or streamed <= 0:
            return None
        second = _Second.of(told, streamed)
        if second.cost is not None:
            self._costs[self.detector] = self._time, second.cost
        lost = told["dropped"] > 0 or told["waiting"] > self._half
        again, self._lost_before = self._lost_before, lost
        if lost:
            self._no_calm()
            return self._down(second) if second.load > _FULL or again else None
        self._calm.append(second)
        self._calm_seconds += second.seconds
        return self._up()

    def _down(self, second):
        weaker = self._ladder[self._ladder.index(self.detector) + 1:]
        expected = {name: self._expected(name, second) for name in weaker}
        if not weaker or expected[weaker[-1]] > _GAIN * second.load:
            return None
        name = next((one for one in weaker if expected[one] <= _FITS), weaker[-1])
        patience = self._patience[self.detector]
        held = self._time - self._since > _HELD * patience
        self._patience[self.detector] = _PATIENCE[0] if held else min(2 * patience, _PATIENCE[1])
        return self._switch(name, f"{_percent(second.load)} load, {_percent(second.detection)} "
                                  f"of it detection, is too much; {_percent(expected[name])} "
                                  f"expected with {name}")

    def _up(self):
        index = self._ladder.index(self.detector)
        if not index:
            return None
        name = self._ladder[index - 1]
        patience = self._patience[name]
        # Only the last seconds count: a long time ago the traffic was another.
        while self._calm_seconds - self._calm[0].seconds >= patience:
            self._calm_seconds -= self._calm.popleft().seconds
        if self._calm_seconds < patience or any(
                self._expected(name, one) > _CLIMB for one in self._calm):
            return None
        highest = max(self._expected(name, one) for one in self._calm)
        load = max(one.load for one in self._calm)
        return self._switch(name, f"at most {_percent(load)} load for {patience:g} s; "
                                  f"{_percent(highest)} expected with {name}")

    def _switch(self, name, reason):
        switch = Switch(self._time, self.detector, name, reason)
        self.detector, self._since = name, self._time
        self._no_calm()
        self._lost_before = False
        return switch

    def _no_calm(self):
        self._calm.clear()
        self._calm_seconds = 0.0

    def _expected(self, name, second):
        """Load of a second with another detector."""
        if second.cost is None:    # no frames: nothing would change
            return second.load
        measured, cost = self._costs.get(name, (0.0, None))
        if cost is None or self._time - measured > _REMEMBERED:
            cost = second.cost * _COST[name] / _COST[self.detector]
        return second.load * (1 + second.demodulation * (cost - second.cost))


@dataclass(frozen=True)
class _Second:
    """An interval: its length, its load, the shares of all stages' time that demodulation and
    detection took, and their ratio, None where there was next to nothing to demodulate."""

    seconds: float
    load: float
    demodulation: float
    detection: float
    cost: float | None

    @classmethod
    def of(cls, told, streamed):
        stages = told["stages"]
        total = max(sum(stages.values()), 1e-9)
        demodulation, detection = (stages.get(name, 0.0) for name in ("demodulation", "detection"))
        return cls(told["seconds"], told["load"] * told["seconds"] / streamed,
                   demodulation / total, detection / total,
                   detection / demodulation if demodulation > 1e-3 * told["seconds"] else None)


def ladder(iterations=1):
    """Names of the detectors to choose from, strongest first; for iterations > 1 those that take
    a-priori LLRs."""
    return tuple(name for name in LADDER if iterations == 1 or name in ITERATING)


def strongest(backend="auto", threads=1):
    """Return a function that makes the strongest detector whose time is bounded, for
    ``wifi.Receiver``: exact max-log (MLA) up to 8192 candidates per vector, as 4x4 16-QAM has, and
    N-way beyond.

    Args:
        backend: of the detectors.
        threads: of the receiver, 0 for all cores; with others than 1 each detector has one.
    """
    def make(unknowns, rows, constellation, **options):
        points = get_constellation(constellation)
        if unknowns == 1:    # maximum ratio combining is exact
            kind = detectors.MMSE
        elif (points.square_qam is None    # BPSK: N-way does not take it, and candidates are few
              or sliced_candidates(points.size, unknowns) <= _MOST_CANDIDATES):
            kind = detectors.MLA
        else:
            kind = detectors.NWay
        return kind(num_tx=unknowns, num_rx=rows, constellation=constellation, backend=backend,
                    threads=int(threads != 1), **options)

    return make


def _percent(share):
    return f"{100 * share:.0f} %"
