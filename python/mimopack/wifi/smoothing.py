# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Smooth channel estimates over the subcarriers within the channel's delay spread."""

from functools import lru_cache, partial

import numpy as np

from .. import _core

# Resolution of delay spreads, in samples of the channel, and of signal-to-noise ratios.
_STEP_SAMPLES = 0.5
_STEP_DB = 4
# Paths are searched within one guard interval on both sides of the mean delay: samples at 20 MS/s.
_EARLIEST, _LATEST = -16, 16
# Delays after which the inner factor of the transform repeats, see _delay_transform; wifi_period in
# lib/wifi/plan.h.
_PERIOD = 16
# Weaker paths may hide below the sidelobes of the outermost paths found. The margin for them is
# in samples at 20 MS/s, and grows for each dB above 15. It depends on the density: HE's outermost
# subcarriers lie nearer to the edge of the band, where filters have long responses.
_MARGIN = 0.5
_MARGIN_PER_DB = {1: 0.1, 4: 0.3}
# Channels longer than this, in samples at 20 MS/s, are not smoothed.
_LONGEST = 48
# Sidelobes of the window lie 31 dB below a path.
_SIDELOBE = 1.5e-3
# Eigenvalues below this share of a subcarrier's power are negligible.
_LEAST = 1e-5


def _eigenvectors(k, wanted, fft_size, width):
    """Return the eigenvalues (rank,) of the covariance of subcarriers, and its eigenvectors.

    The covariance is that of paths with a uniform distribution of delays in an interval around 0
    of the given width: a sinc. Its eigenvectors are discrete prolate spheroidal sequences, and a
    few of them hold all the power. They are returned at the subcarriers k, (rank, k), and at the
    wanted ones, (wanted, rank).
    """
    spread = max(width, 1) * _STEP_SAMPLES / fft_size
    # Gauss's quadrature over the delays: sinc(spread (k - l)) = sum_d a_d(k) a_d(l) with few d,
    # whatever the number of subcarriers.
    nodes, weights = _quadrature(int(1.7 * spread * np.ptp(k)) // 20 * 20 + 40)
    middle = (k[0] + k[-1]) / 2

    def amplitudes(carriers):
        angles = np.pi * spread * np.outer(carriers - middle, nodes)
        return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) * weights

    trained = amplitudes(k)
    values, turn = np.linalg.eigh(trained.T @ trained)
    keep = values > _LEAST * k.size
    values, turn = values[keep], turn[:, keep] / np.sqrt(values[keep])
    # The same sums give the eigenvectors between and beyond the trained subcarriers.
    return values, (trained @ turn).T, (amplitudes(wanted) @ turn).astype(np.float32, "C")


@lru_cache
def _quadrature(size):
    """Return the positive half of an even number of Gauss-Legendre nodes, and roots of weights.

    The weights are those of both columns, cosines and sines.
    """
    nodes, weights = np.polynomial.legendre.leggauss(size)
    half = size // 2
    return nodes[half:], np.sqrt(np.tile(weights[half:], 2))


def _filter(eigenvectors, width, level):
    """Return (analysis (rank, k), synthesis (wanted, rank), error) of a smoothing filter.

    ``eigenvectors(width)`` returns :func:`_eigenvectors`. ``error`` is the mean squared error
    (noise and bias, mean over subcarriers) relative to least squares.
    """
    values, vectors, extended = eigenvectors(width)
    gains = values / (values + 10 ** (-level * _STEP_DB / 10))
    return ((gains[:, None] * vectors).astype(np.float32, "C"), extended,
            float(gains.sum() / vectors.shape[1]))


@lru_cache
def _delay_transform(carriers, fft_size, density):
    """Return the parts of the windowed inverse Fourier transform from subcarriers to delays.

    A grid of ``size`` / 2 points or less includes unused subcarriers, which are interpolated from
    their neighbours. Gaps would leak each path into all delays. The n-th delay turns point g by
    exp(2 pi i g n / size), apart from a phase that all points share. Point i + block j, where block
    = size / 16, is turned by exp(2 pi i i n / size) exp(2 pi i j n / 16). The second factor repeats
    after 16 delays, so the sum over j is only made for 16 of them.

    Args:
        carriers: tuple of the indices of the subcarriers.
        fft_size: the number of samples of the channel in 3.2 us.
        density: number of subcarriers in 312.5 kHz.

    Returns:
        A dictionary of arguments of ``_core.wifi.Smoother``: ``delay``, in samples at 20 MS/s;
        ``place`` (points,), the subcarrier at or below each point of the grid; ``weights`` (points,
        2), its share of the point and the next subcarrier's, times the window; ``inner`` (j, 16)
        and ``outer`` (block, delays), the two factors.
    """
    k = np.array(carriers)
    grid = np.arange(k[0], k[-1] + 1, _step(k))
    place = np.minimum(np.searchsorted(k, grid, "right") - 1, k.size - 2)
    share = (grid - k[place]) / (k[place + 1] - k[place])
    from_middle = grid - (k[0] + k[-1]) / 2
    window = 0.5 + 0.5 * np.cos(2 * np.pi * from_middle / (np.ptp(k) + 2))
    weights = np.stack([1 - share, share], axis=1) * window[:, None]
    of_carrier = np.zeros(k.size)
    np.add.at(of_carrier, place, weights[:, 0])
    np.add.at(of_carrier, place + 1, weights[:, 1])
    weights /= np.sqrt(np.sum(of_carrier**2))
    step = _STEP_SAMPLES * 64 / fft_size
    size = int(64 * density / _step(k) / step)
    block = size // _PERIOD
    delays = np.arange(_EARLIEST, _LATEST + step / 2, step)
    n = np.arange(delays.size) + int(_EARLIEST / step)
    turns = np.arange(-(-grid.size // block))
    return {"delay": delays, "place": place, "weights": weights.astype(np.float32),
            "inner": _rotations(turns, n[:_PERIOD], _PERIOD),
            "outer": _rotations(np.arange(block), n, size)}


def _rotations(points, n, size):
    """Return exp(2 pi i points n / size), complex64 (points, n)."""
    return np.exp(2j * np.pi / size * (np.outer(points, n) % size)).astype(np.complex64)


def _step(k):
    """Return the distance between neighbouring subcarriers."""
    return int(np.diff(k).min())


@lru_cache(maxsize=64)
def smoother(carriers, wanted, bandwidth_mhz, density=1):
    """Return an object that smooths least squares channel estimates by linear MMSE filtering.

    The filter assumes that the delays of paths are uniformly distributed between the first and the
    last path found (O. Edfors et al., IEEE Trans. Commun. 46 (7), 1998, with the covariance chosen
    for each frame). Frames are smoothed independently. Objects are cached.

    Args:
        carriers: tuple of the indices of the K subcarriers of the estimates.
        wanted: tuple of the indices of the W subcarriers at which to estimate the channel.
        bandwidth_mhz: bandwidth of the channel in MHz.
        density: number of subcarriers in 312.5 kHz, 1 or 4, a multiple of the distance between
            neighbours in ``carriers``.

    Returns:
        An object with a method ``smooth(channel, noise)``. ``channel`` is complex64 (n, K, rows),
        C-contiguous: estimates of n frames without cyclic shifts and phase rotations. ``noise`` is
        the noise variance of the estimates. The method returns a tuple of four:

        smoothed channels, complex64 (n, W, rows);
        error variance relative to the noise, (n,);
        whether the channel of each frame was smoothed, (n,). If not, the channel was too long or
        not finite; its rows are 0 and its error is 1;
        power of the paths, float64 (n, 64), at delays of -32..31 samples at 20 MS/s, mean over
        rows, 0 where there is only noise.
    """
    fft_size = 64 * bandwidth_mhz // 20
    k, at = np.array(carriers), np.array(wanted)
    eigenvectors = lru_cache(maxsize=256)(partial(_eigenvectors, k, at, fft_size * density))
    return _core.wifi.Smoother(
        k=k, wanted=at, density=density, apart=density // _step(k),
        lobe=64 * density / (np.ptp(k) + 2),
        longest=_LONGEST, margin=_MARGIN, margin_per_db=_MARGIN_PER_DB[density], sidelobe=_SIDELOBE,
        step=_STEP_SAMPLES * 64 / fft_size, step_db=_STEP_DB,
        make=partial(_filter, eigenvectors), **_delay_transform(carriers, fft_size, density))
