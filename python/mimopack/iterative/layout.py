# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the bits of codewords lie in transmitted vectors."""

import numpy as np

from ..checks import integer
from ..cuda import Constant, array_module


def positions(name, value, num_bits):
    """Different positions in a codeword, as an array; ValueError where they are none."""
    value = np.asarray(value)
    if (value.ndim != 1 or value.dtype.kind not in "iu" or not value.size or value.min() < 0
            or value.max() >= num_bits or len(np.unique(value)) < value.size):
        raise ValueError(f"{name}: got type {value.dtype} of shape {value.shape}, must be "
                         f"different positions of 0..{num_bits - 1}")
    return value


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
        self._sent = None if sent is None else Constant(positions("sent", sent, self.num_bits))
        self.num_sent = self.num_bits if sent is None else self._sent.values.size
        if interleaver is not None and self.num_sent % interleaver.size:
            raise ValueError(f"interleaver: got one of {interleaver.size} bits, its size must "
                             f"divide the {self.num_sent} bits of a codeword that are sent")
        self.vectors = -(-self.num_sent // self.bits_per_vector)
        self.padding = self.vectors * self.bits_per_vector - self.num_sent

    def spread(self, values, fill=0):
        """Bits or LLRs of codewords, (n, num_bits), in the order of the detector's: an array
        (n*vectors, bits_per_vector), with ``fill`` where the padding is."""
        module = array_module(values)
        if self._sent:
            values = module.take(values, self._sent.beside(values), axis=1)
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
        if self._sent:
            whole = module.zeros((len(llr), self.num_bits), llr.dtype)
            whole[:, self._sent.beside(llr)] = llr
            llr = whole
        return llr
