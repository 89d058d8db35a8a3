# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A slot between the steps of a receiver, and the transport blocks in it."""

from dataclasses import dataclass, field, replace

import numpy as np

from ..arrays import on_host


@dataclass(frozen=True, eq=False)
class TransportBlock:
    """A transport block of one user in one slot.

    Attributes:
        slot: number of the slot, as it was given.
        user: index of the user's configuration.
        codeword: 0, or 1 for the second codeword of a PDSCH.
        bits: (tb_size,) uint8, first bit sent first; decisions also if the CRC is wrong.
        crc_ok: whether the CRC is correct.
        snr_db: power of the block's layers over the power of noise and interference, per antenna,
            in dB; -100 or more.
        detector: name of the detector.
        iterations: number of passes of detection and decoding.
        soft: (code blocks, bits of a coded block) float32, their combined LLRs, for a later
            transmission of the same transport block.
    """

    slot: int
    user: int
    codeword: int
    bits: np.ndarray
    crc_ok: bool
    snr_db: float
    detector: str
    iterations: int
    soft: np.ndarray = field(repr=False)

    @property
    def data(self):
        """The bits in bytes, the first bit in the most significant place, zeros at the end."""
        return np.packbits(self.bits).tobytes()


class ReceivedSlot:
    """A slot between the steps of a receiver.

    Args:
        number: number of the slot.
        powers: (layers,) power of each layer over that of noise, by the first estimate: a linear
            ratio.
        received: (nr, symbols, subcarriers) of the allocation, whitened.
        estimate: :class:`ChannelEstimate`.

    Attributes:
        number, powers, received, estimate: see above.
        blocks: {:class:`PlacedCodeword`: its :class:`TransportBlock`}.
        earlier: {the same: ``soft`` of its earlier transmissions}; empty if there were none.
        turn: (layers, symbols) what the channel's phase changes by, None if it stays.
        posterior: (vectors, bits) the decoder's a-posteriori LLRs, None before the first pass.
        prior: (vectors, bits) the decoder's extrinsic LLRs.
    """

    def __init__(self, number, powers, received=None, estimate=None):
        self.number, self.powers = number, powers
        self.received, self.estimate, self.blocks, self.earlier = received, estimate, {}, {}
        self.turn = self.posterior = self.prior = None

    def move_to_host(self):
        """Copy arrays from a GPU for the next pass."""
        self.received, found = on_host(self.received), self.estimate
        self.estimate = replace(found, h=on_host(found.h), error_var=on_host(found.error_var))

    def turn_channel(self):
        """Apply ``turn`` to a new channel estimate."""
        if self.turn is not None:
            self.estimate = replace(
                self.estimate, h=self.estimate.h * self.turn.T[:, None, None])

    def lacks(self, word):
        """Return whether the transport block of a codeword is not yet decoded."""
        return word not in self.blocks or not self.blocks[word].crc_ok

    @property
    def is_decoded(self):
        """Tell whether the slot has transport blocks, and all of them a correct CRC."""
        return bool(self.blocks) and all(block.crc_ok for block in self.blocks.values())
