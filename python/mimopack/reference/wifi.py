# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Formulas of the Wi-Fi receiver's C++ loops."""

import numpy as np

# Around the best window of the short training field, the long one may begin so much earlier or
# later than behind ten periods, in samples at 20 MS/s.
_EARLY, _LATE = 14, 64
_GUARD = 16
_LTF_START = 192    # of the first FFT window, behind the short field's beginning
# Paths past the first one that count when the long training field is searched.
_SEARCH_DELAY = 8
_LAG64_THRESHOLD = 0.3
# The same for subcarriers, without those that hold noise only
_INSIDE_THRESHOLD = 0.4
# Energy of the mean over the power that makes it a direct current, where a signal with an unknown
# carrier offset would be seldom so strong.
_LEAST_DIRECT = 8.0
_ADVANCE = 4    # largest cyclic advance of an antenna in the non-HT preamble

# Delays that the 64 taps of a channel stand for, and where an inverse FFT has them.
_DELAYS = np.arange(-32, 32)
_NEAR = np.abs(_DELAYS) <= _GUARD + 8
# Power that all taps of noise together put into the taps of a channel, and that of a channel.
_WIDTH = _ADVANCE + _GUARD + 1
_TAPS = np.arange(-_ADVANCE - 4, _GUARD - 3)
_CONCENTRATED = _WIDTH / 64 + 0.35 * (1 - _WIDTH / 64)
# Subcarriers of a legacy preamble
_CARRIERS = np.delete(np.arange(-26, 27), 26)

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
    pilots = np.asarray(pilots, complex)
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
    place = np.arange(values.shape[1])
    distance = np.abs(place[:, None] - place)
    weight = np.where(distance <= reach[:, None, None], decay[:, None, None]**distance, 0)
    return np.einsum("fij,fj->fi", weight, values) / weight.sum(axis=2)


def acquire(samples, lag16, scale, bins, sequence):
    """Find preambles as ``_core.wifi.acquire`` does, candidate by candidate.

    Args:
        samples: (n, num_rx, 334 scale), from the best window of the short training field on.
        lag16: (n,), its correlation over 16 scale samples.
        scale: sample rate over 20 MS/s.
        bins: (parts, 52), of the parts' subcarriers in an FFT of 64 scale.
        sequence: (52,), the long training field.

    Returns:
        list of n (part's bits, start, window, cfo), None where there is no preamble.
    """
    return [_acquire(np.asarray(one, complex), lag, scale, bins, sequence)
            for one, lag in zip(samples, lag16, strict=True)]


def _acquire(x, lag16, w, bins, sequence):
    fft = 64 * w
    n = x.shape[1]
    mean = x.mean(axis=1)
    x = x - np.where(np.abs(mean)**2 * n**2 > _LEAST_DIRECT * np.sum(np.abs(x)**2, axis=1),
                     mean, 0)[:, None]
    coarse = -np.angle(lag16) / (2 * np.pi * 16 * w)
    first = (_LTF_START - _LATE - _GUARD) * w
    tail = x[:, first:] * np.exp(-2j * np.pi * coarse * np.arange(n - first))
    power = np.mean(np.abs(tail)**2, axis=1)
    if not np.isfinite(power).all() or not power.any():
        return None
    tail /= np.sqrt(np.where(power > 0, power, 1))[:, None]
    # The long training field of all parts, twice
    total = np.zeros(tail.shape[1] - 2 * fft + 1)
    for row in bins:
        spectrum = np.zeros(fft)
        spectrum[row] = sequence
        reference = np.tile(np.fft.ifft(spectrum), 2)
        for antenna in tail:
            total += np.abs(np.correlate(antenna, reference))**2
    width = (_ADVANCE + _SEARCH_DELAY) * w + 1
    best = np.argmax(np.convolve(total, np.ones(width), "valid")) + _ADVANCE * w
    place = int(np.clip(best, _GUARD * w, total.size - 1))
    near = tail[:, place - 8 * w:place + 2 * fft]
    early, late = near[:, :fft + 8 * w], near[:, fft:]
    lag64 = np.sum(early * late.conj(), axis=1)
    size = np.sqrt(np.sum(np.abs(early)**2, axis=1) * np.sum(np.abs(late)**2, axis=1))
    if np.abs(lag64.sum()) <= _LAG64_THRESHOLD * size.sum():
        return None
    # Antennas weighted by their SNR, of which the correlation tells.
    weight = 1 / np.maximum(size - np.abs(lag64), 0.05 * size + 1e-30)
    residual = -np.angle(np.sum(weight * lag64)) / (2 * np.pi * fft)
    halves = tail[:, place:place + 2 * fft] * np.exp(-2j * np.pi * residual * np.arange(2 * fft))
    # (rx, 2, parts, 52)
    spectrum = np.fft.fft(halves.reshape(len(x), 2, fft))[..., bins]
    part = _occupied(spectrum, sequence)
    if not part:
        return None
    chosen = [s for s in range(len(bins)) if part >> s & 1]
    delay, shift = _timing(spectrum[:, :, chosen], sequence)
    ltf = first + place
    return part, ltf + (delay - _LTF_START) * w, ltf + shift * w, coarse + residual


def _occupied(spectrum, sequence):
    """Parts of 20 MHz that hold a long training field, as bits."""
    first, second = spectrum[:, 0], spectrum[:, 1]
    power = np.sum(np.abs(first)**2 + np.abs(second)**2, axis=(0, 2)) / 2
    agreement = np.sum(first * second.conj(), axis=(0, 2)).real
    both = first + second
    size = np.abs(both)
    limit = 2 * np.median(size, axis=2, keepdims=True)
    both = both * np.minimum(1, limit / np.maximum(size, 1e-30))
    taps = np.sum(np.abs(np.fft.ifft(_grid(both * sequence)))**2, axis=0)
    short = taps[:, _TAPS].sum(axis=1) > _CONCENTRATED * taps.sum(axis=1)
    good = (agreement > _INSIDE_THRESHOLD * power) & short & (power > 0.01 * power.max())
    if good.all():
        return (1 << good.size) - 1
    pairs = [i for i in range(0, good.size, 2) if good[i:i + 2].all()]
    if pairs:
        return 3 << max(pairs, key=lambda i: agreement[i:i + 2].sum())
    if good.any():
        return 1 << int(np.argmax(np.where(good, agreement, -np.inf)))
    return 0


def _timing(spectrum, sequence):
    """Delay of the first path and shift of the window of spectra (rx, 2, parts, 52)."""
    first, second = spectrum[:, 0], spectrum[:, 1]
    noise = np.mean(np.abs(first - second)**2, axis=(1, 2))
    mean = (first + second) * sequence * (0.5 + 0.5 * np.cos(np.pi * _CARRIERS / 27))
    mean /= np.sqrt(noise + 1e-30)[:, None, None]
    power = np.sum(np.abs(np.fft.ifft(_grid(mean)))**2, axis=(0, 1))[_DELAYS]
    floor = np.median(power) * (1 + 4 / np.sqrt(spectrum.shape[0] * spectrum.shape[2]))
    power = np.maximum(power - floor, 0) * _NEAR
    if not power.any():
        return 0, -_GUARD // 4
    delay = _DELAYS[np.argmax(power > 0.4 * power.max())]
    return delay, window_shift(power, _GUARD)


def window_shift(power, guard):
    """Shift of the window that the fewest of 64 paths at delays -32..31 reach into from
    neighbouring symbols; of equals the middle one."""
    shifts = np.arange(-guard - 8, guard + 1)
    outside = (np.maximum(shifts - _DELAYS[:, None], 0)
               + np.maximum(_DELAYS[:, None] - shifts - guard, 0))
    cost = power @ outside
    best = np.flatnonzero(cost <= cost.min() + 0.01 * power.sum())
    return shifts[best[(best.size - 1) // 2]]


def _grid(values):
    """(..., 52) legacy carriers in the bins of a 64-point FFT."""
    out = np.zeros((*values.shape[:-1], 64), values.dtype)
    out[..., _CARRIERS % 64] = values
    return out


# A Hann window's main lobe: how far from a path its power has fallen by so many dB.
_LOBE_DB = (0, 1, 3, 6, 10, 15, 22, 31)
_LOBE = (0, 0.42, 0.72, 1.0, 1.28, 1.5, 1.7, 1.85)


def extent(power, least, margin, delay, lobe, longest):
    """Between which delays a channel's paths lie, by its power over the delays; None where there
    are none, or they lie too far apart."""
    there = np.flatnonzero(power > least)
    if not there.size:
        return None
    near = int(np.ceil(2 * lobe / (delay[1] - delay[0])))
    begin, end = there[0], there[-1]
    ends = []
    for place, sign, part in ((begin, 1, power[begin:begin + near + 1]),
                              (end, -1, power[max(0, end - near):end + 1])):
        above = 10 * np.log10(part.max() / least)
        ends.append(delay[place] + sign * (lobe * np.interp(above, _LOBE_DB, _LOBE) - margin))
    first, last = min(ends), max(ends)
    return (first, last) if last - first <= longest else None
