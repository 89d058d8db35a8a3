# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scramblers of IEEE 802.11, LTE and 5G NR.

IEEE 802.11 scrambles with x^7 + x^4 + 1 (802.11-2020 §17.3.5.5), and in EHT frames with
x^11 + x^9 + 1 (802.11be-2024 §36.3.13.2). LTE and 5G NR scramble with a Gold
sequence (3GPP TS 36.211 §7.2, TS 38.211 §5.2.1).
"""

from functools import lru_cache

import numpy as np

from ..checks import any_bits, integer, integer_choice

_TAPS = {7: 4, 11: 9}    # {bits of the state: the other power of x}
GOLD_SKIPPED = 1600    # N_C, the number of outputs before c(0)


@lru_cache(maxsize=128)
def _period(seed, degree):
    period = 2**degree - 1
    state, out = seed, np.empty(period, np.uint8)
    for i in range(period):
        feedback = (state >> (degree - 1) ^ state >> (_TAPS[degree] - 1)) & 1
        state = (state << 1 | feedback) & period
        out[i] = feedback
    return out


def scrambler_sequence(seed, length, degree=7):
    """Return the scrambling sequence of IEEE 802.11: uint8 (length,).

    Args:
        seed: initial state, 1 to the period, 2^degree - 1. Its most significant bit is x^degree,
            the least significant x^1, as the standard writes it ("1011101" is 93).
        length: number of bits.
        degree: bits of the state: 7, or 11 in EHT frames.
    """
    degree = integer_choice("degree", degree, tuple(_TAPS))
    seed = integer("seed", seed, 1, 2**degree - 1)
    return np.resize(_period(seed, degree), integer("length", length, 0, 2**30))


def scramble(bits, seed, degree=7):
    """Scramble or descramble bits (length,): XOR with :func:`scrambler_sequence`."""
    bits = any_bits("bits", bits)
    if bits.ndim != 1:
        raise ValueError(f"bits: got shape {bits.shape}, must be (length,)")
    return bits ^ scrambler_sequence(seed, bits.size, degree)


def seed_from_service(bits, degree=7):
    """Compute the scrambler's seed from the first scrambled bits of a SERVICE field.

    Before scrambling, as many bits as the state has are 0, so that a receiver can find the state of
    the scrambler (IEEE 802.11-2020 §17.3.5.5). After this number of steps, the state equals the
    scrambled bits; running the scrambler back gives the seed.

    Args:
        bits: ``degree`` bits or more.
        degree: as for :func:`scrambler_sequence`.

    Returns:
        1 to 2^degree - 1; or 0 if all these bits are 0, which no seed produces.
    """
    state = int(np.asarray(bits[:degree]) @ (1 << np.arange(degree - 1, -1, -1)))
    for _ in range(degree):
        # A step shifted x7 ^ x4 in at the bottom and x7 out at the top; the old x4 is now x5.
        state = state >> 1 | ((state ^ state >> _TAPS[degree]) & 1) << (degree - 1)
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
