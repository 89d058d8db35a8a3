# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Training fields and pilots of IEEE 802.11-2020 clauses 17, 19 and 21."""

from functools import lru_cache

import numpy as np

from ..coding.scrambler import scrambler_sequence
from . import carriers

# Durations in samples at 20 MS/s: guard intervals, OFDM symbol with its guard interval, training
# fields.
GUARD = 16
SHORT_GUARD = 8
SYMBOL = carriers.FFT_20 + GUARD
L_STF = 160
L_LTF = 160

# (19-23): the long training sequence, left and right of a centre, in ascending order of k.
_LEFT = [1, 1, -1, -1, 1, 1, -1, 1, -1, 1, 1, 1, 1, 1, 1, -1, -1, 1, 1, -1, 1, -1, 1, 1, 1, 1]
_RIGHT = [1, -1, -1, 1, 1, -1, 1, -1, 1, -1, -1, -1, -1, -1, 1, 1, -1, -1, 1, -1, 1, -1, 1, 1, 1, 1]
_EDGE = [-1, -1, -1, 1, 1, -1, 1, -1, 1, 1, -1]
_LONG = {
    # (17-8), (19-23), (19-24), (21-43)
    "legacy": _LEFT + [0] + _RIGHT,
    20: [1, 1] + _LEFT + [0] + _RIGHT + [-1, -1],
    40: (_LEFT + [1] + _RIGHT + [-1, -1, -1, 1, 0, 0, 0, -1, 1, 1, -1] + _LEFT + [1] + _RIGHT),
    80: (_LEFT + [1] + _RIGHT + _EDGE + _LEFT + [1] + _RIGHT + [1, -1, 1, -1, 0, 0, 0, 1, -1, -1, 1]
         + _LEFT + [1] + _RIGHT + _EDGE + _LEFT + [1] + _RIGHT),
}
# (21-44): the sequence of 80 MHz in both halves.
_LONG[160] = _LONG[80] + 11 * [0] + _LONG[80]
# (17-6): values at k = -24, -20 ... 24 without 0, to be multiplied by (1 + j) / sqrt(2).
_SHORT = dict(zip([-24, -20, -16, -12, -8, -4, 4, 8, 12, 16, 20, 24],
                  [1, -1, 1, -1, -1, 1, -1, -1, 1, 1, 1, 1], strict=True))

# (19-27): sign of each space-time stream (row) in each long training field (column).
LTF_MAPPING = np.array([[1, -1, 1, 1], [1, 1, -1, 1], [1, 1, 1, -1], [-1, 1, 1, 1]])
# {number of space-time streams: number of HT-LTFs, VHT-LTFs or HE-LTFs}
NUM_LTF = {1: 1, 2: 2, 3: 4, 4: 4, 5: 6, 6: 6, 7: 8, 8: 8}

MAX_STREAMS = 8
# Tables 19-9, 19-10, 21-10, 21-11: {number of antennas (non-HT fields) or of space-time streams:
# cyclic advance of each in samples at 20 MS/s}.
LEGACY_ADVANCE = {1: (0,), 2: (0, 4), 3: (0, 2, 4), 4: (0, 1, 2, 3), 5: (0, 3.5, 0.5, 1, 1.5),
                  6: (0, 4, 0.5, 3, 3.5, 2.5), 7: (0, 4, 3, 0.5, 3.5, 1.5, 1),
                  8: (0, 3.5, 3, 2.5, 0.5, 2, 1, 4)}
STREAM_ADVANCE = {count: (0, 8, 4, 12, 7, 13, 2, 15)[:count] for count in range(1, 9)}

# Tables 19-19 and 19-20: pilots of each space-time stream in the first HT data symbol.
_HT_PILOTS = {
    20: {1: [[1, 1, 1, -1]],
         2: [[1, 1, -1, -1], [1, -1, -1, 1]],
         3: [[1, 1, -1, -1], [1, -1, 1, -1], [-1, 1, 1, -1]],
         4: [[1, 1, 1, -1], [1, 1, -1, 1], [1, -1, 1, 1], [-1, 1, 1, 1]]},
    40: {1: [[1, 1, 1, -1, -1, 1]],
         2: [[1, 1, -1, -1, -1, -1], [1, 1, 1, -1, 1, 1]],
         3: [[1, 1, -1, -1, -1, -1], [1, 1, 1, -1, 1, 1], [1, -1, 1, -1, -1, 1]],
         4: [[1, 1, -1, -1, -1, -1], [1, 1, 1, -1, 1, 1], [1, -1, 1, -1, -1, 1],
             [-1, 1, 1, 1, -1, 1]]},
}
# (17-24), (21-96) to (21-98): the same for all streams.
_VHT_PILOTS = {20: [1, 1, 1, -1], 40: [1, 1, 1, -1, -1, 1], 80: [1, 1, 1, -1, -1, 1, 1, 1]}
_VHT_PILOTS[160] = 2 * _VHT_PILOTS[80]
_POLARITY = 1.0 - 2.0 * scrambler_sequence(127, 127)
_POLARITY.setflags(write=False)


def _frozen(array):
    array.setflags(write=False)
    return array


def _spread(values, k, first):
    """Return the values at subcarriers k; the first value belongs to subcarrier ``first``."""
    return np.asarray(values)[np.asarray(k) - first]


@lru_cache
def short_training(bandwidth_mhz):
    """Return the short training sequence S (17-6), repeated in each 20 MHz subchannel.

    Returns:
        complex128 (N,) with N = 64 * bandwidth_mhz / 20 and subcarrier k at index k + N / 2;
        |S|^2 is 1 at the used subcarriers, else 0.
    """
    size = carriers.FFT_20 * bandwidth_mhz // 20
    out = np.zeros(size, complex)
    for centre in carriers.subchannels(bandwidth_mhz):
        for k, sign in _SHORT.items():
            out[size // 2 + centre + k] = sign * (1 + 1j) / np.sqrt(2)
    return _frozen(out)


@lru_cache
def legacy_long_training(bandwidth_mhz=20):
    """Return the L-LTF sequence L_k (17-8), +-1, at ``carriers.legacy(bandwidth_mhz).used``."""
    plan = carriers.legacy()
    one = _spread(_LONG["legacy"], plan.used, -26)
    return _frozen(np.tile(one, bandwidth_mhz // 20).astype(float))


@lru_cache
def long_training(bandwidth_mhz):
    """Return the (V)HT-LTF sequence, +-1, at ``carriers.high_throughput(bandwidth_mhz).used``."""
    values = _LONG[bandwidth_mhz]
    k = carriers.high_throughput(bandwidth_mhz).used
    return _frozen(_spread(values, k, -(len(values) // 2)).astype(float))


def polarity(first, count):
    """Return the values p_first to p_(first + count - 1), +-1, of the pilot polarity (17-25)."""
    return _POLARITY[(first + np.arange(count)) % 127]


def legacy_pilots(first, count, copies=1):
    """Return the pilots of non-HT symbols: float64 (count, 4 * copies).

    Args:
        first: index of the first symbol in the polarity sequence.
        count: number of symbols.
        copies: number of 20 MHz subchannels.
    """
    return polarity(first, count)[:, None] * np.tile([1.0, 1.0, 1.0, -1.0], copies)


def ht_pilots(bandwidth_mhz, num_streams, first, count):
    """Return the pilots of HT data symbols: float64 (count, pilots, num_streams) (§19.3.11.10).

    Args:
        bandwidth_mhz: 20 or 40.
        num_streams: number of space-time streams, 1..4.
        first: index of the first symbol in the polarity sequence: 3 in a mixed frame, 2 in a
            greenfield frame.
        count: number of symbols.
    """
    base = np.array(_HT_PILOTS[bandwidth_mhz][num_streams], float)
    n, p = np.arange(count)[:, None], np.arange(base.shape[1])
    turned = base[:, (n + p) % base.shape[1]]
    return polarity(first, count)[:, None, None] * turned.transpose(1, 2, 0)


def vht_pilots(bandwidth_mhz, first, start, count):
    """Return the pilots of VHT symbols, equal for all streams: float64 (count, pilots).

    Source: IEEE 802.11-2020 §21.3.10.10.

    Args:
        bandwidth_mhz: 20, 40, 80 or 160.
        first: index of the first symbol in the polarity sequence: 3 for the VHT-SIG-B, 4 for the
            first data symbol.
        start: number of the first symbol, counted from 0. The pilot pattern of each symbol is
            rotated by the number of the symbol.
        count: number of symbols.
    """
    base = np.array(_VHT_PILOTS[bandwidth_mhz], float)
    n, p = start + np.arange(count)[:, None], np.arange(base.size)
    return polarity(first, count)[:, None] * base[(n + p) % base.size]


def cyclic_shift(k, advance, fft_size=carriers.FFT_20):
    """Return the phase factors of cyclic advances: complex128 (len(k), len(advance)).

    Args:
        k: subcarrier indices.
        advance: advances in samples at 20 MS/s.
        fft_size: duration of a symbol without its guard interval, in samples at 20 MS/s.
    """
    return np.exp(2j * np.pi / fft_size * np.outer(k, advance))
