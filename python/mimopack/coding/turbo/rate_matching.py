# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rate matching for the LTE turbo code."""

import numpy as np

from ...checks import choice, integer
from ..selection import Selection
from .interleaver import NUM_TAIL, TURBO_SIZES

COLUMNS = 32
# TS 36.212, table 5.1.4-1: the numbers 0 to 31 with their five bits reversed
PERMUTATION = np.array([int(f"{column:05b}"[::-1], 2) for column in range(COLUMNS)])
DUMMY = -1
# Magnitude of filler bits' LLRs, relative to the codeword's largest LLR. With a larger factor a
# decoder that works with integers would round the other LLRs to 0.
KNOWN = np.float32(4)


def _circular_buffer(length, num_filler):
    """Return the circular buffer and the number of rows of a sub-block.

    The buffer is an array with the index of the coded bit in each place, or DUMMY. Each of the
    three streams has length bits; the first two begin with num_filler filler bits.
    """
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
    """Rate matching of an LTE turbo codeword, 3GPP TS 36.212 §5.1.4.1.

    It consists of the sub-block interleaver, bit collection and bit selection from a circular
    buffer, and includes the filler bits of §5.1.2 and §5.1.3.2.1.

        matching = RateMatching(1000, 1500)
        encoder, decoder = TurboEncoder(matching.size), TurboDecoder(matching.size)
        sent = matching.match(encoder.encode(matching.with_filler(bits)))
        decided = decoder.decode(matching.recover(llr))[:, matching.information] > 0

    To combine several redundancy versions of a block, add the results of their ``recover``.

    Args:
        info_bits: number of bits in a code block, including its CRC if it has one. The size K of
            the turbo code is the smallest of TURBO_SIZES that is at least info_bits.
        coded_bits: E, number of bits sent per codeword. Fewer than 3 K + 12 puncture the codeword,
            more repeat part of it.
        redundancy_version: 0 to 3; selects where in the buffer the bits sent begin.

    Attributes:
        size: K, number of information bits in a codeword, including filler bits.
        num_bits: number of bits in a codeword, 3 K + 12.
        num_filler: F, number of filler bits: zeros at the beginning of a codeword that are not
            sent.
        information: (info_bits,) positions of the information bits in a codeword.
        info_bits, coded_bits: see above.
        selected: (coded_bits,) the position in the codeword of each bit sent.
    """

    def __init__(self, info_bits, coded_bits, redundancy_version=0):
        info_bits = integer("info_bits", info_bits, 1, TURBO_SIZES[-1])
        self.size = next(size for size in TURBO_SIZES if size >= info_bits)
        self.num_filler = self.size - info_bits
        self._filler = self.num_filler, 0
        self.information = np.arange(self.num_filler, self.size)
        length = self.size + NUM_TAIL + 1
        coded_bits = integer("coded_bits", coded_bits, 1, 2**24)
        version = choice("redundancy_version", redundancy_version, (0, 1, 2, 3))
        places, rows = _circular_buffer(length, self.num_filler)
        begin = rows * (2 * -(-len(places) // (8 * rows)) * version + 2)    # k_0
        places = np.roll(places, -begin)
        ring = places[places != DUMMY]
        super().__init__(info_bits, 3 * length, np.resize(ring, coded_bits))

    def recover(self, llr):
        """Compute LLRs of whole codewords from the LLRs of the bits sent.

        Args:
            llr: (n, coded_bits) float32, ln P(1)/P(0), C-contiguous.

        Returns:
            (n, num_bits) float32: the sum of the LLRs for bits sent more than once, 0 for bits not
            sent. LLRs of filler bits have four times the magnitude of the codeword's largest LLR.
        """
        out = super().recover(llr)
        with np.errstate(over="ignore"):    # an infinite LLR is an erasure
            out[:, :self.num_filler] = -KNOWN * abs(out).max(axis=1, keepdims=True)
        return out
