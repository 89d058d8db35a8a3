# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Received vectors of a frame to its payload, with a detector and a decoder that go on together."""

import numpy as np

from .. import constellation as constellations
from ..coding import Interleaver
from ..iterative import IterativeReceiver
from .data_code import usable
from .data_field import check_group, group_items
from .packet_decoder import PacketDecoder
from .parameters import LDPC_CODE_RATES, NUM_DATA_CARRIERS


class PacketReceiver(PacketDecoder):
    """Detect and decode frames, and where the CRC fails again with what the decoder has found.

    The loop is that of ``iterative.IterativeReceiver``; a frame is one codeword there, whose bits
    are those sent, however many codewords of 802.11n they belong to. It ends when the CRC fits.

    Args:
        parameters: :class:`Parameters` with an LDPC code.
        detector: of ``detectors``, for these layers and this constellation; for more than one
            iteration one that takes a-priori LLRs, with ``extrinsic=True``.
        iterations: passes of detector and decoder, at most.
        symbols_per_channel: T.
        feedback_scale: of the decoder's extrinsic LLRs, see ``IterativeReceiver``.

    Raises:
        ValueError: an argument is not as above.

    Not to be shared between threads.
    """

    def __init__(self, parameters, detector, iterations=4, symbols_per_channel=1,
                 feedback_scale=0.6):
        if not parameters.is_ldpc:
            raise ValueError(f"code_rate: got {parameters.code_rate!r}, whose decoder has no soft "
                             "output, which iterations need; allowed are "
                             + ", ".join(LDPC_CODE_RATES))
        check_group(symbols_per_channel, parameters.num_symbols)
        wanted = parameters.num_tx, constellations.get(parameters.constellation)
        found = detector.num_tx, detector.constellation
        if found[0] != wanted[0] or found[1].name != wanted[1].name:
            raise ValueError(f"detector: got one of {found[0]} layers of {found[1].name}, must be "
                             f"one of {wanted[0]} layers of {wanted[1].name}")
        super().__init__(parameters)
        self.symbols_per_channel = symbols_per_channel
        self._loop = IterativeReceiver(
            detector, _FrameDecoder(self._code.decoder, lambda bits: self._payload(bits)[1]),
            self._interleaver(), iterations, feedback_scale=feedback_scale)

    def receive(self, y, h, noise_var, llr=None):
        """Detect and decode one frame.

        Args:
            y: (n, T * num_rx) complex64, n = 52 * num_symbols / T.
            h: (n, num_rx, num_tx) complex64.
            noise_var: as for ``Detector.detect``. All three are those of an :class:`Estimate`.
            llr: (n, T * num_tx * m), any real type, NaN is an erasure: what a detector found in
                these vectors before; None detects.

        Returns:
            :class:`Packet`, whose errors before decoding are those of the first LLRs.

        Raises:
            ValueError: an argument is not as above.
        """
        detector = self._loop.detector
        period, items = self.symbols_per_channel, self.parameters.num_items
        for name, value, width in (("y", y, detector.num_rx),
                                   ("llr", llr, detector.bits_per_vector)):
            shape = items // period, period * width
            if value is not None and np.shape(value) != shape:
                raise ValueError(f"{name}: got shape {np.shape(value)}, must be {shape}")
        if llr is not None:
            llr = usable(llr).reshape(items, -1)
        received = self._loop.receive(y.reshape(items, -1), h, noise_var, first=llr)
        bits = received.bits[0]
        return self._packet(bits, self._code.encode(bits), received.detected[0],
                            bool(self._code.decoder.found[0]), int(received.iterations[0]))

    def _interleaver(self):
        """From the order of the code to that of the detector's vectors, T symbols at a time."""
        p, period = self.parameters, self.symbols_per_channel
        coded = np.arange(period * p.coded_bits_per_ofdm_symbol).reshape(period, -1)
        sent = np.empty_like(coded)
        sent[:, self._code.order] = coded
        items = sent.reshape(period * NUM_DATA_CARRIERS, -1)
        return Interleaver(group_items(items, period).ravel())


class _FrameDecoder:
    """A decoder that has found a frame when its CRC fits: then parity bits may still be wrong, and
    what another pass makes of it is not always better."""

    def __init__(self, decoder, crc_ok):
        self._decoder, self._crc_ok = decoder, crc_ok
        self.num_bits = decoder.num_bits

    def decode(self, llr):
        posterior = self._decoder.decode(llr)
        self.bits, self.iterations_taken = self._decoder.bits, self._decoder.iterations_taken
        self.found = np.array([self._crc_ok(frame) for frame in self.bits])
        return posterior
