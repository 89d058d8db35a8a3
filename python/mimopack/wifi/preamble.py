# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Confirm and time a preamble, given roughly where its short training field lies.

Positions count samples of the array that is handed in. W is the sample rate over 20 MS/s.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .. import _core
from . import carriers, training
from .windows import FrameSamples

# Around the best window of the short training field, the long one may begin so much earlier or
# later than behind ten periods, in samples at 20 MS/s.
_EARLY, _LATE = 14, 64
_LTF_START = training.L_STF + 2 * training.GUARD
# Paths past the first one that count when the long training field is searched.
_SEARCH_DELAY = 8
_LAG64_THRESHOLD = 0.4
# Energy of the mean over the power that makes it a direct current, where a signal with an unknown
# carrier offset would be seldom so strong.
_LEAST_DIRECT = 8.0
_ADVANCE = 4    # largest cyclic advance of an antenna in the non-HT preamble

# Delays that the 64 taps of a channel stand for, and where an inverse FFT has them.
_DELAYS = np.arange(-32, 32)
_NEAR = np.abs(_DELAYS) <= training.GUARD + 8
# Power that all taps of noise together put into the taps of a channel, and that of a channel.
_WIDTH = _ADVANCE + training.GUARD + 1
_TAPS = np.arange(-_ADVANCE - 4, training.GUARD - 3)
_CONCENTRATED = _WIDTH / 64 + 0.35 * (1 - _WIDTH / 64)
# Some steps of a turn are computed, all others are products of them.
_FINE = 128


@lru_cache
def _outside(guard):
    """(shifts (s,), by how much paths of each delay lie outside the guard interval of windows that
    are shifted so (64, s))."""
    shifts = np.arange(-guard - 8, guard + 1)
    outside = (np.maximum(shifts - _DELAYS[:, None], 0)
               + np.maximum(_DELAYS[:, None] - shifts - guard, 0))
    return shifts, outside.astype(float)


def _hann(k):
    return 0.5 + 0.5 * np.cos(np.pi * k / 27)


def direct_current(samples, cfo):
    """A receiver's direct current where the mean of samples tells it from the signal.

    Args:
        samples: (..., n) complex, of frames.
        cfo: carrier offset over the carrier spacing, to be broadcast to (..., 1).

    Returns:
        (..., 1). A signal's mean square is near its power over n where the offset brings a
        subcarrier to frequency 0, and far less where it does not.
    """
    count = samples.shape[-1]
    mean = samples.sum(axis=-1, keepdims=True) / count
    power = energy(samples)[..., None] / count
    least = np.where(np.abs(cfo) < 0.25, 0.5, _LEAST_DIRECT)
    there = (mean.real**2 + mean.imag**2) * count > least * power
    return np.where(there, mean, 0).astype(samples.dtype)


def turned(cfo, length, start=0):
    """exp(-j 2 pi cfo n), n = start ... : takes offsets of cfo cycles per sample away.

    Args:
        cfo: float64 (frames,).
        length: samples.
        start: the first n.

    Returns:
        complex64 (frames, length).
    """
    coarse = np.arange(-(-length // _FINE)) * _FINE + start
    angle = -2j * np.pi * np.asarray(cfo)[:, None]
    steps = (np.exp(angle * coarse).astype(np.complex64)[:, :, None]
             * np.exp(angle * np.arange(_FINE)).astype(np.complex64)[:, None])
    return steps.reshape(len(angle), -1)[:, :length]


def energy(values):
    """Sum of |x|^2 over the last axis."""
    real = np.ascontiguousarray(values).view(values.real.dtype)
    return np.einsum("...n,...n->...", real, real)


@dataclass(frozen=True)
class Preamble:
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


def window_shifts(power, guard):
    """Find where FFT windows lie best, in samples at 20 MS/s behind the first path's window.

    Args:
        power: float (n, 64), of the channels' paths at delays -32..31.
        guard: guard interval in samples at 20 MS/s.

    Returns:
        int64 (n,): where the fewest paths reach in from neighbouring symbols; of equals the middle.
    """
    shifts, outside = _outside(guard)
    cost = (power[:, None] @ outside)[:, 0]    # each row by itself: no other changes its rounding
    best = cost <= cost.min(axis=1, keepdims=True) + 0.01 * power.sum(axis=1, keepdims=True)
    middle = (best.sum(axis=1, keepdims=True) + 1) // 2
    return shifts[np.argmax(np.cumsum(best, axis=1) == middle, axis=1)]


class PreambleAcquirer:
    """Finds the long training field behind a short one.

    Args:
        scale: W, 1, 2 or 4.
    """

    def __init__(self, scale):
        self._scale = scale
        self._fft = carriers.FFT_20 * scale
        self._centres = carriers.subchannels(20 * scale)
        k = carriers.legacy().used
        self._k = k
        self._bins = np.stack([(centre + k) % self._fft for centre in self._centres])
        self._sequence = training.legacy_long_training().astype(np.float32)
        reference = np.zeros((len(self._centres), self._fft), complex)
        for row, bins in zip(reference, self._bins, strict=True):
            row[bins] = self._sequence
        self._reference = np.conj(np.fft.ifft(reference)).astype(np.complex64)
        self._hann = (self._sequence * _hann(k)).astype(np.float32)
        self.samples_needed = (_LTF_START + _EARLY + 2 * carriers.FFT_20) * scale

    def candidates(self, stream, starts):
        """Find where a long training field may follow: most other signals' halves do not agree.

        Args:
            stream: complex64 (num_rx, n), C-contiguous.
            starts: int64 (n,), where the samples for :meth:`acquire` begin; samples_needed follow.

        Returns:
            (whether there may be one (n,), direct current of the samples (n, num_rx)).
        """
        w = self._scale
        direct, agreement = _core.wifi.repetitions(
            stream, starts=starts, length=self.samples_needed,
            first=(_LTF_START - _LATE - 8) * w, positions=(_EARLY + _LATE) * w + 1, window=72 * w,
            lag=self._fft, least_direct=_LEAST_DIRECT)
        # Sums in another order must not lose what acquire() would find.
        return agreement > 0.999 * _LAG64_THRESHOLD, direct

    def acquire(self, samples, direct, lag16):
        """Confirm and time preambles.

        Args:
            samples: (n, num_rx, samples_needed) complex64; the first sample of each is that of the
                window in which the correlation over one period was largest.
            direct: (n, num_rx), direct current that they contain.
            lag16: (n,) that correlation, sum of x[n] conj(x[n + 16 W]) with any positive weights
                of antennas.

        Returns:
            list of n :class:`Preamble`, or None where no long training field follows, or samples
            are not finite or too large to be squared.
        """
        w, fft = self._scale, self._fft
        coarse = -np.angle(lag16) / (2 * np.pi * 16 * w)
        first = (_LTF_START - _LATE - training.GUARD) * w
        length = samples.shape[2] - first
        tail = samples[:, :, first:] - direct[..., None]
        tail *= turned(coarse, length)[:, None]
        level = np.sqrt(energy(tail) / length)
        usable = np.isfinite(level).all(axis=1) & level.any(axis=1)
        gain = 1 / np.where(usable[:, None] & (level > 0), level, 1)
        tail *= gain[..., None]
        position = self._search(tail)
        span = position[:, None] + np.arange(-8 * w, 2 * fft)
        near = tail[np.arange(len(tail))[:, None, None],
                    np.arange(tail.shape[1])[:, None], span[:, None]]
        early, late = near[..., :fft + 8 * w], near[..., fft:]
        lag64 = np.einsum("nrk,nrk->nr", early, late.conj())
        size = np.sqrt(energy(early) * energy(late))
        usable &= np.abs(lag64.sum(axis=1)) > _LAG64_THRESHOLD * size.sum(axis=1)
        # Antennas weighted by their SNR, of which the correlation tells.
        weight = 1 / np.maximum(size - np.abs(lag64), 0.05 * size + 1e-30)
        residual = -np.angle(np.sum(weight * lag64, axis=1)) / (2 * np.pi * fft)
        windows = (first + position)[:, None] + np.array([0, fft])
        # (n, rx, 2, subchannels, 52)
        spectrum = FrameSamples(samples, coarse + residual, direct).spectra(
            windows, fft, self._bins.ravel(), gain)
        spectrum = spectrum.reshape(*spectrum.shape[:3], *self._bins.shape)
        good, agreement = self._occupied(spectrum)
        groups = {}
        for index in np.flatnonzero(usable):
            if subchannels := _group(good[index], agreement[index]):
                groups.setdefault(subchannels, []).append(index)
        found = [None] * len(samples)
        for subchannels, indices in groups.items():
            delay, shift, known = self._timing(spectrum[indices][:, :, :, list(subchannels)])
            ltf = first + position[indices]
            start, window = ltf + (delay - _LTF_START) * w, ltf + shift * w
            cfo = coarse[indices] + residual[indices]
            for i in np.flatnonzero(known):
                found[indices[i]] = Preamble(int(start[i]), int(window[i]), float(cfo[i]),
                                             subchannels)
        return found

    def _search(self, tail):
        """Start of the first LTF's first half, to about 8 samples at 20 MS/s: (n,)."""
        w = self._scale
        best = _core.wifi.pairs(tail, reference=self._reference,
                                width=(_ADVANCE + _SEARCH_DELAY) * w + 1) + _ADVANCE * w
        return np.clip(best, training.GUARD * w, tail.shape[2] - 2 * self._fft)

    def _occupied(self, spectrum):
        """(whether subchannels hold a long training field (n, subchannels): its halves agree, and
        its response is short; the halves' correlation)."""
        first, second = spectrum[:, :, 0], spectrum[:, :, 1]
        power = (energy(first) + energy(second)).sum(axis=1) / 2
        agreement = np.einsum("nrsk,nrsk->ns", first, second.conj()).real
        # Strong subcarriers count no more than twice the middle one: a narrow signal must not pass
        # for a channel, nor a tone hide one.
        both = first + second
        size = np.abs(both)
        both = both * np.minimum(1, 2 * np.median(size, axis=-1, keepdims=True)
                                 / np.maximum(size, 1e-30))
        taps = np.fft.ifft(_grid(both * self._sequence), axis=-1)
        taps = np.sum(taps.real**2 + taps.imag**2, axis=1)
        short = taps[..., _TAPS].sum(axis=-1) > _CONCENTRATED * taps.sum(axis=-1)
        strong = power > 0.01 * power.max(axis=1, keepdims=True)
        return (agreement > _LAG64_THRESHOLD * power) & short & strong, agreement

    def _timing(self, spectrum):
        """Delay of the first path and best shift of the FFT window, in samples at 20 MS/s, and
        whether they are known: each (n,), of (n, num_rx, 2, subchannels, 52)."""
        first, second = spectrum[:, :, 0], spectrum[:, :, 1]
        noise = energy(first - second).mean(axis=2) / len(self._k)
        mean = (first + second) * (self._hann / 2)
        mean /= np.sqrt(noise + 1e-30)[..., None, None]
        taps = np.fft.ifft(_grid(mean))
        power = np.sum(taps.real**2 + taps.imag**2, axis=(1, 2))[:, _DELAYS]
        known = np.isfinite(power).all(axis=1)
        floor = np.median(np.where(known[:, None], power, 0), axis=1, keepdims=True)
        floor *= 1 + 4 / np.sqrt(spectrum.shape[1] * spectrum.shape[3])
        power = np.where(known[:, None], np.maximum(power - floor, 0) * _NEAR, 0)
        some = power.any(axis=1)
        # The Hann window spreads a path to its neighbours at a quarter of its power.
        delay = _DELAYS[np.argmax(power > 0.4 * power.max(axis=1, keepdims=True), axis=1)]
        shift = window_shifts(power, training.GUARD)
        return np.where(some, delay, 0), np.where(some, shift, -training.GUARD // 4), known


def _group(good, agreement):
    """The 20 MHz parts that hold a frame: all, the better pair, the best one, or none."""
    if good.all():
        return tuple(range(good.size))
    pairs = [i for i in range(0, good.size, 2) if good[i:i + 2].all()]
    if pairs and good.size > 2:
        best = max(pairs, key=lambda i: agreement[i:i + 2].sum())
        return best, best + 1
    if good.any():
        return (int(np.argmax(np.where(good, agreement, -1))),)
    return ()


def _grid(values):
    """(..., 52) legacy carriers in the bins of a 64-point FFT."""
    out = np.zeros((*values.shape[:-1], 64), values.dtype)
    out[..., carriers.legacy().used % 64] = values
    return out
