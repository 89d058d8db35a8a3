# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: MIMO-OFDM receiver from samples to packets."""

import numpy as np
from gnuradio import fft, gr

from ..checks import choice, integer
from ..detectors.parameters import LLR_TYPES
from ..ofdm import Parameters
from ..ofdm.data_field import check_group
from ..ofdm.parameters import MAX_RX
from .detector import choose_detector
from .ofdm_channel_estimator import ofdm_channel_estimator
from .ofdm_frame_sync import ofdm_frame_sync
from .packet_decoder import packet_decoder
from .packet_receiver import packet_receiver


class ofdm_receiver(gr.hier_block2):
    """Synchroniser, FFT, channel estimator, MIMO detector and packet decoder.

    Inputs are the samples of num_rx antennas (complex, 20 MS/s). Message port "packets" carries a
    PDU per frame (see ``packet_decoder``), "frames" an event per frame found or truncated (see
    ``ofdm_frame_sync``), "detector_status" the detector's "status"; "control" goes to the
    detector (see there). The outputs are for views and need not be connected: 0 the LLRs (float,
    or int8 where detector_options say so, vlen T * num_tx * m), 1 the received vectors y
    (complex, vlen T * num_rx), 2 the channels h (complex, vlen num_rx * num_tx), item by item,
    with the tags of ``ofdm_channel_estimator``.

    The parts are attributes: ``frame_sync``, ``estimator``, ``detector``, ``decoder``. With
    iterations > 1 the decoder is a ``packet_receiver``; the LLRs at output 0 are those of the first
    pass, and the threads of ``control`` those of the first pass's detector.

    Args:
        num_tx, constellation, code_rate, payload_length: see ``ofdm.Parameters``.
        num_rx: receive antennas.
        detector: name of a detector: "nway", "mmse", "mla" ...; its block is made.
        detector_options: keyword arguments of the detector, such as {"num_passes": 1} or
            {"threads": 2}; none of those that the receiver itself has or needs.
        backend: one of ``detectors.parameters.BACKENDS``.
        symbols_per_channel: T, data symbols that share a channel item at the detector.
        threshold: of the frame synchroniser.
        iterations: passes of detector and decoder at most. More than 1 with an LDPC code and a
            detector that takes a-priori LLRs.
        feedback_scale: with iterations > 1, see ``iterative.IterativeReceiver``.

    Raises:
        ValueError: a parameter that a part refuses, an unknown detector or option.
    """

    def __init__(self, num_tx=4, num_rx=4, constellation="wlan_qam16", code_rate="1/2",
                 payload_length=500, detector="nway", detector_options=None, backend="auto",
                 symbols_per_channel=1, threshold=0.35, iterations=1, feedback_scale=0.6):
        make_detector, options = choose_detector(detector, detector_options)
        parameters = Parameters(num_tx, constellation, code_rate, payload_length)
        num_rx = integer("num_rx", num_rx, parameters.num_tx, MAX_RX)
        check_group(symbols_per_channel, parameters.num_symbols)
        iterations = integer("iterations", iterations, 1, 1000)
        llr_type = choice("llr_type", options.get("llr_type", "float32"), LLR_TYPES)
        llr_size = (symbols_per_channel * num_tx * np.dtype(llr_type).itemsize
                    * parameters.bits_per_symbol)
        gr.hier_block2.__init__(
            self, "ofdm_receiver", gr.io_signature(num_rx, num_rx, gr.sizeof_gr_complex),
            gr.io_signature.makev(3, 3, [llr_size,
                                         symbols_per_channel * num_rx * gr.sizeof_gr_complex,
                                         num_rx * num_tx * gr.sizeof_gr_complex]))
        frame_format = (constellation, code_rate, payload_length)
        self.frame_sync = ofdm_frame_sync(num_tx, num_rx, *frame_format, threshold)
        self.estimator = ofdm_channel_estimator(num_tx, num_rx, *frame_format,
                                                symbols_per_channel)
        self.detector = make_detector(
            num_tx=num_tx, num_rx=num_rx, constellation=constellation, backend=backend,
            symbols_per_channel=symbols_per_channel, **options)
        if iterations > 1:
            self.decoder = packet_receiver(
                num_tx, num_rx, *frame_format, detector, options, backend, symbols_per_channel,
                iterations, feedback_scale)
            self.connect((self.estimator, 0), (self.decoder, 1))
            self.connect((self.estimator, 1), (self.decoder, 2))
        else:
            self.decoder = packet_decoder(num_tx, *frame_format, symbols_per_channel, llr_type,
                                          options.get("llr_scale", 8.0))
        self._ffts = [fft.fft_vcc(64, True, [], True, 1) for _ in range(num_rx)]
        for port, transform in enumerate(self._ffts):
            self.connect((self, port), (self.frame_sync, port))
            self.connect((self.frame_sync, port), transform, (self.estimator, port))
        self.connect((self.estimator, 0), (self.detector, 0), self.decoder)
        self.connect((self.estimator, 1), (self.detector, 1))
        self.connect(self.detector, (self, 0))
        self.connect((self.estimator, 0), (self, 1))
        self.connect((self.estimator, 1), (self, 2))
        self.message_port_register_hier_out("packets")
        self.message_port_register_hier_out("frames")
        self.msg_connect(self.decoder, "packets", self, "packets")
        self.msg_connect(self.frame_sync, "frames", self, "frames")
        self.message_port_register_hier_out("detector_status")
        self.message_port_register_hier_in("control")
        self.msg_connect(self.detector, "status", self, "detector_status")
        self.msg_connect(self, "control", self.detector, "control")

    def statistics(self):
        """Counts so far: dictionary of samples_seen, frames_found, frames_truncated, packets,
        crc_failures, items_outside (between the parts), frames_broken (inside them) and
        failures (exceptions in a part, each of which cost a frame or the samples at hand)."""
        sync, decoder = self.frame_sync, self.decoder
        return {
            "samples_seen": sync.samples_seen(),
            "frames_found": sync.frames_found(),
            "frames_truncated": sync.frames_truncated(),
            "packets": decoder.packets(),
            "crc_failures": decoder.crc_failures(),
            "items_outside": self.estimator.items_outside() + decoder.items_outside(),
            "frames_broken": decoder.frames_broken(),
            "failures": sync.failures() + self.estimator.failures() + decoder.failures(),
        }
