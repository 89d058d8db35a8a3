# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The formulas of the Wi-Fi receiver's C++ loops in plain NumPy, with which tests compare them.

Axes: n frames, R receive antennas, T symbols, K used subcarriers, C subcarriers with a channel
estimate, N space-time streams. Received values and channels of an antenna are divided by the
standard deviation of its noise, so all powers of noise are relative to that estimate.
"""

import zlib

import numpy as np
from gnuradio.mimopack import constellation as constellations

_DELAYS = np.arange(-32, 32)    # of the 64 taps of a channel

# A-priori standard deviation of sampling clock offsets.
_CLOCK_DEVIATION = 25e-6
# Numbers of symbols over which the clock offset is estimated, one after the other: without an
# estimate from fewer symbols, the phases of many symbols may wrap.
_SPANS = (24, 96, 384, 1 << 20)
# An interferer is assumed if squared correlations are this many times as large as those of
# independent noise, on average.
_CORRELATED = 4
# A pilot with more than this multiple of the usual pilot noise of a frame counts less.
_PILOT_EXCESS = 2.5
# Where an interferer raises the noise by this factor, interpolate a subcarrier's channel from its
# neighbours.
_INTERFERENCE = 4
# Minimum variance of an oscillator's phase change per symbol, rad^2.
_LEAST_WANDER = 1e-6


def sampling_offset(pilots, carriers, distance, fft_size):
    """Estimate the sampling clock offset (n,) of frames; 1e-6 is 1 ppm.

    A clock that is slower by the relative offset epsilon delays a symbol by epsilon * distance.
    This rotates subcarrier k by -2 pi k epsilon distance / fft_size. Products of pilot pairs are
    free of the common phase. The estimate is maximum a posteriori, with a Gaussian a-priori
    distribution of epsilon that has a standard deviation of 25 ppm.

    Args:
        pilots: (n, T, pilots) complex, received pilots times the conjugates of the expected ones,
            divided by the noise power. Mean and variance are both equal to the pilot's SNR.
        carriers: (pilots,) subcarrier indices of the pilots.
        distance: (T,) distances in samples from the middle of the training fields.
        fft_size: number of samples in a symbol without guard interval.
    """
    k = np.asarray(carriers)
    pilots = np.asarray(pilots, complex)
    middle = (k[0] + k[-1]) / 2
    low, high = np.flatnonzero(k < middle), np.flatnonzero(k > middle)[::-1]
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
        variance = np.sum(size**1.5 * arm**2, axis=(1, 2))    # variance of slope
        gain = weight / np.maximum(weight + variance / np.maximum(weight, 1e-30)
                                   / _CLOCK_DEVIATION**2, 1e-30)
        # The estimate from a shorter span must not be shrunk twice.
        step = slope / np.maximum(weight, 1e-30)
        epsilon = gain * (epsilon + step)
        if span >= pairs.shape[1]:
            break
    return epsilon


def common_phase(total):
    """Estimate the phase (n, T) of each symbol from the sum (n, T) over its pilots.

    The function fits a line to the phases and smooths the remainder with the exponential kernel for
    a random walk in white noise. The remainder itself shows how large the random walk is. Mean and
    variance of a sum are both equal to the SNR of all pilots of a symbol together.
    """
    total = total.astype(complex)
    symbols = total.shape[1]
    if symbols == 1:
        return np.angle(total)
    index = np.arange(symbols)
    # Residual frequency: the bin with the spectral peak. The line below refines it between bins.
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
    # The variance of a phase step is that of the random walk plus twice that of the noise. To keep
    # noise from passing as random walk, subtract two standard deviations of the estimate as well.
    steps = np.mean(np.diff(rest, axis=1)**2, axis=1)
    wander = np.maximum(steps - 2 * noise * (1 + 2 * np.sqrt(3 / symbols)), _LEAST_WANDER)
    rest = _smoothed(rest, wander / noise)
    return start[:, None] + step[:, None] * index + line + rest


def _smoothed(values, ratio):
    """Smooth random walks (n, T) with the steady-state smoother.

    ``ratio`` (n,) is the variance of a random walk's steps over the variance of the noise.
    """
    ratio = np.nan_to_num(ratio)
    decay = np.clip(1 + ratio / 2 - np.sqrt(ratio + ratio**2 / 4), 1e-9, 1 - 1e-9)
    reach = np.where(decay < 0.02, 0, np.ceil(np.log(0.01) / np.log(decay)))
    place = np.arange(values.shape[1])
    distance = np.abs(place[:, None] - place)
    weight = np.where(distance <= reach[:, None, None], decay[:, None, None]**distance, 0)
    return np.einsum("fij,fj->fi", weight, values) / weight.sum(axis=2)


def window_shift(power, guard):
    """Return the shift of a window with the least interference from neighbouring symbols.

    ``power`` (64,) has the powers of the paths at delays of -32..31. Delays, the guard interval and
    the shift are in samples at 20 MS/s. Among equally good shifts, the middle one is taken.
    """
    shifts = np.arange(-guard - 8, guard + 9)
    outside = (np.maximum(shifts - _DELAYS[:, None], 0)
               + np.maximum(_DELAYS[:, None] - shifts - guard, 0))
    cost = power @ outside
    best = np.flatnonzero(cost <= cost.min() + 0.01 * power.sum())
    return shifts[best[(best.size - 1) // 2]]


# Main lobe of a Hann window: distance from a path (_LOBE) at which the power is _LOBE_DB lower.
_LOBE_DB = (0, 1, 3, 6, 10, 15, 22, 31)
_LOBE = (0, 0.42, 0.72, 1.0, 1.28, 1.5, 1.7, 1.85)


def extent(power, least, margin, delay, lobe, longest):
    """Return (first, last) delay of a channel's paths; None without any or beyond ``longest``.

    Args:
        power: (delays,) power at each delay.
        least: power above which there is a path.
        margin: length added at both ends for weaker paths.
        delay: (delays,) ascending delays with equal steps, in samples at 20 MS/s.
        lobe: resolution of the transform that gave the profile. The main lobe of its Hann window
            reaches up to 2 * lobe from a path.
        longest: largest allowed difference between last and first.
    """
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


def points(frame_format, sent):
    """Map known bits (n, T, bits) to the points (n, T, K, N) of a format, including pilots."""
    f, plan = frame_format, frame_format.plan
    n = len(sent)
    values = constellations.get(f.constellation).modulate(sent)
    values = values.reshape(n * f.num_symbols, plan.num_data, f.num_streams)
    values = np.tile(_space_time(values, f.stbc), (1, plan.copies, 1))
    out = np.empty((n, f.num_symbols, plan.used.size, f.num_space_time_streams), np.complex64)
    out[:, :, plan.data_index] = values.reshape(n, f.num_symbols, len(plan.data), -1)
    out[:, :, plan.pilot_index] = f.pilots(f.num_symbols)
    return out


def _space_time(points, stbc):
    """Space-time encode points (symbols, carriers, N_SS) into (symbols, carriers, N_STS).

    For each stream i < stbc, the pair (a, b) of neighbouring symbols becomes a, b on one space-time
    stream and -b*, a* on the next (IEEE 802.11-2020 Tables 19-18, 21-19).
    """
    if not stbc:
        return points
    out = []
    for i in range(points.shape[2]):
        out.append(points[..., i])
        if i < stbc:
            twin = np.empty_like(points[..., i])
            twin[0::2] = -points[1::2, :, i].conj()
            twin[1::2] = points[0::2, :, i].conj()
            out.append(twin)
    return np.stack(out, axis=2)


def refine(received, points, channel, least_squares, in_ltf, turn, k, trained_k, distance, pilots,
           estimated, fft, weight):
    """Estimate clock, phase, noise and channels of frames from their decoded symbols.

    Args:
        received: (n, R, T, K) complex.
        points: (n, N, T, K) complex, decoded points.
        channel: (n, C, R, N) complex, without the phase rotations of the streams.
        least_squares: (n, C, R, N) complex, estimate from the training fields alone.
        in_ltf: (K,) positions of the used subcarriers among the C subcarriers.
        turn: (C, N) phase rotations of the streams, complex.
        k, trained_k: (K,) and (C,) subcarrier indices.
        distance, fft: as for :func:`sampling_offset`.
        pilots: positions of the pilots among the K subcarriers.
        estimated: positions among the K subcarriers at which to estimate the channel again.
        weight: weight of the training fields, in symbols.

    Returns:
        (epsilon (n,), phase (n, T) in radians, received without the phase rotations, noise
        (n, K, R), minimum noise over the subcarriers (n, R), channel).
    """
    whitened = (channel * turn[:, None, :])[:, in_ltf]
    expected = np.einsum("nkri,nitk->nrtk", whitened, points)
    residual = np.mean(np.abs(received - expected)**2, axis=2)
    gain = np.sum(np.abs(whitened)**2, axis=3).swapaxes(1, 2)
    noise, wrong = residual_noise(residual, gain, received.shape[2])
    least = noise.min(axis=2, keepdims=True)
    doubt = noise + wrong
    doubt[..., pilots] = least / pilot_trust(received[..., pilots], expected[..., pilots])
    known = np.einsum("nrsk,nrsk->nsk", (expected / doubt[:, :, None]).conj(), received)
    epsilon = sampling_offset(known, k, distance, fft)
    slope = epsilon[:, None] * distance * (2 * np.pi / fft)
    flat = known * np.exp(1j * slope[..., None] * k)
    phase = common_phase(flat.sum(axis=2))
    received = received * np.exp(1j * (slope[..., None] * k - phase[..., None]))[:, None]
    weight = weight * (1 + np.mean(wrong / least, axis=(1, 2)))[:, None, None, None]
    sent = points.transpose(0, 3, 1, 2) * turn[in_ltf][..., None]
    gram = sent @ sent.conj().swapaxes(2, 3) + weight * np.eye(points.shape[1])
    cross = received.transpose(0, 3, 1, 2) @ sent.conj().swapaxes(2, 3)
    cross = cross + weight * least_squares[:, in_ltf]
    estimate = channel.astype(complex)
    estimate[:, in_ltf[estimated]] = (cross @ np.linalg.inv(gram))[:, estimated]
    hit = np.zeros(channel.shape[:3])
    hit[:, in_ltf] = np.where(noise > _INTERFERENCE * least, noise, 0).swapaxes(1, 2)
    return (epsilon, phase, received, noise.swapaxes(1, 2), least[..., 0],
            interpolated(estimate, hit, trained_k))


def whiten(received, points, channel, noise, in_ltf, turn, places):
    """Make the noise equally strong in all subcarriers and uncorrelated between antennas.

    The arguments are those of :func:`refine` and what it returned; ``places`` (D,) are the
    positions of the data subcarriers among the K used ones.

    Returns:
        (vectors (n, D, T, R), channel (n, K, R, N)).
    """
    scale = 1 / np.sqrt(noise)
    whitened = (channel * turn[:, None, :])[:, in_ltf] * scale[..., None]
    received = received * scale.swapaxes(1, 2)[:, :, None]
    if received.shape[1] > 1:
        left = received - np.einsum("nkri,nitk->nrtk", whitened, points)
        white = np.linalg.inv(np.linalg.cholesky(residual_correlation(left)))
        received = np.einsum("nqr,nrtk->nqtk", white, received)
        whitened = np.einsum("nqr,nkri->nkqi", white, whitened)
    return received.transpose(0, 3, 2, 1)[:, places], whitened


def residual_noise(residual, gain, symbols):
    """Estimate the noise of subcarriers from the residual after subtracting decided points.

    Wrong decisions increase the residual by alpha * gain, in proportion to the power of the
    channel; alpha is the median of residual / gain over antennas and subcarriers. The noise of an
    antenna is the median of the residual over its subcarriers, but at most the earlier estimate.
    Without an interferer, the residual is about noise + alpha * gain. Random fluctuations make it
    exceed a certain multiple of this sum in one of a thousand subcarriers (Wilson and Hilferty's
    cube root of the chi-squared distribution). Where the residual is above this multiple, an
    interferer is assumed, and the noise is multiplied by the ratio of the residual to the sum.

    Args:
        residual: (n, R, K) mean of |y - H x|^2 over the symbols.
        gain: (n, R, K) sum of |H|^2 over the streams.
        symbols: number of symbols.

    Returns:
        (noise, power of wrong decisions), each (n, R, K).
    """
    gain = np.maximum(gain, 1e-20)
    alpha = np.median(residual / gain, axis=(1, 2), keepdims=True)
    least = np.clip(np.median(residual, axis=2, keepdims=True), 1e-6, 1)
    ratio = residual / (least + alpha * gain)
    quantile = (1 - 1 / (9 * symbols) + 3.1 / (3 * np.sqrt(symbols))) ** 3
    noise = least * np.where(ratio > quantile, ratio, 1)
    wrong = np.median(np.maximum(residual - 1, 0) / gain, axis=(1, 2), keepdims=True)
    return noise, wrong * gain


def pilot_trust(received, expected):
    """Return weights (n, 1, pilots), 0..1, so that a pilot with interference turns no phase.

    The magnitude of a pilot does not depend on the unknown phase. Its distance from the expected
    magnitude indicates the noise. The arguments are (n, R, T, pilots); pilots with the usual noise
    have weight 1.
    """
    combined = np.abs(np.einsum("nrsp,nrsp->nsp", expected.conj(), received))
    root = np.sqrt(np.maximum(np.sum(np.abs(expected)**2, axis=1), 1e-20))
    noise = np.mean((combined / root - root)**2, axis=1, keepdims=True)
    usual = np.maximum(_PILOT_EXCESS * np.median(noise, axis=2, keepdims=True), 1e-20)
    return usual / np.maximum(noise, usual)


def residual_correlation(residual):
    """Return the noise correlation (n, R, R) of antennas, R > 1, from residuals (n, R, ...).

    Elements off the diagonal are reduced by the correlation that independent noise would show.
    """
    flat = residual.reshape(*residual.shape[:2], -1)
    rows, count = flat.shape[1:]
    covariance = np.einsum("nrc,nsc->nrs", flat, flat.conj(), dtype=complex)
    deviation = np.sqrt(np.maximum(np.einsum("nrr->nr", covariance).real, 1e-20))
    correlation = covariance / (deviation[:, :, None] * deviation[:, None])
    np.einsum("nrr->nr", correlation)[:] = 0
    square = np.sum(np.abs(correlation)**2, axis=(1, 2)) / (rows * (rows - 1))
    # Stay below 1: the matrix of antennas that receive the same would be singular.
    share = np.clip(1 - _CORRELATED / (count * np.maximum(square, 1e-20)), 0, 0.999)
    return np.eye(rows) + share[:, None, None] * correlation


def interpolated(channel, hit, carriers):
    """Interpolate the channel (n, K, R, N) over the carriers (K,) with interference.

    ``hit`` (n, K, R) has their noise, and 0 elsewhere. If at least half of the subcarriers of an
    antenna have interference, its channel stays as it is, and so does a channel whose distance from
    the line exceeds the noise.
    """
    level, hit = hit, hit > 0
    few = hit.any(axis=1) & (2 * hit.sum(axis=1) < hit.shape[1])
    if not few.any():
        return channel
    channel = channel.copy()
    for i, r in zip(*np.nonzero(few), strict=True):
        here = np.flatnonzero(hit[i, :, r])
        free = np.flatnonzero(~hit[i, :, r])
        line = np.stack([np.interp(carriers[here], carriers[free], own)
                         for own in channel[i, free, r].T], axis=1)
        distance = np.sum(np.abs(line - channel[i, here, r])**2, axis=1)
        near = distance <= channel.shape[3] * level[i, here, r]
        channel[i, here[near], r] = line[near]
    return channel


def demodulate(samples, first, cfo, direct, plan, smooth, num_symbols):
    """Demodulate a frame: compute received vectors, channel and noise from its samples.

    Args:
        samples: (R, length) complex.
        first: index of the sample from which the windows are counted.
        cfo: carrier offset in cycles per sample, to be removed.
        direct: (R,) DC offset, to be removed.
        plan: dictionary of the format's constants, as ``wifi.demodulator`` passes it to C++.
        smooth: function of estimates (k, R * N) and the variance of their noise. It returns
            (channels (C, R * N), error variance over noise variance, powers of the paths (64,)).
        num_symbols: number of data symbols, at least 1.

    Returns:
        dictionary with the results of ``_core.wifi.Demodulation.arrays`` for this frame.
    """
    fft, scale, streams = plan["fft"], plan["scale"], plan["streams"]
    rows = len(samples)
    turn = np.exp(-2j * np.pi * cfo * np.arange(samples.shape[1]))
    flat = (samples - direct[:, None]) * turn

    def spectra(starts, bins, fft):
        at = np.clip(first + np.asarray(starts) * scale, 0, samples.shape[1] - fft)
        windows = flat[:, at[:, None] + np.arange(fft)]
        return np.fft.fft(windows, axis=2)[..., bins]

    halves = spectra([0, 64], plan["legacy_bins"], plan["legacy_fft"])
    share = fft / plan["legacy_fft"] / (2 * halves.shape[2])
    noise = np.sum(np.abs(halves[:, 0] - halves[:, 1])**2, axis=1) * share
    power = np.sum(np.abs(halves)**2, axis=(1, 2)) * share
    noise = np.maximum(noise, 1e-7 * power + 1e-30)
    scaled = 1 / np.sqrt(noise)[:, None, None]
    if not plan["ltf_starts"].size:
        estimate = (halves.mean(axis=1) * scaled[:, 0]).T[..., None]
    else:
        fields = spectra(plan["ltf_starts"], plan["ltf_bins"], plan["ltf_fft"]) * scaled
        if plan["greenfield"]:
            fields = np.concatenate([fields[:, :2].mean(axis=1, keepdims=True), fields[:, 2:]],
                                    axis=1)
        sounded = slice(None) if plan["sounded_place"] is None else plan["sounded_place"]
        estimate = np.zeros((len(plan["turn"]), rows, streams), complex)
        estimate[sounded] = np.einsum("sf,rfk->krs", plan["mapping"], fields)
        if plan["shared"] is not None:
            sums = np.zeros(estimate.shape[:2], complex)
            sums[sounded] = np.einsum("f,rfk->kr", plan["mapping"][0], fields) / streams
            shared = plan["shared"] > 0
            estimate[shared] = sums[shared][..., None]
    estimate = estimate * plan["untrained"][:, None, :]
    here = slice(None) if plan["trained_here"] is None else plan["trained_here"]
    smoothed, error, paths = smooth(estimate[here].reshape(-1, rows * streams), plan["share"])
    channel = smoothed.reshape(estimate.shape)
    if plan["sounded_place"] is not None:    # the smoothed channel is all that is known in gaps
        gaps = np.setdiff1d(np.arange(len(channel)), plan["sounded_place"])
        estimate[gaps] = channel[gaps]
    whitened = channel * plan["turn"][:, None, :]
    results = {"noise": noise, "least_squares": estimate,
               "channel": channel / scaled[:, 0],
               "noise_var": 1 + error * plan["share"] * streams,
               "delay": np.argmax(paths > 0.3 * paths.max()) - 32}
    if plan["signal_b"] >= 0:
        received = spectra([plan["signal_b"]], plan["ltf_bins"], fft)[:, 0] * scaled[:, 0]
        combined = np.einsum("kri,i,rk->k", whitened.conj(), plan["signal_b_signs"], received)
        results["sig_b"] = 4 * combined[plan["trained_place"][plan["places"]]].real
    whitened = whitened[plan["trained_place"]]
    starts = plan["data_start"] + plan["symbol"] * np.arange(num_symbols)
    pilots = np.resize(plan["pilots"], (num_symbols, *plan["pilots"].shape[1:]))
    shift = np.full(num_symbols, window_shift(paths, 8) if plan["short_gi"] else 0)

    def symbols(shift):
        received = spectra(starts + shift, plan["bins"], fft) * scaled
        turn = -2j * np.pi / fft * scale * np.outer(shift, plan["band_k"])
        received = received * np.exp(turn)
        at = plan["pilot_places"]
        expected = np.einsum("pri,spi->rsp", whitened[at], pilots)
        return received, np.sum(expected.conj() * received[..., at], axis=0)

    received, known = symbols(shift)
    k = plan["pilot_k"]
    distance = (starts + fft / scale / 2 - plan["training_middle"]) * scale
    epsilon = sampling_offset(known[None], k, distance, fft)[0]
    late = epsilon * distance / scale
    if np.abs(late).max() > 0.5:
        received, known = symbols(shift + np.rint(late).astype(int))
    slope = distance * 2 * np.pi / fft
    known = known * np.exp(1j * epsilon * np.outer(slope, k))
    more = sampling_offset(known[None], k, distance, fft)[0]
    known = known * np.exp(1j * more * np.outer(slope, k))
    epsilon += more
    phase = common_phase(known.sum(axis=1)[None])[0]
    received = received * np.exp(1j * (epsilon * np.outer(slope, plan["k"]) - phase[:, None]))
    return {**results, "sampling_offset": epsilon, "phase": phase, "received": received,
            "y": received[..., plan["places"]].transpose(2, 1, 0), "h": whitened[plan["places"]]}


def delimiter_crc(head):
    """Return the 8-bit CRC of an A-MPDU delimiter (IEEE 802.11-2020 §9.7.1).

    ``head`` is the integer made of the delimiter's first 16 bits, least significant bit first.
    """
    register = 0xFF
    for bit in range(16):
        feedback = (register >> 7 ^ head >> bit) & 1
        register = register << 1 & 0xFF ^ 0b111 * feedback
    return int(f"{~register & 0xFF:08b}"[::-1], 2)


def find_mpdus(psdu, aggregated):
    """Find the MPDUs of a PSDU, see ``wifi.mac.split``.

    Returns:
        ([(offset, length, whether the FCS is correct), ...] in bytes, whether these are all MPDUs).
    """
    def fits(data):
        return len(data) > 4 and zlib.crc32(data[:-4]).to_bytes(4, "little") == data[-4:]

    if not aggregated:
        return ([(0, len(psdu), fits(psdu))], fits(psdu)) if psdu else ([], False)
    delimiters = []    # (word, length of the MPDU, EOF)
    for place in range(len(psdu) // 4):
        head = int.from_bytes(psdu[4 * place:4 * place + 2], "little")
        if psdu[4 * place + 3] == 0x4E and delimiter_crc(head) == psdu[4 * place + 2]:
            delimiters.append((place, head >> 4 | (head >> 2 & 3) << 12, bool(head & 1)))
    mpdus, free = [], 0    # words before `free` are assigned
    left = 4 * len(psdu)    # bytes of MPDUs with a wrong FCS
    for place, length, _ in delimiters:
        begin = 4 * (place + 1)
        if length and place >= free and begin + length <= len(psdu) and length <= left:
            ok = fits(psdu[begin:begin + length])
            mpdus.append((begin, length, ok))
            if ok:
                free = place + 1 - -length // 4
            else:
                left -= length
    if not mpdus or not all(ok for _, _, ok in mpdus):
        return mpdus, False
    known = set()
    for begin, length, _ in mpdus:
        known.update(range(begin // 4 - 1, begin // 4 - -length // 4))
    starts = {begin // 4 - 1 for begin, _, _ in mpdus}
    empty = {place for place, length, _ in delimiters if not length and place not in known}
    known |= empty
    words = -(-len(psdu) // 4)
    for place, _, last in delimiters:
        if last and place in starts | empty:
            known.update(range(place, words))
            break
    # The smallest MPDU, an acknowledgement, takes five words including its delimiter.
    room = "".join("k" if word in known else "." for word in range(words))
    return mpdus, "." * 5 not in room
