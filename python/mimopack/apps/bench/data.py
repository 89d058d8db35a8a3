# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate vectors for benchmarks: i.i.d. Rayleigh channels, uncoded bits."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ... import channel
from ...constellation import get as get_constellation


@dataclass(frozen=True)
class Setting:
    """Antennas, constellation, SNR and vectors per channel matrix of simulated data."""

    num_tx: int = 4
    num_rx: int = 4
    constellation: object = "qam16"
    snr_db: float = 20.0
    per_channel: int = 1

    @property
    def noise_var(self):
        """Noise variance: num_tx, the total power of the layers, divided by the SNR per antenna."""
        return self.num_tx * 10 ** (-self.snr_db / 10)

    @property
    def points(self):
        return get_constellation(self.constellation)

    @property
    def bits_per_vector(self):
        return self.num_tx * self.points.bits_per_symbol


def simulate(n, num_tx, num_rx, constellation, noise_var, per_channel, seed=1):
    """Simulate n received vectors, with T = per_channel vectors for each channel matrix.

    Return y (n, num_rx), h (n / T, num_rx, num_tx) and bits (n, num_tx * bits per symbol).
    """
    rng = np.random.default_rng(seed)
    h = channel.flat_rayleigh(n // per_channel, num_rx, num_tx, rng).astype(np.complex64)
    bits = rng.integers(0, 2, (n, num_tx * constellation.bits_per_symbol), np.uint8)
    x = constellation.modulate(bits).astype(np.complex64)
    y = np.matmul(h[:, None], x.reshape(-1, per_channel, num_tx, 1)).reshape(n, num_rx)
    y = y + channel.awgn((n, num_rx), noise_var, rng)
    return np.ascontiguousarray(y, np.complex64), h, bits


class Data:
    """The vectors of one setting, simulated on first access."""

    def __init__(self, setting, vectors):
        self.setting = setting
        self.vectors = vectors - vectors % setting.per_channel

    @cached_property
    def _arrays(self):
        s = self.setting
        return simulate(self.vectors, s.num_tx, s.num_rx, s.points, s.noise_var, s.per_channel)

    @property
    def y(self):
        return self._arrays[0]

    @property
    def h(self):
        return self._arrays[1]

    @property
    def bits(self):
        return self._arrays[2]

    @cached_property
    def llr(self):
        """Output array for LLRs, written once so that its pages are in memory."""
        room = np.empty(self.bits.shape, np.float32)
        room[...] = 0
        return room


class Store:
    """Keep one ``Data`` for each setting."""

    def __init__(self, vectors):
        self.vectors = vectors
        self._data = {}

    def get(self, setting):
        if setting not in self._data:
            self._data[setting] = Data(setting, self.vectors)
        return self._data[setting]
