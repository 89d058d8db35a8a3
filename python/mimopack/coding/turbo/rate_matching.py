# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rate matching of the LTE turbo code."""

import numpy as np

from ...checks import array, choice, integer
from .interleaver import NUM_TAIL, turbo_size

COLUMNS = 32
# TS 36.212, table 5.1.4-1: the numbers 0 to 31 with their five bits reversed
PERMUTATION = np.array([int(f"{column:05b}"[::-1], 2) for column in range(COLUMNS)])
DUMMY = -1


def _circular_buffer(length):
    """Which coded bit lies at each place of the circular buffer, or DUMMY; and the rows of a
    sub-block. For streams of so many bits."""
    rows = -(-length // COLUMNS)
    size = rows * COLUMNS
    padded = np.arange(size) - (size - length)    # dummy bits come first
    by_columns = padded.reshape(rows, COLUMNS)[:, PERMUTATION].T.ravel()
    k = np.arange(size)
    shifted = padded[(PERMUTATION[k // rows] + COLUMNS * (k % rows) + 1) % size]
    streams = [np.where(places < 0, DUMMY, places + stream * length)
               for stream, places in enumerate((by_columns, by_columns, shifted))]
    return np.concatenate([streams[0], np.stack(streams[1:], axis=1).ravel()]), rows


class RateMatching:
    """What LTE sends of a turbo codeword, 3GPP TS 36.212 §5.1.4.1: sub-block interleaver, bit
    collection, bit selection from a circular buffer.

        matching = RateMatching(1024, 1500)
        sent = matching.match(TurboEncoder(1024).encode(bits))
        decided = TurboDecoder(1024).decode(matching.recover(llr))[:, :1024] > 0

    LLRs of several redundancy versions of one block are combined by adding what their ``recover``
    gives. Code blocks have no filler bits.

    Args:
        size: K of the turbo code, one of TURBO_SIZES.
        coded_bits: E, bits that are sent of a codeword. Fewer than 3 K + 12 puncture it, more
            repeat some of it.
        redundancy_version: 0 to 3, where in the buffer they begin.
        buffer_bits: N_cb, to which a receiver's memory limits the circular buffer; None for the
            whole one.

    Attributes:
        info_bits, num_bits: of a codeword, K and 3 K + 12.
        coded_bits: see above.
        selected: (coded_bits,) which bit of the codeword each is that is sent.

    Raises:
        ValueError: an argument is not as above, or the buffer has not even the information bits.
    """

    def __init__(self, size, coded_bits, redundancy_version=0, buffer_bits=None):
        self.info_bits = turbo_size(size)
        length = self.info_bits + NUM_TAIL + 1
        self.num_bits = 3 * length
        self.coded_bits = integer("coded_bits", coded_bits, 1, 2**24)
        version = choice("redundancy_version", redundancy_version, (0, 1, 2, 3))
        places, rows = _circular_buffer(length)
        if buffer_bits is not None:
            places = places[:integer("buffer_bits", buffer_bits, len(places) // 3, len(places))]
        begin = rows * (2 * -(-len(places) // (8 * rows)) * version + 2)    # k_0
        places = np.roll(places, -begin)
        ring = places[places != DUMMY]
        self.selected = np.resize(ring, self.coded_bits)
        self._turns = list(self._by_turns(len(ring)))

    def match(self, words):
        """What is sent of codewords, or a-posteriori LLRs of what was.

        Args:
            words: (n, num_bits), of any type, in the order of :class:`TurboEncoder`.

        Returns:
            (n, coded_bits), of the same type.

        Raises:
            ValueError: another shape.
        """
        words = np.asarray(words)
        array("words", words, words.dtype, ("n", self.num_bits))
        return np.take(words, self.selected, axis=1)    # C-contiguous, as words[:, ...] is not

    def recover(self, llr):
        """LLRs of whole codewords from those of what was sent.

        Args:
            llr: (n, coded_bits) float32, ln P(1)/P(0), C-contiguous.

        Returns:
            (n, num_bits) float32: the sum for bits sent more than once, 0 for those not sent.

        Raises:
            ValueError: llr is no such array.
        """
        array("llr", llr, np.float32, ("n", self.coded_bits))
        out = np.zeros((len(llr), self.num_bits), np.float32)
        for source, absent in self._turns:
            turn = np.take(llr, source, axis=1)
            np.copyto(turn, 0, where=absent)
            out += turn
        return out

    def _by_turns(self, ring):
        """For each time round the buffer, of so many bits, and each bit of a codeword: which LLR is
        its own, and whether none is."""
        for begin in range(0, self.coded_bits, ring):
            turn = self.selected[begin:begin + ring]
            source = np.full(self.num_bits, -1)
            source[turn] = begin + np.arange(len(turn))
            yield np.maximum(source, 0), source < 0
