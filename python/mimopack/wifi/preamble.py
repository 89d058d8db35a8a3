# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Confirm and time preambles, given roughly where their short training fields lie."""

from typing import NamedTuple

import numpy as np

from .. import _core
from . import carriers, training


class Preamble(NamedTuple):
    """A preamble that was found.

    Attributes:
        start: first sample of the short training field, by the first path.
        window: first sample of the FFT window in the first half of the long training field.
        cfo: carrier offset in cycles per sample.
        subchannels: which 20 MHz parts of the band hold it, ascending.
    """

    start: int
    window: int
    cfo: float
    subchannels: tuple


class PreambleAcquirer:
    """Finds the long training field behind a short one.

    A candidate's samples, without direct current and without the offset that the short field's
    correlation tells, must repeat themselves after 3.2 us. The long field is where they correlate
    most with it; its two halves tell the rest of the offset, must agree subcarrier by subcarrier,
    and must give a channel as short as channels are. In wide channels that is asked of each 20 MHz
    part. The timing comes from the channel's paths.

    Args:
        scale: sample rate over 20 MS/s, 1, 2 or 4.
        turns: the short field tells the offset but for multiples of 1 / (16 scale) cycles per
            sample; so many are tried to each side.
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
            origin: sample of the stream at which it begins.
            starts: int64 (n,), samples of ``stream``: the windows in which the correlation over one
                period was largest. samples_needed follow.
            lag16: complex64 (n,), that correlation, sum of x[n] conj(x[n + 16 scale]) with any
                positive weights of antennas.

        Returns:
            (list of n :class:`Preamble`, or None where no long training field follows, or samples
            are not finite or too large to be squared; complex64 (n, num_rx): direct current, 0
            where there is none).
        """
        *found, direct = _core.wifi.acquire(
            stream, starts=starts, lag=lag16, scale=self._scale, turns=self._turns, bins=self._bins,
            sequence=self._sequence, reference=self._reference)
        bases = (starts + origin).tolist()
        return [Preamble(base + start, base + window, cfo, self._subchannels[part]) if part
                else None
                for base, part, start, window, cfo in zip(
                    bases, *(one.tolist() for one in found), strict=True)], direct
