# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Subcarriers of IEEE 802.11 OFDM: data and pilot positions, and how 20 MHz channels combine.

Subcarrier k lies k carrier spacings above the centre of the channel. The carrier spacing is
312.5 kHz in channels of 20 MHz or more. Arrays are in ascending order of k. Section numbers are
those of IEEE 802.11-2020.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

FFT_20 = 64    # FFT size of a 20 MHz channel
BANDWIDTHS = (20, 40, 80, 160)    # MHz


@dataclass(frozen=True)
class CarrierPlan:
    """Subcarriers of an OFDM symbol.

    Attributes:
        bandwidth_mhz: bandwidth of the channel in MHz.
        data: indices k of the data subcarriers, ascending.
        pilots: indices k of the pilot subcarriers, ascending.
        copies: number of copies of the data in frequency: 2 or 4 in a duplicate frame.
    """

    bandwidth_mhz: int
    data: tuple
    pilots: tuple
    copies: int = 1

    @cached_property
    def used(self):
        """Indices k of data and pilot subcarriers, ascending: int64 array."""
        return np.array(sorted(self.data + self.pilots))

    @cached_property
    def data_index(self):
        """Positions of the data subcarriers in ``used``: int64 array."""
        return np.searchsorted(self.used, self.data)

    @cached_property
    def pilot_index(self):
        """Positions of the pilot subcarriers in ``used``: int64 array."""
        return np.searchsorted(self.used, self.pilots)

    @cached_property
    def num_data(self):
        """N_SD, the number of data subcarriers in one copy."""
        return len(self.data) // self.copies


def _plan(bandwidth, edge, pilots, holes=(0,)):
    absent = {*pilots, *holes}
    data = tuple(k for k in range(-edge, edge + 1) if k not in absent)
    return CarrierPlan(bandwidth, data, tuple(pilots))


_LEGACY_PILOTS = (-21, -7, 7, 21)
_LEGACY = _plan(20, 26, _LEGACY_PILOTS)
# IEEE 802.11-2020 Tables 19-6 and 21-5.
_HIGH_THROUGHPUT = {
    20: _plan(20, 28, _LEGACY_PILOTS),
    40: _plan(40, 58, (-53, -25, -11, 11, 25, 53), (-1, 0, 1)),
    80: _plan(80, 122, (-103, -75, -39, -11, 11, 39, 75, 103), (-1, 0, 1)),
    160: _plan(160, 250, (-231, -203, -167, -139, -117, -89, -53, -25,
                          25, 53, 89, 117, 139, 167, 203, 231),
               (-129, -128, -127, *range(-5, 6), 127, 128, 129)),
}


def subchannels(bandwidth_mhz):
    """Return the subcarrier indices of the centres of the 20 MHz subchannels.

    They are (0,), (-32, 32) or (-96, -32, 32, 96) at 20, 40 or 80 MHz, and so on at 160 MHz.
    """
    count = bandwidth_mhz // 20
    return tuple(FFT_20 * i - FFT_20 // 2 * (count - 1) for i in range(count))


@lru_cache
def extended(bandwidth_mhz=20):
    """Return the plan of HE-SIG-A and HE-SIG-B symbols: 52 data subcarriers in each 20 MHz.

    L-SIG and RL-SIG of HE frames have the same subcarriers; the outer four hold no data.
    """
    one = high_throughput(20)
    centres = subchannels(bandwidth_mhz)
    return CarrierPlan(bandwidth_mhz, tuple(c + k for c in centres for k in one.data),
                       tuple(c + k for c in centres for k in one.pilots), len(centres))


@lru_cache
def legacy(bandwidth_mhz=20):
    """Return the plan of non-HT symbols: 48 data subcarriers in each 20 MHz subchannel."""
    centres = subchannels(bandwidth_mhz)
    return CarrierPlan(bandwidth_mhz, tuple(c + k for c in centres for k in _LEGACY.data),
                       tuple(c + k for c in centres for k in _LEGACY.pilots), len(centres))


def high_throughput(bandwidth_mhz):
    """Return the plan of HT and VHT symbols: 52, 108, 234 or 468 data subcarriers."""
    return _HIGH_THROUGHPUT[bandwidth_mhz]


def rotation(bandwidth_mhz, k):
    """Return gamma_k, the phase rotation of the parts of a wide channel (§19.3.9.3.2, §21.3.7.5).

    Args:
        bandwidth_mhz: 20, 40, 80 or 160.
        k: array of subcarrier indices.

    Returns:
        complex128 array of the shape of k: j for k >= 0 at 40 MHz, -1 for k >= -64 at 80 MHz and in
        each half of 160 MHz, and 1 elsewhere.
    """
    k = np.asarray(k)
    if bandwidth_mhz == 160:
        return rotation(80, np.where(k < 0, k + 128, k - 128))
    if bandwidth_mhz == 40:
        return np.where(k >= 0, 1j, 1)
    if bandwidth_mhz == 80:
        return np.where(k >= -64, -1, 1).astype(complex)
    return np.ones(k.shape, complex)
