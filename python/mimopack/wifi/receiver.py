# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of several antennas to frames with their MPDUs: what blocks and command line drive."""

import logging
from collections import Counter
from dataclasses import replace
from functools import lru_cache

import numpy as np

from .. import detectors
from ..checks import choice, flag, integer, positive
from . import carriers, signal_fields, training
from .data_field import DataField
from .demodulator import Demodulator
from .formats import VHT, NonHT
from .frame import TRUNCATED, ChannelState, ReceivedFrame
from .iterations import LdpcIterations
from .points import error_vectors, in_time, mean_condition, mmse_points, to_symbols
from .preamble import direct_current
from .synchroniser import Synchroniser
from .whitening import factors, noise_covariance
from .windows import FrameSamples

_log = logging.getLogger(__name__)
DEFAULT_DETECTOR = "nway"
# Frames of one format that are demodulated together, and their symbols, which should stay in the
# cache.
_BATCH = 64
_SYMBOLS_TOGETHER = 1280
_KEPT_OBJECTS = 256
# Data symbols from which the error vector magnitude is taken.
_EVM_SYMBOLS = 8
_LTF_START = training.L_STF + 2 * training.GUARD


class Receiver:
    """Receive IEEE 802.11a/g/p, n and ac frames in a stream of samples.

    Args:
        num_rx: receive antennas, 1..8.
        sample_rate: 20e6, 40e6 or 80e6: the widest channel received; 5e6 or 10e6 for 802.11p.
        frequency: centre frequency of the samples in Hz, only for the reports; None if unknown.
        detector: name of the MIMO detector, or a function (num_streams, num_rx, constellation)
            that makes one (for iterations > 1 with a keyword ``extrinsic``).
        backend: of the detectors, "auto", "cpu", "cuda" or "reference".
        whitening: "antennas" divides each antenna by its own noise; "covariance" also makes noise
            white that is correlated between antennas, as an interferer's is.
        smoothing: whether channel estimates are smoothed over the delay spread.
        passes: how often a frame is decoded at most; from the second on, what was decoded trains
            channel, phase and clock. MPDUs that any pass decoded are kept. The last pass is the one
            that leaves none missing, or adds none to those of a frame that has some.
        iterations: passes of detector and decoder at most, for frames of several streams with an
            LDPC code (and no space-time block code) that are not decoded at once, likewise. More
            than 1 with a detector that takes a-priori LLRs.
        keep_symbols: whether ``ReceivedFrame.symbols`` is wanted.
        threshold: of the preamble's detection, see :class:`Synchroniser`.
        clock: function that returns seconds, such as ``time.process_time``, by which ``seconds``
            counts; None leaves it empty.

    Raises:
        ValueError: an argument is not as above.

    Attributes:
        counts: Counter of "samples", "preambles", "frames", "decoded" (frames with at least one
            MPDU whose frame check sequence fits), "mpdus", "mpdus_ok", and of what was not decoded
            by its reason.
        keep_symbols: as above; may be set while running.
        seconds: Counter of what the stages took: "synchronisation", "demodulation", "detection",
            "decoding", "reporting".

    An object serves one thread at a time.
    """

    def __init__(self, num_rx=1, sample_rate=20e6, frequency=None, detector=DEFAULT_DETECTOR,
                 backend="auto", whitening="antennas", smoothing=True, passes=3,
                 iterations=1, keep_symbols=False, threshold=0.35, clock=None):
        self._sync = Synchroniser(num_rx, sample_rate, threshold, whitening)
        self._covariance = whitening == "covariance"
        self.num_rx, self.sample_rate = num_rx, self._sync.sample_rate
        self.frequency = None if frequency is None else positive("frequency", frequency)
        self._backend = backend
        self._iterations = integer("iterations", iterations, 1, 1000)
        self._detectors, self._demodulators, self._fields, self._loops = {}, {}, {}, {}
        self.detector = detector
        self._passes = integer("passes", passes, 1, 100)
        self._smoothing = flag("smoothing", smoothing)
        self.keep_symbols = flag("keep_symbols", keep_symbols)
        self._parent = None    # the last frame that is not inside another: (end, decoded)
        self.counts = Counter()
        self.seconds = Counter()
        self._clock, self._lapped = clock, 0.0

    @property
    def detector(self):
        """Detector of the next frames, as above."""
        return self._detector_asked

    @detector.setter
    def detector(self, detector):
        if not callable(detector):
            kind = detectors.REGISTRY[choice("detector", detector, tuple(detectors.REGISTRY))]
            if self._iterations > 1 and (kind.HARD or not kind.SUPPORTS_PRIOR):
                able = [name for name, one in detectors.REGISTRY.items()
                        if one.SUPPORTS_PRIOR and not one.HARD]
                raise ValueError(f"detector: got {detector!r}, which takes no a-priori LLRs; with "
                                 f"iterations = {self._iterations} allowed are {', '.join(able)}")
        self._detector_asked = detector
        self._detectors.clear()
        self._loops.clear()

    @property
    def threshold(self):
        """Threshold of the preamble's detection, for the next samples."""
        return self._sync.threshold

    @threshold.setter
    def threshold(self, threshold):
        self._sync.threshold = threshold

    def process(self, samples):
        """Take the next samples.

        Args:
            samples: (num_rx, n) complex, any n.

        Returns:
            list of :class:`ReceivedFrame`, in the order of the stream, for which all samples have
            come.

        Raises:
            ValueError: another shape.
        """
        self._lap()
        found = self._sync.process(samples)
        self._lap("synchronisation")
        return self.decode(found)

    def finish(self):
        """The stream has ended: returns what was still open and starts anew at sample 0.

        ``counts`` stay.
        """
        self._lap()
        found = self._sync.finish()
        self._lap("synchronisation")
        frames = self.decode(found)
        self._parent = None
        return frames

    def restart(self, origin=0):
        """Drop what is open, and take the next samples for the stream's from ``origin`` on."""
        self._sync.restart(origin)
        self._parent = None

    def decode(self, found):
        """Demodulate and decode what a :class:`Synchroniser` of the same antennas and sample rate
        found.

        Args:
            found: list of :class:`Found`, in the order of the stream.

        Returns:
            list of :class:`ReceivedFrame`; without preambles inside of frames that were decoded.
        """
        self.counts["samples"] = self._sync.samples_seen
        self.counts["preambles"] = self._sync.preambles
        self._lap()
        groups, out = {}, [None] * len(found)
        for index, one in enumerate(found):
            problem = self._problem(one)
            if problem:
                out[index] = self._failed(one, problem)
            else:
                key = one.header.format.key, one.header.centre
                groups.setdefault(key, []).append(index)
        for indices in groups.values():
            together = _batch_size(found[indices[0]].header.format)
            for begin in range(0, len(indices), together):
                part = indices[begin:begin + together]
                for index, frame in zip(part, self._attempt([found[i] for i in part]),
                                        strict=True):
                    out[index] = frame
        frames = [frame for one, frame in zip(found, out, strict=True) if self._counts(one, frame)]
        self._lap("reporting")
        return frames

    def _lap(self, stage=None):
        """Add the time since the last call to a stage."""
        if self._clock:
            now = self._clock()
            if stage:
                self.seconds[stage] += now - self._lapped
            self._lapped = now

    def _counts(self, one, frame):
        """Count a frame and tell whether it is reported: one inside another frame only where that
        one failed."""
        good = any(mpdu.fcs_ok for mpdu in frame.mpdus)
        if one.inside and not good and self._parent is not None:
            end, decoded = self._parent
            if decoded or frame.start < end and (frame.problem or frame.format is None):
                return False
        if not one.inside or self._parent is None:
            self._parent = frame.start + frame.num_samples, good
        self.counts["frames"] += 1
        self.counts["decoded"] += good
        self.counts["mpdus"] += len(frame.mpdus)
        self.counts["mpdus_ok"] += sum(mpdu.fcs_ok for mpdu in frame.mpdus)
        if frame.problem:
            self.counts[frame.problem] += 1
        return True

    def _problem(self, one):
        f = one.header.format
        if f is None:
            return one.header.problem
        if f.contradiction:
            return f.contradiction
        rows = self.num_rx
        if f.num_space_time_streams > 1 or f.num_streams > 1:
            unknowns = f.num_streams * (2 if f.stbc else 1)
            if rows * (2 if f.stbc else 1) < unknowns:
                channels = "1 channel" if rows == 1 else f"{rows} channels"
                return f"{channels}, but the frame has {f.num_streams} streams"
        if one.truncated:
            return TRUNCATED
        return ""

    def _attempt(self, group):
        """:meth:`_decode`; where that fails, one by one, and what fails then is reported."""
        try:
            return self._decode(group)
        except Exception as error:
            if len(group) == 1:
                _log.exception("a frame at sample %d was not decoded", group[0].preamble.start)
                return [self._failed(group[0], f"failed: {type(error).__name__}")]
        return [frame for one in group for frame in self._attempt([one])]

    def _decode(self, group):
        """Frames of one format: list of :class:`ReceivedFrame`."""
        f, centre = group[0].header.format, group[0].header.centre
        demodulator = self._kept(self._demodulators, (f.key, centre),
                                 lambda: Demodulator(f, self._sync.scale, centre,
                                                     self._smoothing))
        samples = self._samples(group)
        lower = None
        if self._covariance and self.num_rx > 1:
            lower, white = factors(noise_covariance(demodulator.training_halves(samples)))
            samples = replace(samples, white=white)
        demodulated = demodulator.run(samples)
        self._lap("demodulation")
        if not f.num_symbols:
            return self._reports(group, demodulated, lower)
        try:
            detector = self._detector(f, demodulated.h.shape[2])
        except _Refused as refusal:
            return [replace(frame, problem=str(refusal))
                    for frame in self._reports(group, demodulated, lower)]
        field = self._kept(self._fields, f.key, lambda: DataField(f))
        payloads = self._decoded(demodulated, detector, field)
        # What is reported of a frame: the last pass that found an MPDU more, or the first, as one
        # that went wrong may have trained on wrong bits.
        reported = demodulated
        left = _incomplete(payloads)
        for _ in range(self._passes - 1):
            if not left:
                break
            # What was decoded is further training.
            refined = demodulator.refine(demodulated.take(left),
                                         np.stack([field.encode_scrambled(payloads[i].scrambled)
                                                   for i in left]))
            self._lap("demodulation")
            before, decoded = payloads, self._decoded(refined, detector, field,
                                                      [payloads[i] for i in left])
            payloads = _put(payloads, left, decoded)
            demodulated = demodulated.put(left, refined)
            better = [i for i in left if len(payloads[i].good) > len(before[i].good)]
            if better:
                reported = reported.put(better, demodulated.take(better))
            # A frame with good MPDUs to which a pass added none seldom gains by another.
            left = [i for i in left if not payloads[i].complete
                    and (i in better or not payloads[i].good)]
        name = getattr(detector, "name", "") or type(detector).__name__
        return self._reports(group, reported, lower, payloads, name)

    def _decoded(self, demodulated, detector, field, before=None):
        """Payloads of demodulated frames, with the MPDUs of payloads that were decoded before."""
        llr = self._detect(detector, demodulated)
        self._lap("detection")
        f = field.frame_format
        payloads = field.decode(to_symbols(llr, f) if f.stbc else llr)
        if before:
            payloads = list(map(field.merged, before, payloads))
        payloads = self._iterated(field, demodulated, llr, payloads)
        self._lap("decoding")
        return payloads

    def _iterated(self, field, demodulated, llr, payloads):
        """Payloads, incomplete ones after further passes of detector and decoder."""
        f = field.frame_format
        left = _incomplete(payloads)
        if self._iterations == 1 or f.coding != "ldpc" or f.num_streams == 1 or f.stbc or not left:
            return payloads
        loop = self._kept(self._loops, (f.key, demodulated.y.shape[3]), lambda: LdpcIterations(
            field, self._detector(f, demodulated.h.shape[2], extrinsic=True), self._iterations))
        found = loop.decode(demodulated.y[left], demodulated.h[left], demodulated.noise_var[left],
                            llr[left], [payloads[i] for i in left])
        return _put(payloads, left, found)

    def _samples(self, group):
        """:class:`FrameSamples` of frames, from the first LTF window on."""
        samples = [one.samples for one in group]
        first = np.array([one.preamble.window - one.first for one in group])
        cfo = np.array([one.preamble.cfo for one in group])
        spacing = 1 / (carriers.FFT_20 * self._sync.scale)
        return FrameSamples(samples, first, cfo, direct_current(samples, cfo / spacing))

    def _detector(self, f, rows, **options):
        unknowns = f.num_streams * (2 if f.stbc else 1)

        def make():
            if callable(self._detector_asked):
                return self._detector_asked(unknowns, rows, f.constellation, **options)
            return self._registered(f, unknowns, rows, **options)

        try:
            return self._kept(self._detectors, (unknowns, rows, f.constellation, *options), make)
        except ValueError as error:
            asked = self._detector_asked
            name = "the detector" if callable(asked) else asked
            raise _Refused(_refusal(name, f, error)) from error

    def _registered(self, f, unknowns, rows, **options):
        kind = detectors.REGISTRY[self._detector_asked]
        if unknowns == 1:    # maximum ratio combining is exact, whatever was asked for
            kind = detectors.MMSE
        elif kind.NEEDS_SQUARE_QAM and f.bits_per_carrier == 1:
            kind = detectors.MLA    # BPSK is no square, and few candidates
        return kind(num_tx=unknowns, num_rx=rows, constellation=f.constellation,
                    backend=self._backend, **options)

    def _detect(self, detector, demodulated):
        y, h = demodulated.y, demodulated.h
        n, num_carriers, blocks, rows = y.shape
        noise = np.repeat(demodulated.noise_var, num_carriers * blocks).astype(np.float32)
        llr = detector.detect(y.reshape(-1, rows), h.reshape(n * num_carriers, rows, -1), noise)
        return llr.reshape(n, num_carriers, blocks, -1)

    @staticmethod
    def _kept(kept, key, make):
        if key not in kept:
            if len(kept) >= _KEPT_OBJECTS:
                kept.pop(next(iter(kept)))
            kept[key] = make()
        return kept[key]

    def _failed(self, one, problem):
        """The report of a frame that was not decoded."""
        return ReceivedFrame(**self._found([one])[0], format=one.header.format, problem=problem)

    def _found(self, group):
        """Fields of the reports that synchronisation knows: a dictionary for each frame."""
        scale = self._sync.scale
        fft = carriers.FFT_20 * scale
        signal = np.array([one.header.signal for one in group])
        noise = np.array([one.header.noise for one in group])
        # Of the FFT without scaling; the power of samples is the sum over carriers, over N^2.
        used = np.array([52 * len(one.preamble.subchannels) / fft**2 for one in group])[:, None]
        snr = signal / noise
        snr_db = _decibels(snr.mean(axis=1)).tolist()
        snr, level = _decibels(snr).tolist(), _decibels((signal + noise) * used).tolist()
        noise = _decibels(noise * used).tolist()
        found = []
        for i, one in enumerate(group):
            centre = one.header.centre * self.sample_rate / fft
            found.append({
                "start": one.preamble.start, "num_samples": one.num_samples,
                "sample_rate": self.sample_rate, "centre_hz": centre,
                "frequency": self.frequency and self.frequency + centre,
                "cfo_hz": one.preamble.cfo * self.sample_rate, "snr_db": snr_db[i],
                "antenna_snr_db": tuple(snr[i]), "level_dbfs": tuple(level[i]),
                "noise_dbfs": tuple(noise[i])})
        return found

    def _reports(self, group, demodulated, lower=None, payloads=None, detector=""):
        """Frames of one format that were demodulated: list of :class:`ReceivedFrame`; lower is
        what undoes the whitening of antennas."""
        d, scale = demodulated, self._sync.scale
        f, fft = group[0].header.format, carriers.FFT_20 * scale
        condition = np.full(len(group), np.nan)
        if f.num_space_time_streams <= self.num_rx:
            deviation = np.sqrt(d.noise).astype(np.float32)
            condition = mean_condition(d.channel / deviation[:, None, :, None])
        matrices, noise = d.channel / np.float32(fft), d.noise / fft**2
        if lower is not None:
            matrices = lower[:, None] @ matrices
            noise = noise * np.sum(np.abs(lower)**2, axis=2)
        if payloads:
            error, symbols = self._equalised(f, d)
            evm = _decibels(error).tolist()
        step = (d.phase_step / (2 * np.pi * f.symbol * scale)).tolist()
        frames = []
        for i, (one, found) in enumerate(zip(group, self._found(group), strict=True)):
            found |= {
                "format": one.header.format, "problem": "",
                "cfo_hz": float(one.preamble.cfo + step[i]) * self.sample_rate,
                "sampling_offset_ppm": 1e6 * float(d.sampling_offset[i]),
                "condition_db": float(condition[i]),
                "channel": ChannelState(d.carriers, matrices[i], noise[i])}
            if not isinstance(f, NonHT):    # cyclic shifts hide the first path of the L-LTF
                found["start"] = one.preamble.window + (int(d.delay[i]) - _LTF_START) * scale
            if isinstance(f, VHT):
                found["format"] = replace(found["format"], apep_length=signal_fields.sig_b_length(
                    f, d.sig_b[i]))
            if payloads:
                payload = payloads[i]
                found |= {
                    "psdu": payload.psdu, "mpdus": payload.mpdus, "complete": payload.complete,
                    "evm_db": tuple(evm[i]), "scrambler_seed": payload.scrambler_seed,
                    "detector": detector}
                if self.keep_symbols:
                    found["symbols"] = symbols[i]
            frames.append(ReceivedFrame(**found))
        self._lap("reporting")
        return frames

    def _equalised(self, f, demodulated):
        """(mean squared error vectors (n, streams); points (n, symbols, carriers, streams) where
        they are kept, else None)."""
        d, count = demodulated, demodulated.y.shape[2]
        if self.keep_symbols:
            chosen, points = np.arange(count), in_time(mmse_points(d.y, d.h, d.noise_var), f)
        else:
            chosen = np.linspace(0, count - 1, min(count, _EVM_SYMBOLS)).astype(int)
            points = None
        return error_vectors(d.y, d.h, d.noise_var, np.unique(chosen), f), points


@lru_cache(maxsize=4096)
def _batch_size(f):
    """Frames of a format that are demodulated together."""
    return min(_BATCH, -(-_SYMBOLS_TOGETHER // max(1, f.num_symbols)))


def _incomplete(payloads):
    """Indices of the payloads in which MPDUs are wrong or missing."""
    return [i for i, payload in enumerate(payloads) if not payload.complete]


class _Refused(Exception):
    """The detector takes no frames of a format; the text says why."""


def _refusal(name, f, error):
    """Why a detector takes no frames of a format, with the limit that its own words tell."""
    points = 2**f.bits_per_carrier
    modulation = {2: "BPSK", 4: "QPSK"}.get(points, f"{points}-QAM")
    stbc = " with a space-time block code" if f.stbc else ""
    limit = str(error).removeprefix(f"{name}: ").split(";")[0]
    return f"{name} cannot detect {f.num_streams} streams of {modulation}{stbc}: {limit}"


def _put(payloads, indices, others):
    """The payloads with those of some indices replaced by others."""
    payloads = list(payloads)
    for i, payload in zip(indices, others, strict=True):
        payloads[i] = payload
    return payloads


def _decibels(power):
    return 10 * np.log10(np.maximum(power, 1e-30))
