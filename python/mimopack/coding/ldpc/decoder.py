# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decoder for all low-density parity-check codes."""

from functools import partial

import numpy as np

from ... import _core, reference
from ...arrays import is_device_array
from ...checks import choice, instruction_set, number, positive
from ..backend_decoder import PRECISIONS, SoftDecoder
from .parity_checks import Prototype

ALGORITHMS = ("normalized", "offset", "min-star", "sum-product")
MOST_BLOCKS = 32    # in a block row, with precision "int16"


class LdpcDecoder(SoftDecoder):
    """Layered soft-output decoder for batches of codewords.

    The decoder processes the checks one after another; each check uses the results of the checks
    before it (D. E. Hocevar, IEEE SiPS 2004). A check's message to a bit is a sign times a
    magnitude; the sign is the product of the signs of the check's other bits. With "normalized"
    the magnitude is the smallest magnitude of the other bits, times ``factor``. With "offset" it is
    this smallest magnitude minus ``offset``, at least 0 (J. Chen, M. P. C. Fossorier, IEEE Trans.
    Commun. 50(3), 2002). "min-star" is nearly the exact message: it combines all magnitudes, with a
    piecewise linear correction of at most ``offset``, and sends one magnitude to all bits but the
    least certain one (C. Jones, E. Valles, M. Smith, J. Villasenor, MILCOM 2003). "sum-product"
    computes the exact message, for comparisons (reference backend only).

    A codeword is ``found`` if the signs of its LLRs satisfy all checks.

    Args:
        code: a parity-check matrix: an object with num_bits, num_checks and checks().
        algorithm, factor, offset: see above. Among factors from 0.7 to 1, the factors 0.75 and 0.8
            gave the fewest wrong codewords with the codes of 802.16e and 802.11n. With 0.75, the
            code of rate 1/2 of 802.16e kept a few wrong bits at 2 dB. At rates up to 1/2, 5G NR
            gains 0.2 to 0.4 dB from "offset", which requires correctly scaled LLRs. "offset" is the
            default for codes named ``nr_matched`` (docs/coding.md).
        precision: number format on the CPU. "int16" is for codes made of circulant blocks, whose
            lanes are the checks of a block row: a codeword takes all lanes. It is about twice as
            fast as "float32" in large batches, and more in small ones. LLRs are rounded to 1/64 of
            their mean magnitude, which loses no more blocks.
        iterations, early_stop, keep_messages, backend, device, threads: see
            :class:`coding.SoftDecoder`. Results on a GPU differ from the CPU's only by rounding.
        isa: CPU instruction set, as for :class:`detectors.Detector`.
    """

    def __init__(self, code, iterations=20, algorithm="normalized", factor=0.8, offset=0.5,
                 early_stop=True, keep_messages=False, precision="float32", backend="auto",
                 device=0, threads=0, isa="auto"):
        self._code = code
        self.precision = choice("precision", precision, PRECISIONS)
        if precision == "int16" and (keep_messages or not isinstance(code, Prototype)
                                     or (code.shifts >= 0).sum(axis=1).max() > MOST_BLOCKS):
            raise ValueError("precision: got 'int16', must be 'float32' unless the code is a "
                             f"Prototype with at most {MOST_BLOCKS} blocks in a row, and "
                             "keep_messages is False")
        self._rows, self._columns = (np.asarray(places) for places in code.checks())
        self.factor = positive("factor", factor)
        self.offset = number("offset", offset)
        if not 0 <= self.offset < np.inf:
            raise ValueError(f"offset: got {offset}, must be finite and not negative")
        # factor, offset and whether the rule is min-star
        self._rule = ((self.factor, 0.0, False) if algorithm == "normalized"
                      else (1.0, self.offset, algorithm == "min-star"))
        super().__init__(code.num_bits, len(self._columns), algorithm, ALGORITHMS, iterations,
                         early_stop, keep_messages, backend, device, threads,
                         may_copy=precision != "int16")
        rule = {**dict(zip(("factor", "offset", "min_star"), self._rule, strict=True)),
                "early_stop": self.early_stop, "isa": instruction_set(isa)}
        if self.precision == "int16":
            row, column = np.nonzero(code.shifts >= 0)
            self._core = _core.quasi_cyclic_decoder(
                size=code.size, columns=code.shifts.shape[1], first=_starts(row),
                column=column.tolist(), shift=code.shifts[row, column].tolist(), **rule)
        else:
            self._core = _core.ldpc_decoder(
                num_bits=code.num_bits, first=_starts(self._rows), columns=self._columns.tolist(),
                **rule)

    def _decide(self, llr):
        if (self.precision != "int16" or self.backend not in ("auto", "cpu")
                or is_device_array(llr)):
            return super()._decide(llr)
        # Without LLRs, which would be written and read once more
        bits, self.found, self.iterations_taken, self.erasure_count = self._core.decide(
            llr, most=self.iterations, threads=self.threads)
        self.last_backend = "cpu"
        return bits

    def _reference(self, llr, messages):
        factor, offset, _ = self._rule
        check = {"sum-product": reference.sum_product,
                 "min-star": partial(reference.min_star, offset=offset)}.get(
            self.algorithm, partial(reference.min_sum, factor=factor, offset=offset))
        return reference.ldpc(llr, self._rows, self._columns, check, self.iterations,
                              self.early_stop, messages)

    def _program(self):
        from ...cuda.ldpc import LdpcProgram

        return LdpcProgram(self._code, *self._rule, self.early_stop, self.device)


def _starts(rows):
    """Return where each row that occurs begins in sorted numbers of rows, and their count."""
    return [*np.flatnonzero(np.diff(rows, prepend=-1)).tolist(), len(rows)]
