# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Smooth channel estimates over the subcarriers within the channel's delay spread."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .. import _core

# Steps in which spreads, in samples of the channel, and signal to noise ratios are told apart.
_STEP_SAMPLES = 0.5
_STEP_DB = 4
# Delays around the mean one in which paths are looked for, in samples at 20 MS/s: a guard interval
# on both sides.
_EARLIEST, _LATEST = -16, 16
# Beside the outermost paths that are found there may be weaker ones, below the sidelobes: samples
# at 20 MS/s, and more for each dB above 15.
_MARGIN = 0.5
_MARGIN_PER_DB = 0.1
# Channels longer than that, in samples at 20 MS/s, are not smoothed.
_LONGEST = 48
# Sidelobes of the window lie 31 dB below a path.
_SIDELOBE = 1.5e-3
# Eigenvalues below this share of a subcarrier's power carry nothing.
_LEAST = 1e-5


@lru_cache(maxsize=512)
def _filters(smoother, width, level):
    """(analysis (rank, k), synthesis (wanted, rank), error) for delays that are equally likely
    within a width, around 0.

    The covariance of subcarriers is then a sinc; its eigenvectors are discrete prolate
    spheroidal sequences, of which few hold all the power. error is the mean over subcarriers of
    the estimate's noise and bias, over that of least squares.
    """
    k, at = smoother.carriers, smoother.wanted
    spread = max(width, 1) * _STEP_SAMPLES / smoother.fft_size
    values, vectors = np.linalg.eigh(np.sinc(spread * (k[:, None] - k)))
    keep = values > _LEAST * k.size
    values, vectors = values[keep], vectors[:, keep]
    noise = 10 ** (-level * _STEP_DB / 10)
    gains = values / (values + noise)
    # Nystroem: an eigenvector between and beyond the subcarriers that were trained.
    extended = np.sinc(spread * (at[:, None] - k)) @ (vectors / values)
    error = gains.sum() / k.size
    return ((gains[:, None] * vectors.T).astype(np.float32), extended.astype(np.float32),
            float(error))


@lru_cache
def _delay_transform(carriers, fft_size):
    """(delays in samples at 20 MS/s, windowed inverse Fourier transform to them (k, delays))."""
    k = np.array(carriers)
    grid = np.arange(k[0], k[-1] + 1)
    # Subcarriers that are not used are filled from their neighbours, lest each path leaves
    # something in all delays.
    fill = np.stack([np.interp(grid, k, one) for one in np.eye(k.size)])
    window = 0.5 + 0.5 * np.cos(2 * np.pi * grid / (np.ptp(k) + 2))
    step = _STEP_SAMPLES * 64 / fft_size
    delays = np.arange(_EARLIEST, _LATEST + step / 2, step)
    transform = (fill * window) @ np.exp(2j * np.pi / 64 * np.outer(grid, delays))
    transform /= np.sqrt(np.sum((fill @ window)**2))
    return delays, transform.astype(np.complex64)


def first_paths(power):
    """The first delays, -32..31, with a path not much weaker than the strongest: int64 (n,) of
    (n, 64) as :meth:`Smoother.delay_power` gives them."""
    return np.argmax(power > 0.3 * power.max(axis=1, keepdims=True), axis=1) - 32


@dataclass(frozen=True)
class Profiles:
    """Power of channels over their delays.

    Attributes:
        turned: complex64 (n, k, rows), the channels without their mean delays.
        mean: (n,), those delays, in samples at 20 MS/s.
        power: (n, delays), mean over rows, at delays around the mean one.
        least: (n,), the least power that is no noise.
        strength: (n,), mean of the channel's |h|^2.
    """

    turned: np.ndarray
    mean: np.ndarray
    power: np.ndarray
    least: np.ndarray
    strength: np.ndarray


@lru_cache(maxsize=64)
def smoother(carriers, wanted, bandwidth_mhz):
    """The :class:`Smoother` of some subcarriers, tuples of integers; kept."""
    return Smoother(carriers, wanted, bandwidth_mhz)


class Smoother:
    """Linear MMSE smoothing of least squares estimates, for channels whose paths are equally
    likely between the first and the last one that is found (O. Edfors et al., IEEE Trans. Commun.
    46 (7), 1998, with the covariance chosen for each frame). Frames do not depend on each other.

    Args:
        carriers: tuple of the k subcarriers of the estimates.
        wanted: tuple of the subcarriers at which channels are wanted.
        bandwidth_mhz: of the channel.
    """

    def __init__(self, carriers, wanted, bandwidth_mhz):
        self.fft_size = 64 * bandwidth_mhz // 20
        self.carriers, self.wanted = np.array(carriers), np.array(wanted)
        self._delays, self._transform = _delay_transform(carriers, self.fft_size)
        self._lobe = 64 / (np.ptp(self.carriers) + 2)
        self._step = float(self._delays[1] - self._delays[0])

    def profiles(self, channel, noise):
        """Find the paths of channels.

        Args:
            channel: complex64 (n, k, rows), C-contiguous: estimates with cyclic shifts and turns
                taken out.
            noise: their noise variance, a scalar.

        Returns:
            :class:`Profiles`.
        """
        rows = channel.shape[2]
        # Without the mean delay, neighbours tell what lies between them.
        turned, mean, power, strength = _core.wifi.profiles(
            channel, k=self.carriers, step=self._step, transform=self._transform)
        # What noise exceeds in one of a thousand delays: Wilson and Hilferty's cube root of the
        # chi-squared distribution.
        quantile = (1 - 1 / (9 * rows) + 3.1 / (3 * np.sqrt(rows))) ** 3
        least = np.maximum(noise * quantile, _SIDELOBE * power.max(axis=1)).astype(float)
        return Profiles(turned, mean, power, least, strength)

    def delay_power(self, profiles):
        """Power of the paths over their delays: float (n, 64) at delays -32..31 samples at 20 MS/s,
        mean over rows; 0 where there is no more than noise."""
        n = len(profiles.power)
        power = np.where(profiles.power > profiles.least[:, None], profiles.power, 0)
        mean = np.where(np.isfinite(profiles.mean), profiles.mean, 0)
        places = np.clip(np.rint(self._delays + mean[:, None]).astype(int) + 32, 0, 63)
        places += 64 * np.arange(n)[:, None]
        return np.bincount(places.ravel(), power.ravel(), 64 * n).reshape(n, 64)

    def smooth(self, noise, profiles):
        """Smooth channels.

        Args:
            noise: as for :meth:`profiles`.
            profiles: what that found.

        Returns:
            (channels, error, smoothed): complex64 (n, wanted, rows); the error's variance over
            ``noise`` (n,); whether each channel was smoothed (n,), or was too long to be, or not
            finite: then its rows are 0 and its error is 1.
        """
        snr_db = 10 * np.log10(np.fmax(profiles.strength / noise - 1, 0.1))
        first, last, smoothed = _core.wifi.extents(
            profiles.power, least=profiles.least, delay=self._delays, lobe=self._lobe,
            margin=_MARGIN + _MARGIN_PER_DB * np.maximum(0, snr_db - 15), longest=_LONGEST)
        smoothed = smoothed > 0
        level = np.clip(np.rint(snr_db / _STEP_DB), -2, 14)
        width = np.ceil((last - first) / (_STEP_SAMPLES * 64 / self.fft_size))
        middle = (first + last) / 2
        error, filters = np.ones(smoothed.size), [None] * smoothed.size
        for i in np.flatnonzero(smoothed):
            *matrices, error[i] = _filters(self, int(width[i]), int(level[i]))
            filters[i] = tuple(matrices)
        out = _core.wifi.smooth(profiles.turned, k=self.carriers, wanted=self.wanted, before=middle,
                                after=profiles.mean + middle, filters=filters)
        return out, error, smoothed
