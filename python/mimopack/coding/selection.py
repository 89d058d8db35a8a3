# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Selection of the bits of a codeword that are sent, some of them perhaps repeatedly."""

import numpy as np

from ..arrays import Constant, array_module, gpu_of
from ..checks import array, integer, integers


class Columns:
    """Columns of arrays on the host or on a GPU; neighbouring columns are a view."""

    def __init__(self, places):
        places = np.asarray(places)
        first = int(places[0]) if places.size else 0
        neighbours = np.array_equal(places, np.arange(first, first + places.size))
        self.range = slice(first, first + places.size) if neighbours else None
        self._places = Constant(places)

    def of(self, values):
        """Return the columns of an array (n, columns)."""
        if self.range:
            return values[:, self.range]
        # take() gives a C-contiguous array, values[:, places] does not
        return array_module(values).take(values, self._places.beside(values), axis=1)


class Selection:
    """The bits of a codeword in the order in which they are sent.

    A bit may be sent once, several times or not at all. Arrays are NumPy or CuPy arrays.

    Args:
        info_bits: number of information bits in a codeword.
        num_bits: number of bits in a codeword.
        sent: integers, the position in the codeword of each bit sent.

    Attributes:
        info_bits, num_bits: see above.
        coded_bits: number of bits sent.
        information: (info_bits,) positions of the information bits in a codeword. None stands
            for the positions of the encoder's first info_bits information bits.
    """

    information = None
    _filler = (0, 0)    # numbers of filler bits before and after the information bits

    def __init__(self, info_bits, num_bits, sent):
        self.info_bits, self.num_bits = info_bits, integer("num_bits", num_bits, 1, 2**31 - 1)
        sent = integers("sent", sent, 1, 0, num_bits - 1)
        self.coded_bits = sent.size
        self._sent = Columns(sent)
        # Where each bit's first, second, ... transmission is among the bits sent; coded_bits if
        # there is none
        order = np.argsort(sent, kind="stable")
        times = np.arange(sent.size) - np.searchsorted(sent[order], sent[order])
        sources = np.full((times.max() + 1, num_bits), sent.size)
        sources[times, sent[order]] = order
        self._sources = [Constant(source) for source in sources]

    def with_filler(self, bits):
        """Add the filler bits for the encoder, if there are any.

        Args:
            bits: (n, info_bits) uint8.

        Returns:
            (n, info_bits + number of filler bits) uint8.
        """
        array("bits", bits, np.uint8, ("n", self.info_bits))
        return np.pad(bits, ((0, 0), self._filler)) if any(self._filler) else bits

    def match(self, words):
        """Select the sent bits of codewords, or the LLRs of the sent bits.

        Args:
            words: (n, num_bits), of any type.

        Returns:
            (n, coded_bits), of the same type.
        """
        array("words", words, words.dtype, ("n", self.num_bits), gpu_of(words))
        sent = self._sent.of(words)
        return sent.copy() if self._sent.range else sent

    def recover(self, llr):
        """Compute LLRs of whole codewords from the LLRs of the bits sent.

        Args:
            llr: (n, coded_bits) float32, ln P(1)/P(0), C-contiguous.

        Returns:
            (n, num_bits) float32: the sum of the LLRs for bits sent more than once, 0 for bits not
            sent.
        """
        array("llr", llr, np.float32, ("n", self.coded_bits), gpu_of(llr))
        xp = array_module(llr)
        if self._sent.range:    # faster than indexing
            out = xp.zeros((len(llr), self.num_bits), np.float32)
            out[:, self._sent.range] = llr
            return out
        llr = xp.pad(llr, ((0, 0), (0, 1)))
        first, *others = (source.beside(llr) for source in self._sources)
        out = xp.take(llr, first, axis=1)
        with np.errstate(over="ignore", invalid="ignore"):    # what comes of it is erased
            for source in others:
                out += xp.take(llr, source, axis=1)
        return out
