# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes, bits and the frame check sequence in the order of IEEE 802.11: least significant first."""

import zlib

import numpy as np


def bytes_to_bits(data):
    """Bits of bytes, least significant bit of each byte first: uint8 (8 * len(data),)."""
    return np.unpackbits(np.frombuffer(bytes(data), np.uint8), bitorder="little")


def bits_to_bytes(bits):
    """The inverse of :func:`bytes_to_bits`.

    Raises:
        ValueError: the number of bits is not a multiple of 8.
    """
    bits = np.asarray(bits, np.uint8)
    if bits.size % 8:
        raise ValueError(f"bits: got {bits.size}, must be a multiple of 8")
    return np.packbits(bits, bitorder="little").tobytes()


def append_crc32(data):
    """data followed by its CRC-32, the FCS of IEEE 802.11-2020 §9.2.4.8.

    That is the CRC of IEEE 802.3; sent least significant byte first, it appears on the air in the
    order of the standard (coefficient of x^31 first) when bytes are sent LSB first.
    """
    data = bytes(data)
    return data + zlib.crc32(data).to_bytes(4, "little")


def check_crc32(data):
    """Split off the CRC-32 of :func:`append_crc32`: returns (data without it, whether it fits)."""
    body = bytes(data[:-4])
    return body, len(data) >= 4 and zlib.crc32(body).to_bytes(4, "little") == bytes(data[-4:])
