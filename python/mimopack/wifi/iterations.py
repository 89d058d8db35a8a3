# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Iterate between detector and decoder, for frames that a single pass does not decode."""

import numpy as np

from .. import coding
from ..coding import Decoder
from ..coding.convolutional import MOST_BITS
from ..iterative import IterativeReceiver
from .formats import Joint

FEEDBACK_SCALE = 0.6    # if nobody chooses one


class Iterations:
    """Iterate between detector and decoder, for frames of one format.

    One thread at a time may use an object.

    Args:
        field: :class:`data_field.DataField` of a format that :meth:`takes` accepts.
        detector: object of a class in ``detectors``, made with ``extrinsic=True``.
        iterations: maximum number of passes of detector and decoder, more than 1.
        feedback_scale: see :class:`iterative.IterativeReceiver`.
    """

    def __init__(self, field, detector, iterations, feedback_scale=FEEDBACK_SCALE):
        self._decoder = _FrameDecoder(field)
        self._loop = IterativeReceiver(detector, self._decoder, self._interleaver(field),
                                       iterations, feedback_scale=feedback_scale)

    @staticmethod
    def takes(f):
        """Return whether a format suits iterations between detector and decoder.

        Such a format has several streams of one user, no space-time block code, no dual carrier
        modulation and no midambles. With the convolutional code, a frame must not have more bits
        than its soft decoder takes.
        """
        if f.num_streams == 1 or f.stbc or f.dcm or f.midamble or isinstance(f, Joint):
            return False
        return f.coding == "ldpc" or f.tail_position <= MOST_BITS * f.num_encoders

    @staticmethod
    def _interleaver(field):
        """Return the permutation from code order to the order of a detector's vectors.

        Vectors are ordered by subcarrier, then by symbol.
        """
        f = field.frame_format
        coded = np.arange(f.num_symbols * f.coded_bits_per_symbol).reshape(f.num_symbols, -1)
        sent = np.empty_like(coded)
        sent[:, field.order] = coded
        vectors = sent.reshape(f.num_symbols, f.plan.num_data, -1).swapaxes(0, 1)
        return coding.Interleaver(vectors.ravel())

    def decode(self, y, h, noise_var, llr, payloads):
        """Decode frames.

        Args:
            y, h, noise_var: as in :class:`demodulator.Demodulated`.
            llr: float32 (n, num_data, T, S * m), LLRs of the detector's first pass with m bits per
                point; None runs the first pass here.
            payloads: list of n :class:`data_field.Payload`, the results so far.

        Returns:
            list of n :class:`data_field.Payload` with the MPDUs that any pass decoded.
        """
        n, num_data, blocks, rows = y.shape
        noise = np.repeat(noise_var, num_data * blocks).astype(np.float32)
        if llr is not None:
            llr = np.where(np.isfinite(llr), llr, np.float32(0)).reshape(len(noise), -1)
        self._decoder.start(payloads)
        self._loop.receive(y.reshape(-1, rows), h.reshape(n * num_data, rows, -1), noise,
                           first=llr)
        return self._decoder.payloads


class _FrameDecoder(Decoder):
    """Decoder that counts a frame as found when all its MPDUs are correct.

    Parity checks of the code do not count.

    Attributes:
        payloads: payloads of all frames since ``start``, found or not.
    """

    def __init__(self, field):
        f = field.frame_format
        self._field = field
        self._decoder = field.decoder if f.coding == "ldpc" else _ConvolutionalDecoder(f)
        self.num_bits = f.num_symbols * f.coded_bits_per_symbol

    def start(self, payloads):
        """Begin with the payloads known so far."""
        self.payloads = list(payloads)
        self._left = np.arange(len(self.payloads))

    def decode(self, llr):
        """See :class:`iterative.IterativeReceiver`; ``llr`` holds the frames not found before."""
        filled = self._field.filled
        if filled is None:
            posterior = self._decoder.decode(llr)
        else:    # the code says nothing about the padding
            posterior = llr.copy()
            posterior[:, filled] = self._decoder.decode(np.ascontiguousarray(llr[:, filled]))
        self.bits, self.iterations_taken = self._decoder.bits, self._decoder.iterations_taken
        # Copy, because the loop writes later decisions into the array of the first ones.
        decoded = self._field.payloads(self.bits.copy(), self._decoder.found.tolist())
        for index, payload in zip(self._left, decoded, strict=True):
            self.payloads[index] = self._field.merged(self.payloads[index], payload)
        self.found = np.array([self.payloads[index].complete for index in self._left])
        self._left = self._left[~self.found]
        return posterior


class _ConvolutionalDecoder(Decoder):
    """Soft decoder for the convolutional code, the counterpart of ``ldpc.WifiFrameDecoder``.

    ``found`` is None for each frame, because the code has no parity checks.
    """

    def __init__(self, f):
        # A single encoder's bits need no division into symbols, which need not be full.
        self._symbols = f.num_symbols if f.num_encoders > 1 else 1
        self._encoders = f.num_encoders
        # Number of bits of each encoder before its tail.
        code = coding.get(f"conv:{f.tail_position // f.num_encoders}:{f.code_rate}")
        self._decoder = code.decoder(threads=1, backend="cpu")

    def decode(self, llr):
        """Return a-posteriori LLRs (n, num_bits); those after the tails stay unchanged."""
        n, used = len(llr), self._decoder.num_bits
        # Each symbol holds an equal share of each encoder.
        shares = llr.reshape(n, self._symbols, self._encoders, -1).swapaxes(1, 2)
        words = shares.reshape(n * self._encoders, -1).copy()
        words[:, :used] = self._decoder.decode(np.ascontiguousarray(words[:, :used]))
        bits = self._decoder.bits.reshape(n, self._encoders, -1)
        self.bits = bits.swapaxes(1, 2).reshape(n, -1)    # encoders take bits in turn
        self.found = np.full(n, None)
        self.iterations_taken = self._decoder.iterations_taken.reshape(n, -1).max(axis=1)
        return words.reshape(n, self._encoders, self._symbols, -1).swapaxes(1, 2).reshape(n, -1)
