# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Track time, frequency and gaps of a sample stream, and convert times to and from SigMF text."""

import math
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone

from ..checks import integer, number, positive, share

# Largest frequency and sample rate that SigMF allows.
LARGEST_HZ = 1e12
_TOLERANCE = 0.5    # largest deviation from the expected time that is not a gap, in samples
# First and last second of the years 1 to 9999, which have four digits in ISO 8601.
_FIRST_SECOND, _LAST_SECOND = -62135596800, 253402300799
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TIME = re.compile(r"(?P<whole>[^.,]*?)(?:[.,](?P<fraction>\d+))?(?P<zone>[zZ]|[+-]\d\d:?\d\d)?")


@dataclass(frozen=True)
class Segment:
    """Consecutive samples without a gap, at one frequency and one sample rate.

    Attributes:
        start: position of the first sample.
        time: time of the first sample: (whole seconds since 1970 (UTC), fraction of a second); None
            if unknown.
        frequency: centre frequency in Hz; None if unknown.
        sample_rate: samples per second; None if unknown.
    """

    start: int
    time: tuple | None = None
    frequency: float | None = None
    sample_rate: float | None = None

    def time_at(self, sample):
        """Return the time (seconds, fraction) of a sample; None if unknown."""
        if self.time is None or self.sample_rate is None:
            return self.time if sample == self.start else None
        return later(self.time, (sample - self.start) / self.sample_rate)


def later(time, seconds):
    """Return a time (seconds, fraction) plus a number of seconds, which may be negative."""
    whole, rest = divmod(time[1] + seconds, 1)
    # For a tiny negative number, divmod rounds the rest to 1.
    return time[0] + int(whole), min(rest, 1 - 2**-53)


def between(first, second):
    """Return the seconds from one time (seconds, fraction) to another."""
    return (second[0] - first[0]) + (second[1] - first[1])


def format_time(time):
    """Format (seconds, fraction) since 1970 as ISO 8601 text in UTC, to the nanosecond.

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
    """Parse ISO 8601 text to (seconds, fraction) since 1970. Text without a zone is UTC.

    Raises:
        ValueError: the text is not an ISO 8601 time.
    """
    parts = _TIME.fullmatch(text)
    if parts is None:
        raise ValueError(f"core:datetime is not an ISO 8601 time: {text!r}")
    zone = "+00:00" if parts["zone"] in ("Z", "z", None) else parts["zone"]
    try:
        # Parse the zone separately: fromisoformat accepts no zone after a date alone.
        time = datetime.fromisoformat(parts["whole"])
        zone = datetime.fromisoformat(f"1970-01-01T00:00:00{zone}").tzinfo
    except ValueError as error:
        raise ValueError(f"core:datetime is not an ISO 8601 time: {text!r}") from error
    seconds = (time.replace(tzinfo=zone) - _EPOCH) // timedelta(seconds=1)
    return seconds, float(f"0.{parts['fraction']}") if parts["fraction"] else 0.0


class Timeline:
    """Build the segments of a stream from the reports of a device about single samples.

    A device reports the time, frequency and sample rate of some samples: the first sample, the
    first sample after a gap, and any others. There is a gap before a sample if its reported time
    differs by more than half a sample from the time that the last report and the sample rate
    predict. The first reported time and rate also apply to the samples before the report. What is
    reported is refused with a ValueError if SigMF does not allow it.

    Args:
        sample_rate: samples per second until the device reports a rate.
        frequency: centre frequency in Hz until the device reports one; None if unknown.

    Attributes:
        segments: list of ``Segment``.
        gaps: number of reported times that differ from the expected time.
        lost: number of samples missing in gaps in which the time jumped forward.

    Raises:
        ValueError: ``sample_rate`` is not positive and finite.
    """

    def __init__(self, sample_rate, frequency=None):
        self._nominal = positive("sample_rate", sample_rate), frequency
        self.gaps = self.lost = 0
        self.restart()

    def restart(self):
        """Begin a new stream, but keep the counts of gaps and lost samples."""
        self.segments = []
        self._anchor = None
        self._rate_told = False
        self._rate, self._frequency = self._nominal

    def begin(self, sample):
        """Begin the stream at a sample; later calls have no effect."""
        if not self.segments:
            self.segments.append(Segment(sample, None, self._frequency, self._rate))

    def add_rate(self, sample, rate):
        """Report the sample rate that applies from a sample on."""
        rate = positive("sample_rate", rate)
        if rate > LARGEST_HZ:
            raise ValueError(f"sample_rate: got {rate:g}, allowed are up to {LARGEST_HZ:g}")
        self.begin(sample)
        if rate == self._rate:
            self._rate_told = True
            return
        # The previous rate predicts the time of this sample.
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
        """Report the centre frequency in Hz that applies from a sample on."""
        frequency = number("frequency", frequency)
        if not abs(frequency) <= LARGEST_HZ:
            raise ValueError(f"frequency: got {frequency}, allowed are {-LARGEST_HZ:g} to "
                             f"{LARGEST_HZ:g}")
        self.begin(sample)
        if frequency != self._frequency:
            self._frequency = frequency
            self._change(sample, frequency=frequency)

    def add_time(self, sample, seconds, fraction=0.0):
        """Report the time of a sample: whole seconds since 1970 (UTC) and a fraction of a second.

        Return whether there is a gap before the sample.
        """
        time = (integer("seconds", seconds, 0, _LAST_SECOND), share("fraction", fraction))
        self.begin(sample)
        if self._anchor is None:
            self._anchor = (sample, *time)
            self._date()
            return False
        error = between(self._expected(sample), time) * self._rate
        self._anchor = (sample, *time)
        if abs(error) <= _TOLERANCE:
            return False
        self.gaps += 1
        self.lost += max(0, round(error))
        self._change(sample, time=time)
        return True

    def assume_time(self, sample, seconds, fraction):
        """Set the time of a sample from another clock, until the device reports a time."""
        self.begin(sample)
        if self._anchor is None:
            self._date((sample, seconds, fraction))

    def segment(self, sample):
        """Return the ``Segment`` that holds a sample; None before the stream begins."""
        index = bisect_right(self.segments, sample, key=lambda segment: segment.start)
        return self.segments[index - 1] if index else None

    def cut(self, start, stop):
        """Return the segments of samples start to stop - 1. The first is cut to begin at start."""
        first = self.segment(start) if start < stop else None
        inside = self.segments[bisect_right(self.segments, start, key=lambda each: each.start):
                               bisect_left(self.segments, stop, key=lambda each: each.start)]
        return inside if first is None else [
            replace(first, start=start, time=first.time_at(start)), *inside]

    def forget(self, sample):
        """Forget the segments that end before a sample."""
        index = bisect_right(self.segments, sample, key=lambda segment: segment.start)
        del self.segments[:max(0, index - 1)]

    def _expected(self, sample):
        at, *time = self._anchor
        return later(time, (sample - at) / self._rate)

    def _date(self, anchor=None):
        """Compute the times of all segments from the time of one sample."""
        at, *time = anchor or self._anchor
        self.segments = [replace(segment, time=later(time, (segment.start - at) / self._rate))
                         for segment in self.segments]

    def _change(self, sample, **values):
        last = self.segments[-1]
        if sample < last.start:
            raise ValueError(f"sample: got {sample}, must not be before {last.start}")
        if sample == last.start:
            self.segments[-1] = replace(last, **values)
        else:
            self.segments.append(replace(
                last, **{"start": sample, "time": last.time_at(sample), **values}))


def captures_of(parts, sample_rate):
    """Return the SigMF capture segments of a recording.

    Args:
        parts: list of (position in the recording, ``Segment`` that begins there), in order.
        sample_rate: samples per second of the recording as a whole.

    Returns:
        List of dictionaries for SigMF's "captures". ``core:global_index`` counts samples, missing
        ones included, according to the segments' times, unless the times go backward.
        "mimopack:sample_rate" is the rate of a segment whose rate differs from ``sample_rate``.
    """
    captures = []
    first, origin = parts[0] if parts else (0, None)
    counted = first
    for start, segment in parts:
        capture = {"core:sample_start": start}
        if segment.frequency is not None:
            capture["core:frequency"] = segment.frequency
        if segment.time is not None and (
                _FIRST_SECOND <= segment.time[0] < _LAST_SECOND):
            capture["core:datetime"] = format_time(segment.time)
        if captures and origin.time is not None and segment.time is not None:
            index = first + round(between(origin.time, segment.time) * sample_rate)
            # SigMF's default for core:global_index is core:sample_start.
            if index >= counted + start - captures[-1]["core:sample_start"] and index != start:
                capture["core:global_index"] = index
            counted = max(index, start)
        if segment.sample_rate not in (None, sample_rate) and not math.isclose(
                segment.sample_rate, sample_rate, rel_tol=1e-12):
            capture["mimopack:sample_rate"] = segment.sample_rate
        captures.append(capture)
    return captures
