# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decoder of the LTE turbo code."""

import numpy as np

from ... import _core, reference
from ...checks import choice, positive
from ..soft_decoder import SoftDecoder
from .interleaver import NUM_TAIL, qpp_coefficients, qpp_interleaver, turbo_size

PRECISIONS = ("float32", "int16")
ALGORITHMS = {"max-log": np.maximum, "log-map": np.logaddexp}


class TurboDecoder(SoftDecoder):
    """Iterative decoder with soft output for batches of codewords of :class:`TurboEncoder`.

    An iteration decodes the first constituent code, then the second, each by the algorithm of Bahl,
    Cocke, Jelinek and Raviv with what the other has found as a-priori LLRs (C. Berrou, A. Glavieux,
    IEEE Trans. Commun. 44(10), 1996). "max-log" takes the best path where "log-map" sums over all
    (P. Robertson, E. Villebrun, P. Hoeher, ICC 1995); what it finds is too sure of itself and is
    multiplied by ``extrinsic_scale`` (J. Vogt, A. Finger, Electronics Letters 36(23), 2000).

    An object serves one thread at a time. LLRs beyond +-10^4 count as that.

    Args:
        size: K, one of TURBO_SIZES.
        iterations: at most.
        algorithm: "max-log", or "log-map" for comparisons: the reference backend has it.
        extrinsic_scale: see above.
        early_stop: whether each codeword ends when after an iteration both constituent decoders
            decide for the same information bits. That says nothing of a transport block's CRC.
        keep_messages: whether the next call goes on from what the second constituent decoder of
            the last one has found, as iterative receivers do, while it has as many codewords;
            ``reset`` forgets it.
        precision: of the CPU. "int16" has twice the lanes of "float32" and is about twice as fast.
            A codeword's LLRs then become multiples of 1/32 of their mean magnitude (of those that
            are not 0), up to 8 times the mean, extrinsic ones up to 16 times: bits that are known
            must not be given LLRs far beyond the others'.
        backend: "cpu" (all instruction sets), "cuda" (float32), "auto" (``backends``; with
            keep_messages or precision "int16" the CPU takes arrays of the host) or "reference"
            (NumPy, float64). A GPU's threads share a codeword, windows of 48 bits and more; what a
            window does not know of its neighbours it has from the iteration before, which is as
            good, but no result is the CPU's to the bit.
        device: number of the GPU.
        threads: of the CPU, 0 takes all cores.
        isa: as for detectors.

    Attributes, of the last ``decode``, whose output has parity and tail bits too, each from its
    constituent decoder's last turn; CuPy arrays where it gave one:
        found: (n,) bool, whether both constituent decoders decide for the same bits.
        iterations_taken: (n,) int32.
    """

    def __init__(self, size, iterations=6, algorithm="max-log", extrinsic_scale=0.75,
                 early_stop=True, keep_messages=False, precision="float32", backend="auto",
                 device=0, threads=0, isa="auto"):
        self.size = turbo_size(size)
        super().__init__(3 * (size + NUM_TAIL + 1), size, iterations, early_stop, keep_messages,
                         backend, device, threads, measures=precision != "int16")
        self.algorithm = choice("algorithm", algorithm, ALGORITHMS)
        self.extrinsic_scale = positive("extrinsic_scale", extrinsic_scale)
        self._interleaver = qpp_interleaver(size)
        if algorithm == "log-map" and backend != "reference":
            raise ValueError(f"algorithm: got 'log-map' with backend {backend!r}, allowed is "
                             "max-log, or backend='reference'")
        self.precision = choice("precision", precision, PRECISIONS)
        if precision == "int16" and not self.extrinsic_scale <= 1:
            raise ValueError(f"extrinsic_scale: got {extrinsic_scale}, allowed with "
                             "precision='int16' are numbers up to 1")
        self._isa = isa
        self._begin()

    def configuration(self):
        return {**super().configuration(), "precision": self.precision}

    def _make_core(self):
        return _core.TurboDecoder(interleaver=self._interleaver.tolist(),
                                  int16=self.precision == "int16", isa=self._isa)

    def _core_options(self):
        return {"scale": self.extrinsic_scale}

    def _reference(self, llr, messages):
        return reference.turbo(llr, self._interleaver, ALGORITHMS[self.algorithm], self.iterations,
                               self.extrinsic_scale, self.early_stop, messages)

    def _program(self):
        from ...cuda.turbo import TurboProgram

        return TurboProgram(self.size, qpp_coefficients(self.size), self.extrinsic_scale,
                            self.early_stop, self.device)
