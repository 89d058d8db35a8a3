# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decode found frames and report them: demodulation, detection, decoding."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, isfinite, log10
from threading import Lock
from typing import NamedTuple

import numpy as np

from .. import _core, detectors
from . import carriers, mac, training
from .data_field import (
    DataFields,
    demodulate_and_decode,
    seed_of,
    with_length,
    with_sent_length,
)
from .demodulator import Demodulator
from .formats import Joint, NonHT
from .formats.base import SERVICE
from .frame import TRUNCATED, ChannelState, FrameVectors, ReceivedFrame, of_users
from .iterations import Iterations, vectors_of
from .points import error_vectors, in_time, mmse_points
from .stage_timer import StageTimer
from .whitening import factors, noise_covariance
from .windows import FrameSamples

_log = logging.getLogger(__name__)
# Frames of one kind are demodulated in batches of at most _BATCH frames. A batch has at most
# about _SYMBOLS_TOGETHER symbols (OFDM symbols x antennas x 20 MHz), to stay in the cache. Threads
# share the frames in batches of at least _LEAST_SYMBOLS, because each batch takes some time of the
# thread that searches. While this thread gets less than _PROMPT seconds of samples at once, it has
# time to spare, and batches that take a core _LEAST_SECONDS are enough: frames then wait less for
# others of their batch. If the thread is behind, batches may become _LARGER times as large.
_BATCH = 64
_SYMBOLS_TOGETHER = 5120
_LEAST_SYMBOLS = 128
_PROMPT = 5e-4
_LEAST_SECONDS = 6e-4
_LARGER = 4
# The thread that searches is behind if it gets more than these seconds of samples at once. So it is
# always with samples from a file, which need no short latency.
_BEHIND = 1e-3
# A detector uses several threads from this number of candidates per batch on. Waking threads takes
# long if other blocks occupy the cores.
_SHARED_WORK = 8_000_000
# Stages of a call of the C++ demodulator, in the order of its ``seconds``.
_STAGES = "demodulation", "detection", "decoding"
# Maximum number of kinds of frames whose tables are kept.
_MOST_KINDS = 256
# Prefix of a problem that is an exception.
FAILED = "failed: "
_LTF_START = training.L_STF + 2 * training.GUARD
# Calls of detector factories take turns, since a factory may be a user's function.
_MAKING = Lock()


@dataclass(frozen=True)
class Settings:
    """Settings of a :class:`FrameDecoder`.

    Attributes:
        num_rx: number of receive antennas.
        sample_rate: samples per second.
        scale: FFT size divided by 64: 1, 2 or 4.
        frequency: centre frequency of the samples in Hz, or None.
        detector: function that makes detectors, see :class:`receiver.Receiver`; None if frames are
            only demodulated.
        smoothing, passes, iterations: see :class:`receiver.Receiver`.
        feedback_scale: see :class:`iterations.Iterations`.
        covariance: whether to whiten noise that is correlated between antennas.
        detector_threads: number of threads of each detector; 0 uses all cores for large batches.
    """

    num_rx: int
    sample_rate: float
    scale: int
    frequency: float | None
    detector: Callable | None
    smoothing: bool
    passes: int
    iterations: int
    feedback_scale: float
    covariance: bool
    detector_threads: int


class Begun(NamedTuple):
    """Frames of one kind that are being decoded without Python's lock.

    Attributes:
        task: ``_core.wifi.Demodulation`` for any thread, a ``_core.Task``.
        group: list of :class:`synchroniser.FoundFrame`, the frames.
        setup: what they are decoded with.
        lower: matrices that undo the whitening across antennas; None without it.
        keep_symbols: whether to fill in ``ReceivedFrame.symbols``.
    """

    task: _core.Task
    group: list
    setup: "_Setup"
    lower: np.ndarray | None
    keep_symbols: bool


class _Setup(NamedTuple):
    """The steps that decode frames of one kind.

    Attributes:
        demodulator: :class:`Demodulator`.
        detector: MIMO detector; None for frames that are only demodulated.
        label: name of the detector with its parameters, if they are known; "" without one.
        refusal: why the detector refuses such frames; "" if it does not.
        turn: frequency in Hz that turns the phase by one radian from symbol to symbol.
        steps: see :func:`data_field.demodulate_and_decode`.
    """

    demodulator: Demodulator
    detector: object
    label: str
    refusal: str
    turn: float
    steps: dict


class FrameDecoder:
    """Demodulate and decode frames in batches. One thread at a time may use an object.

    One thread calls :meth:`begin` and :meth:`finish`. Any thread runs the task in between, which
    is C++ and needs no Python lock. Most frames are then decoded. Others are left to
    :meth:`improve`: frames with errors, and frames for which some step has no C++.

    Args:
        settings: :class:`Settings`.
        clock: function that returns seconds, see :class:`receiver.Receiver`; None measures nothing.

    Attributes:
        settings: as above; may be replaced.
        seconds: Counter of the seconds spent in "demodulation", "detection", "decoding" and
            "reporting", except in :meth:`begin` and :meth:`finish` themselves.
    """

    def __init__(self, settings, clock=None):
        self._detectors, self._setups, self._loops = {}, {}, {}
        self._fields = DataFields()
        self._costs = {}    # {kind of frames: CPU seconds of the last batch per OFDM symbol}
        self.settings = settings
        self._timer = StageTimer(clock)
        self._logged = set()    # exceptions logged so far

    @property
    def seconds(self):
        return self._timer.seconds

    @property
    def settings(self):
        return self._settings

    @settings.setter
    def settings(self, settings):
        self._settings = settings
        for kept in (self._detectors, self._setups, self._loops, self._costs):
            kept.clear()

    def batches(self, found, threads, seconds=0.0):
        """Divide frames into batches to decode together. Frames of a batch have the same kind.

        Args:
            found: list of :class:`synchroniser.FoundFrame` with known formats.
            threads: number of threads that share the frames.
            seconds: duration of the samples that were searched at once.

        Returns:
            list of batches, each a list of indices into ``found``.
        """
        groups = {}
        for index, one in enumerate(found):
            groups.setdefault(_kind(one), []).append(index)
        shared = -(-len(found) // threads)
        late = seconds / _BEHIND
        out = []
        for kind, indices in groups.items():
            f = found[indices[0]].format
            mean = sum([found[i].format.num_symbols for i in indices]) / len(indices)
            symbols = max(1, mean * self.settings.num_rx * f.bandwidth_mhz // 20)
            least = ceil(_LEAST_SYMBOLS * min(_LARGER, max(1.0, late)) / symbols)
            cost = self._costs.get(kind, 0.0) * mean
            if seconds < _PROMPT and cost:
                least = min(least, ceil(_LEAST_SECONDS / cost))
            size = min(_BATCH, ceil(_SYMBOLS_TOGETHER / symbols), max(shared, least))
            # Make parts of similar size: a remainder of one frame would cost as much Python time as
            # a full part.
            parts = -(-len(indices) // size)
            ends = [len(indices) * part // parts for part in range(parts + 1)]
            out += [indices[begin:end] for begin, end in pairwise(ends)]
        return out

    def begin(self, found, keep_symbols=False):
        """Prepare to decode frames of one kind; return :class:`Begun`.

        Args:
            found: list of :class:`synchroniser.FoundFrame`, none of which has a :meth:`problem`.
            keep_symbols: whether to fill in ``ReceivedFrame.symbols``.

        Raises what a user's detector raises.
        """
        setup = self._setup(found[0])
        samples, lower = self._whitened(found, setup.demodulator)
        formats = [one.format for one in found]
        steps = setup.steps
        if steps:
            vectors = sum([f.num_symbols for f in formats]) * formats[0].plan.num_data
            self._share_threads(setup.detector, vectors)
            steps = steps | {"threads": setup.detector.threads}
        task = setup.demodulator.begin(samples, formats, keep=keep_symbols, **steps)
        return Begun(task, found, setup, lower, keep_symbols)

    def finish(self, begun):
        """Return the list of :class:`ReceivedFrame` of frames whose task is done.

        An element is None if :meth:`improve` has to go on. Raises what the task raised.
        """
        task, group = begun.task, begun.group
        seconds = task.value()
        self._timer.add(dict(zip(_STAGES, seconds, strict=True)))
        symbols = sum([one.format.num_symbols for one in group])
        self._costs[_kind(group[0])] = sum(seconds) / max(1, symbols)
        return [self._finished(begun, i, report) for i, report in enumerate(self._reports(group))]

    def _finished(self, begun, i, report):
        """Complete and return the report of frame i; None if :meth:`improve` has to go on."""
        setup = begun.setup
        payload, *results = begun.task.report(i)
        if payload is None and setup.detector is not None:    # some step has no C++
            return None
        if payload is not None and not payload[2] and (
                self.settings.passes > 1 or self.settings.iterations > 1):
            return None
        self._complete(report, begun, i, payload, *results)
        if payload is None:    # demodulated only
            report.evm_db = ()
        elif begun.keep_symbols:
            f = begun.group[i].format
            report.symbols = _symbols(f, _parts(f, setup.demodulator, begun.task, [i]))[0]
        return _divided(report)

    def improve(self, begun, left):
        """Decode frames that :meth:`finish` has left.

        Another decoder may have begun them.

        Args:
            begun: :class:`Begun`.
            left: indices of the frames in ``begun.group``.

        Returns:
            list of their :class:`ReceivedFrame`.
        """
        groups = {}
        for i in left:
            groups.setdefault(begun.group[i].format.key, []).append(i)
        self._timer.end()
        reports = {}
        with np.errstate(all="ignore"):
            for indices in groups.values():
                reports.update(zip(indices, self._attempt(begun, indices), strict=True))
        self._timer.end("reporting")
        return [reports[i] for i in left]

    def demodulate(self, found):
        """Estimate channels and demodulate frames, but do not detect and decode them.

        Args:
            found: as for :meth:`begin`.

        Returns:
            list of :class:`frame.FrameVectors`.
        """
        with np.errstate(all="ignore"):
            begun = self.begin(found)
            begun.task.run()
            return [self._vectors(begun, i) for i in range(len(found))]

    def problem(self, one):
        """Return why a frame (:class:`synchroniser.FoundFrame`) cannot be decoded; "" if it can."""
        f = one.format
        if f is None:
            return TRUNCATED if one.several and one.truncated else one.problem
        if f.contradiction:
            return f.contradiction
        rows = self.settings.num_rx
        if f.num_space_time_streams > 1 or f.num_streams > 1:
            unknowns = f.num_streams * (2 if f.stbc else 1)
            if rows * (2 if f.stbc else 1) < unknowns:
                channels = "1 channel" if rows == 1 else f"{rows} channels"
                return f"{channels}, but the frame has {f.num_streams} streams"
        if one.truncated:
            return TRUNCATED
        return ""

    def failed(self, one, problem):
        """Return the :class:`ReceivedFrame` of a frame that cannot be decoded."""
        report, = self._reports([one])
        report.problem = problem
        return _divided(report)

    def failure(self, one, error):
        """Return the :class:`ReceivedFrame` of a frame whose decoding raised an exception."""
        words = type(error), str(error)
        if words not in self._logged:
            self._logged.add(words)
            _log.error("the frame at sample %d was not decoded (logged once per error)",
                       one.start, exc_info=error)
        return self.failed(one, f"{FAILED}{type(error).__name__}")

    def _attempt(self, begun, indices):
        """Return the reports of frames. If that fails, take them one by one."""
        try:
            return self._decode(begun, indices)
        except Exception as error:
            if len(indices) == 1:
                return [self.failure(begun.group[indices[0]], error)]
        return [self._attempt(begun, [i])[0] for i in indices]

    def _setup(self, one):
        """Return the :class:`_Setup` of frames of the kind of a frame."""
        f, kind = one.format, _kind(one)
        if kind not in self._setups:
            demodulator = Demodulator(f, self.settings.scale, one.centre,
                                      self.settings.smoothing)
            detector, refusal = None, ""
            if f.num_symbols and self.settings.detector:
                try:
                    rows = self.settings.num_rx * f.plan.copies * (2 if f.stbc else 1)
                    detector = self._detector(f, rows)
                except _Refused as refused:
                    refusal = str(refused)
            steps = demodulate_and_decode(f, detector)
            turn = self.settings.sample_rate / (2 * np.pi * f.symbol * self.settings.scale)
            _keep(self._setups, kind, _Setup(
                demodulator, detector, _label(detector), refusal, turn, steps))
        return self._setups[kind]

    def _whitened(self, group, demodulator):
        """Return (:class:`FrameSamples`, matrices that undo the whitening across antennas)."""
        samples = FrameSamples([one.samples for one in group],
                               [one.window - one.first for one in group],
                               [one.cfo for one in group])
        if not self.settings.covariance or self.settings.num_rx == 1:
            return samples, None
        with np.errstate(all="ignore"):
            lower, white = factors(noise_covariance(demodulator.training_halves(samples)))
        return replace(samples, white=white), lower

    def _vectors(self, begun, i):
        """Return the :class:`frame.FrameVectors` of a demodulated frame."""
        one = begun.group[i]
        d = begun.setup.demodulator.demodulated(begun.task, [i])
        frame, = self._reports([one])
        results = begun.task.report(i)
        self._complete(frame, begun, i, *results)
        if one.format.num_symbols:
            frame.evm_db = _evm(one.format, [d])[0]
            frame.format = one.format    # only the SERVICE field proves the length in a VHT-SIG-B
        return FrameVectors(frame, d.y[0].reshape(-1, d.y.shape[-1]), d.h[0],
                            float(d.noise_var[0]), one.inside, results[4])

    def _decode(self, begun, indices):
        """Decode frames of one format, as :meth:`improve` does."""
        group = [begun.group[i] for i in indices]
        f, setup = group[0].format, self._setup(group[0])
        field, demodulator = self._fields.of(f), setup.demodulator
        parts = _parts(f, demodulator, begun.task, indices)
        if begun.setup.steps:
            bits = np.concatenate([begun.task.arrays(i)["scrambled"] for i in indices])
            payloads = self._iterated(field, parts, field.payloads(bits))
            self._timer.end("decoding")
        else:
            payloads = self._decoded(parts, setup.detector, field)
        # The report has the channel and offsets of the last pass that found another MPDU, or else
        # of the first pass: a later pass may have trained on wrong bits.
        reported = parts
        left = _incomplete(payloads)
        for _ in range(self.settings.passes - 1):
            if not left:
                break
            before = payloads
            try:
                # Decoded bits serve as further training.
                bits = np.stack([payloads[i].scrambled for i in left])
                taken = [part.take(left) for part in parts]
                refined = _refined(demodulator, taken, field.points(bits, taken[-1]))
                self._timer.end("demodulation")
                decoded = self._decoded(refined, setup.detector, field,
                                        [payloads[i] for i in left])
            except Exception as error:    # keep the results of earlier passes
                self.failure(group[left[0]], error)
                break
            payloads = _put(payloads, left, decoded)
            parts = _put_frames(parts, left, refined)
            better = [i for i in left if len(payloads[i].good) > len(before[i].good)]
            if better:
                reported = _put_frames(reported, better, [part.take(better) for part in parts])
            # Another pass seldom helps a frame that has good MPDUs and gained none in this pass. It
            # cannot help a frame without good MPDUs whose bits did not change.
            left = [i for i in left if not payloads[i].complete and (i in better or (
                not payloads[i].good and _differ(before[i], payloads[i])))]
        return self._decoded_reports(begun, indices, reported, payloads)

    def _decoded_reports(self, begun, indices, parts, payloads):
        """Return the reports of frames of one format, from their parts between midambles."""
        d, group = parts[0], [begun.group[i] for i in indices]
        f = group[0].format
        evm, fft = _evm(f, parts), carriers.FFT_20 * f.density * self.settings.scale
        states = [(channel / fft, noise / fft**2, _core.wifi.condition(channel, noise))
                  for channel, noise in zip(d.channel, d.noise, strict=True)]
        symbols = _symbols(f, parts) if begun.keep_symbols else [None] * len(group)
        reports = self._reports(group)
        joint = isinstance(f, Joint)
        for i, (report, payload) in enumerate(zip(reports, payloads, strict=True)):
            self._complete(
                report, begun, indices[i], None if joint else _as_tuple(payload),
                float(d.phase_step[i]), float(d.sampling_offset[i]), int(d.delay[i]),
                d.sig_b_bits[i].tobytes(), evm[i], states[i])
            report.symbols = symbols[i]
        if joint:
            return list(map(_divided, reports, payloads))
        return reports

    def _complete(self, report, begun, i, payload, phase_step, sampling_offset, delay, sig_b, evm,
                  state):
        """Fill in what is known of frame i after its demodulation.

        Args:
            report: :class:`ReceivedFrame` from :meth:`_reports`.
            begun: :class:`Begun`.
            i: index in ``begun.group``.
            payload: (PSDU, list of (offset, length, fcs_ok), whether it is complete, scrambled
                SERVICE field), or None.
            phase_step, sampling_offset, delay: as in :class:`demodulator.Demodulated`.
            sig_b: VHT-SIG-B without tail, a byte for each bit.
            evm: tuple of the error vector magnitudes of the streams in dB.
            state: (channel matrices, noise powers, condition number in dB).
        """
        setup, f = begun.setup, report.format
        matrices, noise, report.condition_db = state
        if begun.lower is not None:
            lower = begun.lower[i]
            matrices = lower[None] @ matrices
            noise = noise * np.sum(np.abs(lower)**2, axis=1)
        report.channel = ChannelState(setup.demodulator.carriers, matrices, noise)
        # Symbols that are not finite have no phase; the preamble still tells the offset.
        report.cfo_hz += _finite(phase_step * setup.turn)
        if not isinstance(f, NonHT):    # cyclic shifts hide the first path in the L-LTF
            report.start = begun.group[i].window + (delay - _LTF_START) * self.settings.scale
        # Change the sign: the demodulator's offset is positive for a slow clock of the transmitter,
        # but the report's is positive for a fast one.
        report.sampling_offset_ppm = _finite(0.0 - 1e6 * sampling_offset)
        report.evm_db, report.detector, report.problem = evm, setup.label, setup.refusal
        if payload is not None:
            _fill(report, payload)
        if f.name == "vht":
            report.format = (with_length(f, sig_b) if payload is None
                             else with_sent_length(f, payload[3], sig_b))

    def _share_threads(self, detector, vectors):
        """Let a detector use all cores if the batch is large enough."""
        if not self.settings.detector_threads and isinstance(detector, detectors.Detector):
            work = vectors * detector.candidates
            detector.threads = 0 if work > _SHARED_WORK else 1

    def _decoded(self, parts, detector, field, before=None):
        """Return the payloads of demodulated frames, merged with payloads of earlier passes."""
        llr = np.concatenate([self._detect(detector, part) for part in parts], axis=2)
        self._timer.end("detection")
        payloads = field.decode(llr)
        if before:
            payloads = list(map(field.merged, before, payloads))
        payloads = self._iterated(field, parts, payloads, llr)
        self._timer.end("decoding")
        return payloads

    def _iterated(self, field, parts, payloads, llr=None):
        """Iterate between detector and decoder for incomplete payloads; return all payloads.

        ``llr`` is the output of the detector, or None if it was not kept.
        """
        f = field.frame_format
        left = _incomplete(payloads)
        passes = self.settings.iterations
        if passes == 1 or not left or not Iterations.takes(f):
            return payloads
        if f.key not in self._loops:
            detector = self._detector(f, parts[0].h.shape[2], extrinsic=True)
            _keep(self._loops, f.key,
                  Iterations(field, detector, passes, self.settings.feedback_scale))
        found = self._loops[f.key].decode(
            *vectors_of([part.take(left) for part in parts]),
            None if llr is None else llr[left], [payloads[i] for i in left])
        return _put(payloads, left, found)

    def _detector(self, f, rows, **options):
        unknowns = f.num_streams * (2 if f.stbc else 1)
        constellation = f.constellation
        if f.stbc and "," in constellation:    # two unknowns for each stream
            constellation = ",".join(name for name in f.stream_constellations for _ in range(2))
        make, key = self.settings.detector, (unknowns, rows, constellation, *options)
        try:
            with _MAKING:
                if key not in self._detectors:
                    _keep(self._detectors, key, make(unknowns, rows, constellation, **options))
                return self._detectors[key]
        except ValueError as error:
            name = getattr(make, "label", "the detector")
            raise _Refused(_refusal(name, f, error)) from error

    def _detect(self, detector, demodulated):
        y, h = demodulated.y, demodulated.h
        n, num_carriers, blocks, rows = y.shape
        noise = np.repeat(demodulated.noise_var, num_carriers * blocks).astype(np.float32)
        self._share_threads(detector, noise.size)
        llr = detector.detect(y.reshape(-1, rows), h.reshape(n * num_carriers, rows, -1), noise)
        return llr.reshape(n, num_carriers, blocks, -1)

    def _reports(self, group):
        """Return :class:`ReceivedFrame` objects with the facts known from synchronisation."""
        fft = carriers.FFT_20 * self.settings.scale
        # Powers of an unscaled FFT of size N: the power of the samples is their sum over N^2.
        powers = _core.wifi.powers(
            [one.signal for one in group], [one.noise for one in group],
            share=[52 * len(one.subchannels) / fft**2 for one in group])
        rate, frequency = self.settings.sample_rate, self.settings.frequency
        reports = []
        for one, (snr, antenna_snr, level, noise) in zip(group, powers, strict=True):
            centre = one.centre * rate / fft
            reports.append(ReceivedFrame(
                one.start, one.num_samples, rate, frequency and frequency + centre, one.format,
                "", one.cfo * rate, snr, antenna_snr, level, noise, centre,
                announced=one.announced))
        return reports


def _as_tuple(payload):
    """Return a ``data_field.Payload`` as C++ reports payloads, see ``FrameDecoder._complete``."""
    places = [(mpdu.offset, len(mpdu.data), mpdu.fcs_ok) for mpdu in payload.mpdus]
    return payload.psdu, places, payload.complete, payload.scrambled[:SERVICE].tobytes()


def _fill(report, payload):
    """Fill in the payload of a report, see ``FrameDecoder._complete``."""
    report.psdu, places, report.complete, service = payload
    report.scrambler_seed = seed_of(service, report.format.scrambler)
    report.mpdus = mac.at_places(report.psdu, places)


def _divided(report, payload=None):
    """Return a report with the reports of its users, if these were detected jointly.

    ``payload`` is the ``data_field.JointPayload``, None if the frame was not decoded.
    """
    f = report.format
    if not isinstance(f, Joint):
        return report
    users = []
    for i, (user, own) in enumerate(zip(f.users, f.slices, strict=True)):
        part = replace(report, format=user, evm_db=report.evm_db[own])
        if report.channel is not None:
            part.channel = replace(report.channel, matrices=report.channel.matrices[..., own])
        if report.symbols is not None:
            part.symbols = report.symbols[..., own]
        if payload is not None:
            _fill(part, _as_tuple(payload.users[i]))
        users.append(part)
    return of_users(users)


def _kind(one):
    """Return a key of frames that are decoded together; see ``FrameFormat.kind``."""
    f = one.format
    return f.kind, one.centre, not f.num_symbols


def _parts(f, demodulator, task, indices):
    """Return the :class:`Demodulated` of frames of one format: one, or one for each part.

    Midambles give each part of a frame a channel of its own.
    """
    count = 1 + f.num_midambles if f.midamble else 1
    return [demodulator.demodulated(task, indices, part) for part in range(count)]


def _refined(demodulator, parts, points):
    """Return the refined parts of frames from the points that the whole frames have sent."""
    ends = np.cumsum([part.received.shape[2] for part in parts])
    return [demodulator.refine(part, np.ascontiguousarray(own))
            for part, own in zip(parts, np.split(points, ends[:-1], axis=2), strict=True)]


def _put_frames(parts, indices, others):
    """Return the parts of frames, with those of ``others`` for the frames at some indices."""
    return [part.put(indices, other) for part, other in zip(parts, others, strict=True)]


def _symbols(f, parts):
    """Return the equalised points of frames, (n, symbols, carriers, streams)."""
    return np.concatenate([in_time(mmse_points(d.y, d.h, d.noise_var), f) for d in parts], axis=1)


def _evm(f, parts):
    """Return the EVM of the streams in dB for each demodulated frame, a list of tuples."""
    powers = np.average([error_vectors(d.y, d.h, d.noise_var, f) for d in parts], axis=0,
                        weights=[d.y.shape[2] for d in parts])
    return [tuple([10 * log10(max(power, 1e-30)) for power in row]) for row in powers.tolist()]


def _keep(objects, key, made):
    """Put an object into a dictionary of limited size."""
    if len(objects) >= _MOST_KINDS:
        objects.clear()
    objects[key] = made


def _differ(payload, other):
    return not np.array_equal(payload.scrambled, other.scrambled)


def _finite(value):
    """Return a number, or 0 if it is not finite."""
    return value if isfinite(value) else 0.0


def _incomplete(payloads):
    """Return the indices of payloads with missing or incorrect MPDUs."""
    return [i for i, payload in enumerate(payloads) if not payload.complete]


def _label(detector):
    """Return the name of a detector, with its parameters if they are known; "" for None."""
    if detector is None:
        return ""
    return (getattr(detector, "label", "") or getattr(detector, "name", "")
            or type(detector).__name__)


class _Refused(Exception):
    """The detector does not support the frames of a format; the text says why."""


def _refusal(name, f, error):
    """Explain why a detector does not support a format, with the limit from its own message."""
    modulation = ", ".join({1: "BPSK", 2: "QPSK"}.get(bits, f"{2**bits}-QAM")
                           for bits in sorted(set(f.stream_bits), reverse=True))
    stbc = " with a space-time block code" if f.stbc else ""
    limit = str(error).removeprefix(f"{name.partition(':')[0]}: ").split(";")[0]
    return f"{name} cannot detect {f.num_streams} streams of {modulation}{stbc}: {limit}"


def _put(payloads, indices, others):
    """Return the payloads with those at some indices replaced."""
    payloads = list(payloads)
    for i, payload in zip(indices, others, strict=True):
        payloads[i] = payload
    return payloads
