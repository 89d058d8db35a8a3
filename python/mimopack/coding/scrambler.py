# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scramblers of IEEE 802.11, LTE and 5G NR.

IEEE 802.11 scrambles with x^7 + x^4 + 1 (802.11-2020 §17.3.5.5). LTE and 5G NR scramble with a Gold
sequence (3GPP TS 36.211 §7.2, TS 38.211 §5.2.1).
"""

from functools import lru_cache

import numpy as np

from ..checks import any_bits, integer

PERIOD = 127
GOLD_SKIPPED = 1600    # N_C, the number of outputs before c(0)


@lru_cache(maxsize=128)
def _period(seed):
    state, out = seed, np.empty(PERIOD, np.uint8)
    for i in range(PERIOD):
        feedback = (state >> 6 ^ state >> 3) & 1
        state = (state << 1 | feedback) & 0x7F
        out[i] = feedback
    return out


def scrambler_sequence(seed, length):
    """Return the scrambling sequence of IEEE 802.11: uint8 (length,), period 127.

    Args:
        seed: initial state 1..127. Its most significant bit is x^7, the least significant x^1, as
            the standard writes it ("1011101" is 93).
        length: number of bits.
    """
    seed = integer("seed", seed, 1, PERIOD)
    return np.resize(_period(seed), integer("length", length, 0, 2**30))


def scramble(bits, seed):
    """Scramble or descramble bits (length,): XOR with the IEEE 802.11 sequence of a seed.
    """
    bits = any_bits("bits", bits)
    if bits.ndim != 1:
        raise ValueError(f"bits: got shape {bits.shape}, must be (length,)")
    return bits ^ scrambler_sequence(seed, bits.size)


def seed_from_service(bits):
    """Compute the scrambler's seed from the first 7 scrambled bits of a SERVICE field.

    Before scrambling, these bits are 0, so that a receiver can find the state of the scrambler
    (IEEE 802.11-2020 §17.3.5.5). After seven steps, the state of the scrambler equals the seven
    scrambled bits; running the scrambler back by seven steps gives the seed.

    Returns:
        1..127; or 0 if all 7 bits are 0, which no seed produces.
    """
    state = int(np.asarray(bits[:7]) @ (1 << np.arange(6, -1, -1)))
    for _ in range(7):
        # A step shifted x7 ^ x4 in at the bottom and x7 out at the top; the old x4 is now x5.
        state = state >> 1 | ((state ^ state >> 4) & 1) << 6
    return state


def _m_sequence(start, taps, length):
    """Return bits of the recursion x(n + 31) = sum of x(n + tap): uint8 (length,).

    Squaring the polynomial doubles all distances in the recursion. Once 31 * 2^j bits are known,
    the next 28 * 2^j can therefore be computed at once.
    """
    out = np.empty(max(length, 31), np.uint8)
    out[:31] = start >> np.arange(31) & 1
    known, scale = 31, 1
    while known < length:
        while 62 * scale <= known:
            scale *= 2
        more = np.arange(known, min(known + (31 - max(taps)) * scale, length))
        out[more] = np.bitwise_xor.reduce([out[more - (31 - tap) * scale] for tap in taps])
        known += len(more)
    return out[:length]


def gold_sequence(c_init, length):
    """Return the scrambling sequence c(n) of LTE and 5G NR: uint8 (length,), read-only.

    To descramble LLRs, compute ``llr * (1 - 2.0 * c)``.

    Args:
        c_init: initial state of the second m-sequence, 0..2^31 - 1. The standards define it for
            each physical channel, from the cell ID, the RNTI, the slot number and other values.
        length: number of bits.
    """
    return _gold(integer("c_init", c_init, 0, 2**31 - 1), integer("length", length, 0, 2**30))


@lru_cache(maxsize=16)
def _gold(c_init, length):
    end = GOLD_SKIPPED + length
    c = (_m_sequence(1, (0, 3), end) ^ _m_sequence(c_init, (0, 1, 2, 3), end))[GOLD_SKIPPED:]
    c.setflags(write=False)
    return c


def gold_scramble(bits, c_init):
    """Scramble or descramble bits (..., length): XOR with the Gold sequence of c_init.
    """
    bits = any_bits("bits", bits)
    if not bits.ndim:
        raise ValueError("bits: got a single value, must be (..., length)")
    return bits ^ gold_sequence(c_init, bits.shape[-1])
