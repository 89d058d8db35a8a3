# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Viterbi decoder for codewords of one length."""

import numpy as np

from .backend_decoder import BackendDecoder
from .convolutional import PUNCTURING, TAIL, ConvolutionalCode, ConvolutionalEncoder
from .decoder import HardDecoder

BACKENDS = ("auto", "cpu", "cuda")


class ViterbiDecoder(BackendDecoder, HardDecoder):
    """Viterbi decoder for codewords of one length, with the interface of the soft decoders.

    The LLRs that ``decode`` returns are +-1, and express no confidence. ``decide`` returns only the
    decisions on the information bits, 0 for erased codewords.

    It runs the Viterbi decoder of :class:`ConvolutionalCode`. It is several times as fast as a soft
    decoder, but gives only decisions. On a GPU the LLRs are not rounded, but clipped to +-10^4. A
    decoder is not thread-safe.

    Args:
        num_info, rate: see :class:`ConvolutionalEncoder`.
        iterations: has no effect, because the decoder does not iterate.
        backend: "cpu", "cuda" or "auto", see ``backends``.
        threads: number of CPU threads; 0 takes all cores.
        isa: CPU instruction set, as for :class:`detectors.Detector`.
        device: index of the GPU.

    Attributes, set by ``decode`` and ``decide``:
        bits: (n, num_info) uint8, the decisions on the information bits.
        found: (n,) bool, True except for erased codewords, because any decision is a codeword.
        iterations_taken: (n,) int32: 1, or 0 for erased codewords.
    """

    def __init__(self, num_info, rate="1/2", iterations=1, backend="auto", threads=0, isa="auto",
                 device=0):
        self.num_info = ConvolutionalEncoder(num_info, rate).num_info
        self._code = ConvolutionalCode(rate, isa)
        self.num_bits = self._code.coded_length(self.num_info + TAIL)
        self.bits = self._output(0)
        super().__init__(iterations, backend, device, threads, BACKENDS)

    @property
    def isa(self):
        """The decoder's instruction set on the CPU."""
        return self._code.isa

    def _decide(self, llr):
        self.bits = super()._decode(llr)
        return self.bits

    def _output(self, n):
        return np.empty((n, self.num_info), np.uint8)

    def _on_cpu(self, llr):
        """Decode host arrays on the CPU."""
        usable = np.isfinite(llr).all(axis=1) & llr.any(axis=1)
        bits = self._code.decode_batch(llr.ravel(), np.full(len(llr), self.num_info), self.threads)
        bits = bits.reshape(len(llr), self.num_info)
        bits[~usable] = 0
        self.found, self.iterations_taken = usable, usable.astype(np.int32)
        self.erasure_count = len(llr) - int(usable.sum())
        return bits

    def _decode(self, llr):
        bits = self._decide(llr)
        if self._is_on_gpu(llr):
            return self._gpu.encode(bits, self.found)
        words = self._code.encode(np.pad(bits, ((0, 0), (0, TAIL))))
        posterior = np.float32(2) * words - np.float32(1)
        posterior[~self.found] = 0
        return posterior

    def _program(self):
        from ..cuda.viterbi import ViterbiProgram

        return ViterbiProgram(self.num_info, self.num_bits, PUNCTURING[self._code.rate],
                              self.device)
