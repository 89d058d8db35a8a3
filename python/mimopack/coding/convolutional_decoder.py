# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Soft-output decoder for the convolutional code of IEEE 802.11."""

import numpy as np

from .. import _core, reference
from ..checks import choice, instruction_set, number
from .backend_decoder import PATH_METRICS, PRECISIONS, SoftDecoder
from .convolutional import GENERATORS, PUNCTURING, ConvolutionalEncoder

MARGIN = 16.0    # default of margin
LARGEST = 1e4    # magnitude of input LLRs


class ConvolutionalDecoder(SoftDecoder):
    """Soft-output decoder for batches of codewords of :class:`ConvolutionalEncoder`.

    The algorithm is that of L. R. Bahl, J. Cocke, F. Jelinek and J. Raviv (IEEE Trans. Inf. Theory
    20(2), 1974). "log-map" sums over all paths; "max-log" takes the best path instead (P.
    Robertson, E. Villebrun, P. Hoeher, ICC 1995), and its decisions equal those of the Viterbi
    algorithm. The input LLRs of the information bits are a-priori LLRs: 0 if nothing is known about
    a bit.

    The code has no parity checks to verify. Instead, ``found`` is True if the a-posteriori LLRs of
    all information bits exceed margin in magnitude: the best codeword is then at least e^margin
    times as likely as any other. With calibrated LLRs, about e^-margin of the found codewords are
    wrong.

    LLRs are clipped to +-10^4.

    Args:
        num_info, rate: see :class:`ConvolutionalEncoder`.
        iterations: has no effect, because the decoder does not iterate. Blocks and receivers set it
            for every decoder.
        algorithm: "max-log", or "log-map" for comparisons (reference backend only).
        margin: see above; 0 or more.
        precision: number format on the CPU. "int16" has twice as many SIMD lanes as "float32". The
            LLRs of a codeword are then rounded to multiples of 1/32 of the mean magnitude of its
            nonzero LLRs, and clipped to 8 times the mean.
        backend, device, threads: see :class:`SoftDecoder`.
        isa: CPU instruction set, as for :class:`detectors.Detector`.
    """

    def __init__(self, num_info, rate="1/2", iterations=1, algorithm="max-log", margin=MARGIN,
                 precision="float32", backend="auto", device=0, threads=0, isa="auto"):
        code = ConvolutionalEncoder(num_info, rate)
        self.num_info, self.rate = code.num_info, rate
        self.precision = choice("precision", precision, PRECISIONS)
        self.margin = number("margin", margin)
        if not 0 <= self.margin < np.inf:
            raise ValueError(f"margin: got {margin}, allowed are numbers from 0")
        super().__init__(code.num_bits, 0, algorithm, tuple(PATH_METRICS), iterations,
                         early_stop=False, keep_messages=False, backend=backend, device=device,
                         threads=threads, may_copy=precision != "int16")
        self._core = _core.convolutional_decoder(
            num_info=self.num_info, rate=rate, margin=self.margin, int16=precision == "int16",
            isa=instruction_set(isa))

    def _reference(self, llr, messages):
        size, llr = self.num_info, np.clip(llr, -LARGEST, LARGEST)
        parts = reference.bcjr(llr[:, :size], llr[:, size:], PUNCTURING[self.rate], GENERATORS,
                               PATH_METRICS[self.algorithm])
        found = np.all(np.abs(parts[0]) > self.margin, axis=1)
        return np.hstack(parts), messages, found, 1

    def _program(self):
        from ..cuda.convolutional import ConvolutionalProgram

        return ConvolutionalProgram(self.num_info, self.num_bits, PUNCTURING[self.rate],
                                    self.margin, self.device)
