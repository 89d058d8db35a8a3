# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The convolutional code K = 7 (133, 171 octal) of IEEE 802.11 with its puncturing."""

import ctypes

import numpy as np

CONSTRAINT_LENGTH = 7
TAIL = CONSTRAINT_LENGTH - 1
# IEEE 802.11-2020 §17.3.5.6, g0 = 133 and g1 = 171 octal: the leftmost bit is the newest input.
_GENERATORS = ((1, 0, 1, 1, 0, 1, 1), (1, 1, 1, 1, 0, 0, 1))
# Figures 17-9 and 19-11: which of A1 B1 A2 B2 ... are sent.
_PUNCTURING = {
    "1/2": (1, 1),
    "2/3": (1, 1, 1, 0),
    "3/4": (1, 1, 1, 0, 0, 1),
    "5/6": (1, 1, 1, 0, 0, 1, 1, 0, 0, 1),
}
CODE_RATES = tuple(_PUNCTURING)

_make_capsule = ctypes.pythonapi.PyCapsule_New
_make_capsule.restype = ctypes.py_object
_make_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


def _capsule(array):
    return _make_capsule(array.ctypes.data, None, None)


class ConvolutionalCode:
    """Encoder in NumPy, Viterbi decoder of GNU Radio's gr-fec (``fec.cc_decoder``).

    Args:
        rate: "1/2", "2/3", "3/4" or "5/6".

    Raises:
        ValueError: another rate.

    An object keeps decoder memory: do not share it between threads.
    """

    # LLRs become unsigned bytes, 128 + _MEAN_LEVEL * llr / min(mean(|llr|), _LARGEST_MEAN). Over
    # AWGN the bit error rate at 2 to 3 dB is flat for levels between 50 and 80, and rises on both
    # sides. The limit keeps a strong layer's large LLRs from rounding a weak one's to nothing;
    # over 4x4 channels 8 to 16 lost the fewest packets.
    _MEAN_LEVEL = 60.0
    _LARGEST_MEAN = 12.0

    def __init__(self, rate="1/2"):
        if rate not in _PUNCTURING:
            raise ValueError(f"rate: got {rate!r}, allowed are {', '.join(CODE_RATES)}")
        self.rate = rate
        self._pattern = np.array(_PUNCTURING[rate], bool)
        self._decoders = {}
        self._kept = {}

    def coded_length(self, num_bits):
        """Coded bits that num_bits input bits make, after puncturing."""
        whole, rest = divmod(2 * num_bits, self._pattern.size)
        return int(whole * self._pattern.sum() + self._pattern[:rest].sum())

    def encode(self, bits):
        """Encode from state 0: uint8 (n,) to uint8 (coded_length(n),), order A1 B1 A2 B2 ...

        No tail is added: end bits with six zeros to return to state 0.
        """
        bits = np.asarray(bits, np.uint8)
        history = np.concatenate([np.zeros(TAIL, np.uint8), bits])
        delayed = [history[TAIL - delay:history.size - delay] for delay in range(TAIL + 1)]
        pairs = [np.bitwise_xor.reduce([delayed[i] for i in range(TAIL + 1) if generator[i]])
                 for generator in _GENERATORS]
        return np.stack(pairs, axis=1).ravel()[self._positions(bits.size)]

    def decode(self, llr):
        """Viterbi decoding of a block that began and ended in state 0.

        Args:
            llr: ln P(1)/P(0), (coded_length(n + 6),) of n bits and six tail zeros. Their scale
                matters little: all beyond +-25 are equally certain. NaN counts as an erasure.

        Returns:
            uint8 (n,): the bits without the tail.

        Raises:
            ValueError: no n has that many coded bits.
        """
        llr = np.asarray(llr, np.float32).ravel()
        num_bits = self._input_length(llr.size)
        if num_bits <= TAIL:
            raise ValueError(f"llr: got {llr.size} values, no block of rate {self.rate} with its "
                             "tail has that length")
        if not np.isfinite(llr).all():
            llr = np.nan_to_num(llr, nan=0.0)
        mean = np.mean(np.abs(llr), dtype=np.float64)
        scale = self._MEAN_LEVEL / min(mean, self._LARGEST_MEAN) if mean > 0 else 0.0
        soft = np.full(2 * num_bits, 128, np.uint8)
        soft[self._positions(num_bits)] = np.clip(llr * np.float32(scale) + 128, 0, 255)
        bits = np.empty(num_bits - TAIL, np.uint8)
        self._decoder(bits.size).generic_work(_capsule(soft), _capsule(bits))
        return bits

    def _positions(self, num_bits):
        """Indices of the sent bits among A1 B1 A2 B2 ... of num_bits input bits."""
        if num_bits not in self._kept:
            self._kept[num_bits] = np.flatnonzero(np.resize(self._pattern, 2 * num_bits))
        return self._kept[num_bits]

    def _input_length(self, coded):
        guess = coded * self._pattern.size // (2 * int(self._pattern.sum()))
        fits = [n for n in range(guess, guess + 3) if self.coded_length(n) == coded]
        return fits[-1] if fits else 0

    def _decoder(self, num_bits):
        if num_bits not in self._decoders:
            from gnuradio import fec

            # gr-fec holds the newest bit in the least significant place: the generators reversed.
            generators = [int("".join(map(str, g[::-1])), 2) for g in _GENERATORS]
            self._decoders[num_bits] = fec.cc_decoder.make(
                num_bits, CONSTRAINT_LENGTH, 2, generators, 0, 0, fec.CC_TERMINATED)
        return self._decoders[num_bits]
