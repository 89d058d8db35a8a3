# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Code and rate matching for a code block of 5G NR, 3GPP TS 38.212 (release 17)."""

import numpy as np

from ...checks import choice, integer
from ..selection import Selection
from .parity_checks import Prototype
from .standards import NR_BASE_GRAPHS, NR_LIFTING_SIZES, nr

# §5.2.2: number of bits in the largest code block of each base graph.
NR_LARGEST_BLOCK = {1: 8448, 2: 3840}
NR_BITS_PER_SYMBOL = (1, 2, 4, 6, 8, 10)
NR_PUNCTURED_COLUMNS = 2    # §5.3.2: block columns that are never in the circular buffer
CORE_ROWS = 4    # each later block row has one block column of parity bits that no other row uses
# Table 5.4.2.1-2: where each redundancy version begins, in block columns of the full buffer.
STARTS = {1: (0, 17, 33, 56), 2: (0, 13, 25, 43)}


def nr_base_graph(info_bits, rate):
    """Return the base graph for a transport block: TS 38.212 §6.2.2 and §7.2.2.

    Args:
        info_bits: number of bits in the transport block, without CRC.
        rate: code rate of the modulation and coding scheme, 0 to 1.

    Returns:
        1 or 2.
    """
    small = info_bits <= 292 or (info_bits <= 3824 and rate <= 0.67) or rate <= 0.25
    return 2 if small else 1


def nr_lifting_size(base_graph, block_bits):
    """Return the smallest lifting size that fits a code block: TS 38.212 §5.2.2.

    Args:
        base_graph: 1 or 2.
        block_bits: number of bits in the code block, with its CRC.
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
    """Rate matching of a 5G NR codeword: lifting size, filler bits, circular buffer, interleaver.

    It follows TS 38.212 §5.2.2 (lifting size), §5.3.2 (filler bits; the first two block columns are
    never sent) and §5.4.2 (circular buffer, interleaver).

    An object serves one size of code block, which includes the CRC if there is one. A code block
    has up to 8448 bits with base graph 1 and up to 3840 with base graph 2; segmentation splits
    larger transport blocks (§5.2.2, :class:`coding.NrSegmentation`).

        matching = NrRateMatching(1000, 2000, bits_per_symbol=4)
        encoder, decoder = LdpcEncoder(matching.code), LdpcDecoder(matching.code)
        sent = matching.match(encoder.encode(matching.with_filler(bits)))
        decided = decoder.decode(matching.recover(llr))[:, :1000] > 0

    ``recover`` gives filler bits LLRs of -1e20. A row of zeros remains a row of zeros, so that a
    decoder treats it as an erasure.

    To combine several redundancy versions of a block, all with prune=False, add the results of
    their ``recover``.

    Args:
        info_bits: K', number of bits in the code block.
        coded_bits: E, number of bits sent, a multiple of bits_per_symbol.
        base_graph: 1 or 2. None chooses the base graph for a transport block of info_bits and the
            rate info_bits / coded_bits (§7.2.2). For a block with CRC the standard uses a slightly
            different rate.
        redundancy_version: 0 to 3.
        bits_per_symbol: Q_m of the interleaver; 1 for no interleaver.
        buffer_bits: N_ref, the size of the circular buffer if the receiver's memory limits it
            (§5.4.2.1); None for the full size.
        prune: whether ``code`` leaves out block columns of parity bits that are not sent. The check
            of each such column is left out too, because it gives no information. Decoding at high
            rates is then faster. An integer of at least coded_bits prunes as if this number of bits
            were sent, so that code blocks of different sizes have the same code.

    Attributes:
        code: :class:`Prototype`, with the information bits first. Its checks are in an order
            with which layered decoders take fewer iterations than with the standard's.
        base_graph, info_bits, coded_bits: see above.
        lifting_size: Z_c.
        num_filler: number of filler bits, which follow the information bits in a codeword.
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
        self._filler = 0, self.num_filler
        self._known = info_bits, whole.num_info
        punctured = NR_PUNCTURED_COLUMNS * size
        columns = whole.shifts.shape[1] - NR_PUNCTURED_COLUMNS
        buffer = columns * size
        if buffer_bits is not None:
            buffer = min(buffer, integer("buffer_bits", buffer_bits,
                                         max(whole.num_info - punctured, 1), 2**24))
        begin = STARTS[self.base_graph][version] * buffer // (columns * size) * size
        # Positions in a codeword, in the order of the circular buffer from its beginning, k_0.
        places = punctured + np.roll(np.arange(buffer), -begin)
        ring = places[(places < info_bits) | (places >= whole.num_info)]
        self.code = whole
        if not isinstance(prune, (bool, np.bool_)):
            ring = self._prune(ring, integer("prune", prune, coded_bits, 2**24))
        elif prune:
            ring = self._prune(ring, coded_bits)
        # Checks of few bits that are never sent come first, then those of few bits: their messages
        # help the later checks of the same iteration, and decoding takes a tenth fewer iterations.
        ones = self.code.shifts >= 0
        order = np.lexsort((ones.sum(axis=1), ones[:, :NR_PUNCTURED_COLUMNS].sum(axis=1)))
        self.code = Prototype(self.code.shifts[order], size)
        # §5.4.2.2: written in rows of coded_bits / depth, read by columns.
        sent = np.resize(ring, coded_bits).reshape(depth, -1).T.ravel()
        super().__init__(info_bits, self.code.num_bits, sent)

    def _prune(self, ring, coded_bits):
        """Leave out block columns with a single check if none of their bits are sent.

        Returns:
            The positions of ring in the pruned code.
        """
        shifts, size = self.code.shifts, self.lifting_size
        rows, columns = shifts.shape
        block = ring // size
        kept = np.isin(np.arange(columns), block[:coded_bits])
        kept[:columns - rows + CORE_ROWS] = True
        rows_kept = np.append(np.ones(CORE_ROWS, bool), kept[CORE_ROWS - rows:])
        self.code = Prototype(shifts[rows_kept][:, kept], size)
        moved = ring - (np.arange(columns) - np.cumsum(kept) + 1)[block] * size
        return moved[kept[block]]
