# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decoder for any low-density parity-check code."""

from functools import partial

import numpy as np

from ... import _core, reference
from ...checks import choice, number, positive
from ..soft_decoder import SoftDecoder

ALGORITHMS = ("normalized", "offset", "sum-product")


class LdpcDecoder(SoftDecoder):
    """Layered decoder with soft output for batches of codewords.

    The checks come one after another, each with what those before it have found (D. E. Hocevar,
    IEEE SiPS 2004). A check tells each of its bits the least magnitude of the others, times
    ``factor`` ("normalized") or less ``offset`` ("offset"; J. Chen, M. P. C. Fossorier, IEEE
    Trans. Commun. 50(3), 2002), with the product of their signs; "sum-product" is exact, and for
    comparisons: the reference backend has it.

    An object serves one thread at a time.

    Args:
        code: a parity-check matrix, with num_bits, num_checks and checks().
        iterations: at most.
        algorithm, factor, offset: see above. Of factors from 0.7 to 1 codes of 802.16e and 802.11n
            lost the fewest codewords with 0.75 or 0.8; with 0.75 rate 1/2 of 802.16e kept a few
            wrong bits at 2 dB. 5G NR at rates up to 1/2 gains 0.2 to 0.4 dB by the offset, which
            wants LLRs of the right size; names with ``nr_matched`` take it (docs/coding.md).
        early_stop: whether each codeword ends when all its checks hold.
        keep_messages: whether the next call goes on from the messages of the last one, as
            iterative receivers do, while it has as many codewords; ``reset`` forgets them.
        backend: "cpu" (float32, all instruction sets), "cuda" (float32, the same but for rounding),
            "auto" (``backends``; with keep_messages the CPU takes arrays of the host) or
            "reference" (NumPy, float64).
        device: number of the GPU.
        threads: of the CPU, 0 takes all cores.
        isa: as for detectors.

    Attributes, of the last ``decode``, CuPy arrays where it gave one:
        found: (n,) bool, whether the signs of a codeword's LLRs satisfy all checks.
        iterations_taken: (n,) int32.
    """

    def __init__(self, code, iterations=20, algorithm="normalized", factor=0.8, offset=0.5,
                 early_stop=True, keep_messages=False, backend="auto", device=0, threads=0,
                 isa="auto"):
        self._code = code
        self._rows, self._columns = (np.asarray(of) for of in code.checks())
        super().__init__(code.num_bits, len(self._columns), iterations, early_stop, keep_messages,
                         backend, device, threads)
        self.algorithm = choice("algorithm", algorithm, ALGORITHMS)
        self.factor = positive("factor", factor)
        self.offset = number("offset", offset)
        if not 0 <= self.offset < np.inf:
            raise ValueError(f"offset: got {offset}, must be finite and not negative")
        if algorithm == "sum-product" and backend != "reference":
            raise ValueError(f"algorithm: got 'sum-product' with backend {backend!r}, allowed are "
                             "normalized, offset, or backend='reference'")
        self._rule = (self.factor, 0.0) if algorithm == "normalized" else (1.0, self.offset)
        self._isa = isa
        self._begin()

    def _make_core(self):
        counts = np.bincount(self._rows, minlength=self._code.num_checks)
        first = np.concatenate([[0], np.cumsum(counts[counts > 0])])
        return _core.LdpcDecoder(num_bits=self.num_bits, first=first.tolist(),
                                 columns=self._columns.tolist(), isa=self._isa)

    def _core_options(self):
        factor, offset = self._rule
        return {"factor": factor, "offset": offset}

    def _reference(self, llr, messages):
        check = (reference.sum_product if self.algorithm == "sum-product"
                 else partial(reference.min_sum, factor=self._rule[0], offset=self._rule[1]))
        return reference.ldpc(llr, self._rows, self._columns, check, self.iterations,
                              self.early_stop, messages)

    def _program(self):
        from ...cuda.ldpc import LdpcProgram

        return LdpcProgram(self._code, *self._rule, self.early_stop, self.device)
