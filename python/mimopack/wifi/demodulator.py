# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of one format to what a MIMO detector takes: received vectors, channels, noise."""

from dataclasses import dataclass, replace

import numpy as np

from .. import _core
from . import carriers, signal_fields, training
from .formats import VHT, NonHT
from .points import space_time_blocks
from .preamble import energy, window_shifts
from .smoothing import first_paths, smoother
from .tracking import sampling_offset, track

# From a frame's first sample to the FFT window of the L-LTF's first half, at 20 MS/s.
_LTF = training.L_STF + 2 * training.GUARD
_HALVES = np.array([0, carriers.FFT_20])    # of the L-LTF, from there


@dataclass(frozen=True)
class Demodulated:
    """Frames of one format: y = H x + n with E|x_i|^2 = 1, n ~ CN(0, noise_var I).

    Attributes:
        y: complex64 (n, num_data, T, R): antennas (and copies, and both symbols of a space-time
            block) R, subcarriers ascending, T symbols or blocks of two.
        h: complex64 (n, num_data, R, S): S unknowns, streams, or two of each with space-time
            block codes, the second conjugate.
        noise_var: float64 (n,), noise and the channel estimate's error.
        channel: complex64 (n, carriers, num_rx, N_STS): estimates, not whitened, with cyclic
            shifts and turns taken out.
        carriers: int64, those of ``channel``.
        noise: float64 (n, num_rx): noise power of each antenna in a subcarrier.
        sampling_offset: float64 (n,).
        phase_step: float64 (n,), mean turn of the pilots from symbol to symbol, radians.
        delay: int64 (n,), delay of the first path against the L-LTF's FFT window, in samples at
            20 MS/s.
        sig_b: list of VHT-SIG-B bits, None of other formats.
        received: complex64 (n, num_rx, num_symbols, used carriers): symbols over the noise, turns
            of phase and clock taken out.
        least_squares: complex64, as ``channel``, over the noise and not smoothed.
    """

    y: np.ndarray
    h: np.ndarray
    noise_var: np.ndarray
    channel: np.ndarray
    carriers: np.ndarray
    noise: np.ndarray
    sampling_offset: np.ndarray
    phase_step: np.ndarray
    delay: np.ndarray
    sig_b: list | None
    received: np.ndarray | None = None
    least_squares: np.ndarray | None = None

    def take(self, indices):
        """The frames of some indices."""
        return replace(self, **{name: value[indices] for name, value in self._arrays()})

    def put(self, indices, others):
        """The frames with those of some indices replaced by others."""
        changed = {}
        for name, value in self._arrays():
            changed[name] = value.copy()
            changed[name][indices] = getattr(others, name)
        return replace(self, **changed)

    def _arrays(self):
        """Names and values of the arrays with a row for each frame."""
        return [(name, value) for name, value in vars(self).items()
                if isinstance(value, np.ndarray) and name != "carriers"]


class Demodulator:
    """FFT, channel estimation, phase and clock tracking for frames of one format.

    Channel: least squares over the long training fields, (1 / N) sum_n Y_n[k] P[i, n] L_k since
    P P^T = N I (IEEE 802.11-2020 §19.3.9.4.6), smoothed over the subcarriers within the delay
    spread unless the frame forbids it. Noise: half the power of the difference of the L-LTF's
    halves, antenna by antenna; all is divided by it.

    Args:
        frame_format: :class:`formats.FrameFormat`; all frames have its ``key``.
        scale: sample rate over 20 MS/s.
        centre: of the channel among the samples' carriers.
        smoothing: whether estimates are smoothed at all.
    """

    def __init__(self, frame_format, scale, centre=0, smoothing=True):
        f = self.format = frame_format
        self._scale = scale
        self._fft = carriers.FFT_20 * scale
        self._centre = centre
        self._smoothing = smoothing and f.smoothing
        plan = f.plan
        self._bins = (centre + plan.used) % self._fft
        self._non_ht = isinstance(f, NonHT)
        if self._non_ht:
            self._ltf_k = plan.used
            self._sequence = training.legacy_long_training(f.bandwidth_mhz)
            turn = carriers.rotation(f.bandwidth_mhz, self._ltf_k)[:, None]
        else:
            ltf = carriers.high_throughput(f.bandwidth_mhz)
            self._ltf_k = ltf.used
            self._sequence = training.long_training(f.bandwidth_mhz)
            turn = (carriers.rotation(f.bandwidth_mhz, self._ltf_k)[:, None]
                    * training.cyclic_shift(self._ltf_k,
                                            training.STREAM_ADVANCE[f.num_space_time_streams]))
        self._ltf_bins = (centre + self._ltf_k) % self._fft
        # What cyclic shifts and wide channels' turns do to each stream, (carriers, N_STS).
        self._turn = turn.astype(np.complex64)
        self._untrained = (self._turn.conj() * self._sequence[:, None]).astype(np.complex64)
        self._in_ltf = np.searchsorted(self._ltf_k, plan.used)
        # Pilots of VHT tell the sum of the streams only; smoothing gives their channels.
        sums = isinstance(f, VHT) and f.num_space_time_streams > 1
        self._estimated = plan.data_index if sums else np.arange(plan.used.size)
        self._legacy_bins = (centre + carriers.legacy(f.bandwidth_mhz).used) % self._fft
        # Formats work out their fields anew each time: what every batch needs is kept.
        self._num_symbols = f.num_symbols
        self._pilots = f.pilots(self._num_symbols).astype(np.float32)
        # Samples at 20 MS/s from the L-LTF's first window to that of each data symbol, and samples
        # from the middle of the training fields to that of each data symbol.
        self._starts = f.data_start + f.guard - _LTF + f.symbol * np.arange(self._num_symbols)
        self._distance = (self._starts + 32.0 - self._training_middle()) * scale
        # Of VHT's pilots only a sum over the streams is trained.
        self._pilot_places = np.searchsorted(self._ltf_k, plan.pilots)
        trained = np.ones(self._ltf_k.size, bool)
        if isinstance(f, VHT) and f.num_space_time_streams > 1:
            trained[self._pilot_places] = False
        self._trained = None if trained.all() else np.flatnonzero(trained)
        self._smoother = smoother(tuple(self._ltf_k[trained].tolist()),
                                  tuple(self._ltf_k.tolist()), f.bandwidth_mhz)

    @property
    def samples_needed(self):
        """Samples from the first LTF window on that a frame takes."""
        return (self.format.num_samples - _LTF) * self._scale

    def run(self, samples):
        """Demodulate frames.

        Args:
            samples: :class:`FrameSamples` from the L-LTF's first FFT window on: samples_needed,
                and a guard interval on both sides.

        Returns:
            :class:`Demodulated`.
        """
        f = self.format
        legacy = self.training_halves(samples)
        noise = self._noise(legacy)
        deviation = np.sqrt(noise).astype(np.float32)
        scaled = 1 / deviation
        trained, share = self._least_squares(samples, legacy, scaled)
        smoothed, error, paths = self._smooth(trained, share)
        error *= share * f.num_space_time_streams
        channel = smoothed * deviation[:, None, :, None]
        whitened = smoothed * self._turn[:, None, :]
        sig_b = self._signal_b(samples, whitened, scaled) if isinstance(f, VHT) else None
        n, num_rx = noise.shape
        delay = first_paths(paths)
        if not self._num_symbols:
            empty = np.zeros((n, 0, 0, num_rx), np.complex64)
            return Demodulated(empty, empty, 1 + error, channel, self._ltf_k, noise,
                               np.zeros(n), np.zeros(n), delay, sig_b)
        if self._in_ltf.size < self._ltf_k.size:
            whitened = np.take(whitened, self._in_ltf, axis=1)
        received, y, epsilon, step = self._data(samples, paths, whitened, scaled)
        y, h = self._vectors(y, whitened)
        return Demodulated(y, h, 1 + error, channel, self._ltf_k, noise, epsilon, step, delay,
                           sig_b, received, trained)

    def refine(self, before, points):
        """Demodulate frames again with what was decoded of them as further training.

        Phase and clock are tracked by all subcarriers, and the channel is least squares over
        training fields and data: (N H_0 + sum_s Y_s X_s^H) (N I + sum_s X_s X_s^H)^-1. Bits that
        were decoded wrong make it worse; most are right where the channel's estimate was what
        failed. What is left of the symbols tells the noise of each subcarrier, as that of a tone
        is in few, and how it is correlated between the antennas, as any interferer's is.

        Args:
            before: :class:`Demodulated` of the frames.
            points: complex64 (n, N_STS, num_symbols, used carriers), see
                :func:`points.known_points`.

        Returns:
            :class:`Demodulated`.
        """
        f, plan = self.format, self.format.plan
        deviation = np.sqrt(before.noise).astype(np.float32)[:, None, :, None]
        weight = f.num_ltf * (2 if self._non_ht else 1)
        known = {"trained_place": self._in_ltf, "turn": self._turn}
        epsilon, phase, received, noise, least, channel = _core.wifi.refine(
            before.received, points, before.channel / deviation,
            least_squares=before.least_squares, k=plan.used, trained_k=self._ltf_k,
            distance=self._distance, pilot_places=plan.pilot_index, estimated=self._estimated,
            fft=self._fft, weight=weight, interpolate=self._smoothing, **known)
        least = np.sqrt(least)[:, None, :, None]
        share = 1 / (weight + self._num_symbols)
        channel, error, _ = self._smooth(channel / least, share)
        channel *= least
        y, whitened = _core.wifi.whiten(received, points, channel, noise=noise,
                                        places=plan.data_index, **known)
        y, h = self._vectors(y, whitened)
        return replace(before, y=y, h=h, channel=channel * deviation, received=received,
                       noise_var=1 + error * share * f.num_space_time_streams,
                       sampling_offset=before.sampling_offset + epsilon,
                       phase_step=before.phase_step + _mean_step(phase))

    def _windows(self, samples, starts, bins, scale=None):
        """Spectra (n, num_rx, windows, bins) of windows that begin at starts (windows,) or
        (n, windows), in samples at 20 MS/s from the L-LTF's first window."""
        return samples.spectra(starts * self._scale, self._fft, bins, scale)

    def training_halves(self, samples):
        """The L-LTF's two halves at the used subcarriers, (n, num_rx, 2, K), of samples as for
        :meth:`run`."""
        return self._windows(samples, _HALVES, self._legacy_bins)

    @staticmethod
    def _noise(halves):
        """(n, num_rx) noise power per carrier, of (n, num_rx, 2, K)."""
        count = halves.shape[3]
        difference = halves[:, :, 0] - halves[:, :, 1]
        power = energy(halves.reshape(*halves.shape[:2], -1)) / (2 * count)
        return np.maximum(energy(difference) / (2 * count), 1e-7 * power + 1e-30).astype(float)

    def _least_squares(self, samples, legacy, scaled):
        """(estimates (n, carriers, num_rx, N_STS) over the noise, without turns; their noise
        variance over that of a symbol)."""
        f = self.format
        if self._non_ht:
            mean = legacy.sum(axis=2) * (scaled / 2)[..., None]
            estimate = np.ascontiguousarray(mean.swapaxes(1, 2))[..., None]
            return estimate * self._untrained[:, None, :], 0.5
        fields = self._training(samples, scaled)
        streams, count = f.num_space_time_streams, f.num_ltf
        mapping = (training.LTF_MAPPING[:streams, :count] / count).astype(np.float32)
        streamwise = (mapping @ fields.view(np.float32)).view(np.complex64)
        if isinstance(f, VHT):
            streamwise[..., self._pilot_places] = self._pilot_channel(fields)
        share = 1 / count
        if f.greenfield:
            share *= (count - 0.5) / count
        estimate = np.ascontiguousarray(streamwise.transpose(0, 3, 1, 2))
        return estimate * self._untrained[:, None, :], share

    def _pilot_channel(self, fields):
        """VHT trains pilots with the sum of all streams: an equal share for each of them, in the
        turn that each has, until smoothing finds better."""
        f = self.format
        mapping = training.LTF_MAPPING[0, :f.num_ltf] / f.num_ltf / f.num_space_time_streams
        total = np.einsum("nrfk,f->nrk", fields[..., self._pilot_places],
                          mapping.astype(np.float32))
        return total[:, :, None]

    def _training(self, samples, scaled):
        """HT-LTF or VHT-LTF symbols over the noise, (n, num_rx, N_LTF, carriers)."""
        f = self.format
        starts = f.training_start + training.GUARD - _LTF + training.SYMBOL * np.arange(f.num_ltf)
        if not f.greenfield:
            return self._windows(samples, starts, self._ltf_bins, scaled)
        starts = np.append(_HALVES, starts[:-1])
        fields = self._windows(samples, starts, self._ltf_bins, scaled)
        return np.concatenate([fields[:, :, :2].mean(axis=2, keepdims=True), fields[:, :, 2:]],
                              axis=2)

    def _smooth(self, estimate, share):
        """Estimates over the noise smoothed frame by frame, what that leaves of each one's error
        variance, and its power over delays."""
        rows = estimate
        if self._trained is not None:
            rows = np.take(rows, self._trained, axis=1)
        rows = rows.reshape(*rows.shape[:2], -1)
        profiles = self._smoother.profiles(rows, share)
        paths = self._smoother.delay_power(profiles)
        if not self._smoothing:
            return estimate, np.ones(len(estimate)), paths
        smoothed, error, done = self._smoother.smooth(share, profiles)
        smoothed = smoothed.reshape(estimate.shape)
        smoothed[~done] = estimate[~done]
        return smoothed, error, paths

    def _signal_b(self, samples, whitened, scaled):
        """Bits of the VHT-SIG-B of each frame."""
        f, plan = self.format, self.format.plan
        start = np.array([f.signal_b_start + training.GUARD - _LTF])
        received = self._windows(samples, start, self._ltf_bins, scaled)[:, :, 0]
        weights = training.LTF_MAPPING[:f.num_space_time_streams, 0].astype(np.float32)
        channel = whitened @ weights
        combined = np.einsum("nkr,nrk->nk", channel.conj(), received)
        return signal_fields.decode_sig_b(f, 4 * combined[:, plan.data_index].real)

    def _expected_pilots(self, whitened):
        """Pilots as they would arrive without turns: (n, num_rx, symbols, pilots)."""
        at = whitened[:, self.format.plan.pilot_index]
        return np.einsum("npri,spi->nrsp", at, self._pilots)

    def _data(self, samples, paths, whitened, scaled):
        """(symbols (n, num_rx, symbols, used carriers) over the noise, without turns of phase and
        clock; the same of data (n, data carriers, symbols, num_rx); sampling offsets; mean phase
        step)."""
        f, plan = self.format, self.format.plan
        shift = np.zeros((len(paths), 1), int)
        if f.short_gi:
            shift = window_shifts(paths, training.SHORT_GUARD)[:, None]
        received = self._symbols(samples, shift, scaled)
        expected = self._expected_pilots(whitened).conj()
        at = plan.pilot_index
        known = np.einsum("nrsp,nrsp->nsp", expected, received[..., at])
        epsilon = sampling_offset(known, plan.pilots, self._distance, self._fft)
        late = epsilon[:, None] * self._distance / self._scale
        again = np.abs(late).max(axis=1) > 0.5
        if again.any():
            shift = shift[again] + np.rint(late[again]).astype(int)
            received[again] = self._symbols(samples.take(again), shift, scaled[again])
            known[again] = np.einsum("nrsp,nrsp->nsp", expected[again], received[again][..., at])
        more, phase = track(known, plan.pilots, self._distance, self._fft, epsilon)
        epsilon = epsilon + more
        return *self._untwisted(received, epsilon, phase), epsilon, _mean_step(phase)

    def _untwisted(self, received, epsilon, phase):
        """Symbols without the turns of sampling offsets (n,) and phases (n, symbols), in both
        orders of :meth:`_data`."""
        plan = self.format.plan
        return _core.wifi.symbols(received, slope=self._slope(epsilon), phase=phase, k=plan.used,
                                  places=plan.data_index)

    def _slope(self, epsilon):
        """Turn from subcarrier to subcarrier that sampling offsets ask for: (n, symbols)."""
        return epsilon[:, None] * self._distance * (2 * np.pi / self._fft)

    def _symbols(self, samples, shift, scaled):
        """Used subcarriers over the noise (n, num_rx, symbols, used) of windows moved by shift,
        (n, 1) or (n, symbols) in samples at 20 MS/s, as if they had not been moved."""
        received = self._windows(samples, self._starts + shift, self._bins, scaled)
        if shift.any():
            k = self._centre + self.format.plan.used
            angle = -2j * np.pi / self._fft * self._scale * shift[..., None] * k
            received *= np.exp(angle).astype(np.complex64)[:, None]
        return received

    def _training_middle(self):
        """Middle of the training fields that the channel comes from, counted from the L-LTF's
        first window, at 20 MS/s."""
        f = self.format
        if self._non_ht:
            return 64
        fields = training.SYMBOL * (f.num_ltf - 1)
        if f.greenfield:
            return 64 + (f.num_ltf > 1) * (f.training_start - _LTF) / 2
        return f.training_start + training.GUARD - _LTF + 32 + fields / 2

    def _vectors(self, y, channel):
        """y (n, num_data, T, R) and h (n, num_data, R, S) of symbols (n, data carriers, symbols,
        num_rx) and channels (n, used, num_rx, N_STS)."""
        f, plan = self.format, self.format.plan
        channel = np.take(channel, plan.data_index, axis=1)
        n, _, symbols, num_rx = y.shape
        if plan.copies > 1:    # the same points in each 20 MHz: as if from further antennas
            y = y.reshape(n, plan.copies, plan.num_data, symbols, num_rx)
            y = y.transpose(0, 2, 3, 1, 4).reshape(n, plan.num_data, symbols, -1)
            channel = channel.reshape(n, plan.copies, plan.num_data, num_rx, -1)
            channel = channel.transpose(0, 2, 1, 3, 4).reshape(n, plan.num_data,
                                                               plan.copies * num_rx, -1)
        if f.stbc:
            y, channel = space_time_blocks(y, channel, f.num_streams, f.stbc)
        return np.ascontiguousarray(y), np.ascontiguousarray(channel)


def _mean_step(phase):
    """Mean turn from symbol to symbol: (n,) of (n, symbols)."""
    return (phase[:, -1] - phase[:, 0]) / max(1, phase.shape[1] - 1)
