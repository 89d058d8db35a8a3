# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sequences of low peak power, the DMRS of PUSCH with transform precoding: TS 38.211 §5.2.2, .3."""

from functools import lru_cache

import numpy as np

from ..coding.scrambler import gold_sequence
from .precoding import pi2_bpsk

GROUPS = 30
LEAST_FOR_HOPPING = 72    # 6 N_sc^RB: from this length on, a group has two base sequences

# Tables 5.2.2.2-1 to 5.2.2.2-4: a line for each group u, with the phases phi(n) of the sequences
# of length 6, 12, 18 and 24. A digit d stands for phi = 2 d - 3, in units of pi / 4.
_PHASES = """
013310 020003012220 131032013011222111 103132312010123010333000
031130 032023112333 303123010010321303 103220200201130333023300
000320 033203123030 032113012222213101 100211023101102232011300
222310 001333030210 003332023320031012 203101332122301000130100
222013 011232212102 221101200020112132 130013112323110232102100
021000 003200013123 302231211022133031 012002203110232101020000
023000 213111012220 031232012202331000 032312020210100001112200
012021 103100012120 220332303122120013 023121303101031110110330
010200 013201032332 020020032010001223 020311103210123121200000
002030 011001032310 313200120033323030 221012202120300310230200
023200 030330113320 000203223002313003 000130323201102232103230
010220 010110331120 003331101113200131 031321113322233200120230
223103 013001021033 010022101011331323 303102321101303113300300
223313 021133011010 220000230332013102 031313322023030012301100
222031 230233321213 031010220011302322 020113230213310301100030
222130 023110011320 320203310010030123 011020011312132013221100
011131 111120133102 010102301333210310 002133012112211302021110
001210 122123311020 013313101210111332 313120220030111110012200
000201 023311033030 020113200010022211 020200202000002002202200
022010 003013331020 333010131210200133 003321112012130101120310
030220 323230123210 022022301013031110 001110210130203033211200
020001 032302222303 201033102001012333 312130223103203111120000
220323 033310010230 002112201333313232 020302032101000023123330
220020 310301333010 310200033120132233 012011222331212110003210
223133 012023331033 311201010010222003 031011131130130301322100
220233 032133021212 002033313220003011 021001201022122333121210
221131 123021211021 011020311033013111 131133111310232200010100
221311 003330120320 003302310210301113 300133013222313013132100
221301 213221112302 102000223303301302 020202232001231032100000
220211 030300311230 032111121330123131 301231101310103132203000
"""
_TABLE = {length: np.array([[2 * int(digit) - 3 for digit in line.split()[column]]
                            for line in _PHASES.split("\n")[1:-1]])
          for column, length in enumerate((6, 12, 18, 24))}


@lru_cache(maxsize=64)
def low_papr_sequence(group, base, length):
    """Return the base sequence r_(u,v)(n) of TS 38.211 §5.2.2.1 and §5.2.2.2.

    Args:
        group: u, 0 to 29.
        base: v, 0; or 1 with a length of at least 72.
        length: M_ZC, number of elements: 6, 12, 18, 24, 30 or at least 36.

    Returns:
        complex128 (length,), read-only.
    """
    if length in _TABLE:
        phase = _TABLE[length][group] / 4
    elif length == 30:
        n = np.arange(30)
        phase = -(group + 1) * (n + 1) * (n + 2) / 31
    else:
        prime = next(n for n in range(length - 1, 1, -1)
                     if all(n % d for d in range(2, int(n**0.5) + 1)))    # N_ZC
        # q_bar = N_ZC (u + 1) / 31, q = floor(q_bar + 1/2) + v (-1)^floor(2 q_bar)
        root = (2 * prime * (group + 1) + 31) // 62
        root += base * (-1) ** (2 * prime * (group + 1) // 31)
        n = np.arange(length) % prime
        phase = -(root * n * (n + 1) % (2 * prime)) / prime
    sequence = np.exp(1j * np.pi * phase)
    sequence.setflags(write=False)
    return sequence


def pusch_low_papr_sequence(config, slot, symbol):
    """Return the DMRS sequence of a symbol with transform precoding: TS 38.211 §6.4.1.1.1.2.

    Args:
        config: :class:`PuschConfig`.
        slot: number of the slot in its frame.
        symbol: number of the symbol in the slot, the first of two with double symbols.

    Returns:
        complex128 (6 * num_prb,), read-only.
    """
    dmrs, length = config.dmrs, config.num_subcarriers // 2
    count = config.carrier.symbols_per_slot * slot + symbol
    if dmrs.uplink_transform_precoding and config.modulation_order == 1:
        c_init = config.carrier.c_init(slot, symbol, config.dmrs_n_id, dmrs.n_scid)
        sequence = np.fft.fft(pi2_bpsk(gold_sequence(c_init, length)), norm="ortho")
        sequence.setflags(write=False)
        return sequence
    identity = config.carrier.n_cell_id if dmrs.n_id is None else dmrs.n_id[0]    # n_ID^RS
    hop = base = 0    # f_gh, v
    if dmrs.group_hopping:
        bits = gold_sequence(identity // GROUPS, 8 * (count + 1))[8 * count:]
        hop = int(bits @ (1 << np.arange(8))) % GROUPS
    elif dmrs.sequence_hopping and length >= LEAST_FOR_HOPPING:
        base = int(gold_sequence(identity, count + 1)[count])
    return low_papr_sequence((hop + identity) % GROUPS, base, length)
