# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Positions of a codeword's bits in the transmitted vectors."""

from ..arrays import array_module
from ..checks import integer


class CodewordLayout:
    """The positions of a codeword's bits in the vectors sent, nt*m bits per vector.

    The bits of a codeword are interleaved and fill consecutive vectors. Each codeword begins a new
    vector, and zeros fill up its last vector.

    Args:
        num_bits: number of bits sent per codeword.
        bits_per_vector: nt*m.
        interleaver: a ``coding.Interleaver`` whose size divides num_bits; None leaves the bits in
            order.

    Attributes:
        vectors: number of vectors per codeword.
        padding: number of zeros at the end of the last vector.
    """

    def __init__(self, num_bits, bits_per_vector, interleaver=None):
        self.num_bits = integer("num_bits", num_bits, 1, 2**31 - 1)
        self.bits_per_vector = integer("bits_per_vector", bits_per_vector, 1, 2**16)
        self.interleaver = interleaver
        if interleaver is not None and num_bits % interleaver.size:
            raise ValueError(f"interleaver: got {interleaver.size} bits, must divide the "
                             f"{num_bits} bits of a codeword")
        self.vectors = -(-num_bits // bits_per_vector)
        self.padding = self.vectors * bits_per_vector - num_bits

    def spread(self, values, fill=0):
        """Arrange the bits or LLRs of codewords in vectors.

        Args:
            values: (n, num_bits), NumPy or CuPy.
            fill: value of the padding.

        Returns:
            (n*vectors, bits_per_vector), of the same type.
        """
        if self.interleaver is not None:
            values = self.interleaver.permute(values)
        if self.padding:
            whole = array_module(values).full((len(values), self.num_bits + self.padding), fill,
                                              values.dtype)
            whole[:, :self.num_bits] = values
            values = whole
        return values.reshape(-1, self.bits_per_vector)

    def gather(self, llr):
        """Invert ``spread``.

        Args:
            llr: (n*vectors, bits_per_vector) LLRs.

        Returns:
            (n, num_bits) LLRs in the order of the codewords.
        """
        llr = llr.reshape(-1, self.num_bits + self.padding)
        if self.padding:
            llr = array_module(llr).ascontiguousarray(llr[:, :self.num_bits])
        return llr if self.interleaver is None else self.interleaver.restore(llr)
