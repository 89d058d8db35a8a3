# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: measure bit error rates, of a detector's LLRs or after each pass of a receiver."""

import numpy as np
from gnuradio import gr

from ..checks import choice, integer
from .fec_decoder import LLR_TYPES
from .streams import vector

_RECEIVED_TYPES = {"bits": np.uint8, **LLR_TYPES}


class ber_meter(gr.decim_block):
    """Compare received bits or LLRs with sent bits, and measure the bit error rate.

    An item holds the bits of a codeword, or without a code those of a vector. Without a code,
    connect the bits in front of ``symbol_mapper`` and the output ``llr`` of a detector block, with
    passes=1 and received_type="float32".

    Ports:
        in 0 ``sent``: byte, vlen num_bits: sent bits, one bit per byte (the least significant).
        in 1 ``received``: vlen passes*num_bits: what was received for these bits after each pass,
            one pass after another: bytes with a decision in the least significant bit, or LLRs
            ln P(1)/P(0), float or int8. A positive LLR decides for 1, any other for 0. Connect the
            output ``history`` of ``iterative_receiver``, or with passes=1 the LLRs of a detector
            or the output ``bits`` of any decoder.
        out 0 ``ber``: float, vlen passes: bit error rate after each pass, averaged over
            ``average`` items.

    The method ``text`` returns the rates over all items so far as one line, for GNU Radio's
    Function Probe.

    Args:
        num_bits: bits per item, 1..2^24.
        passes: number of passes of the receiver, 1..1000.
        average: number of input items per output item, 1..2^20.
        received_type: "bits", "float32" (LLRs) or "int8" (LLRs).

    Raises:
        ValueError: an argument is not an integer in its range, or received_type is another.
    """

    def __init__(self, num_bits=1152, passes=4, average=50, received_type="bits"):
        self._shape = (integer("passes", passes, 1, 1000), integer("num_bits", num_bits, 1, 2**24))
        self._average = integer("average", average, 1, 2**20)
        kind = _RECEIVED_TYPES[choice("received_type", received_type, tuple(_RECEIVED_TYPES))]
        self._soft = received_type != "bits"
        self._codewords, self._errors = 0, np.zeros(passes)
        gr.decim_block.__init__(self, "ber_meter", [vector(np.uint8, num_bits),
                                                    vector(kind, passes * num_bits)],
                                [vector(np.float32, passes)], average)
        self.set_tag_propagation_policy(gr.TPP_DONT)

    def codewords(self):
        """Return the number of items compared since the block was made."""
        return self._codewords

    def ber(self):
        """Return the bit error rate after each pass over all items: float64 (passes,)."""
        return self._errors / max(self._codewords * self._shape[1], 1)

    def text(self):
        """Return the number of bits and the bit error rates as one line of text."""
        return (f"{self._codewords * self._shape[1]} bits, bit error rate "
                + ", ".join(f"{rate:.2g}" for rate in self.ber()))

    def work(self, input_items, output_items):
        out = output_items[0]
        n = len(out)
        sent, received = (items.reshape(n, self._average, -1, self._shape[1])
                          for items in input_items)
        decided = received > 0 if self._soft else received
        wrong = np.count_nonzero((sent ^ decided) & 1, axis=(1, 3))    # (n, passes)
        out[...] = (wrong / (self._average * self._shape[1])).reshape(out.shape)
        self._errors += wrong.sum(axis=0)
        self._codewords += n * self._average
        return n
