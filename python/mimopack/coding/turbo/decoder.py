# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decoder for the LTE turbo code."""

from ... import _core, reference
from ...checks import choice, instruction_set, positive
from ..backend_decoder import PATH_METRICS, PRECISIONS, SoftDecoder
from .interleaver import NUM_TAIL, qpp_coefficients, qpp_interleaver, turbo_size


class TurboDecoder(SoftDecoder):
    """Iterative soft-output decoder for batches of codewords of :class:`TurboEncoder`.

    An iteration decodes the first constituent code, then the second, with the algorithm of Bahl,
    Cocke, Jelinek and Raviv. Each constituent decoder takes the extrinsic LLRs of the other as
    a-priori LLRs (C. Berrou, A. Glavieux, IEEE Trans. Commun. 44(10), 1996). "log-map" sums over
    all paths; "max-log" takes the best path instead (P. Robertson, E. Villebrun, P. Hoeher, ICC
    1995). The extrinsic LLRs of "max-log" are too large and are multiplied by ``extrinsic_scale``
    (J. Vogt, A. Finger, Electronics Letters 36(23), 2000).

    A codeword is ``found`` if, after an iteration, both constituent decoders decide for the same
    information bits. This does not imply a correct CRC of the transport block. ``decode`` also
    returns LLRs of parity and tail bits, each from the last run of its constituent decoder. LLRs
    are clipped to +-10^4.

    On a GPU several threads share a codeword; each processes a window of at least 48 bits and takes
    its neighbours' path metrics from the previous iteration. The results are as good as the CPU's,
    but not identical.

    Args:
        size: K, one of TURBO_SIZES.
        algorithm: "max-log", or "log-map" for comparisons (reference backend only).
        extrinsic_scale: factor for the extrinsic LLRs, see above.
        keep_messages: see :class:`coding.SoftDecoder`; the messages are the extrinsic LLRs that the
            second constituent decoder found.
        precision: number format on the CPU. "int16" has twice as many SIMD lanes as "float32" and
            is about twice as fast. The LLRs of a codeword are then rounded to multiples of 1/32 of
            the mean magnitude of its nonzero LLRs. Input LLRs are clipped to 8 times the mean,
            extrinsic LLRs to 16 times the mean. Known bits must therefore not have LLRs far larger
            than the others.
        iterations, early_stop, backend, device, threads: see :class:`coding.SoftDecoder`.
        isa: CPU instruction set, as for :class:`detectors.Detector`.
    """

    def __init__(self, size, iterations=6, algorithm="max-log", extrinsic_scale=0.75,
                 early_stop=True, keep_messages=False, precision="float32", backend="auto",
                 device=0, threads=0, isa="auto"):
        self.size = turbo_size(size)
        self.precision = choice("precision", precision, PRECISIONS)
        self.extrinsic_scale = positive("extrinsic_scale", extrinsic_scale)
        if precision == "int16" and self.extrinsic_scale > 1:
            raise ValueError(f"extrinsic_scale: got {extrinsic_scale}, allowed with "
                             "precision='int16' are numbers up to 1")
        self._interleaver = qpp_interleaver(size)
        super().__init__(3 * (size + NUM_TAIL + 1), size, algorithm, tuple(PATH_METRICS),
                         iterations, early_stop, keep_messages, backend, device, threads,
                         may_copy=precision != "int16")
        self._core = _core.turbo_decoder(
            interleaver=self._interleaver.tolist(), scale=self.extrinsic_scale,
            early_stop=self.early_stop, int16=precision == "int16", isa=instruction_set(isa))

    def _reference(self, llr, messages):
        return reference.turbo(llr, self._interleaver, PATH_METRICS[self.algorithm],
                               self.iterations, self.extrinsic_scale, self.early_stop, messages)

    def _program(self):
        from ...cuda.turbo import TurboProgram

        return TurboProgram(self.size, qpp_coefficients(self.size), self.extrinsic_scale,
                            self.early_stop, self.device)
