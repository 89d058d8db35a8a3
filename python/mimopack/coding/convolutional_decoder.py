# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decoder with soft output of IEEE 802.11's convolutional code."""

import numpy as np

from .. import _core, reference
from ..checks import choice, number
from .convolutional import GENERATORS, PUNCTURING, ConvolutionalEncoder
from .soft_decoder import SoftDecoder

PRECISIONS = ("float32", "int16")
ALGORITHMS = {"max-log": np.maximum, "log-map": np.logaddexp}
MARGIN = 16.0
LARGEST = 1e4    # of the LLRs that come in


class ConvolutionalDecoder(SoftDecoder):
    """Decoder with soft output for batches of codewords of :class:`ConvolutionalEncoder`.

    It is that of L. R. Bahl, J. Cocke, F. Jelinek and J. Raviv (IEEE Trans. Inf. Theory 20(2),
    1974). "max-log" takes the best path where "log-map" sums over all (P. Robertson, E. Villebrun,
    P. Hoeher, ICC 1995); its decisions are the Viterbi algorithm's. The LLRs of information bits
    that come in are a-priori ones: 0 where nothing is known of them.

    The code has no checks. ``found`` says instead that the best codeword is e^margin times as
    likely as any other: the least a-posteriori LLR of an information bit is that ratio's logarithm.
    With calibrated LLRs about e^-margin of those that are found are wrong.

    An object serves one thread at a time. LLRs beyond +-10^4 count as that.

    Args:
        num_info, rate: as of :class:`ConvolutionalEncoder`.
        iterations: of no effect, as one is all there is; blocks and receivers set it.
        algorithm: "max-log", or "log-map" for comparisons: the reference backend has it.
        margin: see above; 0 or more.
        precision: of the CPU. "int16" has twice the lanes of "float32". A codeword's LLRs then
            become multiples of 1/32 of their mean magnitude (of those that are not 0), up to 8
            times the mean.
        backend: "cpu" (all instruction sets), "cuda" (float32), "auto" (``backends``; with
            precision "int16" the CPU takes arrays of the host) or "reference" (NumPy, float64).
        device: number of the GPU.
        threads: of the CPU, 0 takes all cores.
        isa: as for detectors.

    Attributes, of the last ``decode``; CuPy arrays where it gave one:
        found: (n,) bool, see above.
        iterations_taken: (n,) int32: 1, or 0 of erased codewords.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, num_info, rate="1/2", iterations=1, algorithm="max-log", margin=MARGIN,
                 precision="float32", backend="auto", device=0, threads=0, isa="auto"):
        code = ConvolutionalEncoder(num_info, rate)
        self.num_info, self.rate = code.num_info, rate
        super().__init__(code.num_bits, 0, iterations, early_stop=False, keep_messages=False,
                         backend=backend, device=device, threads=threads,
                         measures=precision != "int16")
        self.algorithm = choice("algorithm", algorithm, ALGORITHMS)
        self.precision = choice("precision", precision, PRECISIONS)
        self.margin = number("margin", margin)
        if not 0 <= self.margin < np.inf:
            raise ValueError(f"margin: got {margin}, allowed are numbers from 0")
        if algorithm == "log-map" and backend != "reference":
            raise ValueError(f"algorithm: got 'log-map' with backend {backend!r}, allowed is "
                             "max-log, or backend='reference'")
        self._isa = isa
        self._begin()

    def configuration(self):
        return {**super().configuration(), "precision": self.precision}

    def _make_core(self):
        return _core.ConvolutionalDecoder(
            num_info=self.num_info, rate=self.rate, margin=self.margin,
            int16=self.precision == "int16", isa=self._isa)

    def _core_options(self):
        return {}

    def _reference(self, llr, messages):
        size, llr = self.num_info, np.clip(llr, -LARGEST, LARGEST)
        parts = reference.bcjr(llr[:, :size], llr[:, size:], PUNCTURING[self.rate], GENERATORS,
                               ALGORITHMS[self.algorithm])
        found = np.all(np.abs(parts[0]) > self.margin, axis=1)
        return np.hstack(parts), messages, found, 1

    def _program(self):
        from ..cuda.convolutional import ConvolutionalProgram

        return ConvolutionalProgram(self.num_info, self.num_bits, PUNCTURING[self.rate],
                                    self.margin, self.device)
