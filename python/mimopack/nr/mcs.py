# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modulation and coding schemes, and the sizes of transport blocks: TS 38.214 §5.1.3, §6.1.4."""

import math

from .fields import integer

# {(table, transform precoding): (Q_m, R * 1024) by index}: tables 5.1.3.1-1 to 5.1.3.1-3, and
# 6.1.4.1-1 and 6.1.4.1-2 with q = 2.
_RATES = {
    (1, False): {2: (120, 157, 193, 251, 308, 379, 449, 526, 602, 679),
                 4: (340, 378, 434, 490, 553, 616, 658),
                 6: (438, 466, 517, 567, 616, 666, 719, 772, 822, 873, 910, 948)},
    (2, False): {2: (120, 193, 308, 449, 602),
                 4: (378, 434, 490, 553, 616, 658),
                 6: (466, 517, 567, 616, 666, 719, 772, 822, 873),
                 8: (682.5, 711, 754, 797, 841, 885, 916.5, 948)},
    (3, False): {2: (30, 40, 50, 64, 78, 99, 120, 157, 193, 251, 308, 379, 449, 526, 602),
                 4: (340, 378, 434, 490, 553, 616),
                 6: (438, 466, 517, 567, 616, 666, 719, 772)},
    (1, True): {2: (120, 157, 193, 251, 308, 379, 449, 526, 602, 679),
                4: (340, 378, 434, 490, 553, 616, 658),
                6: (466, 517, 567, 616, 666, 719, 772, 822, 873, 910, 948)},
    (3, True): {2: (30, 40, 50, 64, 78, 99, 120, 157, 193, 251, 308, 379, 449, 526, 602, 679),
                4: (378, 434, 490, 553, 616, 658, 699, 772),
                6: (567, 616, 666, 772)},
}
_RATES[2, True] = _RATES[2, False]
# So many rows of tables 6.1.4.1-1 and 6.1.4.1-2 begin with q and R / q.
_ROWS_OF_Q = {1: 2, 3: 6}
_TABLES = {key: [(order, rate) for order, rates in orders.items() for rate in rates]
           for key, orders in _RATES.items()}

# Table 5.1.3.2-1
_SMALL_SIZES = (
    24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160, 168, 176, 184,
    192, 208, 224, 240, 256, 272, 288, 304, 320, 336, 352, 368, 384, 408, 432, 456, 480, 504, 528,
    552, 576, 608, 640, 672, 704, 736, 768, 808, 848, 888, 928, 984, 1032, 1064, 1128, 1160, 1192,
    1224, 1256, 1288, 1320, 1352, 1416, 1480, 1544, 1608, 1672, 1736, 1800, 1864, 1928, 2024, 2088,
    2152, 2216, 2280, 2408, 2472, 2536, 2600, 2664, 2728, 2792, 2856, 2976, 3104, 3240, 3368, 3496,
    3624, 3752, 3824)


def mcs_entry(table, index, transform_precoding=False, pi2bpsk=False):
    """Return (Q_m, R * 1024) of a modulation and coding scheme.

    Args:
        table: 1, 2 or 3: qam64, qam256 or qam64LowSE.
        index: I_MCS. Indices that are reserved for retransmissions are refused.
        transform_precoding: whether transform precoding is on.
        pi2bpsk: whether pi/2-BPSK takes the place of QPSK in the first rows (q = 1), with transform
            precoding.
    """
    entries = _TABLES[table, transform_precoding]
    order, rate = entries[integer("mcs.index", index, 0, len(entries) - 1)]
    if transform_precoding and pi2bpsk and index < _ROWS_OF_Q.get(table, 0):
        return 1, 2 * rate
    return order, rate


def transport_block_size(elements, modulation_order, rate, layers):
    """Return the number of bits in a transport block: TS 38.214 §5.1.3.2, steps 2 to 4.

    Args:
        elements: N_RE, number of resource elements that count.
        modulation_order: Q_m.
        rate: R.
        layers: number of layers of the codeword.
    """
    info = elements * rate * modulation_order * layers    # N_info
    if info <= _SMALL_SIZES[-1]:
        step = 2 ** max(3, int(info).bit_length() - 7)
        quantised = max(24, step * int(info // step))
        return next(size for size in _SMALL_SIZES if size >= quantised)
    step = 2 ** (int(info - 24).bit_length() - 6)
    quantised = max(3840, step * math.floor((info - 24) / step + 0.5))
    if rate <= 0.25:
        blocks = -(-(quantised + 24) // 3816)
    else:
        blocks = -(-(quantised + 24) // 8424) if quantised > 8424 else 1
    return 8 * blocks * -(-(quantised + 24) // (8 * blocks)) - 24
