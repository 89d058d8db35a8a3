# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decode the LLRs of a frame: the last step of the receive chain."""

from dataclasses import replace

import numpy as np

from .data_field import DataFields, with_sent_length
from .formats.base import SERVICE


class LlrDecoder:
    """Decode the LLRs of frames into MPDUs, the counterpart of :class:`ChannelEstimator`.

    Source: IEEE 802.11-2020 §17.3.5, §19.3.11 and §21.3.10, see :class:`data_field.DataField`. One
    thread at a time may use an object.
    """

    def __init__(self):
        self._fields = DataFields()

    def decode(self, vectors, llr):
        """Decode the LLRs of a frame.

        Args:
            vectors: :class:`FrameVectors` of the frame, whose ``y`` and ``h`` are not read.
            llr: real (n, S * m), ln P(1)/P(0): the output of a detector for ``vectors.y``, with m
                bits per point. A value that is not finite counts as an erasure.

        Returns:
            :class:`ReceivedFrame`, with the facts of ``vectors.frame``.

        Raises:
            ValueError: the frame has a problem or no data, or ``llr`` has another size.
        """
        return self.decode_all([vectors], [llr])[0]

    def decode_all(self, vectors, llrs):
        """Decode several frames, those of one format together, which is faster.

        Args:
            vectors, llrs: lists of the arguments of :meth:`decode`.

        Returns:
            list of :class:`ReceivedFrame`.

        Raises:
            ValueError: as :meth:`decode`.
        """
        groups = {}
        for index, (one, llr) in enumerate(zip(vectors, llrs, strict=True)):
            groups.setdefault(_checked(one, llr).key, []).append(index)
        frames = [None] * len(vectors)
        for indices in groups.values():
            f = vectors[indices[0]].frame.format
            blocks = f.num_symbols // f.symbols_per_code_block
            llr = np.stack([np.asarray(llrs[i], np.float32) for i in indices])
            payloads = self._fields.of(f).decode(llr.reshape(len(llr), f.plan.num_data, blocks, -1))
            for i, payload in zip(indices, payloads, strict=True):
                frames[i] = _completed(vectors[i], payload)
        return frames


def _checked(vectors, llr):
    """Return the format of a frame after checking the arguments of ``LlrDecoder.decode``."""
    f = vectors.frame.format
    if vectors.frame.problem or not f.num_symbols:
        raise ValueError(f"vectors: got a frame without LLRs ({vectors.frame.problem or 'NDP'}), "
                         "must have data symbols and no problem")
    bits = f.num_symbols * f.plan.num_data * sum(f.stream_bits)    # both copies with DCM
    if np.size(llr) != bits:
        raise ValueError(f"llr: got {np.size(llr)} values, must be {bits} for this frame")
    return f


def _completed(vectors, payload):
    """Return the report of a frame with its payload, a :class:`data_field.Payload`."""
    service = payload.scrambled[:SERVICE].tobytes()
    return replace(
        vectors.frame, format=with_sent_length(vectors.frame.format, service, vectors.sig_b),
        psdu=payload.psdu, mpdus=payload.mpdus, complete=payload.complete,
        scrambler_seed=payload.scrambler_seed)
