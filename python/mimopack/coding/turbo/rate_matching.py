# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rate matching of the LTE turbo code."""

import numpy as np

from ...checks import array, choice, integer
from ..selection import Selection
from .interleaver import NUM_TAIL, TURBO_SIZES

COLUMNS = 32
# TS 36.212, table 5.1.4-1: the numbers 0 to 31 with their five bits reversed
PERMUTATION = np.array([int(f"{column:05b}"[::-1], 2) for column in range(COLUMNS)])
DUMMY = -1
# What filler bits' LLRs are of the largest: more, and a decoder of integers loses the others.
KNOWN = np.float32(4)


def _circular_buffer(length, num_filler):
    """Which coded bit lies at each place of the circular buffer, or DUMMY; and the rows of a
    sub-block. For streams of so many bits, the first two of which begin with filler bits."""
    rows = -(-length // COLUMNS)
    size = rows * COLUMNS
    padded = np.arange(size) - (size - length)    # dummy bits come first
    by_columns = padded.reshape(rows, COLUMNS)[:, PERMUTATION].T.ravel()
    k = np.arange(size)
    shifted = padded[(PERMUTATION[k // rows] + COLUMNS * (k % rows) + 1) % size]
    streams = [np.where(places < first, DUMMY, places + stream * length)
               for stream, (places, first) in enumerate((
                   (by_columns, num_filler), (by_columns, num_filler), (shifted, 0)))]
    return np.concatenate([streams[0], np.stack(streams[1:], axis=1).ravel()]), rows


class RateMatching(Selection):
    """What LTE sends of a turbo codeword, 3GPP TS 36.212 §5.1.4.1: sub-block interleaver, bit
    collection, bit selection from a circular buffer; with the filler bits of §5.1.2 and §5.1.3.2.1.

        matching = RateMatching(1000, 1500)
        encoder, decoder = TurboEncoder(matching.size), TurboDecoder(matching.size)
        sent = matching.match(encoder.encode(matching.with_filler(bits)))
        decided = decoder.decode(matching.recover(llr))[:, matching.information] > 0

    LLRs of several redundancy versions of one block are combined by adding what their ``recover``
    gives.

    Args:
        info_bits: of a code block, with its CRC if it has one. The turbo code's size K is the least
            one of TURBO_SIZES that has as many.
        coded_bits: E, bits that are sent of a codeword. Fewer than 3 K + 12 puncture it, more
            repeat some of it.
        redundancy_version: 0 to 3, where in the buffer they begin.
        buffer_bits: N_cb, to which a receiver's memory limits the circular buffer; None for the
            whole one.

    Attributes:
        size, num_bits: of a codeword, K and 3 K + 12.
        num_filler: F, filler bits, zeros that are not sent and begin a codeword.
        information: (info_bits,) where the information bits are in it.
        info_bits, coded_bits: see above.
        selected: (coded_bits,) which bit of the codeword each is that is sent.

    Raises:
        ValueError: an argument is not as above, or the buffer has not even the information bits.
    """

    def __init__(self, info_bits, coded_bits, redundancy_version=0, buffer_bits=None):
        info_bits = integer("info_bits", info_bits, 1, TURBO_SIZES[-1])
        self.size = next(size for size in TURBO_SIZES if size >= info_bits)
        self.num_filler = self.size - info_bits
        self.information = np.arange(self.num_filler, self.size)
        length = self.size + NUM_TAIL + 1
        coded_bits = integer("coded_bits", coded_bits, 1, 2**24)
        version = choice("redundancy_version", redundancy_version, (0, 1, 2, 3))
        places, rows = _circular_buffer(length, self.num_filler)
        if buffer_bits is not None:
            places = places[:integer("buffer_bits", buffer_bits, len(places) // 3, len(places))]
        begin = rows * (2 * -(-len(places) // (8 * rows)) * version + 2)    # k_0
        places = np.roll(places, -begin)
        ring = places[places != DUMMY]
        self.selected = np.resize(ring, coded_bits)
        super().__init__(info_bits, 3 * length, self.selected)

    def with_filler(self, bits):
        """Information bits of the turbo code: uint8 (n, info_bits) to (n, size).

        Raises:
            ValueError: bits is no such array.
        """
        array("bits", bits, np.uint8, ("n", self.info_bits))
        return np.pad(bits, ((0, 0), (self.num_filler, 0)))

    def recover(self, llr):
        """LLRs of whole codewords from those of what was sent.

        Args:
            llr: (n, coded_bits) float32, ln P(1)/P(0), C-contiguous.

        Returns:
            (n, num_bits) float32: the sum for bits sent more than once, 0 for those not sent. Those
            of filler bits are four times as large as a codeword's largest.

        Raises:
            ValueError: llr is no such array.
        """
        out = super().recover(llr)
        out[:, :self.num_filler] = -KNOWN * abs(out).max(axis=1, keepdims=True)
        return out
