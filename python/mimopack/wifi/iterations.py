# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detector and LDPC decoder in turns, for frames that one pass does not decode."""

import numpy as np

from ..coding import Interleaver
from ..detectors import REGISTRY
from ..iterative import IterativeReceiver

# Names of the detectors that can take turns with the decoder.
ITERATING = tuple(name for name, kind in REGISTRY.items() if kind.SUPPORTS_PRIOR and not kind.HARD)


class LdpcIterations:
    """Iterations over frames of one format with an LDPC code: one thread.

    Args:
        field: :class:`data_field.DataField` of the format.
        detector: of ``detectors``, with ``extrinsic=True``.
        iterations: passes of detector and decoder at most, more than 1.
        feedback_scale: see :class:`iterative.IterativeReceiver`.
    """

    def __init__(self, field, detector, iterations, feedback_scale=0.6):
        self._decoder = _FrameDecoder(field)
        self._loop = IterativeReceiver(detector, self._decoder, self._interleaver(field),
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

    def decode(self, y, h, noise_var, llr, payloads):
        """Decode frames.

        Args:
            y, h, noise_var: as :class:`demodulator.Demodulated` has them.
            llr: float32 (n, num_data, T, S * m), of the first pass.
            payloads: n :class:`data_field.Payload`, what is known of the frames.

        Returns:
            list of n :class:`data_field.Payload`: MPDUs that any pass decoded are in.
        """
        n, num_data, blocks, rows = y.shape
        noise = np.repeat(noise_var, num_data * blocks).astype(np.float32)
        first = np.where(np.isfinite(llr), llr, np.float32(0)).reshape(n * num_data * blocks, -1)
        self._decoder.start(payloads)
        self._loop.receive(y.reshape(-1, rows), h.reshape(n * num_data, rows, -1), noise,
                           first=np.ascontiguousarray(first))
        return self._decoder.payloads


class _FrameDecoder:
    """A decoder to which a frame is found when all its MPDUs are, whatever its parity bits say.

    Attributes:
        payloads: of the frames since ``start``, found or not.
    """

    def __init__(self, field):
        self._field, self._decoder = field, field.decoder
        self.num_bits = self._decoder.num_bits

    def start(self, payloads):
        """Begin with frames of which something is known."""
        self.payloads = list(payloads)
        self._left = np.arange(len(self.payloads))

    def decode(self, llr):
        """See :class:`iterative.IterativeReceiver`; llr is of the frames not found before."""
        posterior = self._decoder.decode(llr)
        self.bits, self.iterations_taken = self._decoder.bits, self._decoder.iterations_taken
        # The loop writes later decisions into the first ones.
        decoded = self._field.payloads(self.bits.copy(), self._decoder.found.tolist())
        for index, payload in zip(self._left, decoded, strict=True):
            self.payloads[index] = self._field.merged(self.payloads[index], payload)
        self.found = np.array([self.payloads[index].complete for index in self._left])
        self._left = self._left[~self.found]
        return posterior
