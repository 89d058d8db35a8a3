# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The data field: payload bytes to coded bits, and the order of items and bits at a detector."""

from numbers import Integral

import numpy as np

from ..coding import append_crc32, bytes_to_bits, scramble
from .data_code import data_code
from .parameters import NUM_DATA_CARRIERS, SERVICE


def coded_bits(parameters, payload):
    """Coded, parsed and interleaved bits of a frame (IEEE 802.11-2020 §19.3.11).

    Args:
        parameters: :class:`Parameters`.
        payload: bytes, ``parameters.payload_length`` of them.

    Returns:
        uint8 (52 * num_symbols, num_tx * m) in the order of a detector's LLRs: items run over
        data symbols, within them over the 52 data carriers in ascending frequency; bits are
        layer-major, most significant first.

    Raises:
        ValueError: the payload has another length.
    """
    if len(payload) != parameters.payload_length:
        raise ValueError(f"payload: got {len(payload)} bytes, must be {parameters.payload_length} "
                         "(payload_length)")
    code = data_code(parameters)
    bits = np.zeros(code.num_scrambled, np.uint8)
    psdu = bytes_to_bits(append_crc32(payload))
    bits[SERVICE:SERVICE + psdu.size] = psdu
    coded = code.encode(scramble(bits, parameters.scrambler_seed))
    sent = np.empty((parameters.num_symbols, parameters.coded_bits_per_ofdm_symbol), np.uint8)
    sent[:, code.order] = coded.reshape(sent.shape)
    return sent.reshape(parameters.num_items, -1)


def group_items(items, symbols_per_channel):
    """Put T consecutive symbols of a carrier into one item, as block-fading detectors take them.

    Args:
        items: (52 * num_symbols, ...), symbol-major.
        symbols_per_channel: T, a divisor of num_symbols.

    Returns:
        (52 * num_symbols / T, T * ...): item (group of T symbols, carrier), its T symbols one
        after the other in the last axis. T = 1 changes nothing.

    Raises:
        ValueError: T does not divide num_symbols.
    """
    num_symbols = len(items) // NUM_DATA_CARRIERS
    check_group(symbols_per_channel, num_symbols)
    width = items.shape[1]
    split = items.reshape(-1, symbols_per_channel, NUM_DATA_CARRIERS, width)
    return np.ascontiguousarray(split.transpose(0, 2, 1, 3)).reshape(
        -1, symbols_per_channel * width)


def ungroup_items(items, symbols_per_channel):
    """The inverse of :func:`group_items`: back to one item per carrier and symbol."""
    width = items.shape[1] // symbols_per_channel
    split = items.reshape(-1, NUM_DATA_CARRIERS, symbols_per_channel, width)
    return np.ascontiguousarray(split.transpose(0, 2, 1, 3)).reshape(-1, width)


def check_group(symbols_per_channel, num_symbols):
    """ValueError where symbols_per_channel does not divide num_symbols."""
    if (not isinstance(symbols_per_channel, Integral) or symbols_per_channel < 1
            or num_symbols % symbols_per_channel):
        allowed = ", ".join(str(t) for t in range(1, num_symbols + 1) if num_symbols % t == 0)
        raise ValueError(f"symbols_per_channel: got {symbols_per_channel!r}, must divide the "
                         f"frame's {num_symbols} symbols; allowed are {allowed}")
