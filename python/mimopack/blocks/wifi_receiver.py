# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wi-Fi receiver blocks: one for the whole receiver, and two for its halves."""

import time

import numpy as np
import pmt
from gnuradio import gr

from .. import wifi
from ..checks import flag
from ..wifi.auto_detector import AUTO, LADDER, AutoDetector, check_name, ladder, strongest
from ..wifi.frame_detectors import label_of
from .message_stream import Listening, listeners, message_outlet
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
from .wifi_stream import DetectorChoice, WifiSink, wifi_block

_PORTS = ("out", "frames", "csi", "symbols")
_RX_TIME = pmt.intern("rx_time")
_COUNTS = ("samples", "preambles", "frames", "decoded", "mpdus", "mpdus_ok", "failures")
_LISTENERS_INTERVAL = 0.05    # seconds for which the connections of the ports are taken as known
_POINTS_INTERVAL = 0.1    # seconds between batches of a radio's frames whose points are shown
# Maximum number of points per stream that port symbols carries for a frame.
_POINTS = 1000


class FrameMessages:
    """Make the messages of the frames that an engine reports.

    Args:
        bad_fcs: see ``wifi_receiver``.
        send: function (port, *messages) that sends messages.
        listeners: function (port) that returns the number of connected blocks.
        ports: names of the ports.
    """

    def __init__(self, bad_fcs, send, listeners, ports=_PORTS):
        self._bad_fcs, self._ports = flag("bad_fcs", bad_fcs), ports
        self._send, self._listeners = send, listeners
        self._made = {}    # {connected port: pending messages}
        self._next_look = 0.0
        self._ampdus = 0
        self.on_frame = None

    def look_who_listens(self, again=True):
        """Find out which ports are connected, to make messages only for these.

        Without ``again``, an answer holds for _LISTENERS_INTERVAL.
        """
        now = time.monotonic()
        if again or now >= self._next_look:
            self._next_look = now + _LISTENERS_INTERVAL
            self._made = {port: [] for port in self._ports if self._listeners(port)}

    def wants(self, port):
        """Return whether a port was connected when somebody looked last."""
        return port in self._made

    def send(self):
        """Send the pending messages together, since each call waits for the interpreter lock."""
        for port, messages in self._made.items():
            if messages:
                self._made[port] = []
                self._send(port, *messages)

    def make(self, frame, frequency, time):
        """Make the messages of a frame.

        Args:
            frame: ``wifi.ReceivedFrame``; its ``frequency`` is filled in here.
            frequency: centre frequency of the samples in Hz, or None.
            time: time (seconds, fraction) since 1970 of the frame's first sample, or None.
        """
        if frequency is not None:
            for part in (frame, *frame.users):
                part.frequency = frequency + part.centre_hz
        if self.on_frame is not None:
            self.on_frame(frame, time)
        made = self._made
        if not made:
            return
        if "out" in made:
            reference = (self._ampdus + 1) % 2**32
            if frame.format is not None and frame.format.aggregated:
                self._ampdus = (self._ampdus + len(frame.parts)) % 2**32
            made["out"] += frame_to_pmts(frame, reference, self._bad_fcs, time)
        if len(made) > ("out" in made):
            self._make_reports(frame, times(time))

    def _make_reports(self, frame, extra):
        made = self._made
        for part in frame.parts:
            if "csi" in made and part.channel is not None:
                made["csi"].append(csi_to_pmt(part, **extra))
            if "symbols" in made and part.symbols is not None:
                made["symbols"].append(symbols_to_pmt(part, _POINTS))
        if "frames" in made:
            made["frames"].append(frame_to_pmt(frame, **extra))


class wifi_receiver(wifi_block):
    """Receive IEEE 802.11a/g/p, n, ac, ax and be frames: samples of several antennas to MPDUs.

    The inputs are the samples of num_rx antennas. The format of the frames need not be known, as
    each frame announces it in its signal fields. See ``wifi.Receiver``.

    Message ports out, with messages in the order of the stream:
        ``out``: a PDU for each MPDU with a correct FCS: a dictionary (keys in
            ``wifi.pdu.frame_to_pdus``) and a u8vector with the MPDU without its FCS, as in
            gr-ieee802-11.
        ``frames``: a dictionary for each frame whose signal fields were read, decoded or not. It
            has the keys of ``wifi.ReceivedFrame.facts``, num_mpdus and num_mpdus_ok. If the frame
            was not decoded, ``problem`` says why. A VHT MU or HE MU frame, or the answers to a
            Trigger frame, also have ``users``: a vector with a dictionary for each user (sta_id,
            ru, mcs, num_streams, coding, dcm, user_position, num_mpdus, num_mpdus_ok).
        ``csi``: a PDU for each frame, or each of its users, with channel matrices. The dictionary
            has the keys of ``wifi.csi.CsiRecord`` except the matrices, and num_rx,
            num_space_time_streams, coding, detector and the arguments of the format's class, as in
            format_mcs. The c32vector holds the matrices, ordered by subcarrier (as in
            ``carriers``), then antenna, then space-time stream.
        ``symbols``: a PDU for each decoded frame, or each of its users, for displays. The
            dictionary has start, format, mcs, num_streams, num_points, constellation and evm_db.
            The c32vector holds at most 1000 equalised points per stream, ordered by stream. With
            overload "drop", only some frames have such a PDU.
        ``status``: a dictionary for each second with samples, and one at the end. Its keys:
            samples, frames, decoded, mpdus, mpdus_ok, gaps, lost, dropped, failures,
                refused_settings: as in ``counts``, but since the last status.
            seconds: time since the last status.
            load: share of this time in which the receiver worked.
            waiting: seconds of samples in the queue.
            stages: dictionary of the CPU seconds of each stage over all threads (wall-clock
                seconds with a GPU).
            slowest, slowest_share: the stage with the most time, and its share of all stages.
            detector: name of the detector in use from now on, with its parameters.
            switch: why "auto" has just changed the detector, or "".

    The block makes messages only for connected ports. Frames in progress are sent when the input
    ends. If ``stop()`` ends the flowgraph first, its other blocks have stopped already and receive
    these frames after a restart. If a flowgraph is changed while it runs (lock, unlock), a frame in
    progress is lost, and port ``frames`` reports the loss. The samples in GNU Radio's buffers are
    lost too, and samples are then counted from 0 again.

    Message port in: ``control`` takes a dictionary with the keys ``detector`` and ``threshold``, or
    a pair of one key and its value.

    Tags on the first input: rx_time is a tuple of whole seconds since 1970 and a fraction. With
    this tag, the messages' ``time`` is in seconds since 1970, and their key ``rx_time`` holds the
    exact tuple. Without the tag, ``time`` is in seconds since the first sample. rx_freq, in Hz,
    replaces ``frequency`` from the tag's sample on. An rx_rate that differs from sample_rate causes
    a warning.

    Gaps: a gap is an rx_time that differs by more than half a sample from the time that the
    previous rx_time and the sample rate predict. The receiver restarts after a gap. It reports the
    frame with the gap as truncated; other frames are not affected. The log has a line for each
    second with gaps.

    An exception inside the receiver is counted and logged. The current samples and the frames that
    other threads decode are lost, and the stream goes on. NaN or infinite samples hold no frames.

    Args:
        num_rx: number of receive antennas, 1..8.
        sample_rate: 20e6, 40e6, 80e6 or 160e6, which is also the bandwidth of the widest channel
            received; 5e6 or 10e6 for 802.11p.
        frequency: centre frequency of the samples in Hz, used only in reports; None if unknown.
        detector: name of the MIMO detector, with parameters if wanted, as in "kbest:k=8"; or
            "auto"; or a class, an object or a function, see ``wifi.Receiver``. With
            overload="drop", "auto" uses the strongest of mla, nway and mmse that keeps up with the
            samples, and decides each second by the load, see ``wifi.auto_detector.AutoDetector``.
            With overload="wait", "auto" uses mla, as no samples can be lost. nway replaces mla for
            frames in which mla would search more than 8192 candidates per vector (4x4 16-QAM: 2 *
            16^3 = 8192, as mla slices a layer). Setting another detector, by method or message,
            ends "auto".
        backend: backend of the detectors, "auto", "cpu", "cuda" or "reference".
        whitening: "antennas" divides each antenna by its own noise. "covariance" also whitens noise
            that is correlated between antennas, such as interference.
        smoothing: whether to smooth channel estimates over the delay spread.
        threshold: threshold of preamble detection, 0.2 to 0.95.
        passes: maximum number of decoding passes per frame. Later passes use the decoded bits as
            training, see ``wifi.Receiver``.
        iterations: maximum number of iterations between detector and decoder, for frames with
            several streams that the first iteration does not decode. Values above 1 need a detector
            that takes a-priori LLRs.
        bad_fcs: whether port ``out`` also sends MPDUs with a wrong FCS. Their fcs_ok is false.
        threads: number of threads that decode frames, including the block's own; 0 uses all cores.
            Use more than 1 if frames occupy most of the time.
        overload: what to do if the machine is too slow. The block decodes in a thread of its own.
            "wait" stops the upstream blocks until there is room, which suits files. "drop" suits
            radios: if ``buffer_seconds`` of samples are waiting, the block drops contiguous spans
            of new samples, counts them, and logs the stage that takes the most time. With "drop",
            the block holds up the upstream blocks for a millisecond at most. GNU Radio's buffers of
            the default size have room for the samples of this millisecond.
        buffer_seconds: with "drop", seconds of samples that may wait. The memory is 8 bytes per
            antenna and sample. With several threads, samples that are being searched take memory
            in addition.
        he_trigger: what a Trigger frame has asked of HE TB frames: a dictionary, or the name of a
            JSON file, see ``wifi.Receiver``.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, num_rx=1, sample_rate=20e6, frequency=None, detector="nway",
                 backend="auto", whitening="antennas", smoothing=True, threshold=0.35, passes=3,
                 iterations=1, bad_fcs=False, threads=1, overload="wait", buffer_seconds=0.25,
                 he_trigger=None):
        check_name(detector)
        engine = wifi.Receiver(
            num_rx, sample_rate, detector=LADDER[0] if detector == AUTO else detector,
            backend=backend, whitening=whitening, smoothing=smoothing, passes=passes,
            iterations=iterations, threshold=threshold, threads=threads,
            clock=_clock(backend), he_trigger=he_trigger)
        wifi_block.__init__(self, "wifi_receiver", _ReceiverSink(
            engine, frequency, detector, strongest(backend, threads), iterations, bad_fcs, overload,
            buffer_seconds))

    def counts(self):
        """Return a dictionary of counts since the block was made.

        Keys: ``samples`` (searched, per antenna), ``preambles``, ``frames``, ``decoded`` (frames
        with an MPDU whose FCS is correct), ``mpdus``, ``mpdus_ok``, each problem that kept frames
        from being decoded, ``gaps`` (according to tags rx_time), ``lost`` (samples per
        antenna missing in these gaps), ``dropped`` (samples per antenna dropped because the
        receiver was too slow), ``switches`` (changes of the detector by "auto"), ``failures``
        (exceptions), ``refused_settings`` (messages at port ``control`` that were refused).
        """
        return wifi_block.counts(self)

    def listen(self, on_frame, on_status=None, symbols=False):
        """Set functions to call with each frame and status, in addition to the messages.

        Call this method before the flowgraph starts.

        Args:
            on_frame: function called with each ``wifi.ReceivedFrame`` and its time (seconds,
                fraction) since 1970 according to the tags rx_time, or None without tags.
            on_status: function called with the dictionary that port ``status`` sends, in place of
                the status lines in the log; None keeps the lines.
            symbols: whether to fill in ``ReceivedFrame.symbols``.

        The functions run in the decoding thread, one call at a time. An exception that they raise
        is counted and logged as a failure.
        """
        self._sink.listen(on_frame, symbols)
        self._sink.listen_status(on_status)

    def want_symbols(self, wanted):
        """Set the argument ``symbols`` of :meth:`listen`, from the next samples on."""
        self._sink.want_symbols(wanted)

    def detector(self):
        """Return the MIMO detector: its name with parameters, "auto", an object or a function."""
        return self._sink.detector()

    def detector_in_use(self):
        """Return the name of the MIMO detector in use, with its parameters, also with "auto"."""
        return self._sink.detector_in_use()

    def switches(self):
        """Return the changes of the detector by "auto": list of ``wifi.auto_detector.Switch``."""
        return list(self._sink.switches)

    def set_detector(self, detector):
        """Use another MIMO detector from the next samples on: any that the block takes, or "auto".

        Raises:
            ValueError: this is no detector for the receiver, which keeps the one that it has.
        """
        self._sink.set_detector(detector)


class _ReceiverSink(DetectorChoice, WifiSink):
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
        WifiSink.__init__(self, "wifi_receiver", engine, frequency,
                            message_outlet((*_PORTS, "status")), overload, buffer_seconds)
        engine.set_alarm(self._queue.alarm)
        self._messages = FrameMessages(bad_fcs, self.outlet.send, self.outlet.listeners)

    def detector_in_use(self):
        """Name of the detector in use, with its parameters; with "auto", the detector chosen."""
        return label_of(self._in_use())

    def _in_use(self):
        """Detector in use as it was given; with "auto", the name of the detector chosen."""
        auto = self._auto
        if self._detector != AUTO:
            return self._detector
        return auto.detector if auto else ladder(self._iterations)[0]

    def set_detector(self, detector):
        """Use another detector, or "auto", from the next samples on."""
        check_name(detector)
        if detector != AUTO:
            DetectorChoice.set_detector(self, detector)
        elif self._detector != AUTO:
            self._begin_auto()
            self._detector = AUTO

    def _begin_auto(self):
        """Start to choose the detector, from the one in use on. With "wait", there is no choice."""
        if self._buffer_seconds is not None:
            self._auto = AutoDetector(self._buffer_seconds, self._iterations, self._detector)

    def listen(self, on_frame, symbols):
        self._messages.on_frame = on_frame
        self.want_symbols(symbols)

    def want_symbols(self, wanted):
        self._symbols = flag("symbols", wanted)

    def _prepare(self):
        WifiSink._prepare(self)
        self._messages.look_who_listens(again=self._next is None)
        found = self._in_use()
        if self._detector == AUTO and found == LADDER[0]:
            found = self._make_strongest
        _apply(self.engine, found, self._symbols or self._shows_points())

    def _shows_points(self):
        """Return whether a display wants the points of the next frames."""
        # Points take as long as decoding, so only some of a radio's frames have them.
        return self._messages.wants("symbols") and (
            not self._drops or time.monotonic() >= self._next_points)

    def _send_status(self, status):
        status["switch"] = ""
        if self._detector == AUTO and self._auto is not None:
            switch = self._auto.tell(status, self._rate)
            if switch is not None:
                self.switches.append(switch)
                status["switch"] = str(switch)
                if self._status.logs:
                    self._log.info(str(switch))
        status["detector"] = self.detector_in_use()
        WifiSink._send_status(self, status)

    def _search(self, samples):
        return self.engine.process(samples, wait=False)

    def _in_flight(self):
        return self.engine.in_flight

    def _ready(self):
        return self.engine.ready()

    def _counts(self):
        return _counts_of(self.engine) | {"switches": len(self.switches)}

    def _send_all(self, frames):
        WifiSink._send_all(self, frames)
        with self._log.guard("the messages of frames"):    # other frames may be in progress
            self._messages.send()

    def _send(self, frame):
        if frame.symbols is not None:
            self._next_points = time.monotonic() + _POINTS_INTERVAL
        self._messages.make(frame, self.timeline.frequency(frame.start) or self._frequency,
                            self.timeline.time(frame.start))


def _clock(backend):
    """Return the clock of a receiver's stages.

    The time of a stage is CPU time of the thread. Time spent waiting for the interpreter lock or a
    processor would count for a random stage. With a GPU it is wall-clock time, since a thread that
    waits for a GPU sleeps.
    """
    return time.perf_counter if backend == "cuda" else time.thread_time


def _counts_of(engine):
    """Return the counts of a ``wifi.Receiver``, including zeros."""
    return dict.fromkeys(_COUNTS, 0) | engine.counts


def _apply(engine, detector, listeners):
    """Apply the settings of a block to its engine."""
    engine.keep_symbols = bool(listeners)
    if engine.detector != detector:
        engine.detector = detector


class wifi_synchroniser(wifi_block):
    """Find IEEE 802.11a/g/p, n, ac, ax and be frames, and cut them out: half of ``wifi_receiver``.

    The inputs are the samples of num_rx antennas. Message port ``frames`` sends a PDU for each
    frame whose signal fields could be read, in the order of the stream. The c32vector holds the
    frame's samples as received, ordered by antenna. The dictionary has these keys:

        start: first sample of the frame, counted from the start of the stream.
        first: position in the stream of the vector's first sample, equal to start or a few samples
            earlier.
        num_samples: length of the frame in samples, according to its signal fields.
        num_rx, sample_rate: number of antennas, and samples per second.
        time, freq, rx_time: as in ``wifi_receiver``; freq is the centre frequency of the samples.
        cfo_hz, snr_db: carrier frequency offset in Hz and SNR in dB, from the preamble.
        format, mcs, num_streams, bandwidth_mhz, short_gi, coding, length: format of the frame. The
            keys are missing if the format is unknown or not supported.
        problem: why the format is unknown or not supported, or "".
        truncated: whether the stream ended before the frame did.
        inside: whether the frame began inside an earlier frame. Only decoding shows which of the
            two frames is real.

    The dictionary also has further keys that ``wifi_decoder`` needs. Blocks between synchroniser
    and decoder may change the samples, drop frames, or record frames. See ``wifi.Synchroniser``.

    Message port in: ``control`` takes a dictionary with the key ``threshold``, or a pair of this
    key and its value.

    Args:
        num_rx, sample_rate, frequency, whitening, threshold, he_trigger: see ``wifi_receiver``.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, num_rx=1, sample_rate=20e6, frequency=None, whitening="antennas",
                 threshold=0.35, he_trigger=None):
        engine = wifi.Synchroniser(num_rx, sample_rate, threshold, whitening, he_trigger)
        wifi_block.__init__(self, "wifi_synchroniser", _SynchroniserSink(engine, frequency))


class _SynchroniserSink(WifiSink):
    CONTROLS = ("threshold",)

    def __init__(self, engine, frequency):
        self._found = 0
        WifiSink.__init__(self, "wifi_synchroniser", engine, frequency,
                            message_outlet(("frames",)))

    def _counts(self):
        return {"samples": self.engine.samples_seen, "preambles": self.engine.preambles,
                "frames": self._found}

    def _send(self, found):
        self._found += 1
        start = found.start
        frequency = self.timeline.frequency(start) or self._frequency
        self.outlet.send("frames", found_to_pmt(found, self._rate, freq=frequency,
                                                **times(self.timeline.time(start))))


class wifi_decoder(Listening, DetectorChoice, Controlled, gr.basic_block):
    """Decode frames that were cut out: the second half of ``wifi_receiver``.

    Message port ``in`` takes the PDUs of ``wifi_synchroniser``, in the order of the stream. Other
    messages are skipped, counted (``failures``) and logged. The output ports ``out``, ``frames``,
    ``csi`` and ``symbols`` are those of ``wifi_receiver``.

    Message port in: ``control`` takes a dictionary with the key ``detector``, or a pair of this key
    and its value.

    Args:
        num_rx, sample_rate: as for ``wifi_synchroniser``.
        detector, backend, whitening, smoothing, passes, iterations, bad_fcs: see ``wifi_receiver``.

    Raises:
        ValueError: an argument is not as in ``wifi_receiver``.
    """

    CONTROLS = ("detector",)

    def __init__(self, num_rx=1, sample_rate=20e6, detector="nway", backend="auto",
                 whitening="antennas", smoothing=True, passes=3, iterations=1, bad_fcs=False):
        self._engine = wifi.Receiver(
            num_rx, sample_rate, detector=detector, backend=backend, whitening=whitening,
            smoothing=smoothing, passes=passes, iterations=iterations)
        self._detector, self._iterations = detector, iterations
        self._log = BlockLog(self)
        self._messages = FrameMessages(bad_fcs, self._publish, self._listeners)
        gr.basic_block.__init__(self, "wifi_decoder", None, None)
        self._names = {name: pmt.intern(name) for name in _PORTS}
        self._listen(pmt.intern("in"), self._take)
        for port in self._names.values():
            self.message_port_register_out(port)
        self._register_control()

    def counts(self):
        """Return a dictionary of counts since the block was made, see ``wifi.Receiver.counts``."""
        counts = _counts_of(self._engine)
        return counts | {"failures": counts["failures"] + self._log.failures,
                         "refused_settings": self.refused_settings()}

    def failures(self):
        """Return the number of messages without a frame plus the number of decoding exceptions."""
        return self.counts()["failures"]

    def start(self):
        with self._log.guard("the start of the stream"):    # GNU Radio would hang
            self._engine.restart()
        return Listening.start(self)

    def stop(self):
        self._log.flush()
        return gr.basic_block.stop(self)

    def _publish(self, name, *messages):
        for message in messages:
            self.message_port_pub(self._names[name], message)

    def _listeners(self, name):
        return listeners(self, self._names[name])

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


def _freq_and_time(dictionary):
    """Return the samples' frequency and the exact time in a PDU's dictionary; None if missing."""
    base = pmt.dict_ref(dictionary, pmt.intern("freq"), pmt.PMT_NIL)
    time = pmt.dict_ref(dictionary, _RX_TIME, pmt.PMT_NIL)
    base = pmt.to_double(base) if pmt.is_real(base) else None
    return base, None if pmt.is_null(time) else moment("rx_time", time)
