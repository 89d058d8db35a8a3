# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks: Wi-Fi frames of antennas, whole or in two parts that users may put something between."""

import time

import numpy as np
import pmt
from gnuradio import gr

from .. import wifi
from .._runtime import listeners, publish
from ..checks import choice, flag
from ..cuda import device
from ..detectors import REGISTRY
from ..wifi.auto_detector import AUTO, LADDER, AutoDetector, ladder, strongest
from .settings import Controlled
from .streams import BlockLog
from .wifi_pdus import frame_to_pmts
from .wifi_pmt import (
    csi_to_pmt,
    found_from_pmt,
    found_to_pmt,
    frame_to_pmt,
    moment,
    symbols_to_pmt,
    times,
)
from .wifi_stream import DetectorChoice, SampleSink, sample_block

_PORTS = ("out", "frames", "csi", "symbols")
_RX_TIME = pmt.intern("rx_time")
_COUNTS = ("samples", "preambles", "frames", "decoded", "mpdus", "mpdus_ok", "failures")
_POINTS_INTERVAL = 0.1    # seconds between batches of a radio's frames whose points are shown
# Seconds of samples up to which a call waits for what they hold: while the receiver has time, a
# radio's come in such pieces.
_SHORT = 1.5e-3
# Points of a stream that port symbols carries of a frame.
_POINTS = 1000


class _Messages:
    """Makes the messages of the frames that an engine reports.

    Args:
        bad_fcs: as of ``wifi_receiver``.
        send: function (port, *messages) that sends them.
        listeners: function (port) that returns how many blocks take them.
    """

    def __init__(self, bad_fcs, send, listeners):
        self._bad_fcs = flag("bad_fcs", bad_fcs)
        self._send, self._listeners = send, listeners
        self._made = {}    # {port: messages that wait} of ports that somebody is connected with
        self._ampdus = 0
        self.on_frame = None

    def look_who_listens(self):
        """Find out for which ports the next messages are made."""
        self._made = {port: [] for port in _PORTS if self._listeners(port)}

    def send(self):
        """Send what was made; together, as each call waits for the lock of Python."""
        for port, messages in self._made.items():
            if messages:
                self._made[port] = []
                self._send(port, *messages)

    def make(self, frame, frequency, time):
        """Make what is asked for of a frame.

        Args:
            frame: ``wifi.ReceivedFrame``; its ``frequency`` is filled in here.
            frequency: centre of the samples' band in Hz, or None.
            time: (seconds, fraction) since 1970 of the frame's first sample, or None.
        """
        if frequency is not None:
            frame.frequency = frequency + frame.centre_hz
        if self.on_frame is not None:
            self.on_frame(frame, time)
        made = self._made
        if not made:
            return
        extra = times(time)
        if "out" in made:
            if frame.format is not None and frame.format.aggregated:
                self._ampdus = (self._ampdus + 1) % 2**32
            made["out"] += frame_to_pmts(frame, self._ampdus, self._bad_fcs, **extra)
        if "csi" in made and frame.channel is not None:
            made["csi"].append(csi_to_pmt(frame, **extra))
        if "symbols" in made and frame.symbols is not None:
            made["symbols"].append(symbols_to_pmt(frame, _POINTS))
        if "frames" in made:
            made["frames"].append(frame_to_pmt(frame, **extra))


class wifi_receiver(sample_block):
    """Receive IEEE 802.11a/g/p, n and ac frames: from samples of several antennas to MPDUs.

    Inputs are the samples of num_rx antennas. Nothing about the frames need be known: each
    announces its format in its signal fields. See ``wifi.Receiver``.

    Message ports out, in the order of the stream:
        ``out``: a PDU for each MPDU whose frame check sequence fits: a dictionary (keys in
            ``wifi.pdu.frame_to_pdus``) and a u8vector of the MPDU without that sequence, as
            gr-ieee802-11 sends it.
        ``frames``: a dictionary for each frame that was announced, decoded or not: the keys of
            ``wifi.ReceivedFrame.as_json`` without the bytes, and num_mpdus and num_mpdus_ok. Where
            nothing was decoded, ``problem`` says why.
        ``csi``: a PDU for each frame with channel matrices: a dictionary with the keys of
            ``wifi.csi.CsiRecord``, num_rx, num_space_time_streams, coding and detector, and a
            c32vector of the matrices: subcarrier after subcarrier as ``carriers`` has them, in each
            antenna after antenna, in each space-time stream after stream.
        ``symbols``: for views, a PDU for each decoded frame: a dictionary with num_streams,
            num_points, constellation and evm_db, and a c32vector of at most 1000 equalised points
            of each stream, stream after stream. With overload "drop" only some frames have one.
        ``status``: each second in which samples come, and at the end, a dictionary of what was
            counted since the last one: samples, frames, decoded, mpdus, mpdus_ok, gaps, lost,
            dropped and failures as of ``counts``; seconds, how long that was; load, the share of it
            in which the receiver worked; waiting, seconds of samples that wait for it; stages, a
            dictionary of the CPU seconds that each took on all threads together (with a GPU,
            seconds by the clock); slowest, the stage that took most time, and slowest_share, its
            share of all stages; detector, the name of the one in use from then on, and switch, why
            detector "auto" has just changed it, "" otherwise.

    What a port sends is only made where something is connected with it. Frames that are still open
    when the input ends are sent too. When a flowgraph is stopped from outside, they are sent to
    blocks that have been stopped, and arrive when it starts again. Where the flowgraph is changed
    while it runs (lock, unlock), an open frame is lost, which ``frames`` reports, and so are the
    samples in GNU Radio's buffers; samples are then counted from 0 again.

    Message port in ``control``: a dictionary or pair with ``detector`` and ``threshold``.

    Tags: rx_time (a tuple of seconds and a fraction) makes ``time`` that of the tag, otherwise it
    counts from the first sample; the key ``rx_time`` then holds the exact pair. rx_freq takes the
    place of ``frequency`` from its sample on. An rx_rate other than sample_rate is a warning.

    Gaps: an rx_time that differs by more than half a sample from what the one before and the rate
    say begins anew there. The frame in which the gap falls is reported as truncated, no other is
    affected. Seconds with gaps are lines in the log.

    An exception inside costs the samples at hand and the frames that other threads decode, is
    counted and logged, and the stream goes on. Samples that are NaN or infinite hold no frames.

    Args:
        num_rx: receive antennas, 1..8.
        sample_rate: 20e6, 40e6 or 80e6: the widest channel received; 5e6 or 10e6 for 802.11p.
        frequency: centre frequency of the samples in Hz, for the reports; None if unknown.
        detector: name of the MIMO detector, or "auto": with overload="drop" the strongest of mla,
            nway and mmse that keeps up with the samples, chosen each second anew from the load, see
            ``wifi.auto_detector.AutoDetector``; with overload="wait" mla, as nothing is lost
            there. N-way stands in for mla where that would take more than 8192 candidates per
            vector (4x4 16-QAM). Any other name ends "auto", by message too.
        backend: of the detectors, "auto", "cpu", "cuda" or "reference".
        whitening: "antennas" divides each antenna by its own noise; "covariance" also makes noise
            white that is correlated between antennas, as an interferer's is.
        smoothing: whether channel estimates are smoothed over the delay spread.
        threshold: of the preamble's detection, 0.2 to 0.95.
        passes: how often a frame is decoded at most, until all its MPDUs are good.
        iterations: passes of detector and decoder at most, for frames of several streams that are
            not decoded at once; more than 1 with a detector that takes a-priori LLRs.
        bad_fcs: whether port ``out`` has MPDUs too whose frame check sequence does not fit, marked
            fcs_ok false.
        threads: how many decode frames at the same time, the block's own included, 1..1024; 0
            takes all cores. More than 1 pays where most of the samples are frames.
        overload: what to do where the machine is too slow. A thread of the block's own decodes.
            "wait" stops the blocks in front until there is room, as files need it. "drop" is for
            radios: when ``buffer_seconds`` of samples wait, new ones are dropped in whole spans,
            counted, and logged with the stage that takes most time. The block then holds up the
            blocks in front for a millisecond at most. Their buffers have room for that by default.
        buffer_seconds: with "drop", how many seconds of samples may wait. Memory: 8 bytes for each
            antenna and sample.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, num_rx=1, sample_rate=20e6, frequency=None, detector="nway",
                 backend="auto", whitening="antennas", smoothing=True, threshold=0.35, passes=3,
                 iterations=1, bad_fcs=False, threads=1, overload="wait", buffer_seconds=0.25):
        choice("detector", detector, (AUTO, *REGISTRY))
        engine = wifi.Receiver(
            num_rx, sample_rate, detector=LADDER[0] if detector == AUTO else detector,
            backend=backend, whitening=whitening, smoothing=smoothing, passes=passes,
            iterations=iterations, threshold=threshold, threads=threads, clock=_clock(backend))
        sample_block.__init__(self, "wifi_receiver", _ReceiverSink(
            engine, frequency, detector, strongest(backend, threads), iterations, bad_fcs, overload,
            buffer_seconds))

    def counts(self):
        """Dictionary of what was counted since the block was made.

        Keys: ``samples`` (of each antenna, searched), ``preambles``, ``frames``, ``decoded`` (with
        an MPDU whose frame check sequence fits), ``mpdus``, ``mpdus_ok``, reasons why frames were
        not decoded, ``gaps`` and ``lost`` (by the tags rx_time: how many, and the samples of each
        antenna that these say are missing), ``dropped`` (samples of each antenna, because the
        receiver was too slow), ``switches`` (of the detector, by "auto"), ``failures``
        (exceptions).
        """
        return sample_block.counts(self)

    def listen(self, on_frame, on_status=None, symbols=False):
        """Call Python functions beside the message ports; before the flowgraph starts.

        Args:
            on_frame: called with each ``wifi.ReceivedFrame`` and its time, (seconds, fraction)
                since 1970 by the tags rx_time, or None.
            on_status: called with a dictionary of what port ``status`` sends, in place of the log's
                lines about it; or None.
            symbols: whether ``ReceivedFrame.symbols`` is wanted.

        They are called on the thread that decodes, one at a time. What they raise is counted and
        logged as a failure.
        """
        self._sink.listen(on_frame, symbols)
        self._sink.listen_status(on_status)

    def want_symbols(self, wanted):
        """Set ``symbols`` of :meth:`listen`, from the next samples on."""
        self._sink.want_symbols(wanted)

    def detector(self):
        """Name of the MIMO detector, or "auto"."""
        return self._sink.detector()

    def detector_in_use(self):
        """Name of the MIMO detector, with "auto" that of the one chosen."""
        return self._sink.detector_in_use()

    def switches(self):
        """What "auto" has changed: list of ``wifi.auto_detector.Switch``."""
        return list(self._sink.switches)

    def set_detector(self, detector):
        """Use another MIMO detector, or "auto", from the next samples on."""
        self._sink.set_detector(detector)


class _ReceiverSink(DetectorChoice, SampleSink):
    CONTROLS = ("detector", "threshold")

    def __init__(self, engine, frequency, detector, make_strongest, iterations, bad_fcs, overload,
                 buffer_seconds):
        self._iterations, self._make_strongest = iterations, make_strongest
        self._buffer_seconds = buffer_seconds if overload == "drop" else None
        self._symbols, self._next_points = False, 0.0
        self.switches = []
        self._detector, self._auto = detector, None
        if detector == AUTO:
            self._begin_auto()
        SampleSink.__init__(self, "wifi_receiver", engine, frequency, (*_PORTS, "status"),
                             overload, buffer_seconds)
        self._messages = _Messages(bad_fcs, self.outlet.send, self.outlet.listeners)

    def detector_in_use(self):
        """Name of the detector, with "auto" that of the one chosen."""
        auto = self._auto
        if self._detector != AUTO:
            return self._detector
        return auto.detector if auto else ladder(self._iterations)[0]

    def set_detector(self, detector):
        """Use another detector, or "auto", from the next samples on."""
        choice("detector", detector, (AUTO, *REGISTRY))
        if detector != AUTO:
            DetectorChoice.set_detector(self, detector)
        elif self._detector != AUTO:
            self._begin_auto()
            self._detector = AUTO

    def _begin_auto(self):
        """Choose from now on, from the detector in use; where samples wait there is no choice."""
        if self._buffer_seconds is not None:
            self._auto = AutoDetector(self._buffer_seconds, self._iterations, self._detector)

    def listen(self, on_frame, symbols):
        self._messages.on_frame = on_frame
        self.want_symbols(symbols)

    def want_symbols(self, wanted):
        self._symbols = flag("symbols", wanted)

    def _prepare(self):
        SampleSink._prepare(self)
        self._messages.look_who_listens()
        name = self.detector_in_use()
        _apply(self.engine, self._make_strongest if name == LADDER[0] and self._detector == AUTO
               else name, self._symbols or self._shows_points())

    def _shows_points(self):
        """Whether a display wants the next frames' points."""
        # They take as long as decoding: of a radio's frames some have to do.
        return self.outlet.listeners("symbols") and (
            not self._drops or time.monotonic() >= self._next_points)

    def _send_status(self, told):
        told["switch"] = ""
        if self._detector == AUTO and self._auto is not None:
            switch = self._auto.tell(told, self._rate)
            if switch is not None:
                self.switches.append(switch)
                told["switch"] = str(switch)
                if self._status.logs:
                    self._log.info(str(switch))
        told["detector"] = self.detector_in_use()
        SampleSink._send_status(self, told)

    def _search(self, samples):
        # One thread waits for its frames unless more samples wait. Of several threads the others
        # decode while the next samples are searched, if there is enough to do.
        busy = self.engine.num_threads > 1 and (
            self.engine.in_flight or samples.shape[1] > _SHORT * self._rate)
        return self.engine.process(samples, wait=not (busy or self._is_behind()),
                                   busy=self._is_behind)

    def _in_flight(self):
        return self.engine.in_flight

    def _rest(self):
        return self.engine.decode([])

    def _counts(self):
        return _counts_of(self.engine) | {"switches": len(self.switches)}

    def _send_all(self, frames):
        SampleSink._send_all(self, frames)
        self._messages.send()

    def _send(self, frame):
        if frame.symbols is not None:
            self._next_points = time.monotonic() + _POINTS_INTERVAL
        self._messages.make(frame, self.timeline.frequency(frame.start) or self._frequency,
                            self.timeline.time(frame.start))


def _clock(backend):
    """Return the clock of a receiver's stages.

    What a stage takes is the time of its thread: waiting for Python's lock, or for a processor,
    would count for the stage in which it happens to fall. A thread that waits for a GPU sleeps.
    """
    return time.perf_counter if backend != "cpu" and device.count() else time.thread_time


def _counts_of(engine):
    """Return the counts of a ``wifi.Receiver``, zeros included."""
    return dict.fromkeys(_COUNTS, 0) | engine.counts


def _apply(engine, detector, listeners):
    """Settings of a block to its engine."""
    engine.keep_symbols = bool(listeners)
    if engine.detector != detector:
        engine.detector = detector


class wifi_synchroniser(sample_block):
    """Find IEEE 802.11a/g/p, n and ac frames and cut them out: the first half of ``wifi_receiver``.

    Inputs are the samples of num_rx antennas. Message port ``frames`` sends a PDU for each frame
    whose signal fields could be read, in the order of the stream: a c32vector of its samples as
    they were received, antenna after antenna, and a dictionary with

        start: number of its first sample in the stream.
        first: number of the first sample of the vector, start or a few samples earlier.
        num_samples: how long it is by its signal fields.
        num_rx, sample_rate: of the samples.
        time, freq, rx_time: as at ``wifi_receiver``; freq is that of the samples.
        cfo_hz, snr_db: carrier offset, and SNR by the preamble.
        format, mcs, num_streams, bandwidth_mhz, short_gi, coding, length: of the frame, none of
            them where the format is not known or not supported.
        problem: why it is not, "" where it is.
        truncated, inside: whether the stream ended first, and whether it began inside an earlier
            frame; only decoding tells which of the two it was.

    and others that ``wifi_decoder`` needs. What stands between the two may change the samples,
    leave frames out, or keep them in a file. See ``wifi.Synchroniser``.

    Message port in ``control``: a dictionary or pair with ``threshold``.

    Args:
        num_rx, sample_rate, frequency, whitening, threshold: as of ``wifi_receiver``.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, num_rx=1, sample_rate=20e6, frequency=None, whitening="antennas",
                 threshold=0.35):
        engine = wifi.Synchroniser(num_rx, sample_rate, threshold=threshold, whitening=whitening)
        sample_block.__init__(self, "wifi_synchroniser", _SynchroniserSink(engine, frequency))


class _SynchroniserSink(SampleSink):
    CONTROLS = ("threshold",)

    def __init__(self, engine, frequency):
        self._found = 0
        SampleSink.__init__(self, "wifi_synchroniser", engine, frequency, ("frames",))

    def _counts(self):
        return {"samples": self.engine.samples_seen, "preambles": self.engine.preambles,
                "frames": self._found}

    def _send(self, found):
        self._found += 1
        start = found.preamble.start
        frequency = self.timeline.frequency(start) or self._frequency
        self.outlet.send("frames", found_to_pmt(found, self._rate, freq=frequency,
                                                **times(self.timeline.time(start))))


class wifi_decoder(DetectorChoice, Controlled, gr.basic_block):
    """Decode frames that were cut out: the second half of ``wifi_receiver``.

    Message port ``in`` takes the PDUs of ``wifi_synchroniser``, in the order of the stream; what is
    none is left out, counted and logged. The ports out are those of ``wifi_receiver``.

    Message port in ``control``: a dictionary or pair with ``detector``.

    Args:
        num_rx, sample_rate: as of the ``wifi_synchroniser``.
        detector, backend, whitening, smoothing, passes, iterations, bad_fcs: as of
            ``wifi_receiver``.

    Raises:
        ValueError: an argument is not as of ``wifi_receiver``.
    """

    CONTROLS = ("detector",)

    def __init__(self, num_rx=1, sample_rate=20e6, detector="nway", backend="auto",
                 whitening="antennas", smoothing=True, passes=3, iterations=1, bad_fcs=False):
        choice("detector", detector, tuple(REGISTRY))
        self._engine = wifi.Receiver(
            num_rx, sample_rate, detector=detector, backend=backend, whitening=whitening,
            smoothing=smoothing, passes=passes, iterations=iterations)
        self._detector, self._iterations = detector, iterations
        self._log = BlockLog(self)
        self._messages = _Messages(bad_fcs, self._publish, self._listeners)
        gr.basic_block.__init__(self, "wifi_decoder", None, None)
        self._names = {name: pmt.intern(name) for name in _PORTS}
        self.message_port_register_in(pmt.intern("in"))
        self.set_msg_handler(pmt.intern("in"), self._take)
        for port in self._names.values():
            self.message_port_register_out(port)
        self._register_control()

    def counts(self):
        """Dictionary of what was counted since the block was made."""
        counts = _counts_of(self._engine)
        return counts | {"failures": counts["failures"] + self._log.failures}

    def failures(self):
        """Messages left out because they were no frames, or could not be decoded."""
        return self.counts()["failures"]

    def start(self):
        self._engine.restart()
        return gr.basic_block.start(self)

    def stop(self):
        self._log.flush()
        return gr.basic_block.stop(self)

    def _publish(self, name, *messages):
        publish(self.to_basic_block(), self._names[name], messages)

    def _listeners(self, name):
        return listeners(self.to_basic_block(), self._names[name])

    def _take(self, message):
        engine = self._engine
        with self._log.guard("a frame"), np.errstate(all="ignore"):
            found = found_from_pmt(message, engine.num_rx, engine.sample_rate)
            base, time = _freq_and_time(pmt.car(message))
            self._messages.look_who_listens()
            _apply(engine, self._detector, self._listeners("symbols"))
            frames = engine.decode([found])
            try:
                for frame in frames:
                    self._messages.make(frame, base, time)
            finally:
                self._messages.send()


def _freq_and_time(told):
    """The samples' frequency, and the exact time, of a PDU's dictionary; None where missing."""
    base = pmt.dict_ref(told, pmt.intern("freq"), pmt.PMT_NIL)
    time = pmt.dict_ref(told, _RX_TIME, pmt.PMT_NIL)
    base = pmt.to_double(base) if pmt.is_real(base) else None
    return base, None if pmt.is_null(time) else moment("rx_time", time)
