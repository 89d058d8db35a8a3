# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Demodulation and phase-tracking reference signals: TS 38.211 §6.4.1.1, §6.4.1.2, §7.4.1.1."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .. import constellation
from ..checks import integer
from ..coding.scrambler import gold_sequence
from .low_papr import pusch_low_papr_sequence
from .parts import SUBCARRIERS_PER_PRB
from .resources import ptrs_port, resources


@dataclass(frozen=True)
class PortWeights:
    """How a DMRS port differs from others: TS 38.211 tables 6.4.1.1.3-1 and 6.4.1.1.3-2.

    Attributes:
        cdm_group: the CDM group; its ports share resource elements.
        delta: Delta, offset of the group's first subcarrier.
        w_f: w_f(k') of the two subcarriers that are despread together.
        w_t: w_t(l') of the two symbols with double symbols.
    """

    cdm_group: int
    delta: int
    w_f: tuple
    w_t: tuple


def port_weights(config_type, port):
    """Return the :class:`PortWeights` of a DMRS port.

    Args:
        config_type: 1 or 2.
        port: 0 to 7 with type 1, 0 to 11 with type 2 (PDSCH: the port's number less 1000).
    """
    groups = config_type + 1
    integer("port", port, 0, 4 * groups - 1)
    group = port // 2 % groups
    return PortWeights(group, group * config_type, (1, -1 if port % 2 else 1),
                       (1, -1 if port >= 2 * groups else 1))


@dataclass(frozen=True, eq=False)
class ReferenceSymbols:
    """Reference symbols of a port in a slot.

    Attributes:
        symbols: (D,) int, symbols of the slot.
        subcarriers: (K,) int, subcarriers of the grid.
        values: (D, K) complex64, what is sent there, with the signal's amplitude.
    """

    symbols: np.ndarray
    subcarriers: np.ndarray
    values: np.ndarray

    def write(self, grid):
        """Write them into the grid (symbols_per_slot, subcarriers) of a layer."""
        grid[self.symbols[:, None], self.subcarriers] = self.values


def dmrs_subcarriers(config, port):
    """Return the subcarriers of the grid with DMRS of a port: int (K,).

    Neighbours in the result, two by two, are k' = 0 and 1: with the same channel, they tell the two
    ports of a CDM group apart.
    """
    delta = port_weights(config.dmrs.config_type, port).delta
    # 4 n + 2 k' in a PRB with type 1, 6 n + k' with type 2
    places = [0, 2, 4, 6, 8, 10] if config.dmrs.config_type == 1 else [0, 1, 6, 7]
    return (SUBCARRIERS_PER_PRB * resources(config).prbs[:, None] + delta + places).ravel()


@lru_cache(maxsize=256)
def dmrs_sequence(config, slot, symbol):
    """Return r(2n + k'), the DMRS sequence of a symbol on the allocated PRBs, before weights.

    Without transform precoding, the sequence is QPSK from a Gold sequence (TS 38.211 §6.4.1.1.1.1,
    §7.4.1.1.1), counted from CRB 0. With transform precoding, it is a sequence of low peak power
    (§6.4.1.1.1.2), counted from the first allocated subcarrier; both symbols of double symbols then
    have that of the first.

    Args:
        config: :class:`PuschConfig` or :class:`PdschConfig`.
        slot: number of the slot in its frame.
        symbol: number of the symbol in the slot.

    Returns:
        complex128 (6 * num_prb,) with DMRS type 1, (4 * num_prb,) with type 2; read-only.
    """
    slot = integer("slot", slot, 0, config.carrier.slots_per_frame - 1)
    per_prb = {1: 6, 2: 4}[config.dmrs.config_type]
    if config.transform_precoding:
        return pusch_low_papr_sequence(config, slot, symbol)
    c_init = config.carrier.c_init(slot, symbol, config.dmrs_n_id, config.dmrs.n_scid)
    crbs = config.carrier.n_start_grid + resources(config).prbs
    values = qpsk(gold_sequence(c_init, 2 * per_prb * (int(crbs[-1]) + 1)))
    values = values.reshape(-1, per_prb)[crbs].ravel()
    values.setflags(write=False)
    return values


def qpsk(bits):
    """Map pairs of bits c to (1 - 2 c(2n) + j (1 - 2 c(2n + 1))) / sqrt(2)."""
    signs = 1.0 - 2.0 * bits
    return (signs[0::2] + 1j * signs[1::2]) / np.sqrt(2)


def dmrs_symbols(config, slot, port):
    """Return the DMRS of a port in a slot, before precoding.

    Args:
        config: :class:`PuschConfig` or :class:`PdschConfig`.
        slot: number of the slot in its frame.
        port: the DMRS port.

    Returns:
        :class:`ReferenceSymbols`. ``values`` contain the amplitude of the DMRS relative to data.
    """
    weights, places = port_weights(config.dmrs.config_type, port), resources(config)
    # With transform precoding, both symbols of double symbols have the sequence of the first.
    symbols = places.dmrs_symbols - config.transform_precoding * places.dmrs_places
    base = np.stack([dmrs_sequence(config, slot, int(symbol)) for symbol in symbols])
    values = (base * np.tile(weights.w_f, base.shape[1] // 2)
              * np.array(weights.w_t)[places.dmrs_places, None] * config.dmrs.beta)
    return ReferenceSymbols(places.dmrs_symbols, dmrs_subcarriers(config, port),
                            values.astype(np.complex64))


def ptrs_symbols(config, slot):
    """Return the PT-RS in a slot, before precoding: TS 38.211 §6.4.1.2.1.1, §7.4.1.2.1.

    All symbols repeat the sequence of the first DMRS symbol, on the layer of the signal's port. For
    transform precoding, see :func:`ptrs_sequence`.

    Args:
        config: :class:`PuschConfig` or :class:`PdschConfig` with ``ptrs``.
        slot: number of the slot in its frame.

    Returns:
        :class:`ReferenceSymbols`.
    """
    places, port = resources(config), ptrs_port(config)
    base = dmrs_sequence(config, slot, int(places.dmrs_symbols[0]))
    index = np.searchsorted(dmrs_subcarriers(config, port), places.ptrs_subcarriers)
    row = base[index] * 10 ** (config.ptrs.epre_ratio_db / 20)
    return ReferenceSymbols(places.ptrs_symbols, places.ptrs_subcarriers,
                            np.tile(row, (len(places.ptrs_symbols), 1)).astype(np.complex64))


@lru_cache(maxsize=256)
def ptrs_sequence(config, slot):
    """Return the PT-RS of an OFDM symbol with transform precoding: TS 38.211 §6.4.1.2.1.2.

    All symbols with PT-RS have the same. It has the amplitude of the outermost points of the data's
    constellation (TS 38.214 §6.2.3.2).

    Args:
        config: :class:`PuschConfig` with ``ptrs``.
        slot: number of the slot in its frame.

    Returns:
        complex64 (samples,), in the order of ``Ptrs.samples``; read-only.
    """
    samples, size = config.ptrs.samples(config.num_subcarriers), config.ptrs.samples_per_group
    first = resources(config).ptrs_symbols[0]
    identity = config.carrier.n_cell_id if config.dmrs.n_id is None else config.dmrs.n_id[0]
    c_init = config.carrier.c_init(slot, int(first), identity)
    # w(k'), table 6.4.1.2.1.2-1: Walsh sequences
    row, k = config.n_rnti % size, np.arange(len(samples)) % size
    cover = (-1.0) ** (row % 2 * (k % 2) + row // 2 * (k // 2))
    signs = cover * (1 - 2.0 * gold_sequence(c_init, len(samples)))
    values = signs * 1j ** (np.array(samples) % 2) * (1 + 1j) / np.sqrt(2)
    values = np.abs(constellation.get(config.constellation).points).max() * values
    values = values.astype(np.complex64)
    values.setflags(write=False)
    return values


def spread_values(config, slot, symbols):
    """Place modulation symbols and PT-RS as transform precoding takes them: TS 38.211 §6.3.1.4.

    Args:
        config: :class:`PuschConfig` with transform precoding.
        slot: number of the slot in its frame.
        symbols: (num_symbols,) complex modulation symbols of the layer.

    Returns:
        complex64 (OFDM symbols with data, M_sc).
    """
    places = resources(config)
    values = np.zeros(places.num_data, np.complex64)
    values[places.spread_places] = symbols
    values = values.reshape(-1, config.num_subcarriers)
    if config.ptrs is not None:
        values[spread_rows(config)[:, None], config.ptrs.samples(values.shape[1])] = ptrs_sequence(
            config, slot)
    return values


def spread_rows(config):
    """Return which of the OFDM symbols with data have PT-RS: int (P,)."""
    places = resources(config)
    return np.searchsorted(np.unique(places.data_symbols), places.ptrs_symbols)
