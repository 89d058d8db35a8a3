# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Confirm and time preambles, given the rough positions of their short training fields."""

from typing import NamedTuple

import numpy as np

from .. import _core
from . import carriers, training


class Preamble(NamedTuple):
    """A preamble that was found.

    Attributes:
        start: first sample of the short training field, along the first path.
        window: first sample of the FFT window in the first half of the long training field.
        cfo: carrier frequency offset in cycles per sample.
        subchannels: 20 MHz subchannels of the band that hold the preamble, ascending.
    """

    start: int
    window: int
    cfo: float
    subchannels: tuple


class PreambleAcquirer:
    """Find the long training field that follows a short one.

    The candidate's samples are first corrected for the DC offset, and for the carrier offset that
    the correlation of the short field gives. They must then repeat after 3.2 us. The long field
    lies where the correlation with its known waveform is largest. Its two halves give the rest of
    the carrier offset. The two halves must agree at each subcarrier, and the channel that they give
    must have a plausible length. Each 20 MHz subchannel of a wide channel is tested in this way.
    The timing comes from the paths of the channel.

    Args:
        scale: sample rate over 20 MS/s, 1, 2 or 4.
        turns: the carrier offset of the short field is ambiguous by multiples of 1 / (16 scale)
            cycles per sample. This many multiples are tried on each side.
    """

    def __init__(self, scale, turns=0):
        self._scale, self._turns = scale, turns
        fft = carriers.FFT_20 * scale
        k = carriers.legacy().used
        self._bins = np.stack([(c + k) % fft for c in carriers.subchannels(20 * scale)])
        self._sequence = training.legacy_long_training().astype(np.float32)
        reference = np.zeros((len(self._bins), fft), complex)
        for row, bins in zip(reference, self._bins, strict=True):
            row[bins] = self._sequence
        self._reference = np.conj(np.fft.ifft(reference)).astype(np.complex64)
        self._subchannels = [tuple(part for part in range(len(self._bins)) if mask >> part & 1)
                             for mask in range(1 << len(self._bins))]
        self.samples_needed = _core.wifi.preamble_samples * scale

    def acquire(self, stream, origin, starts, lag16):
        """Confirm and time preambles.

        Args:
            stream: complex64 (num_rx, m), C-contiguous.
            origin: position of its first sample in the stream of samples.
            starts: int64 (n,), positions in ``stream`` of the windows with the largest correlation
                over one period. ``samples_needed`` samples must follow each.
            lag16: complex64 (n,), this correlation: sum of x[n] conj(x[n + 16 scale]) with any
                positive weights of the antennas.

        Returns:
            (list of n :class:`Preamble` or None; complex64 (n, num_rx), DC offset, 0 where
            unknown). None means that no long training field follows, or that samples are not finite
            or too large to be squared.
        """
        *found, direct = _core.wifi.acquire(
            stream, starts=starts, lag=lag16, scale=self._scale, turns=self._turns, bins=self._bins,
            sequence=self._sequence, reference=self._reference)
        bases = (starts + origin).tolist()
        return [Preamble(base + start, base + window, cfo, self._subchannels[part]) if part
                else None
                for base, part, start, window, cfo in zip(
                    bases, *(one.tolist() for one in found), strict=True)], direct
