# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: received constellation of each layer, for displays."""

import numpy as np
import pmt
from gnuradio import gr

from ..checks import integer, positive
from ..equalizer import mmse_symbols
from ..ofdm.parameters import MAX_RX
from .frame_stream import BlockLog

_NOISE_VAR = pmt.intern("noise_var")


class layer_symbols(gr.decim_block):
    """Linear MMSE estimates of the transmitted symbols, one stream per layer.

    Inputs are those of a detector: y (complex, vlen T * num_rx) and h (complex, vlen
    num_rx * num_tx). Of every ``decimation`` items the first is taken, and of its T vectors the
    first, since a display needs few. Outputs: num_tx streams (complex); 0 where a vector cannot
    be equalised. See ``equalizer.mmse_symbols``.

    Args:
        num_tx, num_rx: layers and receive antennas.
        noise_var: noise power per complex receive dimension, linear; a tag "noise_var" on y sets
            it from its item on.
        symbols_per_channel: T.
        decimation: input items for each output item. Where carriers follow each other, take a
            number without common divisor with theirs.

    Raises:
        ValueError: a parameter that is not positive, or a number that is no integer.
    """

    def __init__(self, num_tx=4, num_rx=4, noise_var=0.1, symbols_per_channel=1, decimation=1):
        num_tx = integer("num_tx", num_tx, 1, MAX_RX)
        num_rx = integer("num_rx", num_rx, 1, MAX_RX)
        symbols_per_channel = integer("symbols_per_channel", symbols_per_channel, 1, 2**20)
        decimation = integer("decimation", decimation, 1, 2**20)
        self._shape = (num_rx, num_tx)
        self._decimation = decimation
        self._log = BlockLog(self)
        self.set_noise_var(noise_var)
        gr.decim_block.__init__(
            self, "layer_symbols",
            [(np.complex64, symbols_per_channel * num_rx), (np.complex64, num_rx * num_tx)],
            [np.complex64] * num_tx, decimation)
        self.set_tag_propagation_policy(gr.TPP_DONT)

    def set_noise_var(self, noise_var):
        """Noise power per complex receive dimension, linear, positive."""
        self._noise_var = positive("noise_var", noise_var)

    def work(self, input_items, output_items):
        count = len(output_items[0])
        taken = slice(0, count * self._decimation, self._decimation)
        num_rx, num_tx = self._shape
        for out in output_items:
            out[:] = 0
        with self._log.guard(f"{count} items"), np.errstate(all="ignore"):
            x = mmse_symbols(input_items[0][taken].reshape(count, -1)[:, :num_rx],
                             input_items[1][taken].reshape(count, num_rx, num_tx),
                             self._noise(count * self._decimation)[taken])
            for out, layer in zip(output_items, x.T, strict=True):
                out[:] = layer
        return count

    def stop(self):
        self._log.flush()
        return gr.decim_block.stop(self)

    def _noise(self, items):
        noise = np.full(items, self._noise_var)
        for tag in self.get_tags_in_window(0, 0, items, _NOISE_VAR):
            value = pmt.to_python(tag.value)
            if isinstance(value, (int, float)) and 0 < value < np.inf:
                noise[tag.offset - self.nitems_read(0):] = self._noise_var = float(value)
        return noise
