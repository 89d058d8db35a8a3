# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the bits of codewords lie in transmitted vectors."""

from ..arrays import array_module
from ..checks import integer


class CodewordLayout:
    """Codewords of num_bits, one after another in vectors of nt*m bits.

    Its bits are interleaved and fill vectors; each codeword begins a vector of its own, and zeros
    fill what is left of its last one.

    Args:
        num_bits: of a codeword, as it is sent.
        bits_per_vector: nt*m.
        interleaver: of the bits (``coding.Interleaver``); its size divides their number. None
            leaves them in order.

    Attributes:
        vectors: vectors of a codeword.
        padding: zeros at their end.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, num_bits, bits_per_vector, interleaver=None):
        self.num_bits = integer("num_bits", num_bits, 1, 2**31 - 1)
        self.bits_per_vector = integer("bits_per_vector", bits_per_vector, 1, 2**16)
        self.interleaver = interleaver
        if interleaver is not None and num_bits % interleaver.size:
            raise ValueError(f"interleaver: got one of {interleaver.size} bits, its size must "
                             f"divide the {num_bits} bits of a codeword")
        self.vectors = -(-num_bits // bits_per_vector)
        self.padding = self.vectors * bits_per_vector - num_bits

    def spread(self, values, fill=0):
        """Bits or LLRs of codewords, (n, num_bits), in the order of the detector's: an array
        (n*vectors, bits_per_vector), with ``fill`` where the padding is."""
        if self.interleaver is not None:
            values = self.interleaver.permute(values)
        if self.padding:
            whole = array_module(values).full((len(values), self.num_bits + self.padding), fill,
                                              values.dtype)
            whole[:, :self.num_bits] = values
            values = whole
        return values.reshape(-1, self.bits_per_vector)

    def gather(self, llr):
        """The inverse of ``spread``: LLRs (n*vectors, bits_per_vector) in the order of the
        codewords, (n, num_bits)."""
        llr = llr.reshape(-1, self.num_bits + self.padding)
        if self.padding:
            llr = array_module(llr).ascontiguousarray(llr[:, :self.num_bits])
        return llr if self.interleaver is None else self.interleaver.restore(llr)
