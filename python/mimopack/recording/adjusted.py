# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Change the samples of a recording as they are read: swap I and Q, resample, align antennas."""

from fractions import Fraction

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..checks import positive

_LARGEST_TERM = 1000    # of the ratio of two sample rates: a deviation of 1e-6 at most
_STOPBAND_DB = 60
# Half of the width of the filter's transition: what channels of this width leave free at the edges
# of the band (20 MHz: 1.1 MHz, 40 MHz: 1.8 MHz, 80 MHz: 1.9 MHz).
_FREE_HZ, _FREE_SHARE = 1.8e6, 0.05


class Adjusted:
    """A recording with changed samples: I and Q swapped, then resampled, then antennas aligned.

    Resampling is a polyphase filter with a Kaiser window, flat in a Wi-Fi channel that has the
    width of the new rate.

    Args:
        recording: :class:`Reader` or :class:`RawReader`.
        sample_rate: the new sample rate, not above the recording's; None keeps it.
        swap_iq: whether to exchange I and Q.
        delays: for each antenna, by how many samples (at the new rate) it is late; None: all 0.
        offsets: for each antenna, its carrier offset in Hz, which is taken away; None: all 0.

    Attributes:
        num_channels, num_samples, sample_rate: those of the changed samples.
        ratio: sample rate of the recording divided by the new one.

    Raises:
        ValueError: the new rate is above the recording's.
    """

    def __init__(self, recording, sample_rate=None, swap_iq=False, delays=None, offsets=None):
        self._recording, self._swap = recording, swap_iq
        self.num_channels = recording.num_channels
        self._delays, self._offsets = delays, offsets
        self.sample_rate = recording.sample_rate
        self._up, self._down = 1, 1
        if sample_rate is not None and sample_rate != recording.sample_rate:
            self.sample_rate = positive("sample_rate", sample_rate)
            ratio = Fraction(self.sample_rate / recording.sample_rate)
            if ratio > 1:
                raise ValueError(f"sample_rate: got {sample_rate:g}, must not be above the "
                                 f"recording's {recording.sample_rate:g}")
            ratio = ratio.limit_denominator(_LARGEST_TERM)
            self._up, self._down = ratio.numerator, ratio.denominator
            self._design()
        self.ratio = self._down / self._up
        self.num_samples = recording.num_samples * self._up // self._down

    def _design(self):
        """Compute the taps (taps per output, phases) of the filter."""
        input_rate = self.sample_rate * self._down / self._up
        width = 2 * min(_FREE_HZ, _FREE_SHARE * self.sample_rate)
        # Kaiser's formula, for a filter at the recording's rate.
        order = (_STOPBAND_DB - 7.95) / (2.285 * 2 * np.pi * width / input_rate)
        self._half = int(np.ceil(order / 2 * self._up))
        at = np.arange(-self._half, self._half + 1) / self._up
        taps = np.sinc(self.sample_rate / input_rate * at) * np.kaiser(
            at.size, 0.1102 * (_STOPBAND_DB - 8.7))
        self._length = -(-taps.size // self._up)
        padded = np.pad(taps * self._up / taps.sum(), (0, self._length * self._up - taps.size))
        self._taps = padded.reshape(self._length, self._up).astype(np.complex64)

    def read(self, start=0, count=None):
        """Read samples of all channels: complex64 (num_channels, count).

        Args:
            start: index of the first sample, from 0.
            count: number of samples per channel; None reads to the end.

        Raises:
            OSError: as :meth:`Recording.read`.
        """
        if count is None:
            count = self.num_samples - start
        if self._delays is None:
            samples = self._resampled(start, count)
        else:
            first, last = min(self._delays), max(self._delays)
            wider = self._resampled(start + first, count + last - first)
            samples = np.stack([row[delay - first:delay - first + count]
                                for row, delay in zip(wider, self._delays, strict=True)])
        for row, offset in zip(samples, self._offsets or (), strict=False):
            turns = offset / self.sample_rate * (start + np.arange(count))
            row *= np.exp(-2j * np.pi * (turns % 1)).astype(np.complex64)
        return samples

    def pieces(self, length):
        """Yield the samples as complex64 arrays (num_channels, n), with n up to ``length``."""
        for start in range(0, self.num_samples, length):
            yield self.read(start, min(length, self.num_samples - start))

    def _resampled(self, start, count):
        """Return samples at the new rate; they are 0 outside of the recording."""
        if self._up == self._down:
            return self._given(start, count)
        # Output m is the sum of taps h[half + m down - k up] times input k (Crochiere and Rabiner,
        # Multirate Digital Signal Processing, 1983, section 2.4). Every up-th output has the same
        # taps.
        centres = (start + np.arange(min(self._up, count))) * self._down + self._half
        ends, phases = np.divmod(centres, self._up)
        first = ends[0] - self._length + 1
        last = ((start + count - 1) * self._down + self._half) // self._up
        windows = sliding_window_view(self._given(first, last - first + 1), self._length, axis=1)
        out = np.empty((self.num_channels, count), np.complex64)
        for index, (end, phase) in enumerate(zip(ends, phases, strict=True)):
            mine = out[:, index::self._up]
            inputs = windows[:, end - ends[0]::self._down][:, :mine.shape[1]]
            with np.errstate(all="ignore"):    # stored bytes may be anything
                mine[...] = inputs @ self._taps[::-1, phase]
        return out

    def _given(self, start, count):
        """Return samples of the recording; they are 0 outside of it."""
        first, end = max(0, start), min(self._recording.num_samples, start + count)
        if (first, end) == (start, start + count):
            out = self._recording.read(start, count)
        else:
            out = np.zeros((self.num_channels, count), np.complex64)
            if first < end:
                out[:, first - start:end - start] = self._recording.read(first, end - first)
        if self._swap:    # Q + jI is I + jQ mirrored and turned by 90 degrees
            parts = out.view(np.float32)
            parts[:, 0::2], parts[:, 1::2] = parts[:, 1::2].copy(), parts[:, 0::2].copy()
        return out
