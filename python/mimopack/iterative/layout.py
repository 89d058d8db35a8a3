# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the bits of codewords lie in transmitted vectors."""

import numpy as np

from ..checks import integer
from ..cuda import array_module


class CodewordLayout:
    """Codewords of num_bits, one after another in vectors of nt*m bits.

    The bits that are sent are interleaved and fill vectors; each codeword begins a vector of its
    own, and zeros fill what is left of its last one.

    Args:
        num_bits: of a codeword, as the decoder counts them.
        bits_per_vector: nt*m.
        interleaver: of the bits sent (``coding.Interleaver``); its size divides their number. None
            leaves them in order.
        sent: integers, the positions in the codeword of the bits that are sent, in their order;
            the others are punctured. None: all.

    Attributes:
        num_sent: bits of a codeword that are sent.
        vectors: vectors of a codeword.
        padding: zeros at their end.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, num_bits, bits_per_vector, interleaver=None, sent=None):
        self.num_bits = integer("num_bits", num_bits, 1, 2**31 - 1)
        self.bits_per_vector = integer("bits_per_vector", bits_per_vector, 1, 2**16)
        self.interleaver = interleaver
        self.sent = None if sent is None else np.asarray(sent)
        if sent is not None and (
                self.sent.ndim != 1 or self.sent.dtype.kind not in "iu" or not self.sent.size
                or self.sent.min() < 0 or self.sent.max() >= num_bits
                or len(np.unique(self.sent)) < self.sent.size):
            raise ValueError(f"sent: got type {self.sent.dtype} of shape {self.sent.shape}, must "
                             f"be different positions of 0..{num_bits - 1}")
        self.num_sent = self.num_bits if sent is None else self.sent.size
        if interleaver is not None and self.num_sent % interleaver.size:
            raise ValueError(f"interleaver: got one of {interleaver.size} bits, its size must "
                             f"divide the {self.num_sent} bits of a codeword that are sent")
        self.vectors = -(-self.num_sent // self.bits_per_vector)
        self.padding = self.vectors * self.bits_per_vector - self.num_sent

    def spread(self, values, fill=0):
        """Bits or LLRs of codewords, (n, num_bits), in the order of the detector's: an array
        (n*vectors, bits_per_vector), with ``fill`` where the padding is."""
        module = array_module(values)
        if self.sent is not None:
            values = module.take(values, module.asarray(self.sent), axis=1)
        if self.interleaver is not None:
            values = self.interleaver.permute(values)
        if self.padding:
            whole = module.full((len(values), self.num_sent + self.padding), fill, values.dtype)
            whole[:, :self.num_sent] = values
            values = whole
        return values.reshape(-1, self.bits_per_vector)

    def gather(self, llr):
        """The inverse of ``spread``: LLRs (n*vectors, bits_per_vector) in the order of the
        codewords, (n, num_bits), with 0 for bits that are not sent."""
        module = array_module(llr)
        llr = llr.reshape(-1, self.num_sent + self.padding)
        if self.padding:
            llr = module.ascontiguousarray(llr[:, :self.num_sent])
        if self.interleaver is not None:
            llr = self.interleaver.restore(llr)
        if self.sent is not None:
            whole = module.zeros((len(llr), self.num_bits), llr.dtype)
            whole[:, module.asarray(self.sent)] = llr
            llr = whole
        return llr
