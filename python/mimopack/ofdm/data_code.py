# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The code of the data field: convolutional or LDPC."""

from functools import lru_cache

import numpy as np

from ..coding import ConvolutionalCode, bit_order, ldpc
from ..coding.convolutional import TAIL

LDPC_ITERATIONS = 20


def data_code(parameters):
    """The code of :class:`Parameters`, an object with

        num_scrambled: bits to be scrambled and encoded, SERVICE field, PSDU, and what follows them
        order: where each coded bit of an OFDM symbol goes, see ``coding.bit_order``
        encode(bits): uint8 (num_scrambled,) to all coded bits of the frame
        decode(llr): LLRs of all coded bits, in the order of ``encode``, to (scrambled bits of
            SERVICE field and PSDU, their coded bits again, LLRs of these, whether all checks
            hold; None where the code has none)

    and, of the LDPC code, decoder, an ``ldpc.WifiFrameDecoder``; for one thread.
    """
    return (_LdpcData if parameters.is_ldpc else _ConvolutionalData)(parameters)


def usable(llr):
    """LLRs as decoders take them: float32, 0 where they are not finite."""
    return np.where(np.isfinite(llr), llr, 0).astype(np.float32)


class _ConvolutionalData:
    def __init__(self, parameters):
        self._parameters = parameters
        self._code = ConvolutionalCode(parameters.rate)
        self.num_scrambled = parameters.num_symbols * parameters.data_bits_per_ofdm_symbol
        self.order = bit_order(parameters.num_tx, parameters.bits_per_symbol)

    def encode(self, bits):
        bits = bits.copy()
        end = self._parameters.data_bits
        bits[end - TAIL:end] = 0
        return self._code.encode(bits)

    def decode(self, llr):
        llr = llr[:self._parameters.num_coded_bits]    # the rest is padding
        bits = self._code.decode(llr)
        return bits, self._code.encode(np.append(bits, np.zeros(TAIL, np.uint8))), llr, None


class _LdpcData:
    """No interleaver follows this code (IEEE 802.11-2020 §19.3.11.8.3)."""

    def __init__(self, parameters):
        self._matching = parameters.ldpc_matching
        self._encoder = _ldpc_encoder(self._matching.code.num_bits, parameters.rate)
        self.decoder = ldpc.WifiFrameDecoder(self._matching, ldpc.LdpcDecoder(
            self._matching.code, LDPC_ITERATIONS, threads=1))
        self.num_scrambled = parameters.data_bits
        self.order = bit_order(parameters.num_tx, parameters.bits_per_symbol, interleaved=False)

    def encode(self, bits):
        return self._matching.encode(bits, self._encoder)

    def decode(self, llr):
        self.decoder.decode(usable(llr)[None])
        bits, = self.decoder.bits
        return bits, self.encode(bits), llr, bool(self.decoder.found[0])


@lru_cache
def _ldpc_encoder(length, rate):
    return ldpc.LdpcEncoder(ldpc.wifi(length, rate))
