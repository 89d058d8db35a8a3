# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time, frequency and gaps of a stream of samples, and the text of times in SigMF."""

import math
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone

from ..checks import integer, number, positive, share

# What SigMF allows.
LARGEST_HZ = 1e12
# The years that ISO 8601 writes with four digits.
_FIRST_SECOND, _LAST_SECOND = -62135596800, 253402300799
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TIME = re.compile(r"(?P<whole>[^.,]*?)(?:[.,](?P<fraction>\d+))?(?P<zone>[zZ]|[+-]\d\d:?\d\d)?")


@dataclass(frozen=True)
class Segment:
    """A stretch of samples without a gap, at one frequency and one sample rate.

    Attributes:
        start: number of its first sample.
        time: (seconds, fraction of a second) since 1970 (UTC) of that sample, None if unknown.
        frequency: centre frequency in Hz, None if unknown.
        sample_rate: samples per second, None if unknown.
    """

    start: int
    time: tuple | None = None
    frequency: float | None = None
    sample_rate: float | None = None

    def time_at(self, sample):
        """(seconds, fraction) of a sample, by the sample rate; None if unknown."""
        if self.time is None or self.sample_rate is None:
            return self.time if sample == self.start else None
        return later(self.time, (sample - self.start) / self.sample_rate)


def later(time, seconds):
    """(seconds, fraction) so many seconds later; negative seconds are earlier."""
    whole, rest = divmod(time[1] + seconds, 1)
    # The rest of a tiny negative number is rounded to 1.
    return time[0] + int(whole), min(rest, 1 - 2**-53)


def between(first, second):
    """Seconds from one (seconds, fraction) to another."""
    return (second[0] - first[0]) + (second[1] - first[1])


def format_time(time):
    """The ISO 8601 text, in UTC to a nanosecond, of (seconds, fraction) since 1970.

    Raises:
        ValueError: the time is not within the years 1 to 9999.
    """
    nanoseconds = round(time[1] * 1e9)
    seconds = time[0] + nanoseconds // 10**9
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        raise ValueError(f"time: got {seconds} seconds since 1970, allowed are the years 1 to 9999")
    text = (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()
    return f"{text}.{nanoseconds % 10**9:09d}Z"


def parse_time(text):
    """(seconds, fraction) since 1970 of an ISO 8601 text; without a zone it is UTC.

    Raises:
        ValueError: the text is no such time.
    """
    parts = _TIME.fullmatch(text)
    if parts is None:
        raise ValueError(f"core:datetime is no time: {text!r}")
    zone = "+00:00" if parts["zone"] in ("Z", "z", None) else parts["zone"]
    try:
        # Zone and time together: a date alone takes no zone.
        time = datetime.fromisoformat(parts["whole"])
        zone = datetime.fromisoformat(f"1970-01-01T00:00:00{zone}").tzinfo
    except ValueError as error:
        raise ValueError(f"core:datetime is no time: {text!r}") from error
    seconds = (time.replace(tzinfo=zone) - _EPOCH) // timedelta(seconds=1)
    return seconds, float(f"0.{parts['fraction']}") if parts["fraction"] else 0.0


class Timeline:
    """The segments of a stream, as a device's messages about single samples tell them.

    A device tells the time, frequency and rate of some samples: of the first one, of the first
    after a gap, and of others as it likes. A time that does not continue the last one by the
    sample rate is a gap. What is told first of the time and of the rate holds for the samples
    before as well.

    Args:
        sample_rate: samples per second until the device tells another one.
        frequency: centre frequency in Hz until the device tells another one; None if unknown.
        tolerance: samples by which a time may differ from the expected one without a gap.
        most: segments that are kept; later ones are only counted.

    Attributes:
        segments: list of ``Segment``.
        gaps: times that did not continue the one before.
        lost: samples that are missing in the gaps that led forward.
        untold: changes for which ``most`` left no room.

    Raises:
        ValueError: sample_rate is not positive.
    """

    def __init__(self, sample_rate, frequency=None, tolerance=0.5, most=100_000):
        self._nominal = positive("sample_rate", sample_rate), frequency
        self._tolerance, self._most = tolerance, most
        self.gaps = self.lost = self.untold = 0
        self.restart()

    def restart(self):
        """Begin a new stream; the counts stay."""
        self.segments = []
        self._anchor = None
        self._rate_told = False
        self._rate, self._frequency = self._nominal

    def begin(self, sample):
        """The stream begins with a sample; without effect once it has."""
        if not self.segments:
            self.segments.append(Segment(sample, None, self._frequency, self._rate))

    def add_rate(self, sample, rate):
        """The sample rate from a sample on.

        Raises:
            ValueError: it is not positive, or more than SigMF allows.
        """
        rate = positive("sample_rate", rate)
        if rate > LARGEST_HZ:
            raise ValueError(f"sample_rate: got {rate:g}, allowed are up to {LARGEST_HZ:g}")
        self.begin(sample)
        if rate == self._rate:
            self._rate_told = True
            return
        # The time at the sample is by the rate that held before.
        if self._anchor is not None and self._rate_told:
            self._anchor = (sample, *self._expected(sample))
        self._rate = rate
        if self._rate_told:
            self._change(sample, sample_rate=rate)
        else:
            self.segments = [replace(segment, sample_rate=rate) for segment in self.segments]
            if self._anchor is not None:
                self._date()
        self._rate_told = True

    def add_frequency(self, sample, frequency):
        """The centre frequency in Hz from a sample on.

        Raises:
            ValueError: it is not finite, or more than SigMF allows.
        """
        frequency = number("frequency", frequency)
        if not abs(frequency) <= LARGEST_HZ:
            raise ValueError(f"frequency: got {frequency}, allowed are {-LARGEST_HZ:g} to "
                             f"{LARGEST_HZ:g}")
        self.begin(sample)
        if frequency != self._frequency:
            self._frequency = frequency
            self._change(sample, frequency=frequency)

    def add_time(self, sample, seconds, fraction=0.0):
        """The time of a sample: seconds since 1970 (UTC) and a fraction of one.

        Returns:
            Whether there is a gap before the sample.

        Raises:
            ValueError: the time is not within the years 1970 to 9999.
        """
        time = (integer("seconds", seconds, 0, _LAST_SECOND), share("fraction", fraction))
        self.begin(sample)
        if self._anchor is None:
            self._anchor = (sample, *time)
            self._date()
            return False
        error = between(self._expected(sample), time) * self._rate
        self._anchor = (sample, *time)
        if abs(error) <= self._tolerance:
            return False
        self.gaps += 1
        self.lost += max(0, round(error))
        self._change(sample, time=time)
        return True

    def assume_time(self, sample, seconds, fraction):
        """The time of a sample by a clock that is not the device's: it holds where none was told,
        and until one is."""
        self.begin(sample)
        if self._anchor is None:
            self._date((sample, seconds, fraction))

    def segment(self, sample):
        """The ``Segment`` that holds a sample; None before the stream begins."""
        index = bisect_right(self.segments, sample, key=lambda segment: segment.start)
        return self.segments[index - 1] if index else None

    def at(self, sample):
        """The ``Segment`` from a sample on; None before the stream begins."""
        found = self.segment(sample)
        return found and replace(found, start=sample, time=found.time_at(sample))

    def cut(self, start, stop):
        """The segments of the samples from start to before stop, the first one cut to start."""
        first = self.at(start)
        inside = slice(bisect_right(self.segments, start, key=lambda segment: segment.start),
                       bisect_left(self.segments, stop, key=lambda segment: segment.start))
        return [*([] if first is None or stop <= start else [first]), *self.segments[inside]]

    def forget(self, sample):
        """Forget what no sample from this one on asks for."""
        index = bisect_right(self.segments, sample, key=lambda segment: segment.start)
        del self.segments[:max(0, index - 1)]

    def _expected(self, sample):
        at, *time = self._anchor
        return later(time, (sample - at) / self._rate)

    def _date(self, anchor=None):
        """Give all segments the times that follow from one sample's."""
        at, *time = anchor or self._anchor
        self.segments = [replace(segment, time=later(time, (segment.start - at) / self._rate))
                         for segment in self.segments]

    def _change(self, sample, **values):
        last = self.segments[-1]
        if sample < last.start:
            raise ValueError(f"sample: got {sample}, must not be before {last.start}")
        if sample == last.start:
            self.segments[-1] = replace(last, **values)
        elif len(self.segments) >= self._most:
            self.untold += 1
        else:
            self.segments.append(replace(
                last, **{"start": sample, "time": last.time_at(sample), **values}))


def captures_of(parts, sample_rate):
    """The capture segments of a recording.

    Args:
        parts: list of (number of the recording's sample, ``Segment`` from there on), in order.
        sample_rate: of the recording as a whole.

    Returns:
        List of dictionaries as SigMF's "captures". ``core:global_index`` counts samples from the
        first part's on by the times, where these only go forward; "mimopack:sample_rate" is the
        rate of a segment that has another one.
    """
    captures = []
    first, origin = parts[0] if parts else (0, None)
    counted = first
    for start, segment in parts:
        told = {"core:sample_start": start}
        if segment.frequency is not None:
            told["core:frequency"] = segment.frequency
        if segment.time is not None and (
                _FIRST_SECOND <= segment.time[0] < _LAST_SECOND):
            told["core:datetime"] = format_time(segment.time)
        if captures and origin.time is not None and segment.time is not None:
            index = first + round(between(origin.time, segment.time) * sample_rate)
            # SigMF's default is sample_start.
            if index >= counted + start - captures[-1]["core:sample_start"] and index != start:
                told["core:global_index"] = index
            counted = max(index, start)
        if segment.sample_rate not in (None, sample_rate) and not math.isclose(
                segment.sample_rate, sample_rate, rel_tol=1e-12):
            told["mimopack:sample_rate"] = segment.sample_rate
        captures.append(told)
    return captures
