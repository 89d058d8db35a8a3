# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a frame of IEEE 802.11n fills whole OFDM symbols with LDPC codewords."""

import numpy as np

from ...checks import array, choice, integer
from ..decoder import DecoderAround
from .nr_rate_matching import CERTAIN
from .standards import WIFI_LENGTHS, WIFI_RATES, wifi

SHORT, MIDDLE, LONG = WIFI_LENGTHS


def _spread(total, count):
    """total in count parts, the first ones larger by one where they are not equal."""
    return np.full(count, total // count) + (np.arange(count) < total % count)


class WifiRateMatching:
    """Length and number of the codewords of a frame, and what is sent of them: IEEE 802.11-2020
    §19.3.11.7.5, without STBC.

    Information bits that are missing are zeros and not sent (shortening); of what is too much the
    last parity bits are not sent (puncturing); if bits are missing still, codewords are sent on
    from their beginning (repetition).

    Args:
        payload_bits: N_pld, SERVICE field and PSDU.
        rate: one of WIFI_RATES.
        symbol_bits: N_CBPS, coded bits of an OFDM symbol.

    Attributes:
        code: :class:`Prototype` of wifi(length, rate).
        num_codewords: N_CW.
        num_symbols: OFDM symbols that they fill.
        num_coded: bits of these, N_avbits.
        num_shortened, num_punctured, num_repeated: bits, of all codewords.
        information: (payload_bits,) integers, where the payload's bits are in what is sent.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, payload_bits, rate, symbol_bits):
        payload_bits = integer("payload_bits", payload_bits, 1, 2**24)
        symbol_bits = integer("symbol_bits", symbol_bits, 1, 2**24)
        up, down = map(int, choice("rate", rate, WIFI_RATES).split("/"))
        symbols = -(-payload_bits * down // (symbol_bits * up))
        # Table 19-16
        available = symbols * symbol_bits
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
        # Too many punctured: one OFDM symbol more (equation 19-39 and before)
        if ((10 * punctured > count * parity
             and 10 * shortened * (down - up) < 12 * punctured * up)
                or 10 * punctured > 3 * count * parity):
            symbols += 1
            available += symbol_bits
            punctured = max(0, count * length - available - shortened)
        repeated = max(0, available - count * parity - payload_bits)
        self.code = wifi(length, rate)
        self.num_codewords, self.num_symbols, self.num_coded = count, symbols, available
        self.num_shortened, self.num_punctured = shortened, punctured
        self.num_repeated = repeated
        sent, information, at = [], [], 0
        parts = zip(*(_spread(total, count) for total in (shortened, punctured, repeated)),
                    strict=True)
        for first, (short, cut, more) in zip(range(0, count * length, length), parts, strict=True):
            once = first + np.concatenate([np.arange(info - short), np.arange(info, length - cut)])
            sent.append(np.resize(once, len(once) + more) if more else once)
            information.append(at + np.arange(info - short))
            at += len(sent[-1])
        self._sent, self.information = map(np.concatenate, (sent, information))

    def encode(self, bits, encoder):
        """What is sent of a frame.

        Args:
            bits: (payload_bits,) uint8, 0 or 1.
            encoder: an :class:`LdpcEncoder` of ``code``, or its :class:`coding.Code`.

        Returns:
            (num_coded,) uint8.

        Raises:
            ValueError: bits is no such array.
        """
        array("bits", bits, np.uint8, (len(self.information),))
        words = np.zeros((self.num_codewords, self.code.num_bits), np.uint8)
        words.ravel()[self._sent[self.information]] = bits
        info = np.ascontiguousarray(words[:, :self.code.num_info])
        return self.match(encoder.encode(info))

    def match(self, words):
        """What is sent, (num_coded,), of codewords (num_codewords, code.num_bits) of bits or
        LLRs."""
        return words.ravel()[self._sent]

    def recover(self, llr):
        """LLRs of the codewords from those of what was sent.

        Args:
            llr: (num_coded,) float32, ln P(1)/P(0).

        Returns:
            (num_codewords, code.num_bits) float32: the sum for bits sent more than once, 0 for
            punctured ones, -1e20 for shortened ones.

        Raises:
            ValueError: llr is no such array.
        """
        array("llr", llr, np.float32, (self.num_coded,))
        out = np.bincount(self._sent, llr, self.num_codewords * self.code.num_bits)
        out = out.astype(np.float32).reshape(self.num_codewords, -1)
        shortened = np.ones(out.shape, bool)
        shortened[:, self.code.num_info:] = False
        shortened.ravel()[self._sent[self.information]] = False
        shortened[~out.any(axis=1)] = False    # a codeword of zeros only is an erasure
        out[shortened] = CERTAIN
        return out


class WifiFrameDecoder(DecoderAround):
    """A decoder of whole frames: LLRs of what is sent to a-posteriori LLRs of the same bits.

    An object serves one thread at a time.

    Args:
        matching: :class:`WifiRateMatching`.
        decoder: a :class:`Decoder` of ``matching.code``.

    Attributes, of the last ``decode``:
        bits: (n, payload_bits) uint8, decisions on the payload's bits.
        found: (n,) bool, whether all checks of all of a frame's codewords hold.
        iterations_taken: (n,) int32, those of the codeword that took most.
    """

    def __init__(self, matching, decoder):
        super().__init__(decoder, matching.num_coded)
        self._matching = matching

    def decode(self, llr):
        """A-posteriori LLRs; a bit that is sent more than once has all that its copies say in each.

        Args:
            llr: (n, num_bits) float32, ln P(1)/P(0), finite.

        Returns:
            (n, num_bits) float32.

        Raises:
            ValueError: llr is no such array.
        """
        m = self._matching
        array("llr", llr, np.float32, ("n", self.num_bits))
        words = np.empty((len(llr), m.num_codewords, m.code.num_bits), np.float32)
        for frame, own in zip(llr, words, strict=True):
            own[:] = m.recover(frame)
        posterior = self.decoder.decode(words.reshape(-1, m.code.num_bits)).reshape(words.shape)
        out = np.empty_like(llr)
        for frame, own in zip(out, posterior, strict=True):
            frame[:] = m.match(own)
        self.bits = (out[:, m.information] > 0).view(np.uint8)
        shape = words.shape[:2]
        self.found = self.decoder.found.reshape(shape).all(axis=1)
        self.iterations_taken = self.decoder.iterations_taken.reshape(shape).max(axis=1)
        return out
