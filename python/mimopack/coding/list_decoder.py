# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""List decoding around any iterative decoder."""

import numpy as np

from ..arrays import array_module
from ..checks import flag, integer
from .decoder import DecoderAround

# Number of candidates per call of the decoder: enough to fill its SIMD lanes, few enough for
# memory.
_LANES = 4096
_MOST_BITS = 10


class ListDecoder(DecoderAround):
    """List decoder: decodes failed codewords again, with doubtful bits fixed to 0 and to 1.

    For each codeword that is not found, the decoder takes the most doubtful bit and decodes two
    candidates: one with this bit fixed to 0, one with the bit fixed to 1. If neither is found, each
    candidate splits in the same way at its own most doubtful bit, up to ``list_bits`` times. The
    candidates form a tree (N. Varnica, M. P. C. Fossorier, A. Kavcic, IEEE Trans. Commun. 55(7),
    2007); each level of the tree is decoded as one batch. The search for a codeword ends at the
    first level with found candidates. Its result is the found candidate that fits the LLRs best,
    which has the greatest sum of LLRs over its ones. If no candidate is found, the first decision
    stays.

    The most doubtful bit is the one with the smallest |posterior| - |extrinsic| / 2: the rest of
    the codeword gives strong evidence about this bit, and this evidence contradicts the bit's LLR.
    Other criteria were tried. With LDPC codes, the bit that occurs in the largest number of
    unsatisfied checks led to about as many found codewords, but turbo codes have no such checks.
    The smallest |posterior| led to fewer, and the smallest |LLR| to far fewer. Another variant
    fixed all but one of the bits that a MIMO vector carries; it also led to fewer.

    A codeword that is not found costs at most 2^(list_bits + 1) - 2 further decodings; the others
    cost nothing. List decoding is meant for cases with few codewords left. If the detector can
    still contribute information, another pass of an iterative receiver finds more codewords at a
    lower cost. The more candidates there are, the more often a wrong codeword passes as found.
    Turbo codes therefore always need a check, and short codes need one if wrong codewords matter.

    With GPU arrays the host waits for the GPU after each level. A list decoder is not thread-safe.

    Args:
        decoder: ``coding.get(name).decoder()``, or any other :class:`Decoder` without
            ``keep_messages``.
        list_bits: number of levels of the tree, 0 to 10.
        check: a function such as ``lambda bits: crc.check(bits)[1]``. It takes the decoder's
            ``bits`` (information bits), (n, k) uint8, and returns (n,) bool: which rows are right.
            It replaces the decoder's ``found``, which is not reliable for turbo codes. None keeps
            the decoder's ``found``.
        keep_candidates: whether to keep the candidates of codewords that are not found, from which
            the detector ``BitFlip`` can start in an ``IterativeReceiver``.

    The a-posteriori LLRs of a codeword found in the tree are those of the chosen candidate.

    Attributes, set by ``decode``:
        bits: decisions as in the decoder; on all bits sent if the decoder has no ``bits``.
        found, erasures: as in the decoder.
        iterations_taken: (n,) int32, number of iterations for the codeword and all its candidates.
        candidates: (2^list_bits, n, num_bits) uint8, decisions on all bits sent of the tree's last
            level; the posterior's decisions for other codewords. None without keep_candidates.
    """

    candidates = None
    _PER_CODEWORD = (*DecoderAround._PER_CODEWORD, ("candidates", 1))

    def __init__(self, decoder, list_bits=4, check=None, keep_candidates=False):
        super().__init__(decoder)
        if self.decoder.keep_messages:
            raise ValueError("decoder: got keep_messages=True, must be False, as it decodes "
                             "candidates between the calls")
        self.list_bits = integer("list_bits", list_bits, 0, _MOST_BITS)
        if check is not None and not callable(check):
            raise ValueError(f"check: got {check!r}, must be callable, or None")
        self._check = check
        self._keeps_candidates = flag("keep_candidates", keep_candidates)

    def _decode(self, llr):
        posterior, bits, found, taken = (array.copy() for array in self._attempt(llr))
        lost = array_module(llr).flatnonzero(~found)
        usable = posterior[lost].any(axis=1)
        self.erasure_count = len(lost) - int(usable.sum())
        lost = lost[usable]
        if self._keeps_candidates:
            decisions = (posterior > 0).astype(np.uint8)
            self.candidates = decisions[None].repeat(2**self.list_bits, axis=0)
        step = max(1, _LANES >> self.list_bits)
        for at in range(0, len(lost), step):
            part = lost[at:at + step]
            posterior[part], bits[part], found[part], more, left, decided = self._grow(
                llr[part], posterior[part], bits[part])
            taken[part] += more
            if self._keeps_candidates and len(left):
                self.candidates[:, part[left]] = decided.swapaxes(0, 1) > 0
        self.bits, self.found, self.iterations_taken = bits, found, taken
        return posterior

    def _attempt(self, llr):
        """Return the decoder's (posterior, bits, found, iterations taken)."""
        posterior, found = self.decoder.decode(llr), self.decoder.found
        bits = self.decoder.decisions(posterior)
        if self._check:
            right = self._check(bits)
            if getattr(right, "shape", None) != (len(bits),) or right.dtype != bool:
                of = f" of shape {right.shape}, {right.dtype}" if hasattr(right, "shape") else ""
                raise ValueError(f"check: it returned {type(right).__name__}{of}, must return an "
                                 f"array ({len(bits)},) bool")
            found = right & posterior.any(axis=1)    # a row of zeros passes most CRCs
        return posterior, bits, found, self.decoder.iterations_taken

    def _grow(self, llr, posterior, bits):
        """Search a tree for each codeword that was not found.

        Returns:
            The same as ``_attempt``; the codewords that are still not found, and the posterior LLRs
            (codewords, candidates, bits) of their candidates.
        """
        xp, n = array_module(llr), len(llr)
        left, found, taken = xp.arange(n), xp.zeros(n, bool), xp.zeros(n, np.int32)
        fixed = xp.zeros((n, 1, self.num_bits), bool)
        known = xp.abs(llr).max(axis=1)[:, None]    # as certain as the most certain bit
        tried, decided = llr[:, None], posterior[:, None]    # (codewords, candidates, bits)
        for _ in range(self.list_bits):
            doubt = xp.abs(decided) - 0.5 * xp.abs(decided - tried)
            doubt[fixed] = np.inf
            at, width = doubt.argmin(axis=2), tried.shape[1]
            codeword, candidate = xp.arange(len(left))[:, None], xp.arange(width)
            tried = xp.concatenate([tried, tried], axis=1)
            tried[codeword, candidate, at] = -known
            tried[codeword, width + candidate, at] = known
            fixed = xp.concatenate([fixed, fixed], axis=1)
            fixed[codeword, candidate, at] = fixed[codeword, width + candidate, at] = True
            decided, decided_bits, fits, iterations = (
                array.reshape(len(left), 2 * width, *array.shape[1:])
                for array in self._attempt(tried.reshape(-1, self.num_bits)))
            taken[left] += iterations.sum(axis=1, dtype=np.int32)
            ones = (decided > 0).astype(np.float32)
            score = xp.where(fits, (ones @ llr[:, :, None])[:, :, 0], -np.inf)
            best, done = score.argmax(axis=1), xp.flatnonzero(fits.any(axis=1))
            at = left[done]
            posterior[at], bits[at] = decided[done, best[done]], decided_bits[done, best[done]]
            found[at] = True
            going = xp.flatnonzero(~fits.any(axis=1))
            left, llr, known, tried, decided, fixed = (
                array[going] for array in (left, llr, known, tried, decided, fixed))
            if not len(left):
                break
        return posterior, bits, found, taken, left, decided
