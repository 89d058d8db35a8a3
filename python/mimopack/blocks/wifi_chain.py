# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks: the Wi-Fi receiver without its detector, as streams of vectors and of LLRs."""

from collections import Counter

import numpy as np
import pmt
from gnuradio import gr

from .. import constellation as constellations
from .. import wifi
from ..checks import choice, integer, positive
from ..wifi.channel_estimator import NOT_CHOSEN, stream_constellations
from .fec_decoder import LLR_TYPES
from .message_stream import listeners, message_outlet
from .settings import NOISE_VAR
from .streams import BlockLog, vector
from .vector_source import vector_source
from .wifi_pmt import frame_to_pmt, moment, times, vectors_from_pmt, vectors_to_pmt
from .wifi_receiver import FrameMessages
from .wifi_stream import WifiSink, wifi_block

FRAME = pmt.intern("wifi_frame")
_RX_TIME = pmt.intern("rx_time")
_CUT = "cut: the LLRs end before the frame does"


class wifi_channel_estimator(wifi_block):
    """Turn the samples of several antennas into the vectors of Wi-Fi frames, for MIMO detectors.

    The block finds the frames, estimates their channels, and tracks phase and clock, as
    ``wifi_receiver`` does. Its two streams are the inputs of any detector block;
    ``wifi_llr_decoder`` decodes the LLRs. See ``wifi.ChannelEstimator``.

    Ports:
        in 0 to num_rx - 1: complex: the samples of each antenna.
        out 0 ``y``: complex, vlen num_rx: the received vectors of the frames with ``num_streams``
            streams and ``constellation``, an item for each data subcarrier of each data symbol.
            A frame's items follow each other: the symbols of the lowest subcarrier, then those of
            the next one. Each user of an HE MU frame counts as a frame.
        out 1 ``h``: complex, vlen num_rx*num_streams: the channel matrix of each vector, row-major.
        message out ``frames``: a dictionary for each other frame, with the keys of port ``frames``
            of ``wifi_receiver``. ``problem`` says why the frame has no items. It is "" for a frame
            without data (NDP). Frames that begin inside another frame are left out.
        message in ``control``: a dictionary with the key ``threshold``, or a pair of this key and
            its value.

    Tags on the first item of a frame, on ``y``:
        ``noise_var``: noise power per complex receive dimension, as detector blocks read it. y and
            h are divided by the standard deviation of each antenna's noise, so it is 1, plus the
            error of the channel estimate.
        ``wifi_frame``: dictionary for ``wifi_llr_decoder``: num_vectors (number of items),
            noise_var, start, num_samples, sample_rate, frequency, cfo_hz, snr_db and the other
            facts of ``wifi.ReceivedFrame``, format (such as "vht"), the fields of the
            format with the prefix ``format_``, rx_time if known, nested (whether the frame began
            inside another frame), and sig_b (VHT-SIG-B, a byte for each bit).

    A frame comes whole or not at all. Frames in progress come out when the input ends. If a
    flowgraph is changed while it runs (lock, unlock), GNU Radio may drop different numbers of items
    of y and h: stop and start it instead.

    Tags on the first input, gaps and exceptions: see ``wifi_receiver``.

    Args:
        num_rx: number of receive antennas, 1..8.
        sample_rate: see ``wifi_receiver``.
        num_streams: number of streams of the frames, 1..4. Frames with a space-time block code and
            duplicates are not among them.
        constellation: "wlan_bpsk", "wlan_qpsk", "wlan_qam16", "wlan_qam64", "wlan_qam256",
            "wlan_qam1024" or "wlan_qam4096"; or the names of all streams of unequal modulation,
            such as "wlan_qam16,wlan_qpsk".
        frequency, whitening, smoothing, threshold, overload, buffer_seconds: see ``wifi_receiver``.
            Blocks after this one hold it up if they are too slow.
        he_trigger: see ``wifi_receiver``. Trigger frames in the samples are not read.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, num_rx=1, sample_rate=20e6, num_streams=1, constellation="wlan_qam16",
                 frequency=None, whitening="antennas", smoothing=True, threshold=0.35,
                 overload="wait", buffer_seconds=0.25, he_trigger=None):
        engine = wifi.ChannelEstimator(
            num_rx, sample_rate, num_streams=integer("num_streams", num_streams, 1, 4),
            constellation=stream_constellations(constellation),
            whitening=whitening, smoothing=smoothing, threshold=threshold, he_trigger=he_trigger)
        wifi_block.__init__(self, "wifi_channel_estimator", _EstimatorSink(
            engine, frequency, overload, buffer_seconds))

    def counts(self):
        """Return a dictionary of counts since the block was made.

        Keys: ``samples``, ``preambles``, ``frames`` (found), ``demodulated`` (frames whose vectors
        were sent), each problem that kept frames from being demodulated, and ``gaps``, ``lost``,
        ``dropped``, ``failures``, ``refused_settings`` as in ``wifi_receiver``.
        """
        return wifi_block.counts(self)


class _EstimatorSink(WifiSink):
    CONTROLS = ("threshold",)

    def __init__(self, engine, frequency, overload, buffer_seconds):
        source = vector_source("wifi_vectors", (engine.num_rx, engine.num_rx * engine.num_streams))
        WifiSink.__init__(self, "wifi_channel_estimator", engine, frequency,
                          message_outlet(("frames",)), overload, buffer_seconds, source)

    def end(self, done):
        WifiSink.end(self, done)
        counts = self.engine.counts
        others = {problem: count for problem, count in counts.items()
                  if problem.startswith(NOT_CHOSEN)}
        if others and not counts["demodulated"]:
            problem = max(others, key=others.get)
            self._log.warn(None, f"no vectors sent: of {counts['frames']} frames, "
                           f"{others[problem]} were {problem}")

    def _counts(self):
        names = "samples", "preambles", "frames", "demodulated"
        return dict.fromkeys(names, 0) | self.engine.counts

    def _send(self, vectors):
        frame = vectors.frame
        frequency = self.timeline.frequency(frame.start) or self._frequency
        if frequency is not None:
            frame.frequency = frequency + frame.centre_hz
        extra = times(self.timeline.time(frame.start))
        if vectors.y is None or not len(vectors.y):
            if not vectors.nested and self.outlet.listeners("frames"):
                self.outlet.send("frames", frame_to_pmt(frame, **extra))
            return
        extra.pop("time", None)
        h = np.repeat(vectors.h.reshape(len(vectors.h), -1), len(vectors.y) // len(vectors.h),
                      axis=0)
        self.source.put((vectors.y, h), [
            (0, NOISE_VAR, pmt.from_double(vectors.noise_var)),
            (0, FRAME, vectors_to_pmt(vectors, **extra))])


class wifi_llr_decoder(gr.sync_block):
    """Decode the LLRs of Wi-Fi frames: the last step of ``wifi_receiver``.

    The input is the LLR stream of a detector block behind ``wifi_channel_estimator``, with the tags
    ``wifi_frame``. Any block that keeps items and tags may stand between, also GNU Radio's
    file_meta_sink and, later, file_meta_source. See ``wifi.LlrDecoder``.

    Ports:
        in ``llr``: float (or int8), vlen num_streams*m, with m bits per point: ln P(1)/P(0), layer
            by layer, most significant bit first.
        message out ``out``, ``frames``: as of ``wifi_receiver``. The key ``detector`` is "".

    A frame whose LLRs are not complete when the next tag arrives is dropped and counted (``cut``),
    and port ``frames`` reports it with a problem. At the end of the stream it is only counted. A
    tag that ``wifi_channel_estimator`` cannot have made for this block is dropped, counted
    (``malformed``) and logged, with the items that follow. A frame that began inside another frame
    is sent only if it has an MPDU with a correct FCS.

    Args:
        num_streams, constellation: as of ``wifi_channel_estimator``.
        llr_type: "float32" or "int8".
        llr_scale: for int8: integer value of an LLR of 1, as in the detector.
        bad_fcs: whether port ``out`` also sends MPDUs with a wrong FCS.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, num_streams=1, constellation="wlan_qam16", llr_type="float32", llr_scale=8.0,
                 bad_fcs=False):
        self._num_streams = integer("num_streams", num_streams, 1, 4)
        self._constellation = stream_constellations(constellation)
        kind = LLR_TYPES[choice("llr_type", llr_type, tuple(LLR_TYPES))]
        scale = positive("llr_scale", llr_scale)
        self._step = np.float32(1 / scale if kind is np.int8 else 1)
        self._width = constellations.bits_per_vector(constellation, num_streams)
        self._decoder = wifi.LlrDecoder()
        self._counts = Counter()
        self._ready = []    # complete frames: (FrameVectors, LLRs, time)
        self._forget()
        self._log = BlockLog(self)
        self._messages = FrameMessages(bad_fcs, self._publish, self._listeners, ("out", "frames"))
        gr.sync_block.__init__(self, "wifi_llr_decoder", [vector(kind, self._width)], None)
        self._ports = {name: pmt.intern(name) for name in ("out", "frames")}
        for port in self._ports.values():
            self.message_port_register_out(port)

    def counts(self):
        """Return a dictionary of counts since the block was made.

        Keys: ``frames``, ``decoded`` (frames with an MPDU whose FCS is correct), ``mpdus``,
        ``mpdus_ok``, ``cut`` (frames), ``malformed`` (tags), ``untagged`` (items of no frame) and
        ``failures`` (exceptions).
        """
        names = ("frames", "decoded", "mpdus", "mpdus_ok", "cut", "malformed", "untagged")
        return dict.fromkeys(names, 0) | self._counts | {"failures": self._log.failures}

    def failures(self):
        """Return the number of exceptions, each of which lost the items of one call."""
        return self._log.failures

    def start(self):
        self._forget()
        return True

    def stop(self):
        if self._missing:
            self._counts["cut"] += 1
        self._log.flush()
        return True

    def work(self, input_items, _output_items):
        with self._log.guard(f"{len(input_items[0])} items"):
            self._work(input_items[0].reshape(-1, self._width))
        return len(input_items[0])

    def _work(self, llr):
        self._messages.look_who_listens()
        at, start = 0, self.nitems_read(0)
        # A block with several inputs, such as the sum of two detectors, repeats the tags.
        tags = {tag.offset - start: tag.value
                for tag in self.get_tags_in_window(0, 0, len(llr), FRAME)}
        try:
            for first, value in tags.items():
                self._take(llr[at:first])
                self._begin(value)
                at = first
            self._take(llr[at:])
        finally:
            self._decode()
            self._messages.send()

    def _forget(self):
        self._vectors, self._time, self._parts, self._missing = None, None, [], 0

    def _begin(self, value):
        """Begin a frame with the value of its tag."""
        if self._missing:
            self._counts["cut"] += 1
            self._vectors.frame.problem = _CUT
            self._decode()    # earlier frames
            self._send(self._vectors.frame, self._time)
        self._forget()
        try:
            vectors = vectors_from_pmt(value)
            f, time = vectors.frame.format, pmt.dict_ref(value, _RX_TIME, pmt.PMT_NIL)
            if (f.num_streams, f.constellation) != (self._num_streams, self._constellation):
                raise ValueError(f"got {f.num_streams} streams of {f.constellation}, must be "
                                 f"{self._num_streams} of {self._constellation}")
            self._time = None if pmt.is_null(time) else moment("rx_time", time)
        except ValueError as error:
            self._counts["malformed"] += 1
            self._log.warn("tags", f"tag wifi_frame dropped: {error}")
        else:
            self._vectors = vectors
            self._missing = f.plan.num_data * f.num_symbols

    def _take(self, llr):
        """Take the next LLRs (n, width), up to the next tag."""
        count = min(self._missing, len(llr))
        self._counts["untagged"] += len(llr) - count
        if not count:
            return
        self._missing -= count
        if self._missing:
            self._parts.append(llr[:count].copy())
            return
        llr = llr[:count]
        if self._parts:
            llr = np.concatenate([*self._parts, llr])
        self._ready.append((self._vectors, llr, self._time))
        self._forget()

    def _decode(self):
        """Decode and send the complete frames."""
        ready, self._ready = self._ready, []
        with self._log.guard(f"{len(ready)} frames"):
            vectors, llrs, times_ = zip(*ready, strict=True) if ready else ((), (), ())
            if self._step != 1:
                llrs = [llr * self._step for llr in llrs]
            frames = self._decoder.decode_all(vectors, llrs)
            for one, frame, time in zip(vectors, frames, times_, strict=True):
                if not one.nested or any(mpdu.fcs_ok for mpdu in frame.mpdus):
                    self._send(frame, time)

    def _send(self, frame, time):
        right = sum(mpdu.fcs_ok for mpdu in frame.mpdus)
        self._counts.update(frames=1, decoded=right > 0, mpdus=len(frame.mpdus), mpdus_ok=right)
        self._messages.make(frame, None, time)

    def _publish(self, name, *messages):
        for message in messages:
            self.message_port_pub(self._ports[name], message)

    def _listeners(self, name):
        return listeners(self, self._ports[name])
