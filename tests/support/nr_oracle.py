# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""5G NR's shared channels, element by element in the order of TS 38.211's clauses.

Nothing here is shared with the package but the configuration's fields.
"""

import cmath
import math

import numpy as np

# Tables 6.4.1.1.3-3 and 7.4.1.1.2-3, single symbols: {channel, mapping: {l_d: positions after l_0
# for pos0, pos1, pos2, pos3}}; None stands for a combination that the tables do not have.
_A = {**{d: [[], [], [], []] for d in range(4, 8)},
      **{d: [[], [7], [7], [7]] for d in (8, 9)},
      **{d: [[], [9], [6, 9], [6, 9]] for d in (10, 11)},
      12: [[], [9], [6, 9], [5, 8, 11]],
      **{d: [[], [11], [7, 11], [5, 8, 11]] for d in (13, 14)}}
SINGLE = {
    ("pusch", "A"): _A,
    ("pdsch", "A"): {3: [[], [], [], []], **_A},
    ("pusch", "B"): {
        **{d: [[], [], [], []] for d in (1, 2, 3, 4)},
        **{d: [[], [4], [4], [4]] for d in (5, 6, 7)},
        **{d: [[], [6], [3, 6], [3, 6]] for d in (8, 9)},
        **{d: [[], [8], [4, 8], [3, 6, 9]] for d in (10, 11)},
        **{d: [[], [10], [5, 10], [3, 6, 9]] for d in (12, 13, 14)}},
    ("pdsch", "B"): {
        **{d: [[], [], [], []] for d in (2, 3, 4)},
        **{d: [[], [4], [4], [4]] for d in (5, 6, 7)},
        8: [[], [6], [3, 6], [3, 6]],
        **{d: [[], [7], [4, 7], [4, 7]] for d in (9, 10)},
        11: [[], [8], [4, 8], [3, 6, 9]],
        **{d: [[], [9], [5, 9], [3, 6, 9]] for d in (12, 13)}}}
# Tables 6.4.1.1.3-4 and 7.4.1.1.2-4, double symbols
DOUBLE_A = {**{d: [[], []] for d in range(4, 10)}, **{d: [[], [8]] for d in (10, 11, 12)},
            **{d: [[], [10]] for d in (13, 14)}}
DOUBLE = {
    ("pusch", "A"): DOUBLE_A, ("pdsch", "A"): DOUBLE_A,
    ("pusch", "B"): {**{d: [[], []] for d in (5, 6, 7)}, **{d: [[], [5]] for d in (8, 9)},
                     **{d: [[], [7]] for d in (10, 11)}, **{d: [[], [9]] for d in (12, 13, 14)}},
    ("pdsch", "B"): {**{d: [[], []] for d in (5, 6, 7)}, **{d: [[], [5]] for d in (8, 9)},
                     **{d: [[], [7]] for d in (10, 11)}, **{d: [[], [8]] for d in (12, 13)}}}


def gold(c_init, length):
    """Compute c(n) by the recursions of §5.2.1."""
    x1, x2 = [1] + [0] * 30, [c_init >> n & 1 for n in range(31)]
    for n in range(1600 + length - 31):
        x1.append(x1[n + 3] ^ x1[n])
        x2.append(x2[n + 3] ^ x2[n + 2] ^ x2[n + 1] ^ x2[n])
    return [x1[n + 1600] ^ x2[n + 1600] for n in range(length)]


def l_bars(channel, config):
    """Return the positions of DMRS in the slot."""
    start, count = config.symbol_allocation
    l_0, l_d, origin = ((config.dmrs.type_a_position, start + count, 0)
                        if config.mapping_type == "A" else (0, count, start))
    table = (SINGLE, DOUBLE)[config.dmrs.length - 1][channel, config.mapping_type]
    return [origin + place for place in (l_0, *table[l_d][config.dmrs.additional_position])]


def crbs(config):
    """Return the common resource blocks of the allocation in the order of mapping (§7.3.1.6)."""
    size, n_start, n_size = (getattr(config, "vrb_to_prb_bundle", None), config.n_start_bwp,
                             config.n_size_bwp)
    allocated = config.prb_set or range(config.prb_start, config.prb_start + config.num_prb)
    if size is None:
        return [n_start + block for block in allocated]
    n_bundle = math.ceil((n_size + n_start % size) / size)
    sizes = [size] * n_bundle
    sizes[0] = size - n_start % size
    if (n_start + n_size) % size:
        sizes[-1] = (n_start + n_size) % size
    firsts = [sum(sizes[:bundle]) for bundle in range(n_bundle)]
    rows, columns = 2, n_bundle // 2
    to_bundle = {}
    for c in range(columns):
        for r_index in range(rows):
            to_bundle[c * rows + r_index] = r_index * columns + c
    to_bundle[n_bundle - 1] = n_bundle - 1
    order = [firsts[to_bundle[j]] + i for j in range(n_bundle) for i in range(sizes[to_bundle[j]])]
    return [n_start + order[block] for block in allocated]


def r(config, slot, symbol, index):
    """Compute r(index) of §6.4.1.1.1.1 (§7.4.1.1.1 is the same) for a list of indices."""
    n_id = (config.carrier.n_cell_id if config.dmrs.n_id is None
            else config.dmrs.n_id[config.dmrs.n_scid])
    per_slot = 12 if config.carrier.cyclic_prefix == "extended" else 14
    c_init = (2**17 * (per_slot * slot + symbol + 1) * (2 * n_id + 1)
              + 2 * n_id + config.dmrs.n_scid) % 2**31
    c = gold(c_init, 2 * max(index) + 2)
    return {i: ((1 - 2 * c[2 * i]) + 1j * (1 - 2 * c[2 * i + 1])) / math.sqrt(2) for i in index}


def port_table(config_type, port):
    """Return (CDM group, Delta, w_f, w_t), tables 6.4.1.1.3-1 and 6.4.1.1.3-2."""
    if config_type == 1:
        group = [0, 0, 1, 1, 0, 0, 1, 1][port]
        return group, group, [1, (-1) ** port], [1, 1 if port < 4 else -1]
    group = [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2][port]
    return group, 2 * group, [1, (-1) ** port], [1, 1 if port < 6 else -1]


def dmrs(channel, config, slot, port):
    """Compute {(subcarrier of the grid, symbol): value} of a port: §6.4.1.1.3, §7.4.1.1.2."""
    allocated = {12 * crb + k for crb in crbs(config) for k in range(12)}    # from CRB 0
    shift = -12 * config.carrier.n_start_grid
    _, delta, w_f, w_t = port_table(config.dmrs.config_type, port)
    beta = {1: 1, 2: math.sqrt(2), 3: math.sqrt(3)}[config.dmrs.num_cdm_groups_without_data]
    places = []
    for n in range(12 * 275):
        for k_prime in (0, 1):
            k = (4 * n + 2 * k_prime if config.dmrs.config_type == 1 else 6 * n + k_prime) + delta
            if k in allocated:
                places.append((k, 2 * n + k_prime, k_prime))
    values = {}
    for l_bar in l_bars(channel, config):
        for l_prime in range(config.dmrs.length):
            sequence = r(config, slot, l_bar + l_prime, [index for _, index, _ in places])
            for k, index, k_prime in places:
                values[k + shift, l_bar + l_prime] = (beta * w_f[k_prime] * w_t[l_prime]
                                                      * sequence[index])
    return values


def ptrs(channel, config, slot):
    """Compute {(subcarrier, symbol): value} of PT-RS: §6.4.1.2.1.1, §6.4.1.2.2.1, §7.4.1.2."""
    start, count = config.symbol_allocation
    with_dmrs = {l_bar + l_prime for l_bar in l_bars(channel, config)
                 for l_prime in range(config.dmrs.length)}
    density, symbols, i, reference = config.ptrs.time_density, [], 0, start
    while reference + i * density <= start + count - 1:
        window = range(max(reference + (i - 1) * density + 1, reference),
                       reference + i * density + 1)
        overlapping = with_dmrs & set(window)
        if overlapping:
            reference, i = max(overlapping), 1
            if config.dmrs.length == 2:    # the second symbol of the two
                reference = next(l_bar + 1 for l_bar in l_bars(channel, config)
                                 if reference in (l_bar, l_bar + 1))
        else:
            symbols.append(reference + i * density)
            i += 1
    port = config.dmrs_ports[0] if config.ptrs.port is None else config.ptrs.port
    element = {1: [[0, 2, 6, 8], [2, 4, 8, 10], [1, 3, 7, 9], [3, 5, 9, 11]],
               2: [[0, 1, 6, 7], [1, 6, 7, 0], [2, 3, 8, 9], [3, 8, 9, 2], [4, 5, 10, 11],
                   [5, 10, 11, 4]]}[config.dmrs.config_type][port][
                       ["00", "01", "10", "11"].index(config.ptrs.resource_element_offset)]
    step = config.ptrs.frequency_density
    rest = config.num_prb % step
    k_rb = config.n_rnti % (step if rest == 0 else rest)
    blocks, values = sorted(crb - config.carrier.n_start_grid for crb in crbs(config)), {}
    first_dmrs = l_bars(channel, config)[0]
    unweighted = dmrs(channel, config, slot, port)
    _, delta, w_f, _ = port_table(config.dmrs.config_type, port)
    beta = {1: 1, 2: math.sqrt(2), 3: math.sqrt(3)}[config.dmrs.num_cdm_groups_without_data]
    for block in range(k_rb, config.num_prb, step):
        k = 12 * blocks[block] + element
        from_group = k + 12 * config.carrier.n_start_grid - delta
        k_prime = from_group % 4 // 2 if config.dmrs.config_type == 1 else from_group % 6
        for symbol in symbols:
            values[k, symbol] = (unweighted[k, first_dmrs] / beta / w_f[k_prime]
                                 * 10 ** (config.ptrs.epre_ratio_db / 20))
    return values


def data_elements(channel, config):
    """Return (subcarrier, symbol) of all elements with data, in the order of mapping."""
    start, count = config.symbol_allocation
    subcarriers = [12 * (crb - config.carrier.n_start_grid) + k
                   for crb in crbs(config) for k in range(12)]
    taken = set(ptrs(channel, config, 0)) if config.ptrs is not None else set()
    with_dmrs = {l_bar + l_prime for l_bar in l_bars(channel, config)
                 for l_prime in range(config.dmrs.length)}
    elements = []
    for symbol in range(start, start + count):
        for k in subcarriers:
            group = k % 2 if config.dmrs.config_type == 1 else k % 6 // 2
            without = symbol in with_dmrs and group < config.dmrs.num_cdm_groups_without_data
            if not without and (k, symbol) not in taken:
                elements.append((k, symbol))
    return elements


def pi2_bpsk(bits):
    """Modulate bits by §5.1.1."""
    return [cmath.exp(0.5j * cmath.pi * (i % 2)) / math.sqrt(2)
            * ((1 - 2 * bit) + 1j * (1 - 2 * bit)) for i, bit in enumerate(bits)]


def low_papr_type_2(c_init, length):
    """Compute the sequence of §5.2.3 for lengths of at least 30."""
    spread = pi2_bpsk(gold(c_init, length))
    return [sum(value * cmath.exp(-2j * cmath.pi * i * n / length)
                for i, value in enumerate(spread)) / math.sqrt(length) for n in range(length)]


def spread_ptrs(config, slot, symbols, amplitude):
    """Compute {(place before the DFT, symbol): value} of PT-RS: §6.4.1.2.1.2, §6.4.1.2.2.2.

    ``symbols`` are the OFDM symbols with PT-RS.
    """
    size, groups, m_sc = config.ptrs.samples_per_group, config.ptrs.num_groups, 12 * config.num_prb
    # Table 6.4.1.2.2.2-1
    places = {
        (2, 2): [s * (m_sc // 4) + k - 1 for s in (1, 3) for k in (0, 1)],
        (2, 4): [*range(4), *range(m_sc - 4, m_sc)],
        (4, 2): [math.floor(s * m_sc / 8) + k - 1 for s in (1, 3, 5, 7) for k in (0, 1)],
        (4, 4): [*range(4), *(s * m_sc // 4 + math.floor(m_sc / 8) + k for s in (1, 2)
                              for k in (-2, -1, 0, 1)), *range(m_sc - 4, m_sc)],
        (8, 4): [*range(4), *(math.floor(s * m_sc / 8) + math.floor(m_sc / 16) + k
                              for s in range(1, 7) for k in (-2, -1, 0, 1)),
                 *range(m_sc - 4, m_sc)]}[groups, size]
    # Table 6.4.1.2.1.2-1
    w = {2: [[1, 1], [1, -1]],
         4: [[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]}[size][
             config.n_rnti % size]
    n_id = config.carrier.n_cell_id if config.dmrs.n_id is None else config.dmrs.n_id[0]
    c = gold((2**17 * (14 * slot + symbols[0] + 1) * (2 * n_id + 1) + 2 * n_id) % 2**31,
             size * groups)
    return {(m, symbol): amplitude * w[index % size] * cmath.exp(0.5j * cmath.pi * (m % 2))
            / math.sqrt(2) * ((1 - 2 * c[index]) + 1j * (1 - 2 * c[index]))
            for index, m in enumerate(places) for symbol in symbols}


def symbol_samples(carrier, grid, fft_size):
    """Compute the samples of a slot by the sum in §5.3.1; grid is (symbols, subcarriers).

    Returns a list with the samples of each symbol, prefix included. Times are in units of T_c.
    """
    kappa, mu = 64, {15: 0, 30: 1, 60: 2, 120: 3}[carrier.subcarrier_spacing_khz]
    spacing = 15e3 * 2**mu
    t_c = 1 / (480e3 * 4096)
    step = 1 / (spacing * fft_size) / t_c    # T_c per sample
    symbols = []
    for number, row in enumerate(grid):
        if carrier.cyclic_prefix == "extended":
            prefix = 512 * kappa / 2**mu
        else:
            prefix = 144 * kappa / 2**mu + (16 * kappa if number in (0, 7 * 2**mu) else 0)
        count = round((2048 * kappa / 2**mu + prefix) / step)
        times = (np.arange(count) * step - prefix) * t_c
        k = np.arange(len(row)) - len(row) // 2
        wave = np.exp(2j * np.pi * spacing * np.outer(times, k)) @ row
        symbols.append(wave / math.sqrt(fft_size))
    return symbols


def low_papr(u, v, length):
    """Compute the base sequence of §5.2.2.1 for lengths of at least 30."""
    if length == 30:
        return [cmath.exp(-1j * cmath.pi * (u + 1) * (n + 1) * (n + 2) / 31) for n in range(30)]
    prime = max(p for p in range(2, length) if all(p % d for d in range(2, p)))
    q_bar = prime * (u + 1) / 31
    q = math.floor(q_bar + 0.5) + v * (-1) ** math.floor(2 * q_bar)
    return [cmath.exp(-1j * cmath.pi * q * (n % prime) * (n % prime + 1) / prime)
            for n in range(length)]
