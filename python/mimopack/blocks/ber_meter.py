# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: measure the bit error rate after each pass of a receiver, for displays."""

import numpy as np
from gnuradio import gr

from ..checks import integer
from .streams import BlockLog, Guarded, guarded, vector


class ber_meter(Guarded, gr.decim_block):
    """Compare received bits with sent bits, and measure the bit error rate.

    Ports:
        in 0 ``sent``: byte, vlen num_bits: information bits of a codeword, one bit per byte (the
            least significant).
        in 1 ``received``: byte, vlen passes*num_bits: decisions on these bits after each pass, one
            pass after another. Connect the output ``history`` of ``iterative_receiver``, or with
            passes=1 the output ``bits`` of any decoder.
        out 0 ``ber``: float, vlen passes: bit error rate after each pass, averaged over
            ``average`` codewords. NaN if they were lost by an exception, which is counted
            (``failures``).

    The method ``text`` returns the rates over all codewords so far as one line, for GNU Radio's
    Function Probe.

    Args:
        num_bits: information bits per codeword, 1..2^24.
        passes: number of passes of the receiver, 1..1000.
        average: number of codewords per output item, 1..2^20.

    Raises:
        ValueError: an argument is not an integer in its range.
    """

    LOST = np.nan

    def __init__(self, num_bits=1152, passes=4, average=50):
        self._shape = (integer("passes", passes, 1, 1000), integer("num_bits", num_bits, 1, 2**24))
        self._average = integer("average", average, 1, 2**20)
        self._codewords, self._errors = 0, np.zeros(passes)
        self._log = BlockLog(self)
        gr.decim_block.__init__(self, "ber_meter", [vector(np.uint8, num_bits),
                                                    vector(np.uint8, passes * num_bits)],
                                [vector(np.float32, passes)], average)
        self.set_tag_propagation_policy(gr.TPP_DONT)

    def codewords(self):
        """Return the number of codewords since the block was made."""
        return self._codewords

    def ber(self):
        """Return the bit error rate after each pass over all codewords: float64 (passes,)."""
        return self._errors / max(self._codewords * self._shape[1], 1)

    def text(self):
        """Return the number of codewords and the bit error rates as one line of text."""
        return f"{self._codewords} codewords, bit error rate after each pass: " + ", ".join(
            f"{rate:.2g}" for rate in self.ber())

    @guarded
    def work(self, input_items, output_items):
        out = output_items[0]
        n = len(out)
        sent, received = (items.reshape(n, self._average, -1, self._shape[1])
                          for items in input_items)
        wrong = np.count_nonzero((sent ^ received) & 1, axis=(1, 3))    # (n, passes)
        out[...] = (wrong / (self._average * self._shape[1])).reshape(out.shape)
        self._errors = self._errors + wrong.sum(axis=0)    # or there is no memory
        self._codewords += n * self._average
        return n
