# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Confirm preambles and find their exact positions, from rough positions of the short fields."""

from typing import NamedTuple

import numpy as np

from .. import _core
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


class PreambleAcquirer:
    """Find the long training field that follows a short one.

    The samples of a candidate are first corrected for the DC offset, and for the carrier offset
    that the correlation of the short field gives. The corrected samples must repeat after 3.2 us.
    The long field lies where the correlation with its known waveform is largest. The two halves of
    the long field give the rest of the carrier offset. The halves must agree at each subcarrier,
    and the channel response that they give must have a plausible length. Each 20 MHz subchannel of
    a wide channel is tested in this way. The timing comes from the paths of the channel.

    Args:
        scale: FFT size divided by 64: 1, 2 or 4.
        turns: the carrier offset from the short field is ambiguous by multiples of 1 / (16 scale)
            cycles per sample; ``turns`` is the number of multiples to try on each side of it.

    Attributes:
        samples_needed: number of samples that must follow a candidate.
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
        """Confirm preambles and find their exact positions.

        Args:
            stream: complex64 (num_rx, m), C-contiguous.
            origin: position in the stream of the first sample of ``stream``.
            starts: int64 (n,), candidates: positions in ``stream`` of windows in which the
                correlation over one period of the short field is largest. ``samples_needed``
                samples must follow each position.
            lag16: complex64 (n,), this correlation: the sum of x[k] conj(x[k + 16 scale]) over the
                window and, with any positive weights, over the antennas.

        Returns:
            (preambles, DC offsets): a list of n elements, and complex64 (n, num_rx), 0 where
            unknown. An element is a :class:`Preamble`, or None if no long training field follows,
            or if samples are not finite or too large to be squared.
        """
        *found, direct = _core.wifi.acquire(
            stream, starts=starts, lag=lag16, scale=self._scale, turns=self._turns, bins=self._bins,
            sequence=self._sequence, reference=self._reference)
        bases = (starts + origin).tolist()
        return [Preamble(base + start, base + window, cfo, self._subchannels[part]) if part
                else None
                for base, part, start, window, cfo in zip(
                    bases, *(one.tolist() for one in found), strict=True)], direct
