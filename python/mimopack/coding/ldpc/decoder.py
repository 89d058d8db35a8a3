# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decoder for any low-density parity-check code."""

from functools import partial

import numpy as np

from ... import _core, reference
from ...checks import array, choice, flag, integer, number, positive
from ...cuda import is_device_array

BACKENDS = ("auto", "cuda", "cpu", "reference")
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
        backend: "cpu" (float32, all instruction sets), "cuda" (float32, the same results), "auto"
            (arrays of a GPU there, those of the host on the CPU) or "reference" (NumPy, float64).
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
        self._rule = (self.factor, 0.0) if algorithm == "normalized" else (1.0, self.offset)
        self.device = integer("device", device, 0, 1023)
        self.threads = integer("threads", threads, 0, 1024)
        self._code = code
        self._rows, self._columns = (np.asarray(of) for of in code.checks())
        counts = np.bincount(self._rows, minlength=code.num_checks)
        self._core = None
        if self.backend in ("auto", "cpu"):
            first = np.concatenate([[0], np.cumsum(counts[counts > 0])])
            self._core = _core.LdpcDecoder(num_bits=code.num_bits, first=first.tolist(),
                                           columns=self._columns.tolist(), isa=isa)
        self._gpu = self._program() if self.backend == "cuda" else None
        self.reset()
        self.found, self.iterations_taken = np.zeros(0, bool), np.zeros(0, np.int32)
        self._erased = 0

    @property
    def erasures(self):
        """How many codewords of the last ``decode`` had an LLR that is NaN or infinite, or only
        zeros; their LLRs are 0. Waits for the GPU where it has to."""
        return int(self._erased)

    def reset(self):
        """Forgets kept messages: the next call begins anew."""
        self._messages = None

    def decode(self, llr, out=None):
        """A-posteriori LLRs of all bits; the extrinsic ones are ``decode(llr) - llr``.

        Args:
            llr: (n, num_bits) float32, ln P(1)/P(0), C-contiguous; 0 for punctured bits. With
                backends "cuda" and "auto" arrays may be CuPy's: it then works on the current
                stream, without waiting, and returns one.
            out: (n, num_bits) float32; made if None.

        Returns:
            out

        Raises:
            ValueError: an argument is not as above.
            Exception: what CuPy raises where a GPU fails.
        """
        on_gpu = self.backend in ("auto", "cuda") and is_device_array(llr)
        gpu = self.device if on_gpu else None
        llr = array("llr", llr, np.float32, ("n", self.num_bits), gpu)
        n = len(llr)
        if out is not None:
            out = array("out", out, np.float32, llr.shape, gpu)
        if on_gpu:
            return self._decode_there(llr, out)
        if out is None:
            out = np.empty_like(llr)
        if self.backend == "cuda":
            return self._send(llr, out)
        if self._core:
            return self._decode(llr, out)
        self.found, self.iterations_taken = np.zeros(n, bool), np.zeros(n, np.int32)
        usable = np.all(np.isfinite(llr), axis=1) & np.any(llr, axis=1)
        self._erased = n - int(np.count_nonzero(usable))
        check = (reference.sum_product if self.algorithm == "sum-product"
                 else partial(reference.min_sum, factor=self._rule[0], offset=self._rule[1]))
        messages = self._kept(n, np.zeros, (n, len(self._columns)))
        out[~usable] = 0
        for i in np.flatnonzero(usable):
            out[i], messages[i], self.found[i], self.iterations_taken[i] = reference.ldpc(
                llr[i], self._rows, self._columns, check, self.iterations, self.early_stop,
                messages[i])
        return out

    def _decode(self, llr, out):
        n = len(llr)
        found, taken = np.zeros(n, np.uint8), np.zeros(n, np.int32)
        messages = (self._kept(n, np.zeros, self._core.num_messages(n), np.float32)
                    if self.keep_messages else None)
        factor, offset = self._rule
        self._erased = self._core.decode(
            llr, out, messages, found, taken, most=self.iterations,
            factor=factor, offset=offset, early_stop=self.early_stop, threads=self.threads)
        self.found, self.iterations_taken = found.astype(bool), taken
        return out

    def _decode_there(self, llr, out):
        """Arrays of the GPU."""
        self._gpu = self._gpu or self._program()
        n = len(llr)
        messages = self._kept(n, self._gpu.messages, n) if self.keep_messages else None
        out, self.found, self.iterations_taken, self._erased = self._gpu.decode(
            llr, out, messages, self.iterations)
        return out

    def _send(self, llr, out):
        """Arrays of the host to the GPU and back."""
        self._decode_there(self._gpu.to_device(llr), None).get(out=out)
        self.found, self.iterations_taken = self.found.get(), self.iterations_taken.get()
        return out

    def _program(self):
        from ...cuda.ldpc import LdpcProgram

        return LdpcProgram(self._code, *self._rule, self.early_stop, self.device)

    def _kept(self, n, zeros, *shape):
        """Messages of the last call, or zeros; those of the host and of a GPU differ in form."""
        if (not self.keep_messages or self._messages is None
                or self._messages[:2] != (n, zeros)):
            self._messages = n, zeros, zeros(*shape)
        return self._messages[2]
