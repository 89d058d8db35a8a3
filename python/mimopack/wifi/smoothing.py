# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Smooth channel estimates over the subcarriers within the channel's delay spread."""

from functools import lru_cache, partial

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


def _filter(k, wanted, fft_size, width, level):
    """(analysis (rank, k), synthesis (wanted, rank), error) for delays that are equally likely
    within a width, around 0.

    The covariance of subcarriers is then a sinc; its eigenvectors are discrete prolate
    spheroidal sequences, of which few hold all the power. error is the mean over subcarriers of
    the estimate's noise and bias, over that of least squares.
    """
    spread = max(width, 1) * _STEP_SAMPLES / fft_size
    values, vectors = np.linalg.eigh(np.sinc(spread * (k[:, None] - k)))
    keep = values > _LEAST * k.size
    values, vectors = values[keep], vectors[:, keep]
    noise = 10 ** (-level * _STEP_DB / 10)
    gains = values / (values + noise)
    # Nystroem: an eigenvector between and beyond the subcarriers that were trained.
    extended = np.sinc(spread * (wanted[:, None] - k)) @ (vectors / values)
    error = gains.sum() / k.size
    return ((gains[:, None] * vectors.T).astype(np.float32, "C"),
            extended.astype(np.float32, "C"), float(error))


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


@lru_cache(maxsize=64)
def smoother(carriers, wanted, bandwidth_mhz):
    """Linear MMSE smoothing of least squares estimates, for channels whose paths are equally
    likely between the first and the last one that is found (O. Edfors et al., IEEE Trans. Commun.
    46 (7), 1998, with the covariance chosen for each frame). Frames do not depend on each other.

    Args:
        carriers: tuple of the k subcarriers of the estimates.
        wanted: tuple of the subcarriers at which channels are wanted.
        bandwidth_mhz: of the channel.

    Returns:
        An object, kept, whose ``smooth(channel, noise)`` takes complex64 (n, k, rows),
        C-contiguous: estimates with cyclic shifts and turns taken out, and their noise variance. It
        returns channels, complex64 (n, wanted, rows); the error's variance over the noise (n,);
        whether each channel was smoothed (n,), or was too long to be, or not finite: then its rows
        are 0 and its error is 1; and the power of its paths, float64 (n, 64), at delays -32..31
        samples at 20 MS/s, mean over rows, 0 where there is no more than noise.
    """
    fft_size = 64 * bandwidth_mhz // 20
    k, at = np.array(carriers), np.array(wanted)
    delays, transform = _delay_transform(carriers, fft_size)
    return _core.wifi.Smoother(
        k=k, wanted=at, delay=delays, transform=transform, lobe=64 / (np.ptp(k) + 2),
        longest=_LONGEST, margin=_MARGIN, margin_per_db=_MARGIN_PER_DB, sidelobe=_SIDELOBE,
        step=_STEP_SAMPLES * 64 / fft_size, step_db=_STEP_DB,
        make=partial(_filter, k, at, fft_size))
