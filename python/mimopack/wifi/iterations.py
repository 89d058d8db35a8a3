# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detector and LDPC decoder in turns, for frames that one pass does not decode."""

import numpy as np

from ..coding import Interleaver
from ..iterative import IterativeReceiver


class LdpcIterations:
    """Iterations over frames of one format with an LDPC code: one thread.

    Args:
        field: :class:`data_field.DataField` of the format.
        detector: of ``detectors``, with ``extrinsic=True``.
        iterations: passes of detector and decoder at most, more than 1.
        feedback_scale: see :class:`iterative.IterativeReceiver`.
    """

    def __init__(self, field, detector, iterations, feedback_scale=0.6):
        self._field = field
        self._loop = IterativeReceiver(detector, _FrameDecoder(field), self._interleaver(field),
                                       iterations, feedback_scale=feedback_scale)

    @staticmethod
    def _interleaver(field):
        """From the order of the code to that of a detector's vectors: subcarrier by subcarrier,
        all symbols of each."""
        f = field.frame_format
        coded = np.arange(f.num_symbols * f.coded_bits_per_symbol).reshape(f.num_symbols, -1)
        sent = np.empty_like(coded)
        sent[:, field.order] = coded
        vectors = sent.reshape(f.num_symbols, f.plan.num_data, -1).swapaxes(0, 1)
        return Interleaver(vectors.ravel())

    def decode(self, y, h, noise_var, llr):
        """Decode frames.

        Args:
            y, h, noise_var: as :class:`demodulator.Demodulated` has them.
            llr: float32 (n, num_data, T, S * m), of the first pass.

        Returns:
            list of n :class:`data_field.Payload`.
        """
        n, num_data, blocks, rows = y.shape
        noise = np.repeat(noise_var, num_data * blocks).astype(np.float32)
        first = np.where(np.isfinite(llr), llr, np.float32(0)).reshape(n * num_data * blocks, -1)
        received = self._loop.receive(y.reshape(-1, rows), h.reshape(n * num_data, rows, -1),
                                      noise, first=np.ascontiguousarray(first))
        return self._field.payloads(received.bits, received.found.tolist())


class _FrameDecoder:
    """A frame is found when one of its MPDUs is: then parity bits may still be wrong, and what
    another pass makes of it is not always better."""

    def __init__(self, field):
        self._field, self._decoder = field, field.decoder
        self.num_bits = self._decoder.num_bits

    def decode(self, llr):
        posterior = self._decoder.decode(llr)
        self.bits, self.iterations_taken = self._decoder.bits, self._decoder.iterations_taken
        payloads = self._field.payloads(self.bits, [None] * len(self.bits))
        self.found = np.array([payload.any_fits for payload in payloads])
        return posterior
