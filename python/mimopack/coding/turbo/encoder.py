# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Encoder for the LTE turbo code."""

import numpy as np

from ..decoder import Encoder
from .interleaver import NUM_TAIL, qpp_interleaver, turbo_size

# The registers hold u / (1 + D^2 + D^3), which equals u (1 + D^2 + D^3 + D^4) / (1 + D^7).
_NUMERATOR, _PERIOD = (2, 3, 4), 7


def _constituent(bits):
    """Encode with the constituent code g1/g0 = (1 + D + D^3) / (1 + D^2 + D^3).

    Returns:
        Parity bits (n, K + 3), and the 3 bits that terminate the code.
    """
    n, size = bits.shape
    periods = -(-size // _PERIOD)
    entering = np.zeros((n, periods * _PERIOD), np.uint8)
    entering[:, :size] = bits
    for delay in _NUMERATOR:
        entering[:, delay:size] ^= bits[:, :-delay]
    np.bitwise_xor.accumulate(entering.reshape(n, periods, _PERIOD), axis=1,
                              out=entering.reshape(n, periods, _PERIOD))
    registers = np.zeros((n, size + NUM_TAIL), np.uint8)    # zeros enter them at the end
    registers[:, :size] = entering[:, :size]
    parity = registers.copy()
    for delay in (1, 3):
        parity[:, delay:] ^= registers[:, :-delay]
    ending = registers[:, size - 2:-2] ^ registers[:, size - 3:-3]
    return parity, ending


class TurboEncoder(Encoder):
    """Encoder of 3GPP TS 36.212 §5.1.3.2: rate 1/3, two terminated constituent codes.

    Each constituent code has eight states and is terminated by tail bits. A codeword consists of
    the standard's three streams d(0), d(1), d(2) in order, each of K + 4 bits. d(0) begins with the
    information bits, d(1) and d(2) with the parity bits of the first and second constituent code.
    The last four places of each stream contain the 12 tail bits in the order of §5.1.3.2.2.

    Args:
        size: K, one of TURBO_SIZES.
    """

    def __init__(self, size):
        self.num_info = turbo_size(size)
        self.num_bits = 3 * (self.num_info + NUM_TAIL + 1)
        self.information = np.arange(self.num_info)
        self._interleaver = qpp_interleaver(size)

    def _encode(self, bits):
        n, size = bits.shape
        words = np.empty((n, 3, size + NUM_TAIL + 1), np.uint8)
        words[:, 0, :size] = bits
        tail = np.empty((n, 2, NUM_TAIL, 2), np.uint8)    # constituent code, time, bit and parity
        for code, order in enumerate((self.information, self._interleaver)):
            parity, tail[:, code, :, 0] = _constituent(bits[:, order])
            words[:, 1 + code, :size] = parity[:, :size]
            tail[:, code, :, 1] = parity[:, size:]
        words[:, :, size:] = tail.reshape(n, 4, 3).transpose(0, 2, 1)
        return words.reshape(n, self.num_bits)
