# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the antennas of a recording: delays, carrier offsets, copies, antennas without signal."""

from dataclasses import dataclass

import numpy as np

from . import carriers
from .synchroniser import SAMPLE_RATES, Synchroniser

_LONGEST_DELAY = 5e-3    # seconds
_TOLERANCE = 8    # samples at 20 MS/s between a frame's starts at two antennas, besides the delay
_LEAST = 3    # frames that two antennas must have in common
_LEAST_DEVIATION = 300    # Hz, of the offsets that training fields of 20 MHz tell
# Blocks of 3.2 us from which on the antennas' phase difference is followed within frames. Over
# shorter times, the training fields tell the offset as well.
_FIRST_LAG, _LEAST_COHERENCE = 16, 0.1
# Of all blocks of this number of samples, the quietest 1 / _QUIET are compared.
_BLOCK, _QUIET = 64, 20
# Correlation of noise from which on one antenna is a copy of another. Receivers at one aerial have
# noise of their own.
_COPY = 0.9999


@dataclass(frozen=True)
class Antenna:
    """An antenna in comparison with the reference, the antenna that finds most frames.

    Attributes:
        frames: number of frames that the synchroniser finds in this antenna alone.
        common: number of these frames that the reference finds too.
        delay: number of samples by which it is late; 0 with fewer than three frames in common.
        offset_hz: its carrier offset against the reference; 0 also if that may be an accident.
        copy_of: index of an earlier antenna with the same samples, or None.
    """

    frames: int
    common: int = 0
    delay: int = 0
    offset_hz: float = 0.0
    copy_of: int | None = None


def compare_antennas(samples, sample_rate):
    """Compare the antennas of samples with frames; return (reference, list of :class:`Antenna`).

    Each antenna is searched alone. Equal frames are those at the most frequent distance.

    Args:
        samples: (num_rx, n) complex.
        sample_rate: as for :class:`Synchroniser`.

    Raises:
        ValueError: the sample rate is not supported.
    """
    frames = [_frames(row[None], sample_rate) for row in samples]
    reference = int(np.argmax([len(one) for one in frames]))
    return reference, [
        _compared((row, one), (samples[reference], frames[reference]), sample_rate, copy)
        for row, one, copy in zip(samples, frames, _copies(samples), strict=True)]


def _frames(samples, sample_rate):
    """Return the frames of one antenna: (n, 3), their starts, carrier offsets in Hz, and ends."""
    sync = Synchroniser(1, sample_rate)
    found = sync.process(samples) + sync.finish()
    return np.array([(one.start, one.cfo * sample_rate,
                      min(one.start + one.num_samples, samples.shape[1]))
                     for one in found if not one.inside]).reshape(-1, 3)


def _compared(antenna, reference, sample_rate, copy):
    """Return the :class:`Antenna` for (samples, frames) of it and of the reference."""
    (samples, frames), (_, others) = antenna, reference
    distance = frames[:, None, 0] - others[None, :, 0]
    own, other = np.nonzero(np.abs(distance) <= _LONGEST_DELAY * sample_rate)
    distance = distance[own, other]
    tolerance = _TOLERANCE * SAMPLE_RATES[sample_rate]
    ordered = np.sort(distance)
    count = (np.searchsorted(ordered, ordered + tolerance, "right")
             - np.searchsorted(ordered, ordered - tolerance))
    if count.max(initial=0) < _LEAST:
        return Antenna(len(frames), copy_of=copy)
    # Equally spaced frames have other frequent distances too: the shortest one is right.
    frequent = ordered[count >= 0.8 * count.max()]
    same = np.abs(distance - frequent[np.argmin(np.abs(frequent))]) <= tolerance
    offset = frames[own[same], 1] - others[other[same], 1]
    middle = np.median(offset)
    # The median's standard error, by the median deviation of a normal distribution
    deviation = max(1.4826 * np.median(np.abs(offset - middle)), _LEAST_DEVIATION)
    error = 1.2533 * deviation / np.sqrt(offset.size)
    spectra = [_cross_spectra(samples, frames[i], reference[0], others[j], sample_rate)
               for i, j in zip(own[same], other[same], strict=True)]
    middle, error = _refined(spectra, middle, error, sample_rate)
    return Antenna(len(frames), int(same.sum()), int(np.median(distance[same])),
                   float(middle) if abs(middle) > 3 * error else 0.0, copy)


def _cross_spectra(samples, frame, others, same_frame, sample_rate):
    """Return X conj(Y) of the spectra of two antennas, block by block behind the preamble."""
    scale = SAMPLE_RATES[sample_rate]
    starts = int(frame[0]) + 400 * scale, int(same_frame[0]) + 400 * scale
    size = carriers.FFT_20 * scale
    count = max(0, int(min(frame[2] - starts[0], same_frame[2] - starts[1])) // size)
    a, b = (np.fft.fft(row[start:start + count * size].reshape(count, size))
            for row, start in zip((samples, others), starts, strict=True))
    return a * b.conj()


def _refined(spectra, offset, error, sample_rate):
    """Return (offset, error) from the turn of the cross spectra over longer and longer times."""
    period, lag = carriers.FFT_20 * SAMPLE_RATES[sample_rate] / sample_rate, _FIRST_LAG
    while long := [one for one in spectra if len(one) >= 2 * lag]:
        turn = sum(np.vdot(one[:-lag], one[lag:]) for one in long)
        most = sum(np.linalg.norm(one[:-lag]) * np.linalg.norm(one[lag:]) for one in long)
        if abs(turn) < _LEAST_COHERENCE * most:
            break
        turn *= np.exp(-2j * np.pi * offset * lag * period)
        offset += np.angle(turn) / (2 * np.pi * lag * period)
        error = min(error, 0.01 / (lag * period))
        lag *= 2
    return offset, error


def _copies(samples):
    """Return for each antenna the index of an earlier one with the same samples, or None."""
    blocks = samples[:, :samples.shape[1] // _BLOCK * _BLOCK].reshape(len(samples), -1, _BLOCK)
    with np.errstate(over="ignore", invalid="ignore"):
        power = np.sum(np.abs(blocks)**2, axis=(0, 2))
    there = np.flatnonzero((power > 0) & (power < np.inf))
    if not there.size:
        return [None] * len(samples)
    quiet = there[np.argsort(power[there])[:there.size // _QUIET + 1]]
    rows = blocks[:, quiet].reshape(len(samples), -1).astype(complex)
    rows -= rows.mean(axis=1, keepdims=True)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)
    same = np.abs(rows @ rows.conj().T) > _COPY
    return [next((j for j in range(i) if same[i, j]), None) for i in range(len(samples))]
