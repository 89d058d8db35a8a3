# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Iterate between detector and decoder, for frames that a single pass does not decode."""

from math import prod

import numpy as np

from .. import coding
from ..coding import Decoder
from ..coding.convolutional import MOST_BITS
from ..iterative import IterativeReceiver
from .formats import Joint
from .points import copies_combined, from_symbols, to_symbols

FEEDBACK_SCALE = 0.6    # if nobody chooses one


class Iterations:
    """Iterate between detector and decoder, for frames of one format.

    Users that share a resource unit take turns together: what the decoder of each one finds helps
    to detect all of them. One thread at a time may use an object.

    Args:
        field: :class:`data_field.DataField` of a format that :meth:`takes` accepts, or
            :class:`data_field.JointField`.
        detector: object of a class in ``detectors``, made with ``extrinsic=True``.
        iterations: maximum number of passes of detector and decoder, more than 1.
        feedback_scale: see :class:`iterative.IterativeReceiver`.
    """

    def __init__(self, field, detector, iterations, feedback_scale=FEEDBACK_SCALE):
        self._decoder = _FrameDecoder(field)
        self._loop = IterativeReceiver(detector, self._decoder, None, iterations,
                                       feedback_scale=feedback_scale)

    @staticmethod
    def takes(f):
        """Return whether a format suits iterations between detector and decoder.

        Such a format has several streams, of one user or of several. With the convolutional code,
        a frame must not have more bits than its soft decoder takes.
        """
        users = f.users if isinstance(f, Joint) else (f,)
        return f.num_streams > 1 and all(
            user.coding == "ldpc" or user.tail_position <= MOST_BITS * user.num_encoders
            for user in users)

    def decode(self, y, h, noise_var, llr, payloads):
        """Decode frames.

        Args:
            y, h: as in :class:`demodulator.Demodulated`, or with a matrix for each vector,
                h (n, num_data * T, R, S).
            noise_var: float64 (n,), or for each vector (n, num_data, T).
            llr: float32 (n, num_data, T, S * m), LLRs of the detector's first pass with m bits per
                point; None runs the first pass here.
            payloads: list of n :class:`data_field.Payload` or :class:`data_field.JointPayload`, the
                results so far.

        Returns:
            list of n payloads with the MPDUs that any pass decoded.
        """
        n, num_data, blocks, rows = y.shape
        noise = np.broadcast_to(noise_var.reshape(n, -1), (n, num_data * blocks))
        if llr is not None:
            llr = np.where(np.isfinite(llr), llr, np.float32(0)).reshape(n * num_data * blocks, -1)
        self._decoder.start(payloads)
        self._loop.receive(y.reshape(-1, rows), h.reshape(-1, *h.shape[2:]),
                           noise.astype(np.float32).ravel(), first=llr)
        return self._decoder.payloads


def vectors_of(parts):
    """Return the arguments y, h and noise_var of :meth:`Iterations.decode`.

    ``parts`` are the :class:`demodulator.Demodulated` of the parts of frames between midambles,
    each of which has a channel of its own; or of whole frames.
    """
    if len(parts) == 1:
        return parts[0].y, parts[0].h, parts[0].noise_var
    y = np.concatenate([part.y for part in parts], axis=2)
    h = np.concatenate([np.repeat(part.h[:, :, None], part.y.shape[2], axis=2) for part in parts],
                       axis=2)
    noise = np.concatenate([np.broadcast_to(part.noise_var[:, None, None], part.y.shape[:3])
                            for part in parts], axis=2)
    return y, h.reshape(len(h), -1, *h.shape[3:]), noise


class _FrameDecoder(Decoder):
    """Decoder of frames that counts a frame as found when all its MPDUs are correct.

    Its LLRs are in the order of a detector: subcarriers, symbols, bits of all streams. Parity
    checks of the code do not count.

    Attributes:
        payloads: payloads of all frames since ``start``, found or not.
    """

    def __init__(self, field):
        f = field.frame_format
        self._field = field
        self._users = list(map(_UserDecoder, field.users))
        block = f.symbols_per_code_block
        self._shape = f.plan.num_data, f.num_symbols // block, block * sum(f.stream_bits)
        self.num_bits = prod(self._shape)

    def start(self, payloads):
        """Begin with the payloads known so far."""
        self.payloads = list(payloads)
        self._left = np.arange(len(self.payloads))

    def decode(self, llr):
        """See :class:`iterative.IterativeReceiver`; ``llr`` holds the frames not found before."""
        posterior = np.empty((len(llr), *self._shape), np.float32)
        users = zip(self._field.divided(llr.reshape(posterior.shape)),
                    self._field.divided(posterior), self._users, strict=True)
        decoded = []
        for given, to, user in users:
            to[...] = user.decode(given)
            decoded.append(user.payloads)
        self.bits = np.concatenate([user.bits for user in self._users], axis=1)
        self.iterations_taken = np.max([user.iterations_taken for user in self._users], axis=0)
        for index, *own in zip(self._left, *decoded, strict=True):
            self.payloads[index] = self._field.merged(self.payloads[index],
                                                      self._field.joined(own))
        self.found = np.array([self.payloads[index].complete for index in self._left])
        self._left = self._left[~self.found]
        return posterior.reshape(len(llr), -1)


class _UserDecoder:
    """Decoder of the LLRs of one user.

    Attributes, set by ``decode``:
        bits, iterations_taken: see :class:`coding.Decoder`.
        payloads: list of :class:`data_field.Payload`.
    """

    def __init__(self, field):
        f = field.frame_format
        self._field = field
        self._decoder = field.decoder if f.coding == "ldpc" else _ConvolutionalDecoder(f)

    def decode(self, llr):
        """Return the a-posteriori LLRs of ``llr`` (n, num_data, T, bits)."""
        field, decoder = self._field, self._decoder
        f, filled = field.frame_format, field.filled
        sent = to_symbols(copies_combined(llr, f), f)
        coded = np.take(sent, field.order, axis=2).reshape(len(llr), -1)
        if filled is None:
            posterior = decoder.decode(coded)
        else:    # the code says nothing about the padding
            posterior = coded.copy()
            posterior[:, filled] = decoder.decode(np.ascontiguousarray(coded[:, filled]))
        # Copy, because the loop writes later decisions into the array of the first ones.
        self.bits, self.iterations_taken = decoder.bits.copy(), decoder.iterations_taken
        self.payloads = field.payloads(self.bits, decoder.found.tolist())
        return from_symbols(np.take(posterior.reshape(sent.shape), field.source, axis=2), f)


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
