# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: play a multi-channel SigMF recording, antennas aligned."""

import numpy as np
import pmt
from gnuradio import gr

from ..recording import Reader

# Items per work() call to aim at: large pieces are what the blocks behind like.
_BATCH = 16384


class sigmf_multichannel_source(gr.sync_block):
    """Play a SigMF recording: one output per channel, all channels at the same sample.

    Reads one dataset with ``core:num_channels`` interleaved or a Collection of several datasets,
    in a format of ``recording.DATATYPES`` (full scale is 1), see ``recording.Reader``. The first
    sample of each output carries the tags "rx_rate" and "rx_freq" where the metadata says them;
    with ``repeat`` so does each first sample after a return to the start. What the reader found
    amiss and worked around goes to the logger.

    Args:
        path: of the metadata, the dataset or the collection, or what these names begin with.
        num_channels: outputs; None takes as many as the recording has.
        repeat: start again at the end, for ever.

    Raises:
        FileNotFoundError, ValueError: the recording cannot be read (see ``recording.Reader``),
            or num_channels is not that of the recording.
    """

    def __init__(self, path, num_channels=None, repeat=False):
        self.reader = Reader(path)
        if num_channels not in (None, self.reader.num_channels):
            raise ValueError(f"num_channels: got {num_channels}, {self.reader.path.name} has "
                             f"{self.reader.num_channels}")
        gr.sync_block.__init__(self, "sigmf_multichannel_source", None,
                               [np.complex64] * self.reader.num_channels)
        self._repeat = bool(repeat)
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
        if self._position == 0:
            self._tag_start()
        count = min(len(output_items[0]), self.reader.num_samples - self._position)
        self.reader.read(self._position, count, out=[out[:count] for out in output_items])
        self._position += count
        return count

    def _tag_start(self):
        known = {"rx_rate": self.reader.sample_rate, "rx_freq": self.reader.frequency}
        for port in range(self.reader.num_channels):
            for key, value in known.items():
                if value is not None:
                    self.add_item_tag(port, self.nitems_written(port), pmt.intern(key),
                                      pmt.from_double(float(value)))
