# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Segmentation of transport blocks of LTE and 5G NR into code blocks, with both CRCs."""

import numpy as np

from .. import _core
from ..arrays import Constant
from ..checks import array, choice, integer
from ..checks import bits as check_bits
from ..cuda import source
from ..cuda.device import cupy, current, kernel
from .crc import Crc
from .ldpc.nr_rate_matching import NR_LARGEST_BLOCK
from .turbo.interleaver import TURBO_SIZES

MOST_BITS = 2**23
# Number of bits in the largest transport block with a CRC of 16 bits: TS 38.212 §6.2.1, §7.2.1.
NR_SHORT_CRC = 3824


class _Segmentation:
    """The common part of the segmentation for LTE and 5G NR.

    Args:
        transport_bits: A, number of bits in a transport block without CRC.
        crc: the CRC of the transport block.
        block_bits: number of bits in each code block, with its CRC and without filler.
    """

    def __init__(self, transport_bits, crc, block_bits):
        self.transport_bits, self.block_bits = transport_bits, tuple(block_bits)
        self.num_blocks = len(self.block_bits)
        self._crc, self._block_crc = crc, Crc("24B") if self.num_blocks > 1 else None

    def segment(self, bits):
        """Split transport blocks into code blocks and attach all CRCs.

        Args:
            bits: (n, transport_bits) uint8, 0 or 1.

        Returns:
            A list of num_blocks arrays, (n, block_bits[r]) uint8.
        """
        whole = self._crc.attach(check_bits("bits", bits, self.transport_bits))
        if self._block_crc is None:
            return [whole]
        ends = np.cumsum(np.array(self.block_bits) - self._block_crc.length)[:-1]
        return [self._block_crc.attach(np.ascontiguousarray(part))
                for part in np.split(whole, ends, axis=1)]

    def join(self, blocks):
        """Join code blocks to transport blocks and check all CRCs.

        Args:
            blocks: arrays as :meth:`segment` returns them. Strided arrays are allowed, such as
                selected columns of a decoder's output.

        Returns:
            ((n, transport_bits) uint8, (n,) bool: whether the CRC of each transport block is
            correct, (n, num_blocks) bool: whether the CRC of each code block is correct). A
            transport block of one code block has only one CRC, whose result is in both arrays.
        """
        blocks = self._checked(blocks)
        if self._block_crc is None:
            bits, fits = self._crc.check(blocks[0])
            return bits, fits, fits[:, None]
        parts, block_fits = zip(*map(self._block_crc.check, blocks), strict=True)
        bits, fits = self._crc.check(np.hstack(parts))
        return bits, fits, np.stack(block_fits, axis=1)

    def _checked(self, blocks):
        """Check code blocks and return them as C-contiguous arrays."""
        if len(blocks) != self.num_blocks:
            raise ValueError(f"blocks: got {len(blocks)}, must be {self.num_blocks}")
        blocks = [check_bits(f"blocks[{r}]", np.ascontiguousarray(block), length)
                  for r, (block, length) in enumerate(zip(blocks, self.block_bits, strict=True))]
        if len(rows := set(map(len, blocks))) > 1:
            raise ValueError(f"blocks: got {', '.join(map(str, sorted(rows)))} rows, must be the "
                             "same number")
        return blocks

    def coded_bits(self, total, bits_per_symbol=1, layers=1):
        """Return E_r, the number of coded bits of each code block.

        The code blocks share the coded bits of the transport block in whole symbols on all of its
        layers. If the symbols do not divide evenly, each of the last code blocks gets one more
        symbol per layer. See TS 36.212 §5.1.4.1.2, TS 38.212 §5.4.2.1.

        Args:
            total: G, number of coded bits of the transport block.
            bits_per_symbol: Q_m, number of bits in a constellation symbol.
            layers: N_L, number of layers that carry the transport block.

        Returns:
            A tuple of num_blocks integers.
        """
        step = integer("bits_per_symbol", bits_per_symbol, 1, 16) * integer("layers", layers, 1, 8)
        symbols, rest = divmod(integer("total", total, step * self.num_blocks, 2**30), step)
        if rest:
            raise ValueError(f"total: got {total}, must be a multiple of bits_per_symbol * layers "
                             f"= {step}")
        share, more = divmod(symbols, self.num_blocks)
        return tuple(step * (share + (r >= self.num_blocks - more))
                     for r in range(self.num_blocks))


class LteSegmentation(_Segmentation):
    """Segmentation of LTE's transport blocks into code blocks: 3GPP TS 36.212 §5.1.2.

    The transport block gets a CRC24A (§5.3.2.1). If there are several code blocks, each gets a
    CRC24B.

        segmentation = LteSegmentation(10_000)
        blocks = segmentation.segment(bits)
        sizes = segmentation.coded_bits(15_000, bits_per_symbol=4)
        matchings = [turbo.RateMatching(*both) for both in zip(segmentation.block_bits, sizes)]

    :class:`turbo.RateMatching` adds the filler bits at the beginning of the first code block.

    Args:
        transport_bits: A, number of bits in a transport block without CRC, 1 to 2^23.

    Attributes:
        transport_bits: see above.
        num_blocks: C, number of code blocks.
        block_bits: number of bits in each code block, with its CRC, without filler: K_0 - F for the
            first block, K_r for the others.
        num_filler: F, number of filler bits.
    """

    def __init__(self, transport_bits):
        transport_bits = integer("transport_bits", transport_bits, 1, MOST_BITS)
        crc, largest = Crc("24A"), TURBO_SIZES[-1]
        bits, blocks = transport_bits + crc.length, 1    # B, C
        if bits > largest:
            blocks = -(-bits // (largest - Crc("24B").length))
            bits += blocks * Crc("24B").length           # B'
        large = next(size for size in TURBO_SIZES if blocks * size >= bits)    # K_+
        sizes = [large] * blocks
        if blocks > 1:
            small = TURBO_SIZES[TURBO_SIZES.index(large) - 1]                  # K_-
            count = (blocks * large - bits) // (large - small)                 # C_-
            sizes[:count] = [small] * count
        self.num_filler = sum(sizes) - bits
        super().__init__(transport_bits, crc, [sizes[0] - self.num_filler, *sizes[1:]])


class NrSegmentation(_Segmentation):
    """Segmentation of 5G NR's transport blocks into code blocks: 3GPP TS 38.212 §5.2.2.

    The transport block gets a CRC24A, or a CRC16 up to 3824 bits (§7.2.1). If there are several
    code blocks, each gets a CRC24B.

        graph = ldpc.nr_base_graph(20_000, rate)
        segmentation = NrSegmentation(20_000, graph)
        blocks = segmentation.segment(bits)
        sizes = segmentation.coded_bits(30_000, bits_per_symbol=4)
        matchings = [ldpc.NrRateMatching(*both, graph, bits_per_symbol=4)
                     for both in zip(segmentation.block_bits, sizes)]

    :class:`ldpc.NrRateMatching` adds the filler bits at the end of each code block.

    Args:
        transport_bits: A, number of bits in a transport block without CRC, 1 to 2^23.
        base_graph: 1 or 2.

    Attributes:
        transport_bits, base_graph: see above.
        num_blocks: C, number of code blocks.
        block_bits: number of bits in each code block, with its CRC, without filler: K', the same
            for all blocks.

    Raises:
        ValueError: the bits do not divide into equal code blocks. All transport block sizes of TS
            38.214 §5.1.3.2 do.
    """

    def __init__(self, transport_bits, base_graph):
        transport_bits = integer("transport_bits", transport_bits, 1, MOST_BITS)
        self.base_graph = int(choice("base_graph", base_graph, tuple(NR_LARGEST_BLOCK)))
        crc = Crc("24A" if transport_bits > NR_SHORT_CRC else "16")
        bits, blocks, crc_bits = transport_bits + crc.length, 1, 0    # B, C, L
        if bits > NR_LARGEST_BLOCK[self.base_graph]:
            crc_bits = Crc("24B").length
            blocks = -(-bits // (NR_LARGEST_BLOCK[self.base_graph] - crc_bits))
        if bits % blocks:
            raise ValueError(f"transport_bits: got {transport_bits}, must be a multiple of "
                             f"{blocks} (the number of code blocks) after adding {crc.length} bits "
                             "of CRC")
        super().__init__(transport_bits, crc, [bits // blocks + crc_bits] * blocks)
        self._shares = None    # of bits in the remainders of CRCs, for a GPU

    def join(self, blocks):
        """Join code blocks to transport blocks and check all CRCs.

        Args:
            blocks: arrays as :meth:`segment` returns them, or one array (n, num_blocks,
                block_bits[0]).

        Returns:
            As :meth:`LteSegmentation.join`.
        """
        whole = blocks if isinstance(blocks, np.ndarray) else np.stack(self._checked(blocks), 1)
        array("blocks", whole, np.uint8, ("n", self.num_blocks, self.block_bits[0]))
        if self._block_crc is None:
            bits, fits = self._crc.check(whole[:, 0])
            return bits, fits, fits[:, None]
        parts, block_fits = self._block_crc.check(whole.reshape(-1, self.block_bits[0]))
        bits, fits = self._crc.check(parts.reshape(len(whole), -1))
        return bits, fits, block_fits.reshape(len(whole), -1)

    def join_llrs(self, llr, found):
        """Decide and join code blocks on a GPU, and check all CRCs, without waiting for the GPU.

        Args:
            llr: (n * num_blocks, at least block_bits[0]) float32 CuPy array, C-contiguous: a
                decoder's LLRs.
            found: (n * num_blocks,) bool CuPy array, whether a decoder found each code block.

        Returns:
            ((n, transport_bits) uint8, and what :meth:`checks` takes), CuPy arrays.
        """
        n, gpu = len(llr) // self.num_blocks, llr.device.id
        if self._shares is None:
            block = None if self._block_crc is None else self._block_crc.shares(self.block_bits[0])
            whole = self._crc.shares(self.transport_bits + self._crc.length)
            self._shares = Constant(whole if block is None else block), Constant(whole)
        crc_bits = 0 if self._block_crc is None else self._block_crc.length
        with current(gpu):
            bits = cupy().empty((n, self.transport_bits), np.uint8)
            remainders = cupy().zeros(n, np.uint32)
            flags = cupy().empty((n, self.num_blocks), np.uint8)
            if n:
                kernel(source.code_blocks(), "join", gpu)(
                    (len(llr),), (source.CODE_BLOCK_THREADS,),
                    (llr, np.int32(llr.shape[1]), found, *map(np.int32, (
                        self.num_blocks, self.block_bits[0], crc_bits, self.transport_bits)),
                     *(shares.beside(llr) for shares in self._shares), bits, remainders, flags))
        return bits, remainders, flags

    def join_decisions(self, bits, found, threads=1):
        """Join code blocks as a decoder decided them, and check all CRCs.

        Args:
            bits: (n * num_blocks, at least block_bits[0]) uint8, C-contiguous.
            found: (n * num_blocks,) bool, whether the decoder found each code block.
            threads: number of CPU threads; 0 takes all cores.

        Returns:
            ((n, transport_bits) uint8, and what :meth:`checks` takes).
        """
        block_crc = self._block_crc and (self._block_crc.length, self._block_crc.polynomial)
        whole, *checks = _core.join(
            bits, found, blocks=self.num_blocks, length=self.block_bits[0],
            block_crc=block_crc or (0, 0), crc=(self._crc.length, self._crc.polynomial),
            threads=threads)
        return whole[:, :self.transport_bits], *checks

    def checks(self, remainders, flags):
        """Return which CRCs are correct, from results of the two methods above on the host.

        A code block of zeros, whose CRC is correct, counts only if the decoder found it: LLRs that
        say nothing are decoded to zeros.

        Returns:
            ((n,) bool for transport blocks, (n, num_blocks) bool for code blocks).
        """
        real, fits = flags & 1 > 0, remainders == 0
        block_fits = fits[:, None] if self._block_crc is None else flags & 2 > 0
        return fits & real.all(axis=1), block_fits & real
