# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Training fields, pilots and carrier positions of IEEE 802.11-2020 clause 19 (HT), 20 MHz.

Subcarrier arrays run in ascending frequency, k = -32..31, so carrier k has index k + 32.
"""

import numpy as np

from ..coding.scrambler import scrambler_sequence
from .parameters import FFT_SIZE, GUARD, LTF1, STF, SYMBOL

CENTRE = FFT_SIZE // 2
PILOT_CARRIERS = np.array([-21, -7, 7, 21])
DATA_CARRIERS = np.array([k for k in range(-28, 29) if k != 0 and abs(k) not in (7, 21)])
USED_CARRIERS = np.array([k for k in range(-28, 29) if k != 0])
NUM_USED = USED_CARRIERS.size

# §19.3.9.4.6: P_HTLTF, sign of layer (row) in long training field (column).
LTF_MAPPING = np.array([[1, -1, 1, 1], [1, 1, -1, 1], [1, 1, 1, -1], [-1, 1, 1, 1]])
# Table 19-10, in samples: layer i is advanced by so much within each symbol (0, 400, 200, 600 ns),
# so that layers that carry the same training do not form a beam.
CYCLIC_ADVANCE = np.array([0, 8, 4, 12])

# Equation (19-23) at k = -28..28.
_LTF_SIGNS = (
    "++" "++--++-+-++++++--++-+-++++" "0" "+--++-+-+-----++--+-+-++++" "--")
# Equation (17-6), also (19-8): k = -24, -20 ... 24 without 0, times (1 + j).
_STF_SIGNS = {-24: 1, -20: -1, -16: 1, -12: -1, -8: -1, -4: 1,
              4: -1, 8: -1, 12: 1, 16: 1, 20: 1, 24: 1}
# Table 19-19: pilots of layer (row) at -21, -7, 7, 21 in the first data symbol.
_PILOTS = {
    1: [[1, 1, 1, -1]],
    2: [[1, 1, -1, -1], [1, -1, -1, 1]],
    3: [[1, 1, -1, -1], [1, -1, 1, -1], [-1, 1, 1, -1]],
    4: [[1, 1, 1, -1], [1, 1, -1, 1], [1, -1, 1, 1], [-1, 1, 1, 1]],
}
# Data symbol n takes p_(n + z) of the polarity sequence; z = 2 in an HT-greenfield frame.
_POLARITY_OFFSET = 2


def _ltf():
    signs = np.zeros(FFT_SIZE)
    signs[CENTRE - 28:CENTRE + 29] = [{"+": 1, "-": -1, "0": 0}[c] for c in _LTF_SIGNS]
    return signs


LTF_CARRIERS = _ltf()


def pilots(num_tx, num_symbols):
    """Pilot values (num_symbols, 4 carriers, num_tx), +-1 (§19.3.11.10)."""
    n = np.arange(num_symbols)
    pattern = np.array(_PILOTS[num_tx])[:, (n[:, None] + np.arange(4)) % 4]
    polarity = 1 - 2.0 * scrambler_sequence(127, num_symbols + _POLARITY_OFFSET)
    return polarity[_POLARITY_OFFSET:, None, None] * pattern.transpose(1, 2, 0)


def cyclic_shift(num_tx):
    """Phase (64 carriers, num_tx) of each layer's cyclic advance, on every field of the frame."""
    k = np.arange(FFT_SIZE) - CENTRE
    return np.exp(2j * np.pi / FFT_SIZE * np.outer(k, CYCLIC_ADVANCE[:num_tx]))


def to_samples(carriers):
    """Inverse FFT of (..., 64) carriers in ascending frequency, unit power for unit carriers."""
    return np.fft.ifft(np.fft.ifftshift(carriers, -1), axis=-1) * (FFT_SIZE / np.sqrt(NUM_USED))


def to_subcarriers(symbols):
    """FFT of (..., 64) samples to carriers in ascending frequency, k = -32..31, unscaled.

    The same as GNU Radio's ``fft.fft_vcc(64, True, [], True)``.
    """
    return np.fft.fftshift(np.fft.fft(symbols, axis=-1), axes=-1).astype(np.complex64)


def preamble(num_tx, num_ltf):
    """The training fields, complex128 (num_tx, 320 + 80 (num_ltf - 1)), total power 1.

    Short training field (10 periods of 16), first long training field (guard of 32 and twice 64),
    the others (guard of 16 and 64): the HT-greenfield preamble of Figure 19-1 without HT-SIG.
    """
    shift = cyclic_shift(num_tx).T / np.sqrt(num_tx)
    stf = np.zeros(FFT_SIZE, complex)
    for k, sign in _STF_SIGNS.items():
        # 12 carriers carry the power of the 56 of the other fields.
        stf[CENTRE + k] = sign * (1 + 1j) / np.sqrt(2) * np.sqrt(NUM_USED / len(_STF_SIGNS))
    mapping = LTF_MAPPING[:num_tx]
    fields = [np.tile(to_samples(mapping[:, :1] * shift * stf), 3)[:, :STF]]
    for n in range(num_ltf):
        symbol = to_samples(mapping[:, n:n + 1] * shift * LTF_CARRIERS)
        period = np.tile(symbol, 3)
        length, guard = (LTF1, 2 * GUARD) if n == 0 else (SYMBOL, GUARD)
        fields.append(period[:, FFT_SIZE - guard:FFT_SIZE - guard + length])
    return np.concatenate(fields, axis=1)
