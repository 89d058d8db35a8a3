# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""List decoding with any iterative decoder."""

import numpy as np

from ..arrays import array_module
from ..checks import integer
from .decoder import DecoderAround, as_decoder

# Candidates in a call of the decoder: enough for its lanes, little enough for memory.
_LANES = 4096
_MOST_BITS = 10


class ListDecoder(DecoderAround):
    """Decodes codewords that a decoder has not found again, with bits taken to be known.

    Of a codeword that is not found one doubtful bit is taken to be 0, and to be 1; the decoder
    tries both. Where neither is found, each of the two candidates splits in the same way at a
    doubtful bit of its own, and so on up to ``list_bits`` times: a tree (N. Varnica, M. P. C.
    Fossorier, A. Kavcic, IEEE Trans. Commun. 55(7), 2007), whose levels are decoded as one batch.
    At the first level with candidates that are found the codeword becomes the one that fits the
    LLRs best: the greatest sum of LLRs over its ones. Where nothing is found the first decision
    stays.

    Doubtful is the bit with the least |posterior| - |extrinsic| / 2: of which the checks say much,
    and contradict the LLR. Of LDPC codes that found about as many as bits in the most unsatisfied
    checks, which turbo codes do not have, more than the least |posterior|, and many more than the
    least |LLR|. To take a whole vector of a MIMO receiver to be known but for one bit found fewer.

    A codeword that is not found costs 2^(list_bits + 1) - 2 decodings at most, the others nothing:
    it is for where few are left. Where the detector could say more, another pass of an iterative
    receiver finds more, for less. The more candidates, the more often a wrong codeword fits: where
    that matters short codes, and turbo codes always, need a check.

    With arrays of a GPU the host waits for each level.

    Args:
        decoder: ``coding.get(name).decoder()``, or what ``IterativeReceiver`` takes as one; without
            ``keep_messages``.
        list_bits: levels of the tree, 0 to 10.
        check: called with the decoder's ``bits``, those of information, (n, k) uint8, says which
            rows are right, (n,) bool, such as ``lambda bits: crc.check(bits)[1]``; it takes the
            place of the decoder's ``found``, which for turbo codes means little. None: none.

    Attributes, of the last ``decode``:
        bits, found, iterations_taken, erasures: as the decoder's (bits: of all bits sent, where it
            has none); iterations of all candidates together.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, decoder, list_bits=4, check=None):
        super().__init__(as_decoder(decoder))
        if self.decoder.keep_messages:
            raise ValueError("decoder: got keep_messages=True, must be False, as it decodes "
                             "candidates between the calls")
        self.list_bits = integer("list_bits", list_bits, 0, _MOST_BITS)
        if check is not None and not callable(check):
            raise ValueError(f"check: got {check!r}, must be callable, or None")
        self._check = check

    def decode(self, llr):
        """A-posteriori LLRs of all bits: the decoder's, of the chosen candidates where there are.

        Args:
            llr: (n, num_bits) float32, ln P(1)/P(0), as the decoder takes it.

        Returns:
            (n, num_bits) float32

        Raises:
            ValueError, Exception: as the decoder.
        """
        posterior, bits, found, taken = (of.copy() for of in self._decode(llr))
        lost = array_module(llr).flatnonzero(~found)
        usable = posterior[lost].any(axis=1)
        self.erasure_count = len(lost) - int(usable.sum())
        lost = lost[usable]
        step = max(1, _LANES >> self.list_bits)
        for at in range(0, len(lost), step):
            part = lost[at:at + step]
            posterior[part], bits[part], found[part], more = self._grow(
                llr[part], posterior[part], bits[part])
            taken[part] += more
        self.bits, self.found, self.iterations_taken = bits, found, taken
        return posterior

    def _decode(self, llr):
        """(posterior, bits, found, iterations taken)"""
        posterior, found = self.decoder.decode(llr), self.decoder.found
        bits = self.decoder.decisions(posterior)
        if self._check:
            right = self._check(bits)
            if getattr(right, "shape", None) != (len(bits),) or right.dtype != bool:
                of = f" of shape {right.shape}, {right.dtype}" if hasattr(right, "shape") else ""
                raise ValueError(f"check: it returned {type(right).__name__}{of}, must return an "
                                 f"array ({len(bits)},) bool")
            found = right & posterior.any(axis=1)    # zeros fit most CRCs
        return posterior, bits, found, self.decoder.iterations_taken

    def _grow(self, llr, posterior, bits):
        """As ``_decode``, by the tree, of codewords that were not found as these."""
        xp, n = array_module(llr), len(llr)
        left, found, taken = xp.arange(n), xp.zeros(n, bool), xp.zeros(n, np.int32)
        fixed = xp.zeros((n, 1, self.num_bits), bool)
        known = xp.abs(llr).max(axis=1)[:, None]    # as sure as the surest
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
                of.reshape(len(left), 2 * width, *of.shape[1:])
                for of in self._decode(tried.reshape(-1, self.num_bits)))
            taken[left] += iterations.sum(axis=1, dtype=np.int32)
            ones = (decided > 0).astype(np.float32)
            score = xp.where(fits, (ones @ llr[:, :, None])[:, :, 0], -np.inf)
            best, done = score.argmax(axis=1), xp.flatnonzero(fits.any(axis=1))
            at = left[done]
            posterior[at], bits[at] = decided[done, best[done]], decided_bits[done, best[done]]
            found[at] = True
            going = xp.flatnonzero(~fits.any(axis=1))
            if not len(going):
                break
            left, llr, known, tried, decided, fixed = (
                of[going] for of in (left, llr, known, tried, decided, fixed))
        return posterior, bits, found, taken
