# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: MIMO-OFDM receiver from samples to packets."""

import numpy as np
from gnuradio import fft, gr

from .. import constellation as constellations
from .ofdm_channel_estimator import ofdm_channel_estimator
from .ofdm_frame_sync import ofdm_frame_sync
from .packet_decoder import packet_decoder


class ofdm_receiver(gr.hier_block2):
    """Synchroniser, FFT, channel estimator, MIMO detector and packet decoder.

    Inputs are the samples of num_rx antennas (complex, 20 MS/s). Message port "packets" carries a
    PDU per frame (see ``packet_decoder``), "frames" an event per frame found or truncated (see
    ``ofdm_frame_sync``). The outputs are for views and need not be connected: 0 the LLRs (float,
    or int8 where detector_options say so, vlen T * num_tx * m), 1 the received vectors y
    (complex, vlen T * num_rx), 2 the channels h (complex, vlen num_rx * num_tx), item by item,
    with the tags of ``ofdm_channel_estimator``.

    The parts are attributes: ``frame_sync``, ``estimator``, ``detector``, ``decoder``.

    Args:
        num_tx, constellation, code_rate, payload_length: see ``ofdm.Parameters``.
        num_rx: receive antennas.
        detector: name of a detector: "nway", "mmse", "mla" ...; its block is made.
        detector_options: keyword arguments of its own, such as {"num_passes": 1}.
        backend: one of ``detectors.parameters.BACKENDS``.
        symbols_per_channel: T, data symbols that share a channel item at the detector.
        threshold: of the frame synchroniser.

    Raises:
        ValueError: a parameter that a part refuses, or an unknown detector.
    """

    def __init__(self, num_tx=4, num_rx=4, constellation="wlan_qam16", code_rate="1/2",
                 payload_length=500, detector="nway", detector_options=None, backend="auto",
                 symbols_per_channel=1, threshold=0.35):
        from gnuradio import mimopack

        make_detector = getattr(mimopack, f"{detector}_detector", None)
        if make_detector is None:
            known = sorted(name.removesuffix("_detector") for name in dir(mimopack)
                           if name.endswith("_detector"))
            raise ValueError(f"detector: got {detector!r}, allowed are {', '.join(known)}")
        options = dict(detector_options or {})
        llr_type = options.get("llr_type", "float32")
        llr_size = (symbols_per_channel * num_tx * np.dtype(llr_type).itemsize
                    * constellations.get(constellation).bits_per_symbol)
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
