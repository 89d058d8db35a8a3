# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: OFDM frames to packets, detected and decoded several times where it takes that."""

import numpy as np
import pmt

from ..checks import integer
from ..ofdm import PacketReceiver, Parameters
from ..ofdm.parameters import MAX_RX
from .detector import choose_detector
from .frame_stream import vector
from .packet_decoder import LlrPort, packet_block

_NOISE_VAR = pmt.intern("noise_var")


class packet_receiver(packet_block):
    """Iterative receiver of OFDM frames with an LDPC code, behind a detector block.

    As ``packet_decoder`` it decodes a frame's LLRs. Where the CRC fails, what the decoder has found
    goes as a-priori LLRs to a detector of its own, which detects the frame's vectors again, and so
    on (``ofdm.PacketReceiver``). The detector block has all vectors in large batches, this one only
    frames that need it.

    Ports:
        in 0 ``llr``: float (or int8, where detector_options say so), vlen T * num_tx * m, with
            "frame" tags: what the detector block made of these y and h.
        in 1 ``y``: complex, vlen T * num_rx; in 2 ``h``: complex, vlen num_rx * num_tx, both of
            ``ofdm_channel_estimator``. The noise variance is that of the frame's tag.
        message out ``packets``: as that of ``packet_decoder``, with

            iterations (passes of detector and decoder), checks_hold (of the last one);
            coded_bit_errors are those of the LLRs that came in

    Args:
        num_tx, constellation, code_rate, payload_length: see ``ofdm.Parameters``; the code is
            LDPC.
        num_rx: receive antennas.
        detector, detector_options, backend: as of ``ofdm_receiver``; a detector that takes
            a-priori LLRs. llr_type and llr_scale are those of port llr.
        symbols_per_channel: T.
        iterations: passes at most, the detector block's among them.
        feedback_scale: of the decoder's extrinsic LLRs, see ``iterative.IterativeReceiver``.

    Raises:
        ValueError: a parameter that one of these refuses.
    """

    def __init__(self, num_tx=4, num_rx=4, constellation="wlan_qam16", code_rate="ldpc:1/2",
                 payload_length=500, detector="nway", detector_options=None, backend="auto",
                 symbols_per_channel=1, iterations=4, feedback_scale=0.6):
        block, options = choose_detector(detector, detector_options)
        parameters = Parameters(num_tx, constellation, code_rate, payload_length)
        num_rx = integer("num_rx", num_rx, parameters.num_tx, MAX_RX)
        own = {name: options.pop(name) for name in ("llr_type", "llr_scale") if name in options}
        self._llrs = LlrPort(**own)
        made = block.DETECTOR
        options["extrinsic"] = made.SUPPORTS_PRIOR and not made.HARD
        self._detector = made(num_tx=num_tx, num_rx=num_rx, constellation=constellation,
                              backend=backend, **options)
        self._detector.on_gpu_failure = self._on_gpu_failure
        self._receiver = PacketReceiver(parameters, self._detector, iterations,
                                        symbols_per_channel, feedback_scale)
        self._shape = num_rx, num_tx
        packet_block.__init__(self, "packet_receiver", [
            vector(self._llrs.dtype, symbols_per_channel * num_tx * parameters.bits_per_symbol),
            vector(np.complex64, symbols_per_channel * num_rx),
            vector(np.complex64, num_rx * num_tx)])

    def start(self):
        p = self._receiver.parameters
        self._detector.prepare(p.num_items, self._receiver.symbols_per_channel, has_prior=True)
        return packet_block.start(self)

    def stop(self):
        try:
            self._detector.release()
        except Exception as error:
            self._log.error(f"the GPU's memory was not given back: {error!r}")
        return packet_block.stop(self)

    def _on_gpu_failure(self, error):
        self._log.error(f"the GPU failed, going on with the CPU: {error!r}")

    def _packet(self, info, arrays):
        llr, y, h = arrays
        noise_var = pmt.to_python(pmt.dict_ref(info, _NOISE_VAR, pmt.PMT_NIL))
        return self._receiver.receive(y, h.reshape(-1, *self._shape), noise_var,
                                      llr * self._llrs.factor)
