# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resource elements of a shared channel: those with data, DMRS and PT-RS."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .config import PuschConfig
from .parts import SUBCARRIERS_PER_PRB

# Further DMRS positions by duration l_d, for 0, 1, 2 and 3 additional positions. The first
# position, l_0, is not listed. A duration that is missing has those of the next smaller one.
# TS 38.211 table 6.4.1.1.3-3: PUSCH, single symbols
_PUSCH_SINGLE = {
    "A": {4: ((), (), (), ()), 8: ((), (7,), (7,), (7,)), 10: ((), (9,), (6, 9), (6, 9)),
          12: ((), (9,), (6, 9), (5, 8, 11)), 13: ((), (11,), (7, 11), (5, 8, 11))},
    "B": {1: ((), (), (), ()), 5: ((), (4,), (4,), (4,)), 8: ((), (6,), (3, 6), (3, 6)),
          10: ((), (8,), (4, 8), (3, 6, 9)), 12: ((), (10,), (5, 10), (3, 6, 9))}}
# Table 6.4.1.1.3-4: PUSCH, double symbols
_PUSCH_DOUBLE = {"A": {4: ((), ()), 10: ((), (8,)), 13: ((), (10,))},
                 "B": {5: ((), ()), 8: ((), (5,)), 10: ((), (7,)), 12: ((), (9,))}}
# Tables 7.4.1.1.2-3 and 7.4.1.1.2-4: PDSCH, with l_1 = 11
_PDSCH_SINGLE = {
    "A": {3: ((), (), (), ()), **_PUSCH_SINGLE["A"]},
    "B": {2: ((), (), (), ()), 5: ((), (4,), (4,), (4,)), 8: ((), (6,), (3, 6), (3, 6)),
          9: ((), (7,), (4, 7), (4, 7)), 11: ((), (8,), (4, 8), (3, 6, 9)),
          12: ((), (9,), (5, 9), (3, 6, 9))}}
_PDSCH_DOUBLE = {"A": _PUSCH_DOUBLE["A"],
                 "B": {5: ((), ()), 8: ((), (5,)), 10: ((), (7,)), 12: ((), (8,))}}


@lru_cache
def dmrs_positions(config):
    """Return the first symbol of each DMRS position in the slot, in ascending order.

    See TS 38.211 tables 6.4.1.1.3-3, 6.4.1.1.3-4, 7.4.1.1.2-3 and 7.4.1.1.2-4.

    Args:
        config: :class:`PuschConfig` or :class:`PdschConfig`.

    Returns:
        tuple of integers.
    """
    first, count = config.symbol_allocation
    mapping, dmrs = config.mapping_type, config.dmrs
    # With mapping type A, positions and l_d are counted from the slot's first symbol, with B from
    # the first allocated symbol.
    start, duration, reference = ((dmrs.type_a_position, first + count, 0) if mapping == "A"
                                  else (0, count, first))
    tables = ((_PUSCH_SINGLE, _PUSCH_DOUBLE) if isinstance(config, PuschConfig)
              else (_PDSCH_SINGLE, _PDSCH_DOUBLE))
    table = tables[dmrs.length - 1][mapping]
    further = table[max(least for least in table if least <= duration)][dmrs.additional_position]
    return tuple(reference + position for position in (start, *further))


@dataclass(frozen=True, eq=False)
class Resources:
    """The resource elements of a shared channel in a slot.

    Symbols are counted from the slot's first symbol, subcarriers from the grid's first subcarrier.

    Attributes:
        prbs: (num_prb,) int, the allocated PRBs of the grid, ascending.
        subcarriers: (12 * num_prb,) int, their subcarriers.
        dmrs_symbols: (D,) int, the symbols with DMRS; both symbols of each position with double
            symbols.
        dmrs_places: (D,) int, l', which symbol of its position each one is: 0 or 1.
        data_mask: bool (symbols_per_slot, subcarriers of the grid): the elements that carry data.
        data_symbols, data_subcarriers: (num_data,) int, the elements that carry data, in the order
            in which symbols are mapped to them (TS 38.211 §6.3.1.6, §7.3.1.5, §7.3.1.6).
        ptrs_symbols: (P,) int, the symbols with PT-RS.
        ptrs_subcarriers: (Q,) int, the subcarriers with PT-RS; none with transform precoding.
        spread_places: (num_symbols,) int, the place of each modulation symbol of a layer among all
            num_data values that transform precoding spreads, some of which may be PT-RS. Without
            transform precoding, it is 0, 1, 2, ...
    """

    prbs: np.ndarray
    subcarriers: np.ndarray
    dmrs_symbols: np.ndarray
    dmrs_places: np.ndarray
    data_mask: np.ndarray
    data_symbols: np.ndarray
    data_subcarriers: np.ndarray
    ptrs_symbols: np.ndarray
    ptrs_subcarriers: np.ndarray
    spread_places: np.ndarray

    @property
    def num_data(self):
        """Number of resource elements that carry data, per layer."""
        return len(self.data_symbols)

    @property
    def num_symbols(self):
        """Number of modulation symbols of a layer."""
        return len(self.spread_places)


@lru_cache
def resources(config):
    """Return the :class:`Resources` of a :class:`PuschConfig` or :class:`PdschConfig`."""
    first, count = config.symbol_allocation
    mapped = config.n_start_bwp - config.carrier.n_start_grid + config.prbs
    prbs = np.sort(mapped)
    subcarriers = _subcarriers(prbs)
    length = config.dmrs.length
    positions = np.array(dmrs_positions(config))
    dmrs_symbols = (positions[:, None] + np.arange(length)).ravel()
    dmrs_places = np.tile(np.arange(length), len(positions))
    mask = np.zeros((config.carrier.symbols_per_slot, config.carrier.num_subcarriers), bool)
    mask[first:first + count, subcarriers] = True
    without_data = np.isin(_cdm_groups(config), range(config.dmrs.num_cdm_groups_without_data))
    mask[dmrs_symbols[:, None], subcarriers[without_data]] = False
    ptrs_symbols, ptrs_subcarriers = _ptrs(config, prbs, dmrs_symbols)
    mask[ptrs_symbols[:, None], ptrs_subcarriers] = False
    order = _subcarriers(mapped)
    data_symbols, columns = np.nonzero(mask[:, order])
    is_symbol = np.ones(len(data_symbols), bool)
    if config.transform_precoding and config.ptrs is not None:
        rows = np.flatnonzero(np.isin(data_symbols[::len(order)], ptrs_symbols))
        is_symbol.reshape(-1, len(order))[rows[:, None], config.ptrs.samples(len(order))] = False
    parts = (prbs, subcarriers, dmrs_symbols, dmrs_places, mask, data_symbols, order[columns],
             ptrs_symbols, ptrs_subcarriers, np.flatnonzero(is_symbol))
    for part in parts:
        part.setflags(write=False)
    return Resources(*parts)


def _subcarriers(prbs):
    """Return the subcarriers of PRBs, in their order."""
    return (SUBCARRIERS_PER_PRB * prbs[:, None] + np.arange(SUBCARRIERS_PER_PRB)).ravel()


def _cdm_groups(config):
    """Return the CDM group of each allocated subcarrier in DMRS symbols.

    TS 38.211 §6.4.1.1.3: type 1 has groups on every other subcarrier, type 2 on two of six.
    """
    place = np.arange(config.num_subcarriers)
    return place % 2 if config.dmrs.config_type == 1 else place % 6 // 2


def ptrs_port(config):
    """Return the DMRS port that PT-RS belong to."""
    return config.dmrs_ports[0] if config.ptrs.port is None else config.ptrs.port


def _ptrs(config, prbs, dmrs_symbols):
    """Return symbols and subcarriers of PT-RS: TS 38.211 §6.4.1.2.2, §7.4.1.2.2."""
    if config.ptrs is None:
        return np.zeros(0, int), np.zeros(0, int)
    first, count = config.symbol_allocation
    step, end = config.ptrs.time_density, first + count
    symbols, reference, i = [], first, 0
    while reference + i * step < end:
        since = range(max(reference + (i - 1) * step + 1, reference), reference + i * step + 1)
        overlap = [symbol for symbol in since if symbol in dmrs_symbols]
        if overlap:
            reference, i = overlap[-1], 1
            while reference + 1 in dmrs_symbols:    # the second symbol of a double symbol
                reference += 1
            continue
        symbols.append(reference + i * step)
        i += 1
    if config.transform_precoding:
        return np.array(symbols, int), np.zeros(0, int)
    step = config.ptrs.frequency_density
    rest = len(prbs) % step or step
    blocks = prbs[config.n_rnti % rest::step]
    element = _ptrs_element(config.dmrs.config_type, ptrs_port(config),
                            int(config.ptrs.resource_element_offset, 2))
    return np.array(symbols, int), SUBCARRIERS_PER_PRB * blocks + element


def _ptrs_element(config_type, port, offset):
    """Return k_ref^RE: TS 38.211 table 6.4.1.2.2.1-1, which equals table 7.4.1.2.2-1.

    Offsets count the port's subcarriers in a PRB. A port with odd number begins with the second.
    """
    groups = config_type + 1
    group, odd = port // 2 % groups, port % 2
    if config_type == 1:
        elements = [0, 2, 6, 8] if not odd else [2, 4, 8, 10]
        return elements[offset] + group
    elements = [0, 1, 6, 7]
    return elements[(offset + odd) % 4] + 2 * group
