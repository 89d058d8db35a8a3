# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is sent of codewords, where that is not all of their bits once."""

import numpy as np

from ..arrays import Constant, array_module, is_device_array
from ..checks import array, integer


class Selection:
    """Bits of codewords, in the order in which they are sent; some not, some more than once.

    Arrays are NumPy's or CuPy's.

    Args:
        info_bits: information bits of a codeword.
        num_bits: bits of a codeword.
        sent: integers, the position in the codeword of each bit sent.

    Attributes:
        info_bits, num_bits: see above.
        coded_bits: bits sent.
        information: (info_bits,) where the information bits are in a codeword; None where they are
            the first ones of the encoder's.

    Raises:
        ValueError: sent are no positions.
    """

    information = None

    def __init__(self, info_bits, num_bits, sent):
        self.info_bits, self.num_bits = info_bits, integer("num_bits", num_bits, 1, 2**31 - 1)
        sent = np.asarray(sent)
        if (sent.ndim != 1 or sent.dtype.kind not in "iu" or not sent.size or sent.min() < 0
                or sent.max() >= num_bits):
            raise ValueError(f"sent: got type {sent.dtype} of shape {sent.shape}, must be "
                             f"positions of 0..{num_bits - 1}")
        self.coded_bits = sent.size
        first = int(sent[0])
        # neighbours are copied faster than picked
        self._range = (slice(first, first + sent.size)
                       if np.array_equal(sent, np.arange(first, first + sent.size)) else None)
        self._sent = Constant(sent)
        self._turns = [tuple(map(Constant, turn)) for turn in _by_turns(sent, num_bits)]

    def with_filler(self, bits):
        """What an encoder takes, (n, num_info), of information bits (n, info_bits): here these."""
        return bits

    def match(self, words):
        """What is sent of codewords, or a-posteriori LLRs of what was.

        Args:
            words: (n, num_bits), of any type.

        Returns:
            (n, coded_bits), of the same type.

        Raises:
            ValueError: another shape.
        """
        array("words", words, words.dtype, ("n", self.num_bits), _gpu(words))
        if self._range:
            return words[:, self._range].copy()
        # C-contiguous, as words[:, sent] is not
        return array_module(words).take(words, self._sent.beside(words), axis=1)

    def recover(self, llr):
        """LLRs of whole codewords from those of what was sent.

        Args:
            llr: (n, coded_bits) float32, ln P(1)/P(0), C-contiguous.

        Returns:
            (n, num_bits) float32: the sum for bits sent more than once, 0 for those not sent.

        Raises:
            ValueError: llr is no such array.
        """
        array("llr", llr, np.float32, ("n", self.coded_bits), _gpu(llr))
        xp = array_module(llr)
        out = xp.zeros((len(llr), self.num_bits), np.float32)
        if self._range:
            out[:, self._range] = llr
            return out
        for source, absent in self._turns:
            out += xp.where(absent.beside(llr), np.float32(0),
                            xp.take(llr, source.beside(llr), axis=1))
        return out


def _by_turns(sent, num_bits):
    """For the first, second, ... time that a bit is sent, and each bit of a codeword: where that
    is, and whether it is nowhere."""
    order = np.argsort(sent, kind="stable")
    times = np.arange(sent.size) - np.searchsorted(sent[order], sent[order])
    for turn in range(times.max() + 1):
        places = order[times == turn]
        source, absent = np.zeros(num_bits, np.intp), np.ones(num_bits, bool)
        source[sent[places]], absent[sent[places]] = places, False
        yield source, absent


def _gpu(values):
    return values.device.id if is_device_array(values) else None
