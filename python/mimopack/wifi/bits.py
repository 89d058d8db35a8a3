# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bits of signal fields: numbers and the cyclic redundancy check (CRC)."""

import numpy as np


def number_of(bits):
    """Convert bits, least significant first, to an integer."""
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def bits_of(value, count):
    """Convert an integer to bits, least significant first: uint8 (count,)."""
    return (value >> np.arange(count) & 1).astype(np.uint8)


def crc8(bits):
    """Return the 8-bit CRC of bits: uint8 (8,), c7 first (IEEE 802.11-2020 §19.3.9.4.4).

    HT-SIG, VHT-SIG-A, VHT-SIG-B and the delimiters of A-MPDUs have this CRC. HE-SIG-A and HE-SIG-B
    have its first four bits.
    """
    register = 0xFF
    for bit in np.asarray(bits).tolist():
        feedback = (register >> 7) ^ bit
        register = (register << 1 & 0xFF) ^ (0b111 if feedback else 0)
    return bits_of(~register & 0xFF, 8)[::-1]
