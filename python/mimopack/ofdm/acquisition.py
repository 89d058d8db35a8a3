# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Confirming and timing a preamble, given roughly where its short training field lies.

All positions here count from the first sample of the array that is handed in.
"""

from dataclasses import dataclass

import numpy as np

from . import waveform
from .parameters import FFT_SIZE, GUARD, SAMPLE_RATE, STF, SYMBOL

# A short-training window that lies best may begin so far before or after the field itself.
_EARLY, _LATE = 14, 64
_LTF1_START = STF + 2 * GUARD
# Taps past the first one that belong to the channel when the long training field is searched.
_SEARCH_DELAY = 8
_LAG64_THRESHOLD = 0.4

# Delays that the 64 taps of a channel estimate stand for, ascending, and where a forward FFT of
# the carriers (the taps in reverse) has them.
_DELAYS = np.arange(-FFT_SIZE // 2, FFT_SIZE // 2)
_TAP_INDEX = -_DELAYS % FFT_SIZE
_NEAR = np.abs(_DELAYS) <= GUARD + 8
# Shifts of the FFT window, and by how many samples a path of each delay lies outside the guard
# interval of a window shifted so: it disturbs the more, the further out.
_SHIFTS = np.arange(-GUARD - 8, GUARD + 1)
_OUTSIDE = (np.maximum(_SHIFTS[:, None] - _DELAYS, 0)
            + np.maximum(_DELAYS - _SHIFTS[:, None] - GUARD, 0)).astype(float)


@dataclass(frozen=True)
class Acquisition:
    """A preamble: first sample of the STF, start of the first LTF's FFT window, offset in Hz."""

    start: int
    window: int
    cfo: float

    def shifted(self, by):
        """The same, counted from another sample."""
        return Acquisition(self.start + by, self.window + by, self.cfo)


def lag_to_hz(correlation, lag):
    """Frequency offset of sum x[n] conj(x[n + lag]), in Hz, within +-fs / (2 lag)."""
    return -np.angle(correlation) * SAMPLE_RATE / (2 * np.pi * lag)


def rotation(cfo, length, start=0):
    """exp(-j 2 pi cfo n / fs) for n = start .. start + length - 1: takes the offset away."""
    return np.exp(-2j * np.pi * cfo / SAMPLE_RATE * np.arange(start, start + length))


class PreambleAcquirer:
    """Finds the long training fields behind a short training field.

    Args:
        num_tx: transmit antennas.
        num_ltf: long training fields.
    """

    def __init__(self, num_tx, num_ltf):
        self._num_tx = num_tx
        self._num_ltf = num_ltf
        self._advance = int(waveform.CYCLIC_ADVANCE[:num_tx].max())
        self._fft_size = 512
        reference = waveform.to_samples(waveform.LTF_CARRIERS)
        self._reference = np.conj(np.fft.fft(reference, self._fft_size)).astype(np.complex64)
        # The taps of all layers together: cyclic advance before, delay spread behind, and slack.
        width = self._advance + GUARD + 1
        self._taps = np.arange(-self._advance - 4, GUARD - 3)
        share = width / FFT_SIZE
        self._concentration = share + 0.35 * (1 - share)
        self._demapping = (waveform.LTF_MAPPING[:num_tx, :num_ltf] / num_ltf).astype(np.float32)
        self._unshift = (np.conj(waveform.cyclic_shift(num_tx))
                         * (waveform.LTF_CARRIERS * _hann())[:, None]).T.astype(np.complex64)

    @property
    def samples_needed(self):
        """How many samples :meth:`acquire` takes, counted from the window's first."""
        return _LTF1_START + _EARLY + 2 * FFT_SIZE + SYMBOL * (self._num_ltf - 1)

    def acquire(self, samples, lag16):
        """Confirm and time the preamble.

        Args:
            samples: (num_rx, samples_needed) complex64; the first sample is that of the window in
                which the lag-16 correlation was largest.
            lag16: that correlation, sum over antennas and window of x[n] conj(x[n + 16]).

        Returns:
            :class:`Acquisition`, or None where no long training field follows, or samples are not
            finite or too large to be squared.
        """
        coarse = lag_to_hz(lag16, 16)
        first = _LTF1_START - _LATE - GUARD
        tail = np.asarray(samples[:, first:] * rotation(coarse, samples.shape[1] - first),
                          np.complex64)
        position = self._search(tail[:, :_LATE + _EARLY + GUARD + 2 * FFT_SIZE])
        early = tail[:, position - 8:position + FFT_SIZE]
        late = tail[:, position + FFT_SIZE - 8:position + 2 * FFT_SIZE]
        lag64 = np.vdot(late, early)
        energy = np.sqrt(np.vdot(early, early).real * np.vdot(late, late).real)
        if not abs(lag64) > _LAG64_THRESHOLD * energy:
            return None
        residual = lag_to_hz(lag64, FFT_SIZE)
        tail *= rotation(residual, tail.shape[1]).astype(np.complex64)
        training = self._training(tail, position)
        if not self._is_ltf(training[:, 0]):
            return None
        timing = self._timing(training)
        if timing is None:
            return None
        delay, offset = timing
        ltf = first + position
        return Acquisition(ltf + delay - _LTF1_START, ltf + offset, float(coarse + residual))

    def _search(self, tail):
        """Start of the first LTF's first 64 samples, to about 8 samples."""
        length = tail.shape[1]
        correlation = np.fft.ifft(np.fft.fft(tail, self._fft_size, axis=1) * self._reference,
                                  axis=1)[:, :length - FFT_SIZE + 1]
        both = correlation[:, :-FFT_SIZE] + correlation[:, FFT_SIZE:]
        power = np.sum(both.real**2 + both.imag**2, axis=0)
        # Taps lie from the largest cyclic advance before the start to the delay spread behind it.
        window = np.ones(self._advance + _SEARCH_DELAY + 1)
        energy = np.convolve(power, window)[window.size - 1:]
        best = int(np.argmax(energy[:power.size - self._advance])) + self._advance
        return min(max(best, GUARD), length - 2 * FFT_SIZE)

    def _training(self, tail, position):
        """The LTFs' subcarriers (num_rx, num_ltf, 64), the two halves of the first averaged."""
        symbols = np.empty((tail.shape[0], self._num_ltf, FFT_SIZE), np.complex64)
        halves = tail[:, position:position + 2 * FFT_SIZE].reshape(-1, 2, FFT_SIZE)
        symbols[:, 0] = halves.mean(axis=1)
        for n in range(1, self._num_ltf):
            begin = position + 2 * FFT_SIZE + GUARD + SYMBOL * (n - 1)
            symbols[:, n] = tail[:, begin:begin + FFT_SIZE]
        return waveform.to_subcarriers(symbols)

    def _is_ltf(self, first):
        """Whether the response to the LTF is short, as a channel's is and that of noise is not."""
        taps = np.fft.ifft(np.fft.ifftshift(first * waveform.LTF_CARRIERS, -1), axis=-1)
        power = np.sum(taps.real**2 + taps.imag**2, axis=0)
        return power[self._taps].sum() > self._concentration * power.sum()

    def _timing(self, training):
        """(delay of the first path, best shift of the FFT window), from all layers' channels.

        None where they are not finite.
        """
        # (num_rx, num_tx, 64): with the layers apart their cyclic advances can be taken back.
        channel = (self._demapping @ training) * self._unshift
        # The carriers run from -32, so tap d carries the sign (-1)^d, which its power does not.
        taps = np.fft.fft(channel, axis=-1)
        power = np.sum(taps.real**2 + taps.imag**2, axis=(0, 1))[_TAP_INDEX]
        floor = np.median(power) * (1 + 4 / np.sqrt(channel.shape[0] * channel.shape[1]))
        power = np.maximum(power - floor, 0) * _NEAR
        if not power.any():
            return 0, -GUARD // 4
        # The Hann window spreads a path to its neighbours at a quarter of its power.
        delay = _DELAYS[np.argmax(power > 0.4 * power.max())]
        # Take the middle of the best windows: it leaves room on both sides.
        cost = _OUTSIDE @ power
        if not np.isfinite(cost).all():
            return None
        best = _SHIFTS[cost <= cost.min() + 0.01 * power.sum()]
        return int(delay), int(best[(best.size - 1) // 2])


def _hann():
    k = np.arange(FFT_SIZE) - waveform.CENTRE
    return np.where(np.abs(k) <= 28, 0.5 + 0.5 * np.cos(np.pi * k / 29), 0)
