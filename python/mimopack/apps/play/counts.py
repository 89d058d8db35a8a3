# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Count a detector's frames, MPDUs and errors over a recording."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict

from ...wifi.fields import fields_of, report_with_counts

# Two reports describe the same frame if their starts differ by at most this many seconds.
_SAME_FRAME = 2e-6


class Tally:
    """Counts of the frames and MPDUs that a detector's flowgraph delivers.

    If the truth is known, a frame counts as decoded if all its MPDUs arrive as they were sent.
    Otherwise, it counts as decoded if all its MPDUs have a good frame check sequence (FCS).

    Args:
        detector: name of the detector.
        truth: list of ``recording.TrueFrame``, the transmitted frames. Frames without MPDUs are
            ignored; without others, the truth is unknown.
        sample_rate: samples per second.

    Attributes:
        frames: list of the dictionaries of the frames that the receiver found.
        complete: whether the recording was played to its end.
    """

    def __init__(self, detector, truth, sample_rate):
        self.detector, self.frames = detector, []
        self.complete = False
        self._truth = [frame for frame in truth if frame.mpdus]
        self._sent = {mpdu for frame in self._truth for mpdu in frame.mpdus}
        self._near = round(_SAME_FRAME * sample_rate)
        self._mpdus = defaultdict(Counter)    # MPDUs with a good FCS, by the frame's start

    def add(self, frame):
        """Count a ``wifi.ReceivedFrame`` and its MPDUs."""
        good = [mpdu.data for mpdu in frame.mpdus if mpdu.fcs_ok]
        report = report_with_counts(frame)
        self.frames.append({field.name: report[field.name] for field in fields_of("play")})
        if self._truth:
            self._mpdus[frame.start].update(good)

    def close(self, samples, complete):
        """End the tally; transmitted frames that do not end within ``samples`` do not count."""
        self.complete = complete
        self._truth = [frame for frame in self._truth if frame.start + frame.count <= samples]

    def decoded_starts(self):
        """Return the starts of the decoded frames in ascending order."""
        if self._truth:
            return [frame.start for frame in self._truth if self._has(frame)]
        return sorted(frame["start"] for frame in self.frames if _whole(frame))

    def more_than(self, other):
        """Return the number of frames that this detector decoded and another did not."""
        theirs = other.decoded_starts()
        return sum(not self._among(theirs, start) for start in self.decoded_starts())

    def summary(self):
        """Return a dictionary for the table and for JSON; rates are None if nothing was counted."""
        known = bool(self._truth)
        sent = self._truth
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
        sent = [frame for frame in self._truth if frame.snr_db == snr_db]
        return {"snr_db": snr_db, "decoded": sum(map(self._has, sent)), "sent": len(sent)}

    def _has(self, frame):
        """Return whether all MPDUs of a transmitted frame arrived."""
        delivered = Counter()
        for start in range(frame.start - self._near, frame.start + self._near + 1):
            delivered += self._mpdus.get(start, Counter())
        return not Counter(frame.mpdus) - delivered

    def _num_unknown(self):
        """Return the number of MPDUs with a good frame check sequence but no annotation."""
        return sum(count for mpdus in self._mpdus.values() for mpdu, count in mpdus.items()
                   if mpdu not in self._sent)

    def _among(self, starts, start):
        """Return whether one of the ascending starts belongs to the same frame as start."""
        return (bisect_right(starts, start + self._near)
                > bisect_left(starts, start - self._near))


def _whole(frame):
    return frame["num_mpdus"] and frame["num_mpdus"] == frame["num_mpdus_ok"]
