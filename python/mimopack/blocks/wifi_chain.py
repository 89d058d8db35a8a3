# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks: the Wi-Fi receiver without its detector, as streams of vectors and of LLRs."""

import numpy as np
import pmt

from .. import constellation as constellations
from .. import wifi
from ..checks import integer
from ..wifi.channel_estimator import NOT_CHOSEN, stream_constellations
from .llr_units import unit_decoder
from .message_stream import message_outlet
from .settings import NOISE_VAR
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


class wifi_llr_decoder(unit_decoder):
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
        self._decoder = wifi.LlrDecoder()
        ports = "out", "frames"
        self._messages = FrameMessages(bad_fcs, self._publish, self._listeners, ports)
        unit_decoder.__init__(
            self, "wifi_llr_decoder", FRAME,
            constellations.bits_per_vector(constellation, num_streams), ports, llr_type, llr_scale)

    def counts(self):
        """Return a dictionary of counts since the block was made.

        Keys: ``frames``, ``decoded`` (frames with an MPDU whose FCS is correct), ``mpdus``,
        ``mpdus_ok``, ``cut`` (frames), ``malformed`` (tags), ``untagged`` (items of no frame) and
        ``failures`` (exceptions).
        """
        names = ("frames", "decoded", "mpdus", "mpdus_ok", "cut", "malformed", "untagged")
        return dict.fromkeys(names, 0) | self._counts | {"failures": self._log.failures}

    def _work(self, llr):
        self._messages.look_who_listens()
        try:
            unit_decoder._work(self, llr)
        finally:
            self._messages.send()

    def _unit(self, value):
        """Return ((FrameVectors, time), number of vectors) of a tag's value."""
        vectors = vectors_from_pmt(value)
        f, time = vectors.frame.format, pmt.dict_ref(value, _RX_TIME, pmt.PMT_NIL)
        if (f.num_streams, f.constellation) != (self._num_streams, self._constellation):
            raise ValueError(f"got {f.num_streams} streams of {f.constellation}, must be "
                             f"{self._num_streams} of {self._constellation}")
        time = None if pmt.is_null(time) else moment("rx_time", time)
        return (vectors, time), f.plan.num_data * f.num_symbols

    def _cut(self, unit):
        vectors, time = unit
        vectors.frame.problem = _CUT
        self._send(vectors.frame, time)

    def _decode(self, units, llrs):
        frames = self._decoder.decode_all([vectors for vectors, _ in units], llrs)
        for (vectors, time), frame in zip(units, frames, strict=True):
            if not vectors.nested or any(mpdu.fcs_ok for mpdu in frame.mpdus):
                self._send(frame, time)

    def _send(self, frame, time):
        right = sum(mpdu.fcs_ok for mpdu in frame.mpdus)
        self._counts.update(frames=1, decoded=right > 0, mpdus=len(frame.mpdus), mpdus_ok=right)
        self._messages.make(frame, None, time)
