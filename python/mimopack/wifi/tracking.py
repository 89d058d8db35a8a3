# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Phase and sampling clock over a frame, from its pilots."""

import numpy as np

from .. import _core

# Deviation of sampling clocks that is expected without a measurement.
_CLOCK_DEVIATION = 25e-6
# Symbols in which the sampling clock is looked for first: over more, phases could turn round.
_SPANS = (24, 96, 384, 1 << 20)
# Least variance of an oscillator's phase from symbol to symbol, rad^2.
_LEAST_WANDER = 1e-6


def sampling_offset(pilots, carriers, distance, fft_size):
    """Offset of the sampling clock of frames.

    A clock that is slower by epsilon makes a symbol come later by epsilon * distance, which turns
    subcarrier k by -2 pi k epsilon distance / fft_size. Pairs of pilots tell it free of the common
    phase; maximum a posteriori with a deviation of 25 ppm.

    Args:
        pilots: complex (n, symbols, pilots): received times the conjugate of what is expected,
            over the noise: mean and variance are both that pilot's SNR.
        carriers: (pilots,) their subcarriers.
        distance: (symbols,) samples from the middle of the training fields.
        fft_size: samples of a symbol without guard interval.

    Returns:
        float64 (n,): epsilon.
    """
    k = np.asarray(carriers)
    low, high = np.flatnonzero(k < 0), np.flatnonzero(k > 0)[::-1]
    spread = (k[high] - k[low]) * (-2 * np.pi / fft_size)
    lever = np.asarray(distance)[:, None] * spread
    pairs = pilots[:, :, high] * pilots[:, :, low].conj()
    strength = np.abs(pairs)
    epsilon = np.zeros(len(pilots))
    for span in _SPANS:
        part, arm, size = pairs[:, :span], lever[:span], strength[:, :span]
        turned = part * np.exp(-1j * epsilon[:, None, None] * arm)
        slope = np.sum(turned.imag * arm, axis=(1, 2))
        weight = np.sum(size * arm**2, axis=(1, 2))
        variance = np.sum(size**1.5 * arm**2, axis=(1, 2))    # of slope
        gain = weight / np.maximum(weight + variance / np.maximum(weight, 1e-30)
                                   / _CLOCK_DEVIATION**2, 1e-30)
        # What was found over a shorter span is not to be shrunk again.
        step = slope / np.maximum(weight, 1e-30)
        epsilon = gain * (epsilon + step)
        if span >= pairs.shape[1]:
            break
    return epsilon


def common_phase(total):
    """Phase of each symbol from the sum over its pilots.

    A line is fitted, the rest smoothed with the strength that its own wander asks for: the
    exponential kernel of a random walk seen in white noise.

    Args:
        total: complex (n, symbols): sums over pilots and antennas as ``pilots`` above; mean and
            variance are the SNR of a symbol's pilots together.

    Returns:
        float64 (n, symbols): radians.
    """
    total = total.astype(complex)
    symbols = total.shape[1]
    if symbols == 1:
        return np.angle(total)
    index = np.arange(symbols)
    # The frequency that is left: the peak of a spectrum, between bins by its neighbours' phase.
    size = 1 << int(4 * symbols - 1).bit_length()
    spectrum = np.fft.fft(total, size, axis=1)
    step = 2 * np.pi * np.argmax(np.abs(spectrum), axis=1) / size
    step = np.where(step > np.pi, step - 2 * np.pi, step)
    flat = total * np.exp(-1j * step[:, None] * index)
    start = np.angle(np.sum(flat, axis=1))
    rest = np.angle(flat * np.exp(-1j * start[:, None]))
    weight = np.abs(total)
    mean = np.sum(weight * index, axis=1, keepdims=True) / np.sum(weight, axis=1, keepdims=True)
    arm = index - mean
    slope = np.sum(weight * rest * arm, axis=1) / np.maximum(np.sum(weight * arm**2, axis=1), 1e-30)
    offset = np.sum(weight * rest, axis=1) / np.maximum(np.sum(weight, axis=1), 1e-30)
    line = offset[:, None] + slope[:, None] * arm
    rest = rest - line
    noise = 1 / (2 * np.maximum(np.mean(weight, axis=1), 1e-3))
    # Steps have the variance of the wander and twice the noise's, which must not be taken for
    # wander: two deviations of the estimate are left to it.
    steps = np.mean(np.diff(rest, axis=1)**2, axis=1)
    wander = np.maximum(steps - 2 * noise * (1 + 2 * np.sqrt(3 / symbols)), _LEAST_WANDER)
    rest = _smoothed(rest, wander / noise)
    return start[:, None] + step[:, None] * index + line + rest


def _smoothed(values, ratio):
    """Steady state of the smoother for random walks (n, symbols); ratio (n,) of their steps' to the
    noise's variance."""
    ratio = np.nan_to_num(ratio)
    decay = np.clip(1 + ratio / 2 - np.sqrt(ratio + ratio**2 / 4), 1e-9, 1 - 1e-9)
    reach = np.where(decay < 0.02, 0, np.ceil(np.log(0.01) / np.log(decay)))
    return _core.wifi.smooth_phases(
        values, decay=decay, reach=np.minimum(reach, values.shape[1] - 1).astype(np.int64))
