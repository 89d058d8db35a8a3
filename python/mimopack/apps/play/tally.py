# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts of one detector over a recording: frames, MPDUs, error rates."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict

# What summary.json has of each frame.
_TOLD = ("start", "format", "mcs", "num_streams", "bandwidth_mhz", "coding", "length", "snr_db",
         "condition_db", "cfo_hz", "problem", "num_mpdus", "num_mpdus_ok")
# Two reports are of one frame where their starts are at most so many seconds apart.
_SAME_FRAME = 2e-6


class Truth:
    """The frames that a recording's annotations tell.

    Args:
        frames: list of ``recording.TrueFrame``; those without MPDUs are left out.
    """

    def __init__(self, frames=()):
        self.frames = [frame for frame in frames if frame.mpdus]

    def __bool__(self):
        return bool(self.frames)

    def until(self, sample):
        """Return the truth about the frames that end before a sample."""
        return Truth([frame for frame in self.frames if frame.start + frame.count <= sample])


class Tally:
    """Counts of what a detector's flowgraph delivers.

    With a truth a frame counts as decoded where all its MPDUs arrive as they were sent; without
    one where its MPDUs all have a good frame check sequence (FCS).

    Args:
        detector: name of the detector.
        truth: ``Truth``; an empty one says nothing.
        sample_rate: samples per second.
        on_frame: called with each frame's dictionary as it comes.

    Attributes:
        frames: dictionaries of the frames that were announced.
        complete: whether the recording was played to its end.
    """

    def __init__(self, detector, truth, sample_rate, on_frame=None):
        self.detector, self.frames = detector, []
        self.complete = False
        self._truth, self._on_frame = truth, on_frame
        self._sent = {mpdu for frame in truth.frames for mpdu in frame.mpdus}
        self._near = round(_SAME_FRAME * sample_rate)
        self._mpdus = defaultdict(Counter)    # those with a good FCS, by the frame's start

    def add_frame(self, told):
        """Take the dictionary of a frame."""
        self.frames.append({name: told.get(name) for name in _TOLD})
        if self._on_frame:
            self._on_frame(told)

    def add_mpdu(self, info, blob):
        """Take an MPDU without its frame check sequence, and its dictionary."""
        if self._truth and info["fcs_ok"]:
            self._mpdus[info["start"]][blob + info["fcs"].to_bytes(4, "little")] += 1

    def close(self, samples, complete):
        """End the tally: only frames that end before a number of samples were to be decoded."""
        self.complete = complete
        self._truth = self._truth.until(samples)

    def decoded_starts(self):
        """Return the starts of the frames that were decoded, ascending."""
        if self._truth:
            return [frame.start for frame in self._truth.frames if self._has(frame)]
        return sorted(frame["start"] for frame in self.frames if _whole(frame))

    def more_than(self, other):
        """Return how many frames this detector decoded and another one did not."""
        theirs = other.decoded_starts()
        return sum(not self._among(theirs, start) for start in self.decoded_starts())

    def summary(self):
        """Return a dictionary for the table and for JSON; rates are None where nothing was counted.
        """
        known = bool(self._truth)
        sent = self._truth.frames
        payloads = [frame for frame in self.frames if frame["length"] != 0]
        total, decoded = len(sent) if known else len(payloads), len(self.decoded_starts())
        reasons = Counter(frame["problem"] for frame in self.frames if frame["problem"])
        levels = sorted({frame.snr_db for frame in sent if frame.snr_db is not None})
        starts = sorted(frame["start"] for frame in self.frames)
        true_starts = [frame.start for frame in sent]
        return {
            "detector": self.detector,
            "complete": self.complete,
            "frames_sent": len(sent) if known else None,
            "frames_found": (sum(self._among(starts, frame.start) for frame in sent) if known
                             else len(self.frames)),
            "frames_decoded": decoded,
            "packet_error_rate": 1 - decoded / total if total else None,
            "packet_error_rate_of": "sent" if known else "found",
            "mpdus_ok": sum(frame["num_mpdus_ok"] for frame in self.frames),
            "mpdus_unknown": self._num_unknown() if known else None,
            "frames_unknown": (sum(not self._among(true_starts, start) for start in starts)
                               if known else None),
            "problems": dict(reasons),
            "decoded_by_snr": [self._level(snr) for snr in levels] if known else None,
        }

    def _level(self, snr_db):
        sent = [frame for frame in self._truth.frames if frame.snr_db == snr_db]
        return {"snr_db": snr_db, "decoded": sum(map(self._has, sent)), "sent": len(sent)}

    def _has(self, frame):
        """Tell whether all MPDUs of a frame that was sent arrived."""
        delivered = Counter()
        for start in range(frame.start - self._near, frame.start + self._near + 1):
            delivered += self._mpdus.get(start, Counter())
        return not Counter(frame.mpdus) - delivered

    def _num_unknown(self):
        """MPDUs with a good frame check sequence that no annotation has."""
        return sum(count for mpdus in self._mpdus.values() for mpdu, count in mpdus.items()
                   if mpdu not in self._sent)

    def _among(self, starts, start):
        """Tell whether one of ascending starts belongs to the same frame."""
        return (bisect_right(starts, start + self._near)
                > bisect_left(starts, start - self._near))


def _whole(frame):
    return frame["num_mpdus"] and frame["num_mpdus"] == frame["num_mpdus_ok"]
