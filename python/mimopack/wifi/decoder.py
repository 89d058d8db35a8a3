# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decode found frames and report them: demodulation, detection, decoding."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, repeat
from math import ceil, isfinite
from threading import Lock
from typing import NamedTuple

import numpy as np

from .. import _core, detectors
from . import carriers, mac, training
from .data_field import DataField, seed_of, with_length, with_sent_length
from .demodulator import Demodulated, Demodulator, demodulates_at_once
from .formats import VHT, NonHT
from .formats.base import SERVICE
from .frame import TRUNCATED, ChannelState, FrameVectors, ReceivedFrame
from .iterations import Iterations
from .kept import Kept, size_of
from .laps import Laps
from .llr_decoder import MOST_KEPT, LlrDecoder
from .points import (
    error_vectors,
    in_time,
    known_points,
    measured_symbols,
    mmse_points,
)
from .whitening import factors, noise_covariance
from .windows import FrameSamples

_log = logging.getLogger(__name__)
# Frames of one format are demodulated in batches of at most _BATCH frames. A batch has at most
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
_RESULTS = "scrambled", "payloads", "evm", "states", "seconds"
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
    """Frames that are being decoded without Python's lock.

    Attributes:
        task: ``_core.Task`` for any thread; its result is for :meth:`FrameDecoder.finish`.
        group: list of :class:`synchroniser.Found`, the frames.
        setup: what they are decoded with.
        keep_symbols: whether to fill in ``ReceivedFrame.symbols``.
    """

    task: _core.Task
    group: list
    setup: "_Setup"
    keep_symbols: bool


class _Setup(NamedTuple):
    """The steps that decode frames of one format.

    Attributes:
        samples: :class:`FrameSamples`.
        demodulator: :class:`Demodulator`.
        field: :class:`DataField`; None for frames without data.
        detector: MIMO detector; None if the detector refuses the format.
        refusal: reason of the refusal; "" without one.
        behind: arguments of ``Demodulator.begin`` for the steps that follow at once in C++.
        lower: matrices that undo the whitening across antennas; None without it.
    """

    samples: FrameSamples
    demodulator: Demodulator
    field: DataField | None
    detector: object
    refusal: str
    behind: dict
    lower: np.ndarray | None


class FrameDecoder:
    """Demodulate and decode frames in batches. One thread at a time may use an object.

    Most frames need only one call in C++, which needs no Python lock: one thread calls
    :meth:`begin` and :meth:`finish`, and any thread runs the task in between. Others are decoded
    with :meth:`decode`, or with :meth:`improve` if the first pass has left an error.

    Args:
        settings: :class:`Settings`.
        clock: function that returns seconds, see :class:`receiver.Receiver`; None measures nothing.

    Attributes:
        settings: as above; may be replaced.
        seconds: Counter of the seconds spent in "demodulation", "detection", "decoding" and
            "reporting", except in :meth:`begin` and :meth:`finish` themselves.
    """

    def __init__(self, settings, clock=None):
        self._detectors, self._demodulators, self._chains, self._loops = (
            Kept(MOST_KEPT) for _ in range(4))
        self._llr_decoder = LlrDecoder()
        self._costs = {}    # {kind of format: CPU seconds of the last batch per OFDM symbol}
        self.settings = settings
        self._laps = Laps(clock)
        self._logged = set()    # exceptions logged so far

    @property
    def seconds(self):
        return self._laps.seconds

    @property
    def settings(self):
        return self._settings

    @settings.setter
    def settings(self, settings):
        self._settings = settings
        self._detectors.clear()
        self._chains.clear()
        self._loops.clear()
        self._costs.clear()

    def batches(self, found, threads, seconds=0.0):
        """Divide frames into batches to decode together. Those of a batch have the same format.

        Args:
            found: list of :class:`synchroniser.Found` with known formats.
            threads: number of threads that share the frames.
            seconds: duration of the samples that were searched at once.

        Returns:
            list of batches, each a list of indices into ``found``.
        """
        groups = {}
        for index, one in enumerate(found):
            groups.setdefault((one.header.format.key, one.header.centre), []).append(index)
        shared = -(-len(found) // threads)
        late = seconds / _BEHIND
        out = []
        for indices in groups.values():
            f = found[indices[0]].header.format
            symbols = max(1, f.num_symbols * self.settings.num_rx * f.bandwidth_mhz // 20)
            least = ceil(_LEAST_SYMBOLS * min(_LARGER, max(1.0, late)) / symbols)
            cost = self._costs.get(_kind(f), 0.0) * f.num_symbols
            if seconds < _PROMPT and cost:
                least = min(least, ceil(_LEAST_SECONDS / cost))
            size = min(_BATCH, -(-_SYMBOLS_TOGETHER // symbols), max(shared, least))
            # Make parts of similar size: a remainder of one frame would cost as much Python time as
            # a full part.
            parts = -(-len(indices) // size)
            ends = [len(indices) * part // parts for part in range(parts + 1)]
            out += [indices[begin:end] for begin, end in pairwise(ends)]
        return out

    def decode(self, found, keep_symbols=False):
        """Decode frames of one format, none of which may have a :meth:`problem`.

        Args:
            found: list of :class:`synchroniser.Found`.
            keep_symbols: whether to fill in ``ReceivedFrame.symbols``.

        Returns:
            list of :class:`ReceivedFrame`.
        """
        self._keep_symbols = keep_symbols
        self._laps.end()
        with np.errstate(all="ignore"):
            reports = self._attempt(found, self._decode)
        self._laps.end("reporting")
        return reports

    def demodulate(self, found):
        """Estimate channels and demodulate frames, but do not detect and decode them.

        Args:
            found: as for :meth:`decode`.

        Returns:
            list of :class:`frame.FrameVectors`. It has a :class:`ReceivedFrame` for a frame whose
            demodulation raised an exception.
        """
        self._keep_symbols = False
        with np.errstate(all="ignore"):
            return self._attempt(found, self._vectors)

    def begin(self, found, keep_symbols=False):
        """Prepare to decode frames without Python's lock.

        The arguments are those of :meth:`decode`.

        Returns:
            :class:`Begun`, or None if only :meth:`decode` can decode the frames.
        """
        f = found[0].header.format
        if self._whitens or f.num_symbols and not demodulates_at_once(f):
            return None
        try:
            setup = self._setup(found)
        except Exception:    # decode() reports it
            return None
        if setup.field and not setup.behind and not setup.refusal:
            return None
        task = setup.demodulator.begin(setup.samples, **setup.behind)
        return Begun(task, found, setup, keep_symbols)

    def finish(self, begun):
        """Return the list of :class:`ReceivedFrame` of frames whose task is done.

        The result is None if :meth:`improve` may find more MPDUs. Raises what the task raised.
        """
        setup, task = begun.setup, begun.task
        self._keep_symbols = begun.keep_symbols
        if begun.keep_symbols or not setup.behind:
            d, scrambled, psdus, evm, states, seconds = setup.demodulator.taken(task.value())
        else:
            found = task.report()
            d = _Offsets(found["phase_step"], found["sampling_offset"], found["delay"],
                         found["sig_b_bits"], setup.demodulator.carriers)
            scrambled, psdus, evm, states, seconds = (found[name] for name in _RESULTS)
        self._laps.add(dict(zip(_STAGES, seconds, strict=True)))
        if not setup.behind:
            return self._undecoded(begun.group, d, setup, states)
        f = begun.group[0].header.format
        self._costs[_kind(f)] = sum(seconds) / (len(begun.group) * f.num_symbols)
        if self._improves and not all([complete for _, _, complete in psdus]):
            return None
        return self._reports(begun.group, d, setup, _Packed(psdus, scrambled[:, :SERVICE]), evm,
                             states)

    def improve(self, begun):
        """Return the list of :class:`ReceivedFrame` of frames that :meth:`finish` has left.

        Another decoder may have begun them.
        """
        self._keep_symbols = begun.keep_symbols
        self._laps.end()
        with np.errstate(all="ignore"):
            try:
                reports = self._decode(begun.group, begun.task.value())
            except Exception:    # find out which frames fail
                reports = self._attempt(begun.group, self._decode)
        self._laps.end("reporting")
        return reports

    def problem(self, one):
        """Return why a frame (:class:`synchroniser.Found`) cannot be decoded; "" if it can."""
        f = one.header.format
        if f is None:
            return one.header.problem
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
        return ReceivedFrame(**self._found([one])[0], format=one.header.format, problem=problem,
                             announced=one.header.announced)

    def _attempt(self, group, step):
        """Return step(group). If that fails, take its frames one by one and report failures."""
        try:
            return step(group)
        except Exception as error:
            if len(group) == 1:
                self._log_once(error, group[0])
                return [self.failed(group[0], f"{FAILED}{type(error).__name__}")]
        return [frame for one in group for frame in self._attempt([one], step)]

    def _log_once(self, error, one):
        told = type(error), str(error)
        if told not in self._logged:
            self._logged.add(told)
            _log.error("the frame at sample %d was not decoded (logged once per error)",
                       one.preamble.start, exc_info=error)

    @property
    def _whitens(self):
        """True if noise is whitened across antennas."""
        return self.settings.covariance and self.settings.num_rx > 1

    @property
    def _improves(self):
        """True if incomplete frames are decoded again."""
        return self.settings.passes > 1 or self.settings.iterations > 1

    def _setup(self, group):
        """Return the :class:`_Setup` of frames of one format."""
        f, centre = group[0].header.format, group[0].header.centre
        demodulator, field, detector, refusal = self._chains.get(
            (f.key, centre), lambda: self._chain(f, centre), size_of(f))
        samples, lower = self._whitened(group, demodulator)
        behind = self._behind(detector, field, len(group)) if detector is not None else {}
        return _Setup(samples, demodulator, field, detector, refusal, behind, lower)

    def _chain(self, f, centre):
        """Return (demodulator, data field, detector, refusal) of a format, see :class:`_Setup`."""
        demodulator = self._demodulator(f, centre)
        if not f.num_symbols:
            return demodulator, None, None, ""
        field = self._llr_decoder.field(f)
        try:
            rows = self.settings.num_rx * f.plan.copies * (2 if f.stbc else 1)
            return demodulator, field, self._detector(f, rows), ""
        except _Refused as refused:
            return demodulator, field, None, str(refused)

    def _demodulator(self, f, centre):
        return self._demodulators.get((f.symbols_key, centre), lambda: Demodulator(
            f, self.settings.scale, centre, self.settings.smoothing))

    def _whitened(self, group, demodulator):
        """Return (:class:`FrameSamples`, matrices that undo the whitening across antennas)."""
        samples = self._samples(group)
        if not self._whitens:
            return samples, None
        lower, white = factors(noise_covariance(demodulator.training_halves(samples)))
        return replace(samples, white=white), lower

    def _vectors(self, group):
        """Return the list of :class:`frame.FrameVectors` of frames of one format."""
        f = group[0].header.format
        demodulator = self._demodulator(f, group[0].header.centre)
        samples, lower = self._whitened(group, demodulator)
        d, *_, states, _ = demodulator.taken(demodulator.run(samples))
        evm = _core.wifi.decibels(self._equalised(f, d)[0]) if f.num_symbols else None
        setup = _Setup(samples, demodulator, None, None, "", {}, lower)
        reports = self._reports(group, d, setup, evm=evm, states=states)
        if f.num_symbols:    # only the SERVICE field proves the length in a VHT-SIG-B
            for frame in reports:
                frame.format = f
        return [FrameVectors(frame, y.reshape(-1, y.shape[-1]), h, float(noise), one.inside,
                             sig_b.tobytes())
                for one, frame, y, h, noise, sig_b in zip(
                    group, reports, d.y, d.h, d.noise_var, d.sig_b_bits, strict=True)]

    def _decode(self, group, result=None):
        """Decode frames of one format: return a list of :class:`ReceivedFrame`.

        ``result`` is the result of the first pass in C++ if it was made already.
        """
        f, setup = group[0].header.format, self._setup(group)
        demodulator, field, detector = setup.demodulator, setup.field, setup.detector
        if result is None:
            result = demodulator.run(setup.samples, **setup.behind)
        demodulated, *found, evm, states, seconds = demodulator.taken(result)
        self._laps.share(dict(zip(_STAGES, seconds, strict=True)))
        if not f.num_symbols or setup.refusal:
            return self._undecoded(group, demodulated, setup, states)
        if not setup.behind:
            payloads = self._decoded(demodulated, detector, field)
        else:
            payloads = field.taken_apart(*found)
            payloads = self._iterated(field, demodulated, payloads)
            self._laps.end("decoding")
        # The report has the channel and offsets of the last pass that found another MPDU, or else
        # of the first pass: a later pass may have trained on wrong bits.
        reported = demodulated
        left = _incomplete(payloads)
        for _ in range(self.settings.passes - 1):
            if not left:
                break
            before = payloads
            try:
                # Decoded bits serve as further training.
                coded = field.code(np.stack([payloads[i].scrambled for i in left]))
                refined = demodulator.refine(demodulated.take(left),
                                             known_points(f, coded, field.source))
                self._laps.end("demodulation")
                decoded = self._decoded(refined, detector, field, [payloads[i] for i in left])
            except Exception as failure:    # keep the results of earlier passes
                self._log_once(failure, group[left[0]])
                break
            payloads = _put(payloads, left, decoded)
            demodulated = demodulated.put(left, refined)
            better = [i for i in left if len(payloads[i].good) > len(before[i].good)]
            if better:
                reported, evm = reported.put(better, demodulated.take(better)), None
                states = None
            # Another pass seldom helps a frame that has good MPDUs and gained none in this pass. It
            # cannot help a frame without good MPDUs whose bits did not change.
            left = [i for i in left if not payloads[i].complete and (i in better or (
                not payloads[i].good and _differ(before[i], payloads[i])))]
        return self._reports(group, reported, setup, _Packed.of(payloads), evm, states)

    def _undecoded(self, group, demodulated, setup, states):
        """Return the reports of frames without data, or of frames that the detector refuses."""
        reports = self._reports(group, demodulated, setup, states=states)
        if setup.refusal:
            reports = [replace(frame, problem=setup.refusal) for frame in reports]
        return reports

    def _behind(self, detector, field, frames):
        """Return the arguments of ``Demodulator.begin`` for steps that follow at once in C++."""
        core, f = getattr(detector, "core", None), field.frame_format
        if core is None or not demodulates_at_once(f):
            return {}
        self._share_threads(detector, frames * f.plan.num_data * f.num_symbols)
        return {"detector": core, "decoder": field.viterbi, "descrambler": field.descrambler,
                "threads": detector.threads}

    def _share_threads(self, detector, vectors):
        """Let a detector use all cores if the batch is large enough."""
        if not self.settings.detector_threads and isinstance(detector, detectors.Detector):
            work = vectors * detector.candidates
            detector.threads = 0 if work > _SHARED_WORK else 1

    def _decoded(self, demodulated, detector, field, before=None):
        """Return the payloads of demodulated frames, merged with payloads of earlier passes."""
        llr = self._detect(detector, demodulated)
        self._laps.end("detection")
        payloads = field.decode(llr)
        if before:
            payloads = list(map(field.merged, before, payloads))
        payloads = self._iterated(field, demodulated, payloads, llr)
        self._laps.end("decoding")
        return payloads

    def _iterated(self, field, demodulated, payloads, llr=None):
        """Iterate between detector and decoder for incomplete payloads; return all payloads.

        ``llr`` is the output of the detector, or None if it was not kept.
        """
        f = field.frame_format
        left = _incomplete(payloads)
        passes = self.settings.iterations
        if passes == 1 or not left or not Iterations.takes(f):
            return payloads
        loop = self._loops.get((f.key, demodulated.y.shape[3]), lambda: Iterations(
            field, self._detector(f, demodulated.h.shape[2], extrinsic=True), passes,
            self.settings.feedback_scale), size_of(f))
        found = loop.decode(demodulated.y[left], demodulated.h[left], demodulated.noise_var[left],
                            None if llr is None else llr[left], [payloads[i] for i in left])
        return _put(payloads, left, found)

    def _samples(self, group):
        """Return the :class:`FrameSamples` of frames, from the first LTF window on."""
        samples = [one.samples for one in group]
        first = np.array([one.preamble.window - one.first for one in group])
        cfo = np.array([one.preamble.cfo for one in group])
        return FrameSamples(samples, first, cfo)

    def _detector(self, f, rows, **options):
        unknowns = f.num_streams * (2 if f.stbc else 1)

        make = self.settings.detector
        try:
            key = unknowns, rows, f.constellation, *options
            with _MAKING:
                return self._detectors.get(
                    key, lambda: make(unknowns, rows, f.constellation, **options))
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

    def _found(self, group):
        """Return the report fields known from synchronisation: one dictionary per frame."""
        fft = carriers.FFT_20 * self.settings.scale
        # Powers of an unscaled FFT of size N: the power of the samples is their sum over N^2.
        powers = _core.wifi.powers(
            [one.header.signal for one in group], [one.header.noise for one in group],
            share=[52 * len(one.preamble.subchannels) / fft**2 for one in group])
        rate, frequency = self.settings.sample_rate, self.settings.frequency
        found = []
        for one, (snr, of_antennas, level, noise) in zip(group, powers, strict=True):
            centre = one.header.centre * rate / fft
            found.append({
                "start": one.preamble.start, "num_samples": one.num_samples,
                "sample_rate": rate, "centre_hz": centre,
                "frequency": frequency and frequency + centre,
                "cfo_hz": one.preamble.cfo * rate, "snr_db": snr, "antenna_snr_db": of_antennas,
                "level_dbfs": level, "noise_dbfs": noise})
        return found

    def _reports(self, group, demodulated, setup, packed=None, evm=None, states=None):
        """Return the list of :class:`ReceivedFrame` of demodulated frames of one format.

        ``packed`` is a :class:`_Packed`, or None if there are no payloads. ``evm`` and ``states``
        are as in ``Demodulator.taken``, or None if not known.
        """
        d, scale, rate = demodulated, self.settings.scale, self.settings.sample_rate
        f, fft = group[0].header.format, carriers.FFT_20 * scale
        if states is None:
            states = _core.wifi.channel_states(np.ascontiguousarray(d.channel), d.noise, fft=fft)
        matrices, noise, condition = states
        if setup.lower is not None:
            matrices = setup.lower[:, None] @ matrices
            noise = noise * np.sum(np.abs(setup.lower)**2, axis=2)
        detector, symbols = "", None
        if packed:
            detector = _label(setup.detector)
            if self._keep_symbols or evm is None:
                error, symbols = self._equalised(f, d)
                evm = _core.wifi.decibels(error)
        if isinstance(d, Demodulated):
            d = _Offsets(d.phase_step.tolist(), d.sampling_offset.tolist(), d.delay.tolist(),
                         d.sig_b_bits, d.carriers)
        rest = _Rest(d.carriers, matrices, noise, condition, d.sampling_offset, detector, evm,
                     packed)
        turn = rate / (2 * np.pi * f.symbol * scale)
        psdus = packed.psdus if packed else repeat((b"", (), False))
        frames = []
        for i, (one, found, step, delay, announced, (psdu, places, _)) in enumerate(zip(
                group, self._found(group), d.phase_step, d.delay,
                _announced(group, d, packed), psdus, strict=False)):
            # Symbols that are not finite have no phase; the preamble still tells the offset.
            found["cfo_hz"] += _finite(step * turn)
            if not isinstance(f, NonHT):    # cyclic shifts hide the first path in the L-LTF
                found["start"] = one.preamble.window + (delay - _LTF_START) * scale
            found["format"], found["problem"], found["psdu"] = announced, "", psdu
            found["symbols"] = None if symbols is None else symbols[i]
            frames.append(ReceivedFrame.unread(found, places, partial(rest.of, i)))
        return frames

    def _equalised(self, f, demodulated):
        """Return (mean squared error vectors (n, streams), equalised points).

        The points have the shape (n, symbols, carriers, streams), or are None if not kept.
        """
        d, count = demodulated, demodulated.y.shape[2]
        if self._keep_symbols:
            chosen, points = np.arange(count), in_time(mmse_points(d.y, d.h, d.noise_var), f)
        else:
            chosen, points = measured_symbols(count), None
        return error_vectors(d.y, d.h, d.noise_var, chosen, f), points


class _Offsets(NamedTuple):
    """The fields of :class:`Demodulated` that reports need, as lists except the last two."""

    phase_step: list
    sampling_offset: list
    delay: list
    sig_b_bits: np.ndarray
    carriers: np.ndarray


class _Packed(NamedTuple):
    """Payloads of frames.

    Attributes:
        psdus: n tuples, the arguments of :func:`mac.at_places`.
        service: uint8 (n, 16), scrambled SERVICE fields. May be a view of a larger array.
    """

    psdus: list
    service: np.ndarray

    @classmethod
    def of(cls, payloads):
        """Return those of a list of :class:`data_field.Payload`."""
        return cls([(one.psdu, [(m.offset, len(m.data), m.fcs_ok) for m in one.mpdus], one.complete)
                    for one in payloads], np.stack([one.scrambled[:SERVICE] for one in payloads]))


class _Rest:
    """The part of the reports of a batch that is made when somebody reads it.

    It keeps neither the samples nor the received vectors of the frames.
    """

    def __init__(self, ks, matrices, noise, condition, offset, detector, evm, packed):
        self._ks, self._matrices, self._noise, self._condition = ks, matrices, noise, condition
        self._offset, self._detector, self._evm = offset, detector, evm
        self._packed = packed and packed._replace(service=packed.service.copy())

    def of(self, i):
        """Return the attributes of frame i for ``ReceivedFrame.unread``."""
        seed, mpdus, complete = 0, (), False
        if self._packed:
            seed = seed_of(self._packed.service[i])
            mpdus, complete = mac.at_places(*self._packed.psdus[i])
        # Change the sign: the demodulator's offset is positive for a slow clock of the transmitter,
        # but the report's is positive for a fast one.
        return {
            "sampling_offset_ppm": _finite(0.0 - 1e6 * float(self._offset[i])),
            "condition_db": self._condition[i],
            "channel": ChannelState(self._ks, self._matrices[i], self._noise[i]),
            "mpdus": mpdus, "complete": complete, "evm_db": self._evm[i] if self._evm else (),
            "scrambler_seed": seed, "detector": self._detector, "announced": {}}


def _announced(group, demodulated, packed):
    """Return the formats of frames, VHT frames with the length in a correct VHT-SIG-B."""
    formats = [one.header.format for one in group]
    if not isinstance(formats[0], VHT):
        return formats
    fields = [bits.tobytes() for bits in demodulated.sig_b_bits]
    if packed is None:
        return list(map(with_length, formats, fields))
    return [with_sent_length(f, service.tobytes(), sig_b)
            for f, sig_b, service in zip(formats, fields, packed.service, strict=True)]


def _kind(f):
    """Return what the time to decode an OFDM symbol of a format depends on."""
    return f.name, f.bandwidth_mhz, f.mcs, f.num_streams, f.stbc, f.coding


def _differ(payload, other):
    return not np.array_equal(payload.scrambled, other.scrambled)


def _finite(value):
    """Return a number, or 0 if it is not finite."""
    return value if isfinite(value) else 0.0


def _incomplete(payloads):
    """Return the indices of payloads with missing or incorrect MPDUs."""
    return [i for i, payload in enumerate(payloads) if not payload.complete]


def _label(detector):
    """Return the name of a detector, with its parameters if they are known."""
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
