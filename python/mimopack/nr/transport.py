# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transport blocks to scrambled codewords and back: TS 38.212 §6.2, §7.2, TS 38.211 §6.3.1.1."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..arrays import Constant, array_module, is_device_array, leading_shape, native, packed
from ..checks import choice, shown
from ..coding import NrSegmentation, gold_sequence
from ..coding.ldpc import LdpcDecoder, LdpcEncoder, NrRateMatching, nr_base_graph
from ..coding.selection import Recovery
from .config import REDUNDANCY_VERSIONS
from .mcs import transport_block_size
from .parts import SUBCARRIERS_PER_PRB
from .resources import resources

MOST_ELEMENTS = 156    # per PRB, in the size of a transport block: TS 38.214 §5.1.3.2
# TS 38.212 table 5.4.2.1-1: PRBs that limited buffer rate matching counts with
_LBRM_PRBS = (32, 66, 107, 135, 162, 217, 273)
_LBRM_RATE = 948 / 1024


@dataclass(frozen=True)
class Codeword:
    """A codeword of a shared channel: a transport block and how it is coded.

    Attributes:
        tb_size: A, number of bits in the transport block, without CRC.
        num_coded_bits: G, number of bits sent.
        num_layers: number of layers that carry the codeword.
        modulation_order: Q_m.
        target_coderate: R.
        rv: redundancy version.
        base_graph: 1 or 2: TS 38.212 §6.2.2, §7.2.2.
        buffer_bits: N_ref of limited buffer rate matching; None without.
        c_init: initial state of the scrambler: TS 38.211 §6.3.1.1, §7.3.1.1.
    """

    tb_size: int
    num_coded_bits: int
    num_layers: int
    modulation_order: int
    target_coderate: float
    rv: int
    base_graph: int
    buffer_bits: int | None
    c_init: int


@lru_cache
def codewords(config):
    """Return a tuple with each :class:`Codeword` of a :class:`PuschConfig` or :class:`PdschConfig`.

    There are two with PDSCH on more than 4 layers, else one.
    """
    return tuple(_codeword(config, number, *parameters)
                 for number, parameters in enumerate(config.codeword_parameters))


def codeword(config):
    """Return the first of :func:`codewords`."""
    return codewords(config)[0]


def _codeword(config, number, layers, order, rate, rv):
    rate = rate / 1024
    tb_size = transport_block_size(_counted_elements(config), order, rate, layers)
    graph = nr_base_graph(tb_size, rate)
    coded = resources(config).num_symbols * layers * order
    return Codeword(tb_size, coded, layers, order, rate, rv, graph,
                    _lbrm_buffer(config, tb_size, graph) if config.lbrm else None,
                    config.n_rnti * 2**15 + number * 2**14 + config.n_id)


def _counted_elements(config):
    """Return N_RE, the resource elements that count: TS 38.214 §5.1.3.2 step 1, §6.1.4.2."""
    per_group = {1: 6, 2: 4}[config.dmrs.config_type]
    dmrs = (len(resources(config).dmrs_symbols) * per_group
            * config.dmrs.num_cdm_groups_without_data)
    per_prb = SUBCARRIERS_PER_PRB * config.symbol_allocation[1] - dmrs - config.xoh
    return min(MOST_ELEMENTS, per_prb) * config.num_prb


def _lbrm_buffer(config, tb_size, base_graph):
    """Return N_ref of a transport block: TS 38.212 §5.4.2.1.

    The bandwidth part counts as the largest one. Q_m is 8 if the MCS table or a codeword has
    256-QAM.
    """
    prbs = next((count for count in _LBRM_PRBS if count >= config.n_size_bwp), _LBRM_PRBS[-1])
    has_256qam = any(mcs is not None and (mcs.table == 2 or mcs.modulation_order == 8)
                     for mcs in (config.mcs, config.second_mcs))
    size = transport_block_size(MOST_ELEMENTS * prbs, 8 if has_256qam else 6, _LBRM_RATE,
                                config.max_layers)
    blocks = NrSegmentation(tb_size, base_graph).num_blocks
    return size * 3 // (2 * blocks)    # R_LBRM = 2/3


@dataclass(frozen=True, eq=False)
class LlrOrder:
    """The places of a codeword's LLRs among those of a slot.

    Attributes:
        places: (num_coded_bits,) the place of each bit's LLR, in the order in which they are sent.
        width: number of LLRs of a slot.
    """

    places: np.ndarray
    width: int


@dataclass(frozen=True, eq=False)
class DecodedBlocks:
    """Transport blocks that :meth:`TransportCoder.decode` found.

    Attributes:
        bits: (..., tb_size) uint8, the first bit sent first; decisions also where the CRC is wrong.
        crc_ok: (...) bool, whether the CRC of the transport block is correct.
        block_crc_ok: (..., C) bool, the same for each of its code blocks.
        soft: (..., C, N) float32, the combined LLRs of all code blocks before decoding, for the
            next transmission of the block.
        posterior: (..., num_coded_bits) float32, a-posteriori LLRs of the bits sent, if asked for.
    """

    bits: np.ndarray
    crc_ok: np.ndarray
    block_crc_ok: np.ndarray
    soft: np.ndarray
    posterior: np.ndarray | None = None


class TransportCoder:
    """Encoder and decoder of transport blocks of one size, in batches.

    Encoding attaches CRCs, segments the block, encodes with LDPC, matches the rate, concatenates
    the code blocks and scrambles. All code blocks of a batch go through one call of the encoder or
    the decoder.

        coder = TransportCoder(codeword(config))
        sent = coder.encode(bits)                  # (slots, num_coded_bits)
        blocks = coder.decode(llr)                 # LLRs in the same order

    HARQ: a coder for several redundancy versions combines the soft bits of earlier transmissions.

        coder = TransportCoder(codeword(config), versions=(0, 2))
        first = coder.decode(llr)
        second = coder.decode(other_llr, rv=2, soft=first.soft)

    Args:
        codeword: :class:`Codeword`.
        versions: the redundancy versions to send or combine; None for the codeword's own. With one
            version, the code leaves out parity bits that it does not send, and decoding is faster.
        iterations, algorithm, precision, backend, device, threads: see
            :class:`coding.ldpc.LdpcDecoder`.

    Attributes:
        codeword: see above.
        num_blocks: C, number of code blocks.
        decoder: the :class:`coding.ldpc.LdpcDecoder` of code blocks.

    A coder is not thread-safe.
    """

    def __init__(self, codeword, versions=None, iterations=20, algorithm="min-star",
                 precision="int16", backend="auto", device=0, threads=0):
        self.codeword = codeword
        versions = (codeword.rv,) if versions is None else versions
        if not isinstance(versions, (list, tuple, range)) or not versions:
            raise ValueError(f"versions: got {shown(versions)}, must be a list of one or more")
        for version in versions:
            choice("versions", version, REDUNDANCY_VERSIONS)
        self._segmentation = NrSegmentation(codeword.tb_size, codeword.base_graph)
        self.num_blocks = self._segmentation.num_blocks
        sizes = self._segmentation.coded_bits(codeword.num_coded_bits, codeword.modulation_order,
                                              codeword.num_layers)
        prune = max(sizes) if len(versions) == 1 else False
        self._sent, self._positions, self._recoveries = {}, {}, {}
        for version in versions:
            matchings = {size: self._matching(size, version, prune) for size in set(sizes)}
            sent = [matchings[size].selected for size in sizes]    # the last ones may be longer
            self._sent[version], self._blocks = sent, matchings[sizes[0]]
            # The place of each bit sent among those of all code blocks
            self._positions[version] = Constant(np.concatenate(
                [own + self._blocks.num_bits * block for block, own in enumerate(sent)]))
        self._encoder = None
        self.decoder = LdpcDecoder(
            self._blocks.code, iterations=iterations, algorithm=algorithm, precision=precision,
            backend=backend, device=device, threads=threads)
        sequence = gold_sequence(codeword.c_init, codeword.num_coded_bits)
        self._scrambling, self._signs = sequence, Constant(np.float32(1) - 2 * sequence)

    def _matching(self, size, version, prune):
        return NrRateMatching(self._segmentation.block_bits[0], size, self.codeword.base_graph,
                              version, self.codeword.modulation_order, self.codeword.buffer_bits,
                              prune)

    def encode(self, bits, rv=None):
        """Encode transport blocks.

        Args:
            bits: (..., tb_size), 0 or 1.
            rv: redundancy version; None for the codeword's.

        Returns:
            (..., num_coded_bits) uint8, scrambled.
        """
        bits = np.asarray(bits)
        shape = leading_shape("bits", bits, self.codeword.tb_size)
        rows = np.ascontiguousarray(bits.reshape(-1, self.codeword.tb_size), np.uint8)
        blocks = np.stack(self._segmentation.segment(rows), axis=1)
        if self._encoder is None:
            self._encoder = LdpcEncoder(self._blocks.code)
        words = self._encoder.encode(
            self._blocks.with_filler(blocks.reshape(-1, blocks.shape[-1])))
        sent = self._match(words.reshape(len(rows), -1), rv)
        return (sent ^ self._scrambling).reshape(*shape, -1)

    def decode(self, llr, rv=None, soft=None, posterior=False, order=None):
        """Decode LLRs to transport blocks.

        Args:
            llr: (..., num_coded_bits) floating-point, ln P(1)/P(0), scrambled as they were sent:
                an array on the host, or on the decoder's GPU.
            rv: redundancy version of these LLRs; None for the codeword's.
            soft: ``soft`` of the earlier transmissions' :class:`DecodedBlocks`, to be combined;
                None for a first transmission.
            posterior: whether to compute ``posterior``.
            order: :class:`LlrOrder` of llr, which is then (..., width); None for the order in which
                bits are sent.

        Returns:
            :class:`DecodedBlocks`. ``soft`` and ``posterior`` are on llr's device, the rest is on
            the host.
        """
        llr = native("llr", llr)
        width = self.codeword.num_coded_bits if order is None else order.width
        shape = leading_shape("llr", llr, width)
        rows = packed("llr", llr, "f", np.float32).reshape(-1, width)
        words = self._recovery(self._checked(rv), order)(rows)
        if soft is not None:
            words += native("soft", soft).reshape(words.shape)
        flat = words.reshape(-1, words.shape[-1])
        if posterior:
            decoded = self.decoder.decode(flat)
            sent = self._match(decoded.reshape(len(rows), -1), rv) * self._signs.beside(llr)
            posterior = sent.reshape(*shape, -1)
        else:
            posterior, decoded = None, None
        if is_device_array(llr):
            bits, *checks = (part.get() for part in self._joined(flat, decoded))
        else:
            decided = (self.decoder.decide(flat) if decoded is None
                       else (decoded > 0).view(np.uint8))
            bits, *checks = self._segmentation.join_decisions(decided, self.decoder.found,
                                                              self.decoder.threads)
        crc_ok, block_crc_ok = self.checks(*checks)
        return DecodedBlocks(bits.reshape(*shape, -1), crc_ok.reshape(shape),
                             block_crc_ok.reshape(*shape, -1), words.reshape(
                                 *shape, *words.shape[1:]), posterior)

    def queue(self, llr, rv=None, order=None):
        """Decode LLRs on a GPU as :meth:`decode` does, without waiting for the GPU.

        Args:
            llr: (n, num_coded_bits or order.width) float32 CuPy array, C-contiguous.
            rv, order: see :meth:`decode`.

        Returns:
            CuPy arrays: ``bits`` (n, tb_size), two arrays for :meth:`checks`, and ``soft``.
        """
        words = self._recovery(self._checked(rv), order)(llr)
        return *self._joined(words.reshape(-1, words.shape[-1])), words

    def checks(self, *arrays):
        """Return ``crc_ok`` and ``block_crc_ok`` from results of :meth:`queue`, on the host."""
        return self._segmentation.checks(*arrays)

    def _joined(self, words, decoded=None):
        """Return bits and checks of words on a GPU; decoded: LLRs after decoding, if known."""
        decoded = self.decoder.decode(words) if decoded is None else decoded
        return self._segmentation.join_llrs(decoded, self.decoder.found)

    def _checked(self, rv):
        rv = self.codeword.rv if rv is None else rv
        return choice("rv", rv, tuple(self._sent))

    def _recovery(self, rv, order):
        """Return the :class:`Recovery` for a redundancy version and an order of LLRs."""
        if (rv, order) not in self._recoveries:
            first, given = self._blocks.info_bits, order and order.places
            self._recoveries[rv, order] = Recovery(
                self._sent[rv], self._blocks.num_bits, (first, first + self._blocks.num_filler),
                self._scrambling, self.decoder.threads, given, order and order.width)
        return self._recoveries[rv, order]

    def _match(self, words, rv):
        """Select the bits sent, (n, num_coded_bits), from all code blocks, (n, C * N)."""
        places = self._positions[self._checked(rv)].beside(words)
        return array_module(words).take(words, places, axis=1)
