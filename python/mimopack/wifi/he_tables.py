# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of HE frames: resource units (RU), pilots and training fields.

Subcarrier k lies k times 78.125 kHz above the centre of the channel: a quarter of the spacing of
the other formats. Arrays are in ascending order of k. Numbers of sections, tables and equations are
those of IEEE 802.11ax-2021.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from . import training
from .carriers import CarrierPlan

FFT_20 = 256    # FFT size of a 20 MHz channel
RU_SIZES = (26, 52, 106, 242, 484, 996, 1992)
# Size of the RU that fills a channel, by bandwidth in MHz.
WHOLE = {20: 242, 40: 484, 80: 996, 160: 1992}
# N_SD,short: data subcarriers of a quarter of a symbol (Table 27-33), and with DCM.
SHORT = {26: 6, 52: 12, 106: 24, 242: 60, 484: 120, 996: 240, 1992: 492}
SHORT_DCM = {26: 2, 52: 6, 106: 12, 242: 30, 484: 60, 996: 120, 1992: 246}

# Tables 27-7 to 27-9: first subcarriers of the RUs above the centre. Those below are their mirror
# images. 20 and 80 MHz have one more RU of 26 tones, around the centre.
_STARTS = {
    20: {26: (17, 43, 70, 96), 52: (17, 70), 106: (17,)},
    40: {26: (4, 30, 58, 84, 111, 138, 164, 192, 218), 52: (4, 58, 138, 192), 106: (4, 138),
         242: (3,)},
    80: {26: (18, 44, 72, 98, 125, 152, 178, 206, 232, 260, 286, 314, 340, 367, 394, 420, 448, 474),
         52: (18, 72, 152, 206, 260, 314, 394, 448), 106: (18, 152, 260, 394), 242: (17, 259),
         484: (17,)},
}
_MIDDLE = (*range(-16, -3), *range(4, 17))
# First and last subcarrier above the centre of the RU that fills a channel.
_EDGES = {20: (2, 122), 40: (3, 244), 80: (3, 500)}
# Tables 27-39 to 27-42: pilots above the centre of RUs of 26 and 52 tones, of 106 to 484 tones, and
# of 996 tones.
_PILOTS_OF_SMALL = {
    20: (10, 22, 36, 48, 62, 76, 90, 102, 116),
    40: (10, 24, 36, 50, 64, 78, 90, 104, 116, 130, 144, 158, 170, 184, 198, 212, 224, 238),
    80: (10, 24, 38, 50, 64, 78, 92, 104, 118, 130, 144, 158, 172, 184, 198, 212, 226, 238, 252,
         266, 280, 292, 306, 320, 334, 346, 360, 372, 386, 400, 414, 426, 440, 454, 468, 480, 494),
}
_PILOTS_OF_LARGE = {
    20: (22, 48, 90, 116),
    40: (10, 36, 78, 104, 144, 170, 212, 238),
    80: (24, 50, 92, 118, 158, 184, 226, 252, 266, 292, 334, 360, 400, 426, 468, 494),
}
_PILOTS_OF_996 = (24, 92, 158, 226, 266, 334, 400, 468)
# (27-100) to (27-105): values of the pilots of the first symbol, the same for all streams.
_PILOT_VALUES = {26: [1, -1], 52: [1, 1, 1, -1], 106: [1, 1, 1, -1],
                 242: [1, 1, 1, -1, -1, 1, 1, 1],
                 484: [1, 1, 1, -1, -1, 1, 1, 1, 1, 1, 1, -1, -1, 1, 1, 1],
                 996: [1, 1, 1, -1, -1, 1, 1, 1, 1, 1, 1, -1, -1, 1, 1, 1]}

# (27-22): sequence M of the HE-STF.
_M = [-1, -1, -1, 1, 1, 1, -1, 1, 1, 1, -1, 1, 1, -1, 1]


class RU(NamedTuple):
    """A resource unit.

    Attributes:
        size: number of subcarriers, one of ``RU_SIZES``; 1992 is 2x996.
        index: number of the RU among those of its size, counted from 1 at the lowest frequency.
    """

    size: int
    index: int


@lru_cache
def _spans(bandwidth_mhz, size):
    """Return the subcarriers of each RU of a size, a tuple of tuples."""
    if bandwidth_mhz == 160:
        if size == 1992:
            return (tuple(k + by for by in (-512, 512) for k in _spans(80, 996)[0]),)
        return tuple(tuple(k + by for k in span)
                     for by in (-512, 512) for span in _spans(80, size))
    if size == WHOLE[bandwidth_mhz]:
        first, last = _EDGES[bandwidth_mhz]
        return ((*range(-last, 1 - first), *range(first, last + 1)),)
    starts = _STARTS[bandwidth_mhz].get(size, ())
    above = [tuple(range(start, start + size)) for start in starts]
    below = [tuple(range(1 - start - size, 1 - start)) for start in reversed(starts)]
    middle = [_MIDDLE] * (size == 26 and bandwidth_mhz != 40)
    return (*below, *middle, *above)


def num_rus(bandwidth_mhz, size):
    """Return the number of RUs of a size in a channel."""
    return len(_spans(bandwidth_mhz, size))


@lru_cache
def _pilots(bandwidth_mhz, size):
    """Return all subcarriers on which RUs of a size have pilots: a set."""
    if bandwidth_mhz == 160:
        return {k + by for by in (-512, 512) for k in _pilots(80, min(size, 996))}
    above = (_PILOTS_OF_SMALL if size < 106 else _PILOTS_OF_LARGE)[bandwidth_mhz]
    if size == 996:
        above = _PILOTS_OF_996
    return {sign * k for k in above for sign in (-1, 1)}


@lru_cache(maxsize=256)
def plan(bandwidth_mhz, ru):
    """Return the :class:`carriers.CarrierPlan` of an RU, with k in steps of 78.125 kHz."""
    size, index = ru
    span, pilots = _spans(bandwidth_mhz, size)[index - 1], _pilots(bandwidth_mhz, size)
    return CarrierPlan(bandwidth_mhz, tuple(k for k in span if k not in pilots),
                       tuple(k for k in span if k in pilots))


def pilots(size, first, count):
    """Return the pilots of data symbols, equal for all streams: float64 (count, pilots).

    Args:
        size: number of subcarriers of the RU.
        first: index of the first symbol in the polarity sequence.
        count: number of symbols.
    """
    base = np.array(_PILOT_VALUES[min(size, 996)], float)
    n, p = np.arange(count)[:, None], np.arange(base.size)
    turned = base[(n + p) % base.size]
    if size == 1992:
        turned = np.tile(turned, 2)
    return training.polarity(first, count)[:, None] * turned


@lru_cache
def ltf_mapping(num_ltf):
    """Return the matrix P of 1, 2, 4, 6 or 8 HE-LTFs ((27-59), (21-44) to (21-46)).

    Returns:
        complex128 (num_ltf, num_ltf): a row for each space-time stream.
    """
    four = training.LTF_MAPPING.astype(complex)
    if num_ltf == 6:
        signs = np.array([1, -1, 1, 1, 1, -1])
        matrix = signs * np.exp(-2j * np.pi / 6 * np.outer(np.arange(6), np.arange(6)))
    elif num_ltf == 8:
        matrix = np.block([[four, four], [four, -four]])
    else:
        matrix = four[:num_ltf, :num_ltf]
    matrix.setflags(write=False)
    return matrix


def _dense(values, first, step):
    """Return {k: value} of values at subcarriers first, first + step, ... without zeros."""
    return {first + step * i: value for i, value in enumerate(values) if value}


@lru_cache
def short_training(bandwidth_mhz, trigger_based=False):
    """Return the HE-STF sequence ((27-23) to (27-33)) without its zeros.

    Args:
        bandwidth_mhz: 20, 40, 80 or 160.
        trigger_based: whether the frame is an HE TB frame, whose HE-STF has a period of 1.6 us in
            place of 0.8 us.

    Returns:
        (k, values): int64 and complex128 arrays; the magnitude of the values is 1.
    """
    m, minus = _M, [-value for value in _M]
    if not trigger_based:
        step = 16
        sequence = {20: m, 40: [*m, 0, *minus], 80: [*m, 1, *minus, 0, *minus, 1, *minus],
                    160: [*m, 1, *minus, 0, *minus, 1, *minus, 0,
                          *minus, -1, *m, 0, *minus, 1, *minus]}[bandwidth_mhz]
    else:
        step = 8
        eighty = [*m, -1, *m, -1, *minus, -1, *m, 0, *minus, 1, *m, 1, *minus, 1, *minus]
        sequence = {20: [*m, 0, *minus], 40: [*m, -1, *minus, 0, *m, -1, *m],
                    80: eighty,
                    160: [*eighty, 0, *minus, 1, *minus, 1, *m, 1, *minus, 0, *minus, 1, *m, 1,
                          *minus, 1, *minus]}[bandwidth_mhz]
    first = -step * (len(sequence) // 2)
    used = _dense(sequence, first, step)
    if trigger_based:
        # (27-29) to (27-33): the outermost values lie beyond the RUs.
        allowed = {k for size in (WHOLE[bandwidth_mhz],) for k in _spans(bandwidth_mhz, size)[0]}
        used = {k: value for k, value in used.items() if k in allowed}
    else:
        used.pop(0, None)
    k = np.array(sorted(used))
    return k, np.array([used[i] for i in k]) * (1 + 1j) / np.sqrt(2)


# (27-41) to (27-49): the HE-LTF sequences {(bandwidth in MHz, 1, 2 or 4): signs}, on every fourth,
# second or every subcarrier; k = 0 is in the middle.
# No frame of another implementation has confirmed those of 40 MHz and more. They come from one
# public source, and tests check their zeros, their power over time, and that their pieces are few.
# The first 198 signs of 80 MHz, 2x, are also in claim 1 of US patent 10616882.
_LTF = {
    (20, 1): "-++-+-++++--+++---+--++--+--+-0-++++++-----+---+--+--+-+-----",
    (20, 2): "---++-+----+-+--++-+++++-+-+--++-+----+-+++--+-----+---+++--+0+-++-++-++--+-++++-+-"
             "++--+-----+-++--++-+----+-+++--+-----+-+",
    (20, 4): "--+-+-+++-+++--+-----++----++-+-++++-+--++-++++--+---++++-++----+--++-+----+-+-----"
             "-++-----+--+++-+++-+-+-----+++---+-+++000-+-+-++-+++--+--+-+-+++-+++--+-----++-----"
             "-+-+----+-++--+----++-+++++++-++----+--++-+----+-+--++++--+++++-++---+---+-+-++",
    (40, 1): "++++-++--+-+-+--+-+++--++++++++-++--+-+-+--+-+++--++++-+-+---0++--+-++++++-++--+-++"
             "+++-+---++---+----+--++-+-----+-+++--+++",
    (40, 2): "+-----++--+-+------++++-+-++-----++--+-+-+++++----+-+-+++++-+--+-+--+++++--++-+-+++"
             "+++----+-+-------++--+-+-+++++----+-+-000-----++--+-+------+-++-+-+++++++--++-+-+--"
             "---+-++-+-+++++++--++-+-+-----++--+-+------+-++-+-++-----++--+-+-+++++-+--+-+-+",
    (40, 4): "+----+--++-+-+-++-+---++-------+--++-+-----+-+++--+++--++++-++--+-+-+--+-+++--+++--"
             "--+--++-+-----+-+++--++++++++-++--+-+++++-+---++--------+--++-+-+-++-+---++-------+"
             "--++-+-----+-+++--+++------+--++-+-+-++-+---++---++++-++--+-+++++-+---++---+00000-+"
             "+++-++--+-+-+--+-+++--+++++++-++--+-+++++-+---++---++----+--++-+-+-++-+---++---++++"
             "-++--+-+++++-+---++---+----+--++-+-+-++-+---++---+----+--++-+-+-++-+---++-------+--"
             "++-+-----+-+++--+++-+----+--++-+-+-++-+---++---++++-++--+-+++++-+---++----",
    (80, 1): "--+++++---++--+-+------++--+-+-----++--+-+-+++++--++-+-+----+------+++--++-+-++++++"
             "--++-+-++++-++--+-+-+++++--++-+-+----+-+--0-++--++--++-+-++++++--++-+-+++++--++-+-+"
             "-----++--+-+-++++-+--+--+++--++-+-++++++--++-+-++++-++--+-+-+++++--++-+-+----+-+---"
             "++",
    (80, 2): "++-+++-++++---+--++-+++----++++-+++-+--+---++---+--+-++-++-+---+----+--++-+++----+-"
             "+++-++++---+++--+++-++-+----+---+-++-++---+---+-++-+++--+++-++-+--+-+++-++++---+--+"
             "+-+++----+++----+---+-+++--+++-++-+----+---+-++-++-++--+---++++-+---+----++++---+++"
             "000+--++-+---++++-+++-+----+++-++--+--+--+-+++-++++-+--+---++---+-+++-++++---++++--"
             "-+--++-+++----+---+-++-+--+---++---+--+-+++-+++-+-++-+---+----+-++-+++--+++---++++-"
             "+++-+----+++-++--+----+---+-++-++-+--+---++---+--+-+++-++++----+++-++--+---++++-+++"
             "-++",
    (80, 4): "++-+-+---+---++-+++++--++++-+-+--++-+++--+----+++------++++++-+++-++---+-+--++-+-++"
             "+++--+++-++---+-++-++-+--++++--+++++-++---+---+-+-++-+-+-+++-+++--+-----++----+-+-+"
             "+--+---++-++++---++++-+++++++-+++-++---+-+--++-+-+++++--+++-++---+-++-++-+--+-+-+-+"
             "++-+++--+-----++----+-+-++--+---++-++++---++++-+------+---+--+++-+-++--+-+-----++--"
             "-+--+++-+--+--+-++++++--+++++-++---+---+-+-++-+-+-+++-+++--+-----++----+-+-++--+---"
             "++-++++---++++--++++++-+++-++---+-+--++-+-+++++--+++-++---+-++-++-+---+-+----+++--+"
             "00000+------+-++--++-+-++--+-+---++-+++-+++++++-+--+--+-+++--+---++-----+-----++---"
             "--+--+++-+++-+-+-----+++----+--+++-++--+-+-------++---+--+++-+--+--+-+++-+--++-+-++"
             "+--+---+-------+-++-++-+---++-+++--+++++-+----++-----+--+++-+++-+-+-----+++----+--+"
             "++-++--+-+-+++-+--++-+-+++--+---+-------+-++-++-+---++-+++--+++++-+++++--+++++-++--"
             "-+---+-+-+++++---++++-++---+--++-+-+------++---+--+++-+--+--+-+-+-+--++-+-+++--+---"
             "+-------+-++-++-+---++-+++--+++++-+----++-----+--+++-+++-+-+-----+++----+--+++-++--"
             "+-+-+",
}


@lru_cache
def long_training(bandwidth_mhz, ltf):
    """Return the HE-LTF sequence (§27.3.11.10): float64 (n,), -1, 0 or 1 at k = -n // 2 ... n // 2.

    Args:
        bandwidth_mhz: 20, 40, 80 or 160.
        ltf: 1, 2 or 4 for 1x, 2x or 4x HE-LTFs.
    """
    if bandwidth_mhz == 160:    # (27-50) to (27-52)
        lower = long_training(80, ltf)
        k = np.arange(lower.size) - lower.size // 2
        turned = (-258 <= k) & (k < -16) | (k > 258) if ltf == 2 else k > 0
        values = np.concatenate([lower, np.zeros(23), np.where(turned, -lower, lower)])
    else:
        text = _LTF[bandwidth_mhz, ltf]
        edge, step = _EDGES[bandwidth_mhz][1], 4 // ltf
        values = np.zeros(2 * edge + 1)
        values[edge % step::step] = [{"+": 1, "-": -1, "0": 0}[sign] for sign in text]
    values.setflags(write=False)
    return values


def long_training_of(bandwidth_mhz, ltf, k):
    """Return the values of :func:`long_training` at subcarriers k."""
    values = long_training(bandwidth_mhz, ltf)
    return values[np.asarray(k) + values.size // 2]


def ltf_mask(ltf, k, streams):
    """Return the signs of masked HE-LTFs (27-53): float64 (len(k), len(streams)).

    Args:
        ltf: 1, 2 or 4 for 1x, 2x or 4x HE-LTFs.
        k: subcarriers.
        streams: numbers of the space-time streams, from 0.
    """
    column = (-(-np.asarray(k) * ltf // 4) - 1) % 8
    return ltf_mapping(8).real[np.ix_(streams, column)].T
