# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate the channel from num_tx to num_rx antennas, for bursts or for a stream."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..checks import number, positive, snr
from .correlation import roots
from .fading import JakesGains, awgn, rayleigh
from .profiles import power_delay_profile

# Band-limited interpolation with a sinc under a Kaiser window. Errors stay below -60 dB up to 0.44
# of the sample rate, the outermost subcarrier of a 64-point OFDM symbol with 56 carriers.
_HALF_WIDTH = 16
_KAISER_BETA = 5.65
# The taps of a time-varying channel are computed at knots and interpolated linearly between them.
# From knot to knot, the Doppler phase (radians) and the clock drift (samples) change by at most
# x = _STEP, which keeps the error below x^2 / 8 = -70 dB.
_STEP = 0.05
_LONGEST_STEP = 4096
# Longest piece for one matrix product: the matrix of delayed inputs stays in cache.
_PIECE = 1024


class MIMOChannel:
    """Multi-antenna channel with fading, delay, correlation, frequency offsets and noise.

    Model for sample k of receive antenna i and transmit antenna j, with d_p the path delays, fs the
    sample rate and eps = 1e-6 sampling_offset:

        y_i(k) = exp(j 2 pi cfo k / fs) sum_p sum_j g_p[i, j] x_j(k (1 + eps) - d_p fs) + n_i(k)

    The gains g_p have the mean power of path p; the powers of all paths sum to 1 for each antenna
    pair. If the transmit antennas together have mean power ``signal_power``, each receive antenna
    has the same mean power, averaged over realisations. The noise is
    n_i ~ CN(0, signal_power / 10^(snr_db / 10)).

    A positive sampling_offset models a receiver with a slow clock, which samples every
    (1 + eps) / fs seconds. If the receiver derives its carrier and its clock from one oscillator,
    cfo is the carrier frequency times eps.

    Args:
        num_tx, num_rx: number of transmit and receive antennas.
        profile: "flat", "tdl_a", "tdl_b" or "tdl_c" (3GPP TR 38.901 §7.7.2).
        delay_spread: rms delay spread in seconds.
        sample_rate: samples per second.
        doppler: maximum Doppler frequency in Hz; 0 keeps each realisation static.
        rho_tx, rho_rx: exponential correlation between neighbouring antennas, 0 <= rho < 1.
        snr_db: mean SNR at each receive antenna in dB; None adds no noise. May be changed later.
        signal_power: mean power of the transmit antennas together; the reference of snr_db.
        cfo: carrier frequency offset in Hz. May be changed later; the phase stays continuous.
        sampling_offset: sampling frequency offset in ppm, -1000 to 1000.
        seed: seed of the two random generators, one for the gains and one for the noise.

    Attributes:
        latency: delay of the path with d_p = 0, in samples: half the length of the interpolation
            filter, or 0 if all path delays are whole samples and sampling_offset is 0.
        tail: number of samples that ``apply`` appends after the last input.

    Raises:
        ValueError: an argument is invalid.
    """

    def __init__(self, num_tx, num_rx, profile="flat", delay_spread=0.0, sample_rate=20e6,
                 doppler=0.0, rho_tx=0.0, rho_rx=0.0, snr_db=None, signal_power=1.0, cfo=0.0,
                 sampling_offset=0.0, seed=None):
        for argument, value in (("num_tx", num_tx), ("num_rx", num_rx)):
            if int(value) != value or value < 1:
                raise ValueError(f"{argument}: got {value}, must be a whole number from 1")
        self.sample_rate = positive("sample_rate", sample_rate)
        self.signal_power = positive("signal_power", signal_power)
        if not (np.isfinite(doppler) and 0 <= doppler < sample_rate / 100):
            raise ValueError(f"doppler: got {doppler}, must be 0 or more and below a hundredth "
                             f"of the sample rate ({sample_rate / 100:g} Hz)")
        if not abs(sampling_offset) <= 1000:
            raise ValueError(f"sampling_offset: got {sampling_offset}, must be -1000 to 1000 ppm")
        self.num_tx, self.num_rx = int(num_tx), int(num_rx)
        self.doppler = float(doppler)
        self.profile = power_delay_profile(profile, delay_spread)
        self._eps = sampling_offset * 1e-6
        self._root_rx, self._root_tx = roots(num_tx, num_rx, rho_tx, rho_rx)

        delays = self.profile.delays * self.sample_rate
        whole = not self._eps and np.allclose(delays, np.rint(delays), atol=1e-9)
        self._half = 0 if whole else _HALF_WIDTH
        self._delays = np.rint(delays) if whole else delays
        self.latency = self._half + (1 if self._eps else 0)
        self._num_taps = int(np.ceil(delays.max())) + self._half + self.latency + 1
        self.tail = self._num_taps - 1
        self._knot_spacing = self._choose_knot_spacing()

        fading_seed, noise_seed = np.random.SeedSequence(seed).spawn(2)
        self._fading_rng = np.random.default_rng(fading_seed)
        self._noise_rng = np.random.default_rng(noise_seed)
        self.snr_db = snr_db
        self._cfo = 0.0
        self._reset()
        self.cfo = cfo
        self.renew()

    def _choose_knot_spacing(self):
        drift = max(2 * np.pi * self.doppler / self.sample_rate, abs(self._eps))
        if not drift:
            return None
        return int(min(2 ** np.floor(np.log2(_STEP / drift)), _LONGEST_STEP)) or 1

    def _reset(self):
        self._next_out = 0
        self._num_in = 0
        # Zeros before the first sample; the buffer's first column is input 1 - num_taps.
        self._buffer = np.zeros((self.num_tx, self._num_taps - 1), np.complex64)
        self._phase, self._phase_at = 0.0, 0

    def renew(self):
        """Draw a new realisation of the gains, which applies from the next output on."""
        shape = (len(self._delays), self.num_rx, self.num_tx)
        if self.doppler:
            self._gains = JakesGains(shape, self.doppler, self._fading_rng)
        else:
            gains = rayleigh(shape, self._fading_rng)
            self._gains = lambda time: gains
        self._knots = {}

    @property
    def snr_db(self):
        """Mean SNR at each receive antenna in dB, -100..200, or None for no noise."""
        return self._snr_db

    @snr_db.setter
    def snr_db(self, value):
        self._snr_db = None if value is None else snr("snr_db", value)

    @property
    def noise_var(self):
        """Mean noise power per receive antenna."""
        return 0.0 if self.snr_db is None else self.signal_power * 10 ** (-self.snr_db / 10)

    @property
    def cfo(self):
        """Carrier frequency offset in Hz."""
        return self._cfo

    @cfo.setter
    def cfo(self, value):
        value = number("cfo", value)
        if not abs(value) <= self.sample_rate / 2:
            raise ValueError(f"cfo: got {value}, must be within half the sample rate "
                             f"({self.sample_rate / 2:g} Hz)")
        self._phase = self._carrier_phase(self._next_out)
        self._phase_at = self._next_out
        self._cfo = value

    def _carrier_phase(self, index):
        """Return the phase of the carrier offset in cycles at an output index or indices."""
        return (self._phase + self._cfo / self.sample_rate * (index - self._phase_at)) % 1.0

    def _interpolator(self, shift):
        """Return filters (P, num_taps), one per path, with delay d_p fs + latency - shift."""
        t = np.arange(self._num_taps) - (self._delays[:, None] + self.latency - shift)
        if not self._half:
            return (t == 0).astype(float)
        window = np.i0(_KAISER_BETA * np.sqrt(np.clip(1 - (t / (_HALF_WIDTH + 0.5)) ** 2, 0, 1)))
        inside = np.abs(t) <= _HALF_WIDTH + 0.5
        return np.sinc(t) * window * inside / np.i0(_KAISER_BETA)

    def _taps(self, output, slip):
        """Return taps (num_rx, num_tx, num_taps) for an output, with ``slip`` inputs skipped."""
        gains = self._root_rx @ self._gains(output / self.sample_rate) @ self._root_tx.T
        filters = self._interpolator(output * self._eps - slip)
        amplitudes = np.sqrt(self.profile.powers)
        return np.einsum("p,pij,pl->ijl", amplitudes, gains, filters)

    def _matrix(self, knot, slip):
        """Return the taps at a knot as (num_rx, num_tx * num_taps), by ascending input index."""
        if (knot, slip) not in self._knots:
            for old in [key for key in self._knots if key[0] < knot - 1]:
                del self._knots[old]
            taps = self._taps(knot * (self._knot_spacing or 0), slip)
            self._knots[knot, slip] = (
                taps[..., ::-1].reshape(self.num_rx, -1).astype(np.complex64))
        return self._knots[knot, slip]

    def _slip(self, output):
        """Return the number of inputs skipped before an output; negative if inputs are repeated.

        The number changes only at knots.
        """
        if not self._eps:
            return 0
        knot = output // self._knot_spacing * self._knot_spacing
        return int(np.floor(knot * self._eps))

    def num_outputs(self, num_inputs):
        """Return the number of samples that ``process`` gives for the next num_inputs samples."""
        total = self._num_in + num_inputs
        end = max(total - self._slip(total), self._next_out)
        while end > self._next_out and end - 1 + self._slip(end - 1) >= total:
            end -= 1
        while end + self._slip(end) < total:
            end += 1
        return end - self._next_out

    def process(self, samples):
        """Pass the next samples of a stream through the channel; state is kept between calls.

        Except for float32 rounding, the output does not depend on how the stream is divided into
        calls.

        Args:
            samples: (num_tx, n) complex array.

        Returns:
            (num_rx, n) complex64 array. With a sampling offset the number of outputs differs from n
            by about n * eps, see :meth:`num_outputs`.

        Raises:
            ValueError: samples has another shape.
        """
        samples = self._check(samples)
        first, count = self._next_out, self.num_outputs(samples.shape[1])
        self._buffer = np.concatenate([self._buffer, samples], axis=1)
        self._num_in += samples.shape[1]
        try:
            return self._outputs(count)
        finally:    # after an exception too, the stream goes on behind these samples
            self._next_out = first + count
            # Drop the inputs on which no further output depends.
            oldest = self._next_out + self._slip(self._next_out) - (self._num_taps - 1)
            self._buffer = self._buffer[:, oldest - self._num_in + self._buffer.shape[1]:].copy()

    def _outputs(self, count):
        """Return the next outputs, an array (num_rx, count)."""
        y = np.empty((self.num_rx, count), np.complex64)
        done = 0
        while done < count:
            done += self._filter_piece(y[:, done:])
        if self._cfo or self._phase:
            first = self._next_out - count
            phase = self._carrier_phase(np.arange(first, self._next_out))
            y *= np.exp(2j * np.pi * phase).astype(np.complex64)
        if self.snr_db is not None:
            y += awgn((count, self.num_rx), self.noise_var, self._noise_rng).T
        return y

    def _check(self, samples):
        samples = np.asarray(samples)
        if samples.ndim != 2 or samples.shape[0] != self.num_tx:
            raise ValueError(f"samples: got shape {samples.shape}, must be ({self.num_tx}, n)")
        return samples.astype(np.complex64, copy=False)

    def _filter_piece(self, y):
        """Fill the start of y with the next outputs, at most up to a knot; return their number."""
        output, spacing = self._next_out, self._knot_spacing
        knot = output // spacing if spacing else 0
        count = min(y.shape[1], _PIECE)
        if spacing:
            count = min(count, (knot + 1) * spacing - output)
        slip = self._slip(output)
        start = output + slip - (self._num_taps - 1) - (self._num_in - self._buffer.shape[1])
        piece = self._buffer[:, start:start + count + self._num_taps - 1]
        delayed = sliding_window_view(piece, count, axis=1).reshape(-1, count)
        y[:, :count] = self._matrix(knot, slip) @ delayed
        if spacing:
            weight = ((output - knot * spacing + np.arange(count)) / spacing).astype(np.float32)
            change = self._matrix(knot + 1, slip) - self._matrix(knot, slip)
            y[:, :count] += weight * (change @ delayed)
        self._next_out += count
        return count

    def apply(self, samples):
        """Pass one burst through the channel, starting at time 0 of the realisation.

        The burst has silence before and after it. Each call keeps the realisation (see ``renew``)
        but draws new noise.

        Args:
            samples: (num_tx, n) complex array.

        Returns:
            (num_rx, n + tail) complex64 array. The path with delay 0 starts at index ``latency``.

        Raises:
            ValueError: samples has another shape.
        """
        samples = self._check(samples)
        self._reset()
        self._knots = {}
        length = samples.shape[1] + self.tail
        # With a sampling offset, the outputs may need a few more inputs than their own number.
        spare = int(np.ceil(length * abs(self._eps))) + 1
        y = self.process(np.pad(samples, ((0, 0), (0, self.tail + spare))))[:, :length]
        self._reset()
        return y

    def impulse_response(self, time=0.0):
        """Return the taps at ``time`` seconds, without frequency offsets.

        Returns:
            (num_rx, num_tx, tail + 1) complex128 array.
        """
        index = round(time * self.sample_rate)
        return self._taps(index, index * self._eps)

    def frequency_response(self, fft_length, time=0.0):
        """Return the channel matrix of each subcarrier at ``time`` seconds, latency removed.

        Returns:
            (fft_length, num_rx, num_tx) complex128 array in FFT order.
        """
        response = np.fft.fft(self.impulse_response(time), fft_length, axis=-1)
        phase = np.exp(2j * np.pi * np.fft.fftfreq(fft_length) * self.latency)
        return np.moveaxis(response * phase, -1, 0)
