# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Preambles, and the constants of the search for them."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from . import carriers, training


class Preamble(NamedTuple):
    """A preamble that was found.

    Attributes:
        start: position in the stream of the first sample of the short training field, according to
            the first path of the channel.
        window: position in the stream of the FFT window in the first half of the long training
            field.
        cfo: carrier frequency offset in cycles per sample.
        subchannels: tuple of the 20 MHz subchannels of the band that hold the preamble, numbered
            from 0 upwards in frequency.
    """

    start: int
    window: int
    cfo: float
    subchannels: tuple


def acquisition(scale):
    """Return what the search for the long training field that follows a short one needs.

    The samples of a candidate are first corrected for the DC offset, and for the carrier offset
    that the correlation of the short field gives. The corrected samples must repeat after 3.2 us.
    The long field lies where the correlation with its known waveform is largest. The two halves of
    the long field give the rest of the carrier offset. The halves must agree at each subcarrier,
    and the channel response that they give must have a plausible length. Each 20 MHz subchannel of
    a wide channel is tested in this way. The timing comes from the paths of the channel.

    Args:
        scale: FFT size divided by 64: 1, 2 or 4.

    Returns:
        Dictionary of arguments of ``_core.wifi.Follower``.
    """
    fft = carriers.FFT_20 * scale
    bins = np.stack([(c + carriers.legacy().used) % fft for c in carriers.subchannels(20 * scale)])
    sequence = training.legacy_long_training().astype(np.float32)
    spectra = np.zeros((len(bins), fft), complex)
    for row, used in zip(spectra, bins, strict=True):
        row[used] = sequence
    return {"scale": scale, "bins": bins, "sequence": sequence,
            "reference": np.conj(np.fft.ifft(spectra)).astype(np.complex64)}


@lru_cache
def subchannels_of(mask):
    """Return ``Preamble.subchannels`` of a number with a bit for each subchannel."""
    return tuple(part for part in range(mask.bit_length()) if mask >> part & 1)
