# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: play a multi-channel SigMF recording with all antennas aligned."""

import numpy as np
import pmt
from gnuradio import gr

from ..recording import Reader
from .streams import Batched, BlockLog
from .wifi_pmt import moment_to_pmt

# Target number of items per work() call: the blocks downstream work best on large pieces.
_BATCH = 16384
_RX_TIME, _RX_FREQ, _RX_RATE = map(pmt.intern, ("rx_time", "rx_freq", "rx_rate"))


class sigmf_multichannel_source(Batched, gr.sync_block):
    """Play a SigMF recording with one output per channel, all channels aligned.

    The recording is one dataset with ``core:num_channels`` interleaved channels, or a Collection of
    several datasets, in a format of ``recording.DATATYPES`` (see ``recording.Reader``). The block
    logs the problems that the reader found and worked around. If a file cannot be read, or is cut
    while it plays, the block logs the ``error``, and the stream ends.

    Ports:
        out 0 to num_channels - 1: complex: the samples of each channel. Full scale is 1.

    Tags: on each output, the first sample of each capture segment carries the tags of a radio, as
    far as the metadata gives their values: rx_rate (samples per second), rx_freq (centre frequency
    in Hz) and rx_time (a tuple of whole seconds since 1970 and a fraction). With ``repeat``, the
    tags repeat as well.

    Args:
        path: path of the metadata, the dataset or the collection, or their common stem; or a
            ``recording.Reader``.
        num_channels: number of outputs; None takes the recording's number of channels.
        repeat: whether to repeat the recording without end.
        time_tags: whether to send tags rx_time.

    Attributes:
        reader: ``recording.Reader`` of the recording.
        error: exception that ended the stream; None if there is none.

    Raises:
        FileNotFoundError, OSError, ImportError: as ``recording.Reader``.
        ValueError: as ``recording.Reader``, or the recording does not have num_channels channels.
    """

    def __init__(self, path, num_channels=None, repeat=False, time_tags=True):
        self.reader = path if isinstance(path, Reader) else Reader(path)
        self.error = None
        if num_channels not in (None, self.reader.num_channels):
            raise ValueError(f"num_channels: got {num_channels}, {self.reader.path.name} has "
                             f"{self.reader.num_channels}")
        gr.sync_block.__init__(self, "sigmf_multichannel_source", None,
                               [np.complex64] * self.reader.num_channels)
        self._repeat, self._time_tags = bool(repeat), bool(time_tags)
        self._position = 0
        self._ask_for(_BATCH)
        self._log = BlockLog(self)
        for note in self.reader.notes:
            self._log.warn(None, note)

    def sample_rate(self):
        """Return the sample rate in samples per second from the metadata; None if unknown."""
        return self.reader.sample_rate

    def repeat(self):
        """Return whether the recording repeats."""
        return self._repeat

    def set_repeat(self, repeat):
        """Set whether the recording repeats or ends."""
        self._repeat = bool(repeat)

    def work(self, _input_items, output_items):
        try:
            return self._play(output_items)
        except Exception as error:    # GNU Radio would only log it
            self.error = error
            self._log.error(f"the stream ends here: {error}")
            return -1

    def _play(self, output_items):
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
        """Tag the first sample of each segment that begins between start and stop - 1."""
        for segment in self.reader.segments:
            if not start <= segment.start < stop:
                continue
            tags = []
            if segment.sample_rate is not None:
                tags.append((_RX_RATE, pmt.from_double(float(segment.sample_rate))))
            if segment.frequency is not None:
                tags.append((_RX_FREQ, pmt.from_double(float(segment.frequency))))
            # The PMT of a time cannot represent times before 1970.
            if self._time_tags and segment.time is not None and segment.time[0] >= 0:
                tags.append((_RX_TIME, moment_to_pmt(segment.time)))
            for port in range(self.reader.num_channels):
                at = self.nitems_written(port) + segment.start - start
                for key, value in tags:
                    self.add_item_tag(port, at, key, value)
