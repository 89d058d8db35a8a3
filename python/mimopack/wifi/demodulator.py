# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Demodulate frames of one format: received vectors, channels and noise for a MIMO detector."""

from dataclasses import dataclass, fields, replace

import numpy as np

from .. import _core
from . import carriers, he_tables, signal_fields, training
from .formats import HE, HT, VHT, NonHT
from .points import axes_of, space_time_blocks
from .smoothing import smoother

# From the first sample of a frame to the FFT window of the first half of the L-LTF, at 20 MS/s.
_LTF = training.L_STF + 2 * training.GUARD
_HALVES = np.array([0, carriers.FFT_20])    # the halves of the L-LTF, relative to _LTF


@dataclass
class Demodulated:
    """Demodulated frames of one format.

    The model is y = H x + w with E|x_i|^2 = 1 and w ~ CN(0, noise_var I). In the shapes below, n is
    the number of frames.

    Attributes:
        y: complex64 (n, num_data, T, R), received vectors. Subcarriers ascend. T counts symbols, or
            pairs of symbols with a space-time block code. The R rows are the antennas. A duplicate
            frame has one row per antenna and copy, a space-time block code two rows per antenna.
        h: complex64 (n, num_data, R, S), channel matrices. The S unknowns are the streams. A
            space-time block code has two unknowns per stream, the second one conjugate.
        noise_var: float64 (n,), variance of noise and channel estimation error.
        channel: complex64 (n, carriers, num_rx, N_STS), channel estimates before whitening, without
            cyclic shifts and phase rotations.
        carriers: int64 (carriers,), subcarrier indices of ``channel``.
        noise: float64 (n, num_rx), noise power per antenna in a subcarrier.
        sampling_offset: float64 (n,), relative sampling clock offset, positive for a slow clock of
            the transmitter.
        phase_step: float64 (n,), mean phase change of the pilots per symbol, in radians.
        delay: int64 (n,), delay of the first path relative to the FFT window of the L-LTF, in
            samples at 20 MS/s.
        sig_b_bits: uint8 (n, bits), VHT-SIG-B without tail; no bits for other formats.
        received: complex64 (n, num_rx, num_symbols, used carriers), symbols divided by the standard
            deviation of the noise, corrected for phase and sampling clock.
        least_squares: complex64, shaped as ``channel``, least squares channel estimates divided by
            the standard deviation of the noise, not smoothed.
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
    sig_b_bits: np.ndarray
    received: np.ndarray | None = None
    least_squares: np.ndarray | None = None

    @classmethod
    def stacked(cls, parts):
        """Return the frames of several objects, which have arrays of the same shapes."""
        first, *others = parts
        if not others:
            return first
        return replace(first, **{
            name: np.concatenate([value, *(getattr(one, name) for one in others)])
            for name, value in first._arrays()})

    def take(self, indices):
        """Return a copy with only the frames at some indices."""
        return replace(self, **{name: value[indices] for name, value in self._arrays()})

    def put(self, indices, others):
        """Return a copy in which the frames ``others`` replace those at some indices."""
        changed = {}
        for name, value in self._arrays():
            changed[name] = value.copy()
            changed[name][indices] = getattr(others, name)
        return replace(self, **changed)

    def _arrays(self):
        """Return names and values of the arrays that have one row per frame."""
        return [(name, value) for name, value in vars(self).items()
                if isinstance(value, np.ndarray) and name != "carriers"]


class Demodulator:
    """Estimate channels and track phase and sampling clock, for frames of one format.

    The channel of stream i at subcarrier k is estimated by least squares over the N long training
    fields, (1 / N) sum_n Y_n[k] P[i, n] L_k, since P P^T = N I (IEEE 802.11-2020 §19.3.9.4.6).
    Y_n is received in field n, P is the matrix of signs, and L_k is the training sequence. The
    estimate is then smoothed over the subcarriers within the delay spread, unless the frame forbids
    smoothing. The noise estimate of an antenna is half the power of the difference between the two
    L-LTF halves. All symbols are divided by the standard deviation of the noise.

    Args:
        frame_format: :class:`formats.FrameFormat`; all frames share its ``kind``.
        scale: sample rate over 20 MS/s: 1, 2, 4 or 8.
        centre: subcarrier index of the channel's centre in the band of the samples, in steps of
            312.5 kHz.
        smoothing: whether to smooth channel estimates at all.

    Attributes:
        format: the frame format.
        plan: dictionary of the format's constants for the C++ demodulator.
    """

    def __init__(self, frame_format, scale, centre=0, smoothing=True):
        f = self.format = frame_format
        self._scale = scale
        self._fft = carriers.FFT_20 * f.density * scale
        self._smoothing = smoothing and f.smoothing
        plan, streams = f.plan, f.num_space_time_streams
        self._non_ht = isinstance(f, NonHT)
        # Subcarriers with a channel, and those of the training fields.
        if isinstance(f, VHT | HT):
            self._ltf_k = carriers.high_throughput(f.bandwidth_mhz).used
        else:
            self._ltf_k = plan.used
        # Cyclic shifts and phase rotations of each stream, (carriers, N_STS).
        turn = np.ones((self._ltf_k.size, 1))
        if not isinstance(f, HE):
            turn = carriers.rotation(f.bandwidth_mhz, self._ltf_k)[:, None]
        sequence = self._sequence()
        if not self._non_ht:
            first = f.first_stream
            advance = training.STREAM_ADVANCE[first + streams][first:]
            turn = turn * training.cyclic_shift(self._ltf_k, advance, carriers.FFT_20 * f.density)
        self._turn = turn.astype(np.complex64, "C")
        self._in_ltf = np.searchsorted(self._ltf_k, plan.used)
        # The pilots of VHT and HE train only the sum over the streams, of all users.
        self._sums = isinstance(f, VHT | HE) and f.pilots_in_ltf and (
            f.first_stream + streams > 1)
        # Samples at 20 MS/s from the first L-LTF window to the window of the first data symbol.
        self._data_start = f.data_start + f.guard - _LTF
        self._legacy_bins = (centre + carriers.legacy(f.bandwidth_mhz).used) % (
            carriers.FFT_20 * scale)
        trained = np.ones(self._ltf_k.size, bool)
        at_pilots = np.searchsorted(self._ltf_k, plan.pilots)
        trained[at_pilots] = not self._sums
        self._refined, self._refined_here = self._smoother_of(trained)
        self._smoother, self._trained_here = self._smoother_of(trained & (sequence != 0))
        self.plan = self._plan(sequence, at_pilots, centre)
        self._core = _core.wifi.Demodulator(self.plan, self._smoother, self._refined)

    def _sequence(self):
        """Return the training sequence at the subcarriers with a channel; 0 without training."""
        f = self.format
        if self._non_ht:
            return training.legacy_long_training(f.bandwidth_mhz)
        if isinstance(f, HE):
            return he_tables.long_training_of(f.bandwidth_mhz, f.ltf, self._ltf_k)
        return training.long_training(f.bandwidth_mhz)

    def _smoother_of(self, trained):
        """Return a smoother from some of the subcarriers with a channel to all, and their places.

        The places are None for all subcarriers.
        """
        k, f = self._ltf_k, self.format
        here = None if trained.all() else np.flatnonzero(trained)
        return smoother(tuple(k[trained].tolist()), tuple(k.tolist()), f.bandwidth_mhz,
                        f.density), here

    def _plan(self, sequence, at_pilots, centre):
        """Return the format's constants for the C++ demodulator."""
        f, plan, streams = self.format, self.format.plan, self.format.num_space_time_streams
        # The polarity repeats after 127 symbols, and the pattern after each pilot had its turn.
        pilots = np.ascontiguousarray(f.pilots(127 * len(plan.pilots)), np.float32)
        pilots = pilots.reshape(-1, len(plan.pilots), streams)
        starts, mapping, share = np.empty(0, int), np.empty((streams, 0)), 0.5
        shared_mapping = np.empty(0)
        if not self._non_ht:
            starts = f.training_start + f.ltf_guard - _LTF
            starts = starts + training.SYMBOL * np.arange(f.num_ltf)
            matrix = he_tables.ltf_mapping(f.num_ltf).conj() / f.num_ltf
            mapping = matrix[f.first_stream:f.first_stream + streams]
            shared_mapping = matrix[0].real
            share = 1 / f.num_ltf
            if self._greenfield:
                starts = np.append(_HALVES, starts[:-1])
                share *= (f.num_ltf - 0.5) / f.num_ltf
        # HE-LTFs may be shorter than data symbols, and their subcarriers stronger.
        ltf_fft, gain, sounded, bins = self._fft, 1.0, None, (
            centre * f.density + self._ltf_k) % self._fft
        signs = sequence[:, None]
        if isinstance(f, HE):
            ltf_fft = self._fft * f.ltf // 4
            gain = 4 / f.ltf / f.training_gain
            share *= gain * gain * f.ltf / 4
            starts = starts[0] + f.ltf_symbol * np.arange(f.num_ltf)
            if f.masked_ltf:
                signs = signs * he_tables.ltf_mask(
                    f.ltf, self._ltf_k, f.first_stream + np.arange(streams))
            if f.ltf < 4:
                sounded = np.flatnonzero(sequence)
                bins = (centre * f.ltf + self._ltf_k[sounded] * f.ltf // 4) % ltf_fft
        shared = None
        if self._sums:
            shared = np.isin(np.arange(self._ltf_k.size), at_pilots).astype(np.uint8)
        order, copies = np.empty(0, int), 1
        alone = f.name == "vht"    # the VHT-SIG-B of several users needs joint detection
        if alone:
            order, copies = signal_fields.sig_b_order(f)
        return {
            "sides": axes_of(f, streams),
            "fft": self._fft, "legacy_fft": carriers.FFT_20 * self._scale, "ltf_fft": ltf_fft,
            "scale": self._scale, "streams": streams,
            "midamble": f.midamble or 0, "midamble_period": f.midamble_period,
            "greenfield": self._greenfield, "smoothing": self._smoothing,
            "short_gi": f.guard < training.GUARD, "share": share,
            "signal_b": f.signal_b_start + training.GUARD - _LTF if alone else -1,
            "signal_b_copies": copies, "signal_b_order": np.ascontiguousarray(order),
            "signal_b_signs": he_tables.ltf_mapping(f.num_ltf)[:streams, 0].real.astype(
                np.float32) if alone else np.zeros(0, np.float32),
            "legacy_bins": self._legacy_bins, "ltf_bins": bins, "sounded_place": sounded,
            "bins": (centre * f.density + plan.used) % self._fft, "k": plan.used,
            "band_k": centre * f.density + plan.used, "trained_place": self._in_ltf,
            "places": plan.data_index, "pilot_places": plan.pilot_index,
            "pilot_k": np.array(plan.pilots), "pilots": pilots,
            "data_start": self._data_start, "symbol": f.symbol,
            "training_middle": float(self._training_middle()), "turn": self._turn,
            "untrained": (gain * self._turn.conj() * signs).astype(np.complex64),
            "ltf_starts": starts, "mapping": mapping.astype(np.complex64, "C"),
            "shared_mapping": shared_mapping.astype(np.float32), "shared": shared,
            "trained_here": self._trained_here, "refined_here": self._refined_here}

    @property
    def _greenfield(self):
        return not self._non_ht and self.format.greenfield

    @property
    def carriers(self):
        """Subcarrier indices of channel estimates, see :class:`Demodulated`."""
        return self._ltf_k

    def begin(self, samples, formats, **options):
        """Prepare to demodulate frames without Python's lock.

        Args:
            samples: :class:`FrameSamples` that begin at the first FFT window of the L-LTF. They
                hold the whole frame and a guard interval on both sides.
            formats: list of the frames' formats.
            options: ``keep``, whether to keep the arrays of all frames, and the arguments of
                :func:`data_field.demodulate_and_decode` with the number of ``threads``.

        Returns:
            ``_core.wifi.Demodulation``, a task that any thread may run.
        """
        return self._core.begin(samples.samples, rows=len(samples.samples[0]), first=samples.first,
                                cfo=samples.cfo, white=samples.white,
                                sizes=[f.sizes for f in formats], **options)

    def demodulated(self, task, frames, part=0):
        """Return the :class:`Demodulated` of some frames of a task that is done.

        Args:
            task: the result of :meth:`begin`.
            frames: indices of frames that have the same number of symbols.
            part: number of midambles before this part of the frames.
        """
        return Demodulated.stacked([self._demodulated(task.arrays(i, part)) for i in frames])

    def _demodulated(self, arrays):
        y, h = arrays["y"], arrays["h"]
        if y.shape[2]:
            y, h = self._vectors(y, h)
        own = {one.name: arrays[one.name] for one in fields(Demodulated) if one.name in arrays}
        return Demodulated(**own | {"y": y, "h": h, "carriers": self._ltf_k})

    def refine(self, before, points):
        """Demodulate frames again, with their decoded bits as further training.

        Phase and clock are tracked on all subcarriers. The channel is estimated by least squares
        over training fields and data: (N H_0 + sum_s Y_s X_s^H) (N I + sum_s X_s X_s^H)^-1, with
        the estimate H_0 from the N training fields, and symbol s sent as X_s and received as Y_s.
        Wrong bits degrade the estimate. But if a poor channel estimate is the reason that decoding
        failed, most bits are right. The residuals of the symbols give the noise of each subcarrier
        (a tone affects only a few) and its correlation between antennas (any interferer causes
        some).

        Args:
            before: :class:`Demodulated` of the frames.
            points: complex64 (n, N_STS, num_symbols, used carriers), the points sent according to
                the decoded bits, see :func:`points.known_points`.

        Returns:
            :class:`Demodulated`.
        """
        found = self._core.refine(before.received, before.least_squares, before.channel,
                                  before.noise, points)
        del found["phase"]
        found["y"], found["h"] = self._vectors(found["y"], found["h"])
        found["sampling_offset"] += before.sampling_offset
        found["phase_step"] += before.phase_step
        return replace(before, **found)

    def training_halves(self, samples):
        """Return the two halves of the L-LTF at the K used subcarriers, (n, num_rx, 2, K).

        ``samples`` is as for :meth:`begin`.
        """
        return samples.spectra(_HALVES * self._scale, carriers.FFT_20 * self._scale,
                               self._legacy_bins)

    def _training_middle(self):
        """Return the middle of the training fields that the channel estimate uses.

        The unit is samples at 20 MS/s, counted from the first window of the L-LTF.
        """
        f = self.format
        if self._non_ht:
            return 64
        if f.greenfield:
            return 64 + (f.num_ltf > 1) * (f.training_start - _LTF) / 2
        symbol, half = training.SYMBOL, 32
        if isinstance(f, HE):
            symbol, half = f.ltf_symbol, carriers.FFT_20 * f.ltf // 2
        return f.training_start + f.ltf_guard - _LTF + half + symbol * (f.num_ltf - 1) / 2

    def _vectors(self, y, channel):
        """Arrange symbols as y (n, num_data, T, R) and channels as h (n, num_data, R, S).

        ``y`` has the shape (n, data carriers, symbols, num_rx), and ``channel`` has the shape
        (n, data carriers, num_rx, N_STS).
        """
        f, plan = self.format, self.format.plan
        n, _, symbols, num_rx = y.shape
        if plan.copies > 1:    # each 20 MHz copy acts as further antennas
            y = y.reshape(n, plan.copies, plan.num_data, symbols, num_rx)
            y = y.transpose(0, 2, 3, 1, 4).reshape(n, plan.num_data, symbols, -1)
            channel = channel.reshape(n, plan.copies, plan.num_data, num_rx, -1)
            channel = channel.transpose(0, 2, 1, 3, 4).reshape(n, plan.num_data,
                                                               plan.copies * num_rx, -1)
        if f.stbc:
            y, channel = space_time_blocks(y, channel, f.num_streams, f.stbc)
        return np.ascontiguousarray(y), np.ascontiguousarray(channel)
