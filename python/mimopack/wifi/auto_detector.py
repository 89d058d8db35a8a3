# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Choose the strongest MIMO detector that keeps up with a stream of samples."""

from collections import deque
from dataclasses import dataclass

from .. import detectors
from ..constellation import of_layers
from ..detectors.exhaustive import sliced_candidates
from .frame_detectors import can_iterate, shared_out

# Name that stands for the automatic choice.
AUTO = "auto"
# Detectors to choose from, strongest first. Zero forcing is not among them, because the whole
# receiver is no faster with zero forcing than with MMSE.
LADDER = ("mla", "nway", "mmse")
# First detector of the choice.
START = "nway"
# Assumed detection time relative to MMSE, for a detector without a measurement. With two to four
# streams of 16-QAM and 64-QAM, N-way took 3 to 15 times as long as MMSE, and MLA 2 to 65 times.
_COST = {"mla": 20.0, "nway": 7.0, "mmse": 1.0}
# Use MLA up to this number of candidates per vector: 4x4 16-QAM.
_MOST_CANDIDATES = 8192

# A load is the seconds of work per second of samples.
_FULL = 0.9        # above this load, lost samples are blamed on the load
_FITS = 0.9        # highest expected load of an acceptable weaker detector
_CLIMB = 0.7       # highest expected load of an acceptable stronger detector
_GAIN = 0.9        # a weaker detector helps if it lowers the load to this share or less
_SHORTEST = 0.5    # seconds; shorter intervals are not judged
_PATIENCE = 10.0, 640.0    # seconds without losses before a climb: initial value and maximum
_HELD = 10         # holding a detector for this many times its patience proves the climb right
_REMEMBERED = 600.0    # seconds until the measured cost of a detector expires


@dataclass(frozen=True)
class Switch:
    """A change of the detector.

    Attributes:
        time: duration in seconds of all intervals before the change.
        before, after: names of the old and the new detector.
        reason: why the detector was changed, as a text.
    """

    time: float
    before: str
    after: str
    reason: str

    def __str__(self):
        return f"detector {self.before} -> {self.after}: {self.reason}"


class AutoDetector:
    """Choose a detector from ``LADDER`` by the load that a receiver reports for each interval.

    An interval is about a second. The load is the seconds of work per second of samples. Another
    detector is assumed to change only the time of detection. The expected detection time is the
    demodulation time, multiplied by the ratio of detection to demodulation time that was last
    measured with that detector.

    An interval is bad if samples were dropped, or if half of the buffer is waiting. A weaker
    detector is chosen after a bad interval with a load above 0.9, or after two bad intervals in
    succession. The choice is the strongest of the weaker detectors with an expected load of at most
    0.9, or else the weakest detector. If even the weakest detector would save less than a tenth of
    the load, detection is not the bottleneck, and the detector stays.

    The next stronger detector is chosen after a waiting time without bad intervals, in which the
    load expected with this detector never exceeded 0.7. Each detector has a waiting time of its
    own, 10 s at first. If the detector is later left for a weaker one, its waiting time doubles, up
    to 640 s. But if the detector was in use for more than ten times its waiting time, the waiting
    time returns to 10 s.

    Args:
        buffer_seconds: seconds of samples that the buffer holds before samples are dropped.
        iterations: number of iterations between detector and decoder. More than 1 excludes
            detectors without a-priori LLRs.
        start: name of the first detector. N-way replaces a name that is not in ``LADDER``.

    Attributes:
        detector: name of the detector to use.
    """

    def __init__(self, buffer_seconds, iterations=1, start=START):
        self._ladder = ladder(iterations)
        self._half = buffer_seconds / 2
        self.detector = start if start in self._ladder else START
        self._time, self._since = 0.0, 0.0
        self._costs = {}       # {name: (time, detection time / demodulation time)}
        self._patience = dict.fromkeys(self._ladder, _PATIENCE[0])
        self._calm, self._calm_seconds = deque(), 0.0
        self._lost_before = False

    def tell(self, status, sample_rate):
        """Judge one interval of the receiver's status.

        Args:
            status: dictionary with ``seconds``, ``load`` (share of these seconds in which the
                receiver worked), ``samples`` (number of searched samples), ``dropped`` (number of
                samples), ``waiting`` (seconds of samples), and ``stages`` ({stage: seconds,
                summed over all threads}).
            sample_rate: samples per second.

        Returns:
            :class:`Switch`, or None if the detector stays.
        """
        self._time += status["seconds"]
        streamed = status["samples"] / sample_rate
        if status["seconds"] < _SHORTEST or streamed <= 0:
            return None
        second = _Second.of(status, streamed)
        if second.cost is not None:
            self._costs[self.detector] = self._time, second.cost
        lost = status["dropped"] > 0 or status["waiting"] > self._half
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
        name = next((each for each in weaker if expected[each] <= _FITS), weaker[-1])
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
        # Judge only the last seconds: earlier traffic may have been different.
        while self._calm_seconds - self._calm[0].seconds >= patience:
            self._calm_seconds -= self._calm.popleft().seconds
        if self._calm_seconds < patience or any(
                self._expected(name, second) > _CLIMB for second in self._calm):
            return None
        highest = max(self._expected(name, second) for second in self._calm)
        load = max(second.load for second in self._calm)
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
        """Return the expected load in a past interval, had another detector been used."""
        if second.cost is None:    # no frames, so the detector makes no difference
            return second.load
        measured, cost = self._costs.get(name, (0.0, None))
        if cost is None or self._time - measured > _REMEMBERED:
            cost = second.cost * _COST[name] / _COST[self.detector]
        return second.load * (1 + second.demodulation * (cost - second.cost))


@dataclass(frozen=True)
class _Second:
    """An interval of the status.

    ``demodulation`` and ``detection`` are shares of the time of all stages. ``cost`` is their ratio
    detection / demodulation, or None if hardly anything was demodulated.
    """

    seconds: float
    load: float
    demodulation: float
    detection: float
    cost: float | None

    @classmethod
    def of(cls, status, streamed):
        stages = status["stages"]
        total = max(sum(stages.values()), 1e-9)
        demodulation, detection = (stages.get(name, 0.0) for name in ("demodulation", "detection"))
        return cls(status["seconds"], status["load"] * status["seconds"] / streamed,
                   demodulation / total, detection / total,
                   detection / demodulation if demodulation > 1e-3 * status["seconds"] else None)


def check_name(detector):
    """Raise ValueError if a text is neither AUTO nor begins with a detector's name."""
    if isinstance(detector, str) and detector != AUTO:
        detectors.find(detector.replace(",", ":").partition(":")[0], also=(AUTO,))


def ladder(iterations=1):
    """Return the names of the detectors to choose from: a tuple, strongest first.

    With iterations > 1, they are only the detectors that take a-priori LLRs.
    """
    return tuple(name for name in LADDER if iterations == 1 or can_iterate(name))


def strongest(backend="auto", threads=1):
    """Return a function that makes the strongest detector of bounded complexity.

    Use the function as the argument ``detector`` of ``wifi.Receiver``. Up to 8192 candidates per
    vector, which covers 4x4 16-QAM, the function makes an exact max-log detector (MLA). For more
    candidates, it makes an N-way detector.

    Args:
        backend, threads: see ``wifi.Receiver``.
    """
    backend, _, each = shared_out(backend, threads)

    def make(unknowns, rows, constellation, **options):
        points = of_layers(constellation, unknowns)
        if unknowns == 1:    # MMSE is maximum ratio combining, which is exact
            kind = detectors.MMSE
        elif (points.size <= detectors.MLA.MOST_POINTS
                and sliced_candidates(points.size, unknowns) <= _MOST_CANDIDATES):
            kind = detectors.MLA
        else:
            kind = detectors.NWay
        return kind(num_tx=unknowns, num_rx=rows, constellation=constellation, backend=backend,
                    threads=each, **options)

    return make


def _percent(share):
    return f"{100 * share:.0f} %"
