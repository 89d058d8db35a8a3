# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""LLRs of a frame to its payload."""

from dataclasses import dataclass

import numpy as np

from ..coding import bits_to_bytes, check_crc32, scramble, seed_from_service
from .data_code import data_code
from .data_field import ungroup_items
from .parameters import SERVICE


@dataclass(frozen=True)
class Packet:
    """A decoded frame.

    Attributes:
        payload: bytes, also where the CRC fails.
        crc_ok: whether the CRC-32 fits.
        scrambler_seed: found in the SERVICE field; 0 where there was none.
        coded_bit_errors: coded bits in which hard decisions on the LLRs differ from the decoded
            packet encoded again. Where crc_ok, that is the number of channel bit errors.
        coded_bits: how many were compared.
        checks_hold: whether all checks of the LDPC code hold; None where there is none.
        iterations: passes of detector and decoder.
    """

    payload: bytes
    crc_ok: bool
    scrambler_seed: int
    coded_bit_errors: int
    coded_bits: int
    checks_hold: bool | None
    iterations: int


class PacketDecoder:
    """Deinterleave, decode (Viterbi, GNU Radio's gr-fec; or LDPC), descramble and check frames.

    Args:
        parameters: :class:`Parameters`.

    Not to be shared between threads.
    """

    def __init__(self, parameters):
        self.parameters = parameters
        self._code = data_code(parameters)

    def decode(self, llr, symbols_per_channel=1):
        """Decode one frame.

        Args:
            llr: (52 * num_symbols / T, T * num_tx * m) in detector order, ln P(1)/P(0), any real
                type; NaN is an erasure.
            symbols_per_channel: T.

        Returns:
            :class:`Packet`.

        Raises:
            ValueError: llr has another shape.
        """
        p = self.parameters
        llr = np.asarray(llr)
        shape = (p.num_items // symbols_per_channel,
                 symbols_per_channel * p.num_tx * p.bits_per_symbol)
        if llr.shape != shape:
            raise ValueError(f"llr: got shape {llr.shape}, must be {shape}")
        symbols = ungroup_items(llr, symbols_per_channel).reshape(p.num_symbols, -1)
        return self._packet(*self._code.decode(symbols[:, self._code.order].ravel()))

    def _packet(self, scrambled, coded, read, checks_hold, iterations=1):
        """The packet of what ``data_code`` decoded."""
        errors = np.count_nonzero((read > 0) != coded)
        return Packet(*self._payload(scrambled), int(errors), read.size, checks_hold, iterations)

    def _payload(self, scrambled):
        """(payload, crc_ok, scrambler_seed) of the bits of SERVICE field and PSDU."""
        seed = seed_from_service(scrambled)
        bits = scramble(scrambled, seed or self.parameters.scrambler_seed)
        return *check_crc32(bits_to_bytes(bits[SERVICE:])), seed
