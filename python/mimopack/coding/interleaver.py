# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stream parser and interleaver of IEEE 802.11 HT, 20 MHz, as one permutation per OFDM symbol."""

from functools import lru_cache

import numpy as np

NUM_CARRIERS = 52
_COLUMNS = 13
_ROTATION = 11


def _interleaved_position(stream, num_streams, bits_per_symbol):
    """Where bit k of one stream's OFDM symbol is sent (IEEE 802.11-2020 §19.3.11.8.3)."""
    coded_bits = NUM_CARRIERS * bits_per_symbol
    rows = 4 * bits_per_symbol
    s = max(1, bits_per_symbol // 2)
    k = np.arange(coded_bits)
    i = rows * (k % _COLUMNS) + k // _COLUMNS
    j = s * (i // s) + (i + coded_bits - _COLUMNS * i // coded_bits) % s
    if num_streams == 1:
        return j
    shift = (stream * 2) % 3 + 3 * (stream // 3)
    return (j - shift * _ROTATION * bits_per_symbol) % coded_bits


@lru_cache
def bit_order(num_streams, bits_per_symbol, interleaved=True):
    """Where each coded bit of an OFDM symbol goes: stream parser, then interleaver.

    Args:
        num_streams: 1..4 spatial streams.
        bits_per_symbol: coded bits per subcarrier and stream.
        interleaved: whether the interleaver follows the parser, as it does after convolutional
            codes, not after LDPC codes.

    Returns:
        int64 (52 * num_streams * bits_per_symbol,): coded bit j of the symbol is bit ``order[j]``
        of the symbol in detector order, an array (52 subcarriers in ascending frequency,
        num_streams, bits_per_symbol, first bit = MSB). So ``sent[order] = coded`` interleaves and
        ``coded = sent[order]`` undoes it. IEEE 802.11-2020 §19.3.11.7.2 (N_BPSCS / 2 bits, or 1,
        to each stream in turn) and §19.3.11.8.3.
    """
    s = max(1, bits_per_symbol // 2)
    j = np.arange(NUM_CARRIERS * num_streams * bits_per_symbol)
    stream = j // s % num_streams
    k = j // (s * num_streams) * s + j % s
    position = k
    if interleaved:
        position = np.stack([_interleaved_position(i, num_streams, bits_per_symbol)
                             for i in range(num_streams)])[stream, k]
    carrier, bit = position // bits_per_symbol, position % bits_per_symbol
    order = (carrier * num_streams + stream) * bits_per_symbol + bit
    order.setflags(write=False)
    return order
