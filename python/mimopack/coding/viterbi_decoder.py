# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Viterbi decoder for codewords of one length."""

import numpy as np

from ..checks import array, choice, integer
from .convolutional import TAIL, ConvolutionalCode, ConvolutionalEncoder


class ViterbiDecoder:
    """:class:`ConvolutionalCode`'s Viterbi decoder with the interface of the soft decoders: several
    times as fast, for where decisions are enough.

    Args:
        num_info, rate: as of :class:`ConvolutionalEncoder`.
        iterations: of no effect.
        backend: "auto" or "cpu".
        threads: 0 takes all cores.
        isa: as for detectors.

    Attributes, of the last ``decode``:
        num_bits: bits sent of a codeword.
        bits: (n, num_info) uint8, the decisions on the information bits.
        found: (n,) bool, True but for erased codewords: any decision is a codeword.
        iterations_taken: (n,) int32: 1, or 0 of erased codewords.
        erasures: codewords with an LLR that is NaN or infinite, or only zeros.

    Raises:
        ValueError: an argument is not as above.
    """

    keep_messages = False

    def __init__(self, num_info, rate="1/2", iterations=1, backend="auto", threads=0, isa="auto"):
        self.num_info = ConvolutionalEncoder(num_info, rate).num_info
        self._code = ConvolutionalCode(rate, isa)
        self.num_bits = self._code.coded_length(self.num_info + TAIL)
        self.iterations = integer("iterations", iterations, 1, 10_000)
        self.backend = choice("backend", backend, ("auto", "cpu"))
        self.threads = integer("threads", threads, 0, 1024)
        self.bits = np.zeros((0, self.num_info), np.uint8)
        self.found, self.iterations_taken = np.zeros(0, bool), np.zeros(0, np.int32)
        self.erasures = 0

    @property
    def isa(self):
        """The instruction set that the decoder uses."""
        return self._code.isa

    def decide(self, llr):
        """Decisions alone.

        Args:
            llr: (n, num_bits) float32, ln P(1)/P(0), C-contiguous.

        Returns:
            (n, num_info) uint8, those on the information bits; 0 of erased codewords.

        Raises:
            ValueError: llr is no such array.
        """
        llr = array("llr", llr, np.float32, ("n", self.num_bits))
        usable = np.isfinite(llr).all(axis=1) & llr.any(axis=1)
        bits = self._code.decode_batch(llr.ravel(), np.full(len(llr), self.num_info), self.threads)
        self.bits = bits.reshape(len(llr), self.num_info)
        self.bits[~usable] = 0
        self.found, self.iterations_taken = usable, usable.astype(np.int32)
        self.erasures = len(llr) - int(usable.sum())
        return self.bits

    def decode(self, llr):
        """The codewords decided for, as LLRs of +-1, which say nothing of how sure they are.

        Args:
            llr: as for :meth:`decide`.

        Returns:
            (n, num_bits) float32, those of erased codewords 0.

        Raises:
            ValueError: llr is no such array.
        """
        bits = self.decide(llr)
        words = self._code.encode(np.pad(bits, ((0, 0), (0, TAIL))))
        posterior = np.float32(2) * words - np.float32(1)
        posterior[~self.found] = 0
        return posterior
