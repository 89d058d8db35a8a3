# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame-synchronous scrambler x^7 + x^4 + 1 of IEEE 802.11-2020 §17.3.5.5."""

from functools import lru_cache

import numpy as np

PERIOD = 127


@lru_cache(maxsize=128)
def _period(seed):
    state, out = seed, np.empty(PERIOD, np.uint8)
    for i in range(PERIOD):
        feedback = (state >> 6 ^ state >> 3) & 1
        state = (state << 1 | feedback) & 0x7F
        out[i] = feedback
    return out


def scrambler_sequence(seed, length):
    """The scrambling sequence: uint8 (length,), period 127.

    Args:
        seed: initial state 1..127; its most significant bit is x^7, the least x^1, as the standard
            writes it ("1011101" is 93).
        length: number of bits.

    Raises:
        ValueError: the seed is outside 1..127 (state 0 never leaves 0).
    """
    if not 1 <= seed <= 127:
        raise ValueError(f"seed: got {seed}, allowed are 1..127")
    return np.resize(_period(int(seed)), length)


def scramble(bits, seed):
    """Scramble, or descramble: bits XOR the scrambling sequence of seed."""
    bits = np.asarray(bits, np.uint8)
    return bits ^ scrambler_sequence(seed, bits.size)


def seed_from_service(bits):
    """The seed, from the first 7 scrambled bits of a SERVICE field, or 0 where there is none.

    They are sent as zeros so that a receiver can find the transmitter's scrambler state in them
    (§17.3.5.5). After seven steps the state is those seven bits; stepping back gives the seed.
    """
    state = int(np.asarray(bits[:7]) @ (1 << np.arange(6, -1, -1)))
    for _ in range(7):
        # A step shifted in x7 ^ x4 below and x7 out above; the old x4 now lies at x5.
        state = state >> 1 | ((state ^ state >> 4) & 1) << 6
    return state
