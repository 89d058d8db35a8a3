# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Code and rate matching of a code block of 5G NR, 3GPP TS 38.212 (release 17)."""

import numpy as np

from ...arrays import array_module
from ...checks import array, choice, flag, integer
from ..selection import Selection
from .parity_checks import Prototype
from .standards import NR_BASE_GRAPHS, NR_LIFTING_SIZES, nr

# §5.2.2: bits of the largest code block of a base graph.
NR_LARGEST_BLOCK = {1: 8448, 2: 3840}
NR_BITS_PER_SYMBOL = (1, 2, 4, 6, 8, 10)
NR_PUNCTURED_COLUMNS = 2    # §5.3.2: block columns that are never in the circular buffer
CORE_ROWS = 4            # each block row after these has a block column of parity bits of its own
# Table 5.4.2.1-2: where a redundancy version begins, in block columns of a whole buffer.
STARTS = {1: (0, 17, 33, 56), 2: (0, 13, 25, 43)}
# Filler bits are 0 beyond any doubt; float32 holds sums and products of it.
CERTAIN = np.float32(-1e20)


def nr_base_graph(info_bits, rate):
    """The base graph of a transport block of info_bits (without CRC) and a code rate: TS 38.212
    §6.2.2 and §7.2.2."""
    small = info_bits <= 292 or (info_bits <= 3824 and rate <= 0.67) or rate <= 0.25
    return 2 if small else 1


def nr_lifting_size(base_graph, block_bits):
    """The least lifting size of a base graph for a code block of so many bits, with its CRC:
    TS 38.212 §5.2.2.

    Raises:
        ValueError: another base graph, or more bits than a code block of it has.
    """
    choice("base_graph", base_graph, tuple(NR_BASE_GRAPHS))
    integer("block_bits", block_bits, 1, NR_LARGEST_BLOCK[base_graph])
    if base_graph == 1:
        columns = 22
    else:
        columns = next(size for size, above in ((10, 640), (9, 560), (8, 192), (6, 0))
                       if block_bits > above)
    return next(size for size in NR_LIFTING_SIZES if columns * size >= block_bits)


class NrRateMatching(Selection):
    """What 5G NR sends of a codeword: TS 38.212 §5.2.2 (lifting size), §5.3.2 (filler bits, the
    first two block columns never sent) and §5.4.2 (circular buffer, interleaver).

    One code block, with its CRC if it has one. Base graph 1 has up to 8448 bits, base graph 2 up
    to 3840; transport blocks beyond are cut before (§5.2.2).

        matching = NrRateMatching(1000, 2000, bits_per_symbol=4)
        encoder, decoder = LdpcEncoder(matching.code), LdpcDecoder(matching.code)
        sent = matching.match(encoder.encode(matching.with_filler(bits)))
        decided = decoder.decode(matching.recover(llr))[:, :1000] > 0

    LLRs of several redundancy versions of one block, all with prune=False, are combined by adding
    what their ``recover`` gives.

    Args:
        info_bits: K', bits of the code block.
        coded_bits: E, bits sent, a multiple of bits_per_symbol.
        base_graph: 1 or 2; None takes that of a transport block of info_bits and the rate
            info_bits / coded_bits (§7.2.2), which for a block with CRC is slightly another.
        redundancy_version: 0 to 3.
        bits_per_symbol: Q_m of the interleaver; 1 for none.
        buffer_bits: N_ref, to which a receiver's memory limits the circular buffer (§5.4.2.1);
            None for the whole one.
        prune: whether ``code`` leaves out block columns of parity bits that are not sent, each
            with its checks, which then tell nothing: faster at high rates.

    Attributes:
        code: :class:`Prototype`, the information bits first.
        base_graph, lifting_size, info_bits, coded_bits: see above.
        num_filler: filler bits, which follow the information bits in a codeword.

    Raises:
        ValueError: an argument is not as above, or the buffer has not even the information bits.
    """

    def __init__(self, info_bits, coded_bits, base_graph=None, redundancy_version=0,
                 bits_per_symbol=1, buffer_bits=None, prune=True):
        coded_bits = integer("coded_bits", coded_bits, 1, 2**24)
        if base_graph is None:
            base_graph = nr_base_graph(integer("info_bits", info_bits, 1, NR_LARGEST_BLOCK[1]),
                                       info_bits / coded_bits)
        self.base_graph = int(choice("base_graph", base_graph, tuple(NR_BASE_GRAPHS)))
        info_bits = integer("info_bits", info_bits, 1, NR_LARGEST_BLOCK[self.base_graph])
        version = choice("redundancy_version", redundancy_version, (0, 1, 2, 3))
        depth = choice("bits_per_symbol", bits_per_symbol, NR_BITS_PER_SYMBOL)
        if coded_bits % depth:
            raise ValueError(f"coded_bits: got {coded_bits}, must be a multiple of "
                             f"bits_per_symbol = {depth}")
        size = self.lifting_size = nr_lifting_size(self.base_graph, info_bits)
        whole = nr(self.base_graph, size)
        self.num_filler = whole.num_info - info_bits
        punctured = NR_PUNCTURED_COLUMNS * size
        columns = whole.shifts.shape[1] - NR_PUNCTURED_COLUMNS
        buffer = columns * size
        if buffer_bits is not None:
            buffer = min(buffer, integer("buffer_bits", buffer_bits,
                                         max(whole.num_info - punctured, 1), 2**24))
        begin = STARTS[self.base_graph][version] * buffer // (columns * size) * size
        # Places in a codeword, in the order of the circular buffer from its beginning, k_0.
        places = punctured + np.roll(np.arange(buffer), -begin)
        ring = places[(places < info_bits) | (places >= whole.num_info)]
        self.code = whole
        if flag("prune", prune):
            ring = self._prune(ring, coded_bits)
        # §5.4.2.2: written by rows of coded_bits / depth, read by columns.
        sent = np.resize(ring, coded_bits).reshape(depth, -1).T.ravel()
        super().__init__(info_bits, self.code.num_bits, sent)

    def with_filler(self, bits):
        """Information bits of ``code``: uint8 (n, info_bits) to (n, info_bits + num_filler).

        Raises:
            ValueError: bits is no such array.
        """
        array("bits", bits, np.uint8, ("n", self.info_bits))
        return np.pad(bits, ((0, 0), (0, self.num_filler)))

    def recover(self, llr):
        """LLRs of whole codewords from those of what was sent.

        Args:
            llr: (n, coded_bits) float32, ln P(1)/P(0), C-contiguous.

        Returns:
            (n, code.num_bits) float32: the sum for bits sent more than once, 0 for those not sent,
            -1e20 for filler bits. A row of zeros stays one, so that a decoder sees an erasure.

        Raises:
            ValueError: llr is no such array.
        """
        out, xp = super().recover(llr), array_module(llr)
        filler = slice(self.info_bits, self.info_bits + self.num_filler)
        out[:, filler] = xp.where(llr.any(axis=1), CERTAIN, np.float32(0))[:, None]
        return out

    def _prune(self, ring, coded_bits):
        """Leaves out block columns of which nothing is sent, of those with one check each; returns
        the places of ring in the code that is left."""
        shifts, size = self.code.shifts, self.lifting_size
        rows, columns = shifts.shape
        block = ring // size
        kept = np.isin(np.arange(columns), block[:coded_bits])
        kept[:columns - rows + CORE_ROWS] = True
        rows_kept = np.append(np.ones(CORE_ROWS, bool), kept[CORE_ROWS - rows:])
        self.code = Prototype(shifts[rows_kept][:, kept], size)
        moved = ring - (np.arange(columns) - np.cumsum(kept) + 1)[block] * size
        return moved[kept[block]]
