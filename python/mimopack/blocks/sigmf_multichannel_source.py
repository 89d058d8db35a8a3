# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: play a multi-channel SigMF recording, antennas aligned."""

from bisect import bisect_left

import numpy as np
import pmt
from gnuradio import gr

from ..recording import Reader
from .wifi_pmt import moment_to_pmt

# Items per work() call to aim at: large pieces are what the blocks behind like.
_BATCH = 16384
_RX_TIME, _RX_FREQ, _RX_RATE = map(pmt.intern, ("rx_time", "rx_freq", "rx_rate"))


class sigmf_multichannel_source(gr.sync_block):
    """Play a SigMF recording: one output per channel, all channels at the same sample.

    Reads one dataset with ``core:num_channels`` interleaved or a Collection of several datasets,
    in a format of ``recording.DATATYPES`` (full scale is 1), see ``recording.Reader``. The first
    sample of each capture segment, and so of the recording, carries the tags of a radio on each
    output, where the metadata says them: "rx_rate", "rx_freq", and "rx_time" (a tuple of whole
    seconds since 1970 and a fraction). With ``repeat`` they come again after each return to the
    start. What the reader found amiss and worked around goes to the logger.

    Args:
        path: of the metadata, the dataset or the collection, or what these names begin with.
        num_channels: outputs; None takes as many as the recording has.
        repeat: start again at the end, for ever.
        time_tags: whether there are tags "rx_time".

    Raises:
        FileNotFoundError, ValueError: the recording cannot be read (see ``recording.Reader``),
            or num_channels is not that of the recording.
    """

    def __init__(self, path, num_channels=None, repeat=False, time_tags=True):
        self.reader = Reader(path)
        if num_channels not in (None, self.reader.num_channels):
            raise ValueError(f"num_channels: got {num_channels}, {self.reader.path.name} has "
                             f"{self.reader.num_channels}")
        self._segments = self.reader.segments
        self._starts = [segment.start for segment in self._segments]
        gr.sync_block.__init__(self, "sigmf_multichannel_source", None,
                               [np.complex64] * self.reader.num_channels)
        self._repeat, self._time_tags = bool(repeat), bool(time_tags)
        self._position = 0
        # The multiple makes the scheduler allocate large buffers; start() takes it back so that
        # the end of the recording comes out.
        self.set_output_multiple(_BATCH)
        for note in self.reader.notes:
            gr.logger(self.alias()).warn(note)

    def sample_rate(self):
        """Samples per second by the metadata, or None."""
        return self.reader.sample_rate

    def repeat(self):
        """Whether the recording starts again at its end."""
        return self._repeat

    def set_repeat(self, repeat):
        """Start again at the end, or stop there."""
        self._repeat = bool(repeat)

    def start(self):
        self.set_output_multiple(1)
        return True

    def stop(self):
        self.set_output_multiple(_BATCH)
        return True

    def work(self, _input_items, output_items):
        if self._position == self.reader.num_samples:
            if not self._repeat:
                return -1
            self._position = 0
        count = min(len(output_items[0]), self.reader.num_samples - self._position)
        self.reader.read(self._position, count, out=[out[:count] for out in output_items])
        self._tag(self._position, self._position + count)
        self._position += count
        return count

    def _tag(self, start, stop):
        """Tag the first samples of the segments that begin from start to before stop."""
        first = bisect_left(self._starts, start)
        for segment in self._segments[first:bisect_left(self._starts, stop)]:
            known = []
            if segment.sample_rate is not None:
                known.append((_RX_RATE, pmt.from_double(float(segment.sample_rate))))
            if segment.frequency is not None:
                known.append((_RX_FREQ, pmt.from_double(float(segment.frequency))))
            # A PMT has no time before 1970.
            if self._time_tags and segment.time is not None and segment.time[0] >= 0:
                known.append((_RX_TIME, moment_to_pmt(segment.time)))
            for port in range(self.reader.num_channels):
                at = self.nitems_written(port) + segment.start - start
                for key, value in known:
                    self.add_item_tag(port, at, key, value)
