# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base class of the sources of frames for ``mimopack wifi``: a recording or a radio."""

from .summary import Summary
from .words import duration, plural


class FrameSource:
    """A recording or a radio with a receiver: an iterator of frames, and a report about them.

    A subclass has the method ``frames(progress)``, a generator of (frame, time). The time is that
    of the frame's first sample, (seconds since 1970, fraction), or None if it is unknown. The
    generator raises OSError, ValueError or RuntimeError if the frames cannot all be received.

    Attributes:
        summary: ``Summary`` of the frames that the generator has yielded.
        complete: whether the generator came to its end by itself.
        title: description in one line.
        num_channels, sample_rate: number of antennas, and samples per second of the receiver.
        samples: number of samples per antenna searched so far.
        seconds: duration; None if it has no known end.
        start_time: time of the first sample in seconds since 1970; None if unknown.
        own_files: paths that no output may have.
        written: paths of the files that the source itself has written.
        on_status: function to call with each status of a radio's receiver, or None.
    """

    seconds = start_time = on_status = None
    own_files = ()

    def __init__(self, sample_rate, num_channels):
        self.sample_rate, self.num_channels = sample_rate, num_channels
        self.summary, self.complete, self.written = Summary(), False, []

    def introduce(self, say, warn):
        """Describe the source by calls of ``say`` and ``warn``, which stay in use for remarks."""
        self._say, self._warn = say, warn

    def discard(self):
        """Remove the files of a source whose frames nobody has asked for."""

    def _progress_text(self, done):
        return (f"{done}, {plural(self.summary.total.frames, 'frame')}, "
                f"{self.summary.total.mpdus_ok} MPDUs with a correct FCS")

    def _duration(self, samples):
        return duration(samples, self.sample_rate)
