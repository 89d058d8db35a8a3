# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""LLRs of slots to transport blocks."""

import math

from ..arrays import array_module
from .slot import TransportBlock
from .transport import TransportCoder

# After 20 iterations of the LDPC decoder, up to 8 % more blocks are wrong; it ends when a block is
# found.
DECODER_ITERATIONS = 40
LEAST_SNR = 1e-10    # of a block, a linear ratio


class BlockDecoder:
    """Decoder of the transport blocks of a codeword in many slots.

    Args:
        word: :class:`PlacedCodeword`.
        detector_name: what the blocks tell of their detector.
        versions, backend, threads: see :class:`TransportCoder`.

    Attributes:
        word: see above.
        coder: :class:`TransportCoder`.
    """

    def __init__(self, word, detector_name, versions, backend, threads):
        self.word, self._detector_name = word, detector_name
        self.coder = TransportCoder(word.codeword, versions, iterations=DECODER_ITERATIONS,
                                    backend=backend, threads=threads)

    def decode(self, slots, llr, iteration, rv=None, by_subcarrier=False):
        """Decode the blocks that slots still lack, and keep them in the slots.

        Args:
            slots: list of :class:`ReceivedSlot`.
            llr: (slots, vectors, bits) LLRs.
            iteration: number of passes of detection and decoding, with this one.
            rv: redundancy version, see :class:`TransportCoder`.
            by_subcarrier: whether vectors are in the order of subcarriers, the ones of a subcarrier
                together.
        """
        rows = [row for row, slot in enumerate(slots) if slot.lacks(self.word)]
        if rows:
            found = self.decoded(slots, rows, llr, rv, by_subcarrier=by_subcarrier)
            self.keep([slots[row] for row in rows], found.bits, found.crc_ok.tolist(), found.soft,
                      iteration)

    def decoded(self, slots, rows, llr, rv, posterior=False, by_subcarrier=False):
        """Return the :class:`DecodedBlocks` of some rows of slots, see :meth:`decode`."""
        xp, soft = array_module(llr), None
        llr = llr if len(rows) == len(llr) else llr[rows]
        if slots[0].earlier:
            soft = xp.stack([xp.asarray(slots[row].earlier[self.word]) for row in rows])
        return self.coder.decode(llr.reshape(len(rows), -1), rv, soft, posterior,
                                 self.word.orders[by_subcarrier])

    def keep(self, slots, bits, crc_ok, soft, iteration):
        """Keep a transport block in each of some slots."""
        word = self.word
        for slot, *own in zip(slots, bits, crc_ok, soft, strict=True):
            # In this order, the maximum is no NaN.
            snr = 10 * math.log10(max(LEAST_SNR, slot.powers[word.layers].sum()))
            slot.blocks[word] = TransportBlock(
                slot.number, word.user, word.number, *own[:2], snr, self._detector_name, iteration,
                own[2])
