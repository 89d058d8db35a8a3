# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Error-correcting code, scrambler, interleaver and CRC of the IEEE 802.11 data field."""

from .checksum import append_crc32, bits_to_bytes, bytes_to_bits, check_crc32
from .convolutional import CODE_RATES, ConvolutionalCode
from .interleaver import bit_order
from .scrambler import scramble, scrambler_sequence, seed_from_service

__all__ = ["CODE_RATES", "ConvolutionalCode", "append_crc32", "bit_order", "bits_to_bytes",
           "bytes_to_bits", "check_crc32", "scramble", "scrambler_sequence", "seed_from_service"]
