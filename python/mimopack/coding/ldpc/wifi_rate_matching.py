# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rate matching of an IEEE 802.11n frame: LDPC codewords that fill whole OFDM symbols."""

from functools import cached_property

import numpy as np

from ...checks import array, choice, integer
from ..decoder import DecoderAround
from ..selection import CERTAIN
from .standards import WIFI_LENGTHS, WIFI_RATES, wifi

SHORT, MIDDLE, LONG = WIFI_LENGTHS


def _spread(total, count):
    """Divide total into count parts; if they cannot be equal, the first ones are larger by 1."""
    return np.full(count, total // count) + (np.arange(count) < total % count)


class WifiRateMatching:
    """Length and number of a frame's LDPC codewords, and the selection of the bits sent.

    The rules are those of IEEE 802.11-2020 §19.3.11.7.5, without STBC. Missing information bits are
    set to zero and not sent (shortening). If a codeword has more bits than can be sent, its last
    parity bits are not sent (puncturing). If it has fewer, it is sent again from its beginning
    (repetition).

    Args:
        payload_bits: N_pld, number of bits in the SERVICE field and the PSDU.
        rate: one of WIFI_RATES.
        symbol_bits: N_CBPS, number of coded bits in an OFDM symbol; in an HE frame, the number of
            coded bits that an extra segment adds.
        available: number of coded bits before an extra symbol or segment. None takes as many
            symbols as the payload needs.
        extended: whether there is an extra symbol or segment. None follows (19-39).

    Attributes:
        code: :class:`Prototype` of wifi(length, rate).
        num_codewords: N_CW, number of codewords in the frame.
        num_symbols: number of OFDM symbols that the codewords fill, if they fill whole symbols.
        num_coded: N_avbits, number of bits sent.
        extended: whether there is an extra symbol or segment.
        num_shortened, num_punctured, num_repeated: number of such bits in all codewords.
        information: (payload_bits,) integers, positions of the payload's bits among the bits sent.
    """

    def __init__(self, payload_bits, rate, symbol_bits, available=None, extended=None):
        payload_bits = integer("payload_bits", payload_bits, 1, 2**24)
        symbol_bits = integer("symbol_bits", symbol_bits, 1, 2**24)
        up, down = map(int, choice("rate", rate, WIFI_RATES).split("/"))
        if available is None:
            available = -(-payload_bits * down // (symbol_bits * up)) * symbol_bits
        # Table 19-16
        spare = (available - payload_bits) * down / (down - up)
        count = 1
        if available <= SHORT:
            length = MIDDLE if spare >= 912 else SHORT
        elif available <= MIDDLE:
            length = LONG if spare >= 1464 else MIDDLE
        elif available <= LONG:
            length = LONG
        elif available <= 2 * MIDDLE:
            count, length = 2, LONG if spare >= 2916 else MIDDLE
        else:
            count, length = -(-payload_bits * down // (LONG * up)), LONG
        info, parity = length * up // down, length * (down - up) // down
        shortened = max(0, count * info - payload_bits)
        punctured = max(0, count * length - available - shortened)
        # If too many bits are punctured, add an OFDM symbol (equation 19-39 and the text before it)
        if extended is None:
            extended = ((10 * punctured > count * parity
                         and 10 * shortened * (down - up) < 12 * punctured * up)
                        or 10 * punctured > 3 * count * parity)
        self.extended = bool(extended)
        if extended:
            available += symbol_bits
            punctured = max(0, count * length - available - shortened)
        repeated = max(0, available - count * parity - payload_bits)
        self.code = wifi(length, rate)
        self.num_codewords, self.num_coded = count, available
        self.num_symbols = available // symbol_bits
        self.num_shortened, self.num_punctured = shortened, punctured
        self.num_repeated = repeated
        self._payload_bits = payload_bits

    @property
    def information(self):
        return self._positions[1]

    @property
    def _sent(self):
        return self._positions[0]

    @cached_property
    def _positions(self):
        """Positions among the bits of all codewords of each bit sent, and ``information``."""
        info, length, count = self.code.num_info, self.code.num_bits, self.num_codewords
        sent, information, at = [], [], 0
        parts = zip(*(_spread(total, count) for total in (
            self.num_shortened, self.num_punctured, self.num_repeated)), strict=True)
        for first, (short, cut, more) in zip(range(0, count * length, length), parts, strict=True):
            once = first + np.concatenate([np.arange(info - short), np.arange(info, length - cut)])
            sent.append(np.resize(once, len(once) + more) if more else once)
            information.append(at + np.arange(info - short))
            at += len(sent[-1])
        return np.concatenate(sent), np.concatenate(information)

    def encode(self, bits, encoder):
        """Encode the payload of a frame to the bits sent.

        Args:
            bits: (payload_bits,) uint8, 0 or 1.
            encoder: an :class:`LdpcEncoder` of ``code``, or its :class:`coding.Code`.

        Returns:
            (num_coded,) uint8.
        """
        array("bits", bits, np.uint8, (self._payload_bits,))
        words = np.zeros((self.num_codewords, self.code.num_bits), np.uint8)
        words.ravel()[self._sent[self.information]] = bits
        info = np.ascontiguousarray(words[:, :self.code.num_info])
        return self.match(encoder.encode(info))

    def match(self, words):
        """Select the bits sent, (num_coded,), from codewords (num_codewords, code.num_bits).

        The codewords contain bits or LLRs.
        """
        return words.ravel()[self._sent]

    def recover(self, llr):
        """Compute LLRs of the codewords from the LLRs of the bits sent.

        Args:
            llr: (num_coded,) float32, ln P(1)/P(0).

        Returns:
            (num_codewords, code.num_bits) float32: the sum of the LLRs for bits sent more than
            once, 0 for punctured bits, -1e20 for shortened bits.
        """
        array("llr", llr, np.float32, (self.num_coded,))
        out = np.bincount(self._sent, llr, self.num_codewords * self.code.num_bits)
        out = out.astype(np.float32).reshape(self.num_codewords, -1)
        shortened = np.ones(out.shape, bool)
        shortened[:, self.code.num_info:] = False
        shortened.ravel()[self._sent[self.information]] = False
        shortened[~out.any(axis=1)] = False    # a codeword whose LLRs are all 0 is an erasure
        out[shortened] = CERTAIN
        return out


class WifiFrameDecoder(DecoderAround):
    """Decoder for whole frames: takes LLRs of the bits sent, returns their a-posteriori LLRs.

    All copies of a repeated bit get the same LLR, which combines all of them. The LLRs must be
    finite, and on the host. A decoder is not thread-safe.

    Args:
        matching: :class:`WifiRateMatching`.
        decoder: a :class:`Decoder` of ``matching.code``.

    Attributes, set by ``decode``:
        bits: (n, payload_bits) uint8, decisions on the payload's bits.
        found: (n,) bool, whether all checks of all codewords in a frame hold.
        iterations_taken: (n,) int32, the largest number of iterations among the codewords of a
            frame.
    """

    def __init__(self, matching, decoder):
        super().__init__(decoder, matching.num_coded)
        self._matching = matching

    def _decode(self, llr):
        m = self._matching
        array("llr", llr, np.float32, ("n", self.num_bits))
        words = np.concatenate([np.zeros((0, m.code.num_bits), np.float32), *map(m.recover, llr)])
        out = np.take(self.decoder.decode(words).reshape(len(llr), -1), m._sent, axis=1)
        self.bits = (out[:, m.information] > 0).view(np.uint8)
        shape = len(llr), m.num_codewords
        self.found = self.decoder.found.reshape(shape).all(axis=1)
        self.iterations_taken = self.decoder.iterations_taken.reshape(shape).max(axis=1)
        return out
