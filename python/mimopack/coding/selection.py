# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Selection of the bits of a codeword that are sent, some of them perhaps repeatedly."""

import numpy as np

from .. import _core
from ..arrays import Constant, ReusedMemory, array_module, gpu_of, is_device_array
from ..checks import array, integer, integers
from ..cuda import source
from ..cuda.device import cupy, current, kernel

# LLR of bits that are certainly 0; float32 can still hold sums and products of it.
CERTAIN = np.float32(-1e20)


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


class Recovery:
    """Computes LLRs of code blocks from those of the bits sent, on the host or on a GPU.

    Args:
        sent: list with an array for each code block: the position in its codeword of each bit sent.
        num_bits: number of bits in a codeword.
        known: (begin, end) of the bits in a codeword that are certainly 0, and are not sent.
        inverted: 0 or 1 for each bit sent, 1 if it was sent inverted; None for no such bits.
        threads: number of CPU threads; 0 takes all cores.
        given: the place of each bit sent in a row of LLRs; None for the order in which they were
            sent.
        width: number of LLRs in a row, with ``given``.
    """

    def __init__(self, sent, num_bits, known=(0, 0), inverted=None, threads=1, given=None,
                 width=None):
        self._shape, self._known, self._threads = (len(sent), num_bits), known, threads
        places = np.concatenate([own + num_bits * block for block, own in enumerate(sent)])
        given, width = (np.arange(places.size), places.size) if given is None else (given, width)
        # Where the LLRs of each bit's first, second, ... transmission are; width if there is none
        order = np.argsort(places, kind="stable")
        times = np.arange(places.size) - np.searchsorted(places[order], places[order])
        sources = np.full((times.max() + 1, len(sent) * num_bits), width)
        sources[times, places[order]] = given[order]
        flips = np.zeros(width + 1, int)
        flips[given] = 0 if inverted is None else inverted
        coded = np.where(sources < width, 2 * sources + flips[sources], -1).astype(np.int32)
        coded = coded.reshape(len(sources), *self._shape)
        self._coded, self._width, self._memory = Constant(coded), width, ReusedMemory()
        self._core = _core.Recovery(coded, sent=width, begin=known[0], end=known[1], known=CERTAIN)

    def __call__(self, llr):
        """Return the LLRs of code blocks.

        Args:
            llr: (n, number of LLRs in a row) float32, C-contiguous.

        Returns:
            (n, code blocks, num_bits) float32: the sum of the LLRs for bits sent more than once, 0
            for bits not sent, ``CERTAIN`` for known bits. A code block of zeros remains one, so
            that a decoder treats it as an erasure.
        """
        if not is_device_array(llr):
            out = self._memory.empty((len(llr), *self._shape), np.float32)
            self._core.run(llr, out, threads=self._threads)
            return out
        return self._on_gpu(llr)

    def _on_gpu(self, llr):
        gpu, sources = llr.device.id, self._coded.beside(llr)
        with current(gpu):
            out = cupy().empty((len(llr), *self._shape), np.float32)
            if out.size:
                kernel(source.code_blocks(), "recover", gpu)(
                    (len(llr) * self._shape[0],), (source.CODE_BLOCK_THREADS,),
                    (llr, np.uint64(self._width), sources, *map(np.int32, (
                        *sources.shape, *self._known)), CERTAIN, out))
        return out


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
        selected: (coded_bits,) the position in the codeword of each bit sent.
        information: (info_bits,) positions of the information bits in a codeword. None stands
            for the positions of the encoder's first info_bits information bits.
    """

    information = None
    _filler = (0, 0)    # numbers of filler bits before and after the information bits
    _known = (0, 0)    # see Recovery

    def __init__(self, info_bits, num_bits, sent):
        self.info_bits, self.num_bits = info_bits, integer("num_bits", num_bits, 1, 2**31 - 1)
        self.selected = integers("sent", sent, 1, 0, num_bits - 1)
        self.coded_bits = self.selected.size
        self._sent = Columns(self.selected)
        self._recovery = Recovery([self.selected], num_bits, self._known)

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
        return self._recovery(llr)[:, 0]
