# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decoder for any low-density parity-check code."""

from functools import partial

import numpy as np

from ... import _core, reference
from ...checks import array, choice, flag, integer, number, positive

BACKENDS = ("cpu", "reference")
ALGORITHMS = ("normalized", "offset", "sum-product")


class LdpcDecoder:
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
            wrong bits at 2 dB. For 5G NR at a low rate 0.7 was best.
        early_stop: whether each codeword ends when all its checks hold.
        keep_messages: whether the next call goes on from the messages of the last one, as
            iterative receivers do, while it has as many codewords; ``reset`` forgets them.
        backend: "cpu" (float32, all instruction sets) or "reference" (NumPy, float64).
        threads: of the CPU, 0 takes all cores.
        isa: as for detectors.

    Attributes, of the last ``decode``:
        found: (n,) bool, whether the signs of a codeword's LLRs satisfy all checks.
        iterations_taken: (n,) int32.
        erasures: how many codewords had an LLR that is NaN or infinite, or only zeros; their
            LLRs are 0.
    """

    def __init__(self, code, iterations=20, algorithm="normalized", factor=0.8, offset=0.5,
                 early_stop=True, keep_messages=False, backend="cpu", threads=0, isa="auto"):
        self.num_bits = code.num_bits
        self.iterations = integer("iterations", iterations, 1, 10_000)
        self.algorithm = choice("algorithm", algorithm, ALGORITHMS)
        self.factor = positive("factor", factor)
        self.offset = number("offset", offset)
        if not 0 <= self.offset < np.inf:
            raise ValueError(f"offset: got {offset}, must be finite and not negative")
        self.early_stop = flag("early_stop", early_stop)
        self.keep_messages = flag("keep_messages", keep_messages)
        self.backend = choice("backend", backend, BACKENDS)
        if algorithm == "sum-product" and backend != "reference":
            raise ValueError(f"algorithm: got 'sum-product' with backend {backend!r}, allowed are "
                             "normalized, offset, or backend='reference'")
        self.threads = integer("threads", threads, 0, 1024)
        self._rows, self._columns = (np.asarray(of) for of in code.checks())
        counts = np.bincount(self._rows, minlength=code.num_checks)
        self._core = None
        if self.backend == "cpu":
            first = np.concatenate([[0], np.cumsum(counts[counts > 0])])
            self._core = _core.LdpcDecoder(num_bits=code.num_bits, first=first.tolist(),
                                           columns=self._columns.tolist(), isa=isa)
        self.reset()
        self.found, self.iterations_taken = np.zeros(0, bool), np.zeros(0, np.int32)
        self.erasures = 0

    def reset(self):
        """Forgets kept messages: the next call begins anew."""
        self._messages = None

    def decode(self, llr, out=None):
        """A-posteriori LLRs of all bits; the extrinsic ones are ``decode(llr) - llr``.

        Args:
            llr: (n, num_bits) float32, ln P(1)/P(0), C-contiguous; 0 for punctured bits.
            out: (n, num_bits) float32; made if None.

        Returns:
            out

        Raises:
            ValueError: an argument is not as above.
        """
        llr = array("llr", llr, np.float32, ("n", self.num_bits))
        n = len(llr)
        if out is None:
            out = np.empty_like(llr)
        out = array("out", out, np.float32, llr.shape)
        if self._core:
            return self._decode(llr, out)
        self.found, self.iterations_taken = np.zeros(n, bool), np.zeros(n, np.int32)
        usable = np.all(np.isfinite(llr), axis=1) & np.any(llr, axis=1)
        self.erasures = n - int(np.count_nonzero(usable))
        check = {"normalized": partial(reference.min_sum, factor=self.factor),
                 "offset": partial(reference.min_sum, offset=self.offset),
                 "sum-product": reference.sum_product}[self.algorithm]
        messages = self._kept(n, (n, len(self._columns)), float)
        out[~usable] = 0
        for i in np.flatnonzero(usable):
            out[i], messages[i], self.found[i], self.iterations_taken[i] = reference.ldpc(
                llr[i], self._rows, self._columns, check, self.iterations, self.early_stop,
                messages[i])
        return out

    def _decode(self, llr, out):
        n = len(llr)
        found, taken = np.zeros(n, np.uint8), np.zeros(n, np.int32)
        messages = (self._kept(n, self._core.num_messages(n), np.float32)
                    if self.keep_messages else None)
        normalized = self.algorithm == "normalized"
        self.erasures = self._core.decode(
            llr, out, messages, found, taken, most=self.iterations,
            factor=self.factor if normalized else 1.0, offset=0.0 if normalized else self.offset,
            early_stop=self.early_stop, threads=self.threads)
        self.found, self.iterations_taken = found.astype(bool), taken
        return out

    def _kept(self, n, shape, dtype):
        """Messages of the last call, or zeros."""
        if not self.keep_messages or self._messages is None or self._messages[0] != n:
            self._messages = n, np.zeros(shape, dtype)
        return self._messages[1]
