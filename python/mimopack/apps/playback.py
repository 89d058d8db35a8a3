# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flowgraphs that play a recording through the receiver, and listen to what comes out."""

import time

import numpy as np
import pmt
from gnuradio import blocks, gr

from ..blocks import ofdm_receiver, sigmf_multichannel_source
from ..blocks.frame_stream import FrameCollector


class _PacketListener(gr.basic_block):
    """Hands every packet to on_packet(information, payload)."""

    def __init__(self, on_packet):
        gr.basic_block.__init__(self, "packet_listener", None, None)
        self._on_packet = on_packet
        self.error = None
        self.message_port_register_in(pmt.intern("packets"))
        self.set_msg_handler(pmt.intern("packets"), self._take)

    def _take(self, message):
        payload = bytes(pmt.u8vector_elements(pmt.cdr(message)))
        try:
            self._on_packet(pmt.to_python(pmt.car(message)), payload)
        except Exception as error:  # the scheduler would swallow it; decode() raises it
            self.error = self.error or error


class _FrameListener(gr.sync_block):
    """Hands every frame to on_frame(information, llr, y, h), one row per item."""

    def __init__(self, widths, on_frame):
        kinds = [np.float32, np.complex64, np.complex64]
        gr.sync_block.__init__(self, "frame_listener", list(zip(kinds, widths, strict=True)), None)
        self._on_frame = on_frame
        self.error = None
        self._collector = FrameCollector()

    def work(self, input_items, _output_items):
        count = len(input_items[0])
        tags = self.get_tags_in_window(0, 0, count)
        try:
            for frame, arrays in self._collector.feed(input_items, tags, self.nitems_read(0)):
                self._on_frame(pmt.to_python(frame), *arrays)
        except Exception as error:  # would leave the flowgraph hanging; decode() raises it
            self.error = error
            return -1
        return count


class Playback:
    """A recording, and the receiver that it goes through.

    Args:
        reader: ``recording.Reader``.
        parameters: ``ofdm.Parameters``.
        backend: of the detectors.
        iterations: see ``ofdm_receiver``.
    """

    def __init__(self, reader, parameters, backend="auto", iterations=1):
        self._reader = reader
        self._options = dict(backend=backend, iterations=iterations)
        self._format = dict(num_tx=parameters.num_tx, constellation=parameters.constellation,
                            code_rate=parameters.code_rate,
                            payload_length=parameters.payload_length)
        num_rx = reader.num_channels
        self._widths = (parameters.num_tx * parameters.bits_per_symbol, num_rx,
                        num_rx * parameters.num_tx)

    def receiver(self, detector):
        """A receiver with this detector; ValueError where there is none."""
        return ofdm_receiver(num_rx=self._reader.num_channels, detector=detector,
                             **self._options, **self._format)

    def _build(self, detector, repeat):
        top = gr.top_block()
        source = sigmf_multichannel_source(str(self._reader.path), repeat=repeat)
        return top, source, self.receiver(detector)

    def decode(self, detector, on_packet, on_frame):
        """Play the recording once; returns the receiver's counts (``ofdm_receiver.statistics``).

        Args:
            detector: name of a detector.
            on_packet: called with a packet's dictionary and its payload (bytes).
            on_frame: called with a frame's dictionary and its llr (n, nt*m), y (n, nr) and
                h (n, nr*nt).
        """
        top, source, receiver = self._build(detector, repeat=False)
        packets, frames = _PacketListener(on_packet), _FrameListener(self._widths, on_frame)
        for port in range(self._reader.num_channels):
            top.connect((source, port), (receiver, port))
        for port in range(3):
            top.connect((receiver, port), (frames, port))
        top.msg_connect(receiver, "packets", packets, "packets")
        top.run()
        for listener in (packets, frames):
            if listener.error is not None:
                raise listener.error
        return receiver.statistics()

    def time(self, detector, samples):
        """Play it again and again until about so many samples have passed; nothing listens.

        Returns:
            (samples per antenna, seconds from the flowgraph's start to its end).
        """
        rounds = max(1, round(samples / self._reader.num_samples))
        count = rounds * self._reader.num_samples
        top, source, receiver = self._build(detector, repeat=True)
        for port in range(self._reader.num_channels):
            top.connect((source, port), blocks.head(gr.sizeof_gr_complex, count),
                        (receiver, port))
        sinks = [blocks.null_sink(size * width)
                 for size, width in zip((4, 8, 8), self._widths, strict=True)]
        for port, sink in enumerate(sinks):
            top.connect((receiver, port), sink)
        start = time.perf_counter()
        top.run()
        return count, time.perf_counter() - start
