# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""HE-SIG-B: which RUs an HE MU frame has, and their users (IEEE 802.11ax-2021 §27.3.11.8)."""

from functools import lru_cache
from itertools import product

import numpy as np

from .. import constellation as constellations
from ..coding import ConvolutionalCode, scrambler_sequence
from .bits import bits_of, crc8
from .formats.base import MCS, TAIL, Unsupported, bits_per_point, ratio
from .he_tables import RU
from .interleaving import bit_order, dual_carriers
from .points import sent_again

CRC = 4
USER = 21    # bits of a User field
CARRIERS = 52    # data subcarriers of a 20 MHz subchannel
# Signs of the data subcarriers, which lower the peaks of the signal (27-20).
SIGNS = np.where((np.arange(CARRIERS) >= CARRIERS // 2) & (np.arange(CARRIERS) % 2), -1, 1)
PADDING_SEED = 93
NOBODY = 2046    # STA-ID of an RU without a user
# First of the nine RUs of 26 tones of a 20 MHz subchannel that an RU takes the place of, by size.
_PLACES = {26: range(9), 52: (0, 2, 5, 7), 106: (0, 5), 242: (0,)}
_WIDTHS = {26: 1, 52: 2, 106: 4, 242: 9}
# Table 27-26: first code of RUs wider than 20 MHz, and the code of such an RU whose users stand
# elsewhere.
_WIDE = {484: (200, 114), 996: (208, 115)}


@lru_cache
def _layouts():
    """Return {8 bits of an RU Allocation subfield: {(size, place): number of users}} (Table 27-26).

    ``place`` is that of the first of the nine RUs of 26 tones in whose place the RU is.
    """
    small = [((26, 26), (52,))] * 2
    layouts = {}
    for code, (a, b, c, d) in enumerate(product(*small, *small)):
        layouts[code] = _placed((*a, *b, 26, *c, *d))
    for y in range(8):
        for code, sizes in ((16, (52, 52, None, 106)), (24, (106, None, 52, 52)),
                            (32, (26, 26, 26, 26, 26, 106)), (40, (26, 26, 52, 26, 106)),
                            (48, (52, 26, 26, 26, 106)), (56, (52, 52, 26, 106)),
                            (64, (106, 26, 26, 26, 26, 26)), (72, (106, 26, 26, 26, 52)),
                            (80, (106, 26, 52, 26, 26)), (88, (106, 26, 52, 52)), (192, (242,))):
            layouts[code + y] = _placed(sizes, [y + 1])
        for z in range(8):
            if y < 4 and z < 4:
                layouts[96 + 4 * y + z] = _placed((106, None, 106), [y + 1, z + 1])
            layouts[128 + 8 * y + z] = _placed((106, 26, 106), [y + 1, z + 1])
    layouts[112] = _placed((52, 52, None, 52, 52))
    layouts[113] = _placed((242,), [0])
    return layouts


def _placed(sizes, users=()):
    """Return {(size, place): number of users} of RUs in order.

    ``users`` are the numbers of the RUs of 106 or 242 tones; the others have one user. None stands
    for the unused RU of 26 tones in the middle.
    """
    users, at, layout = iter(users), 0, {}
    for size in sizes:
        if size is not None:
            layout[size, at] = next(users) if size >= 106 else 1
        at += _WIDTHS[size or 26]
    return layout


def allocation(code):
    """Return {(size, place): number of users} of an RU Allocation subfield; None if it is reserved.

    RUs wider than 20 MHz have the place 0.
    """
    for size, (first, none) in _WIDE.items():
        if code == none or first <= code < first + 8:
            return {(size, 0): 0 if code == none else code - first + 1}
    return _layouts().get(code)


def ru_of(size, place, part=0, bandwidth_mhz=20):
    """Return the :class:`he_tables.RU` of an RU of :func:`allocation`.

    Args:
        size, place: see :func:`allocation`.
        part: number of the 20 MHz subchannel whose RU Allocation subfield has it.
        bandwidth_mhz: of the channel.
    """
    if size > 242:
        return RU(size, part // (size // 242) + 1)
    index = len(_PLACES[size]) * part + _PLACES[size].index(place)
    if size == 26 and bandwidth_mhz >= 80:    # and one in the centre of each 80 MHz
        index += (part + 2) // 4
    return RU(size, index + 1)


def _code_of(wanted):
    """Return the code with RUs ``wanted`` {(size, place): users}, and the fewest further ones."""
    fits = [(len(layout) - len(wanted), code) for code, layout in _layouts().items()
            if all(layout.get(ru) == count for ru, count in wanted.items())]
    if not fits:
        sizes = ", ".join(f"{size} at {at}" for size, at in wanted)
        raise Unsupported(f"RUs {sizes} in one 20 MHz channel (excluded by the standard)")
    return min(fits)[1]


def _subchannel(bandwidth_mhz, ru):
    """Return (first 20 MHz subchannel, place in it) of an RU; place None: in the centre of 80 MHz.
    """
    size, index = ru.size, ru.index - 1
    if size > 242:
        return index * size // 242, 0
    if size == 26 and bandwidth_mhz >= 80:
        block, index = divmod(index, 37)
        if index == 18:
            return 4 * block, None
        index -= index > 18
        part, place = divmod(index, 9)
        return 4 * block + part, place
    part, place = divmod(index, len(_PLACES[size]))
    return part, _PLACES[size][place]


def subchannels_of(bandwidth_mhz, ru):
    """Return the 20 MHz subchannels in which an RU lies, a set of numbers from the lowest one."""
    first, place = _subchannel(bandwidth_mhz, ru)
    if place is None:
        return {first + 1, first + 2}
    return set(range(first, first + max(1, ru.size // 242)))


def content(users, bandwidth_mhz, compressed):
    """Return the content channels of HE-SIG-B.

    Args:
        users: parts of the frame, each with the attributes ``ru``, ``sta_id`` and so on.
        bandwidth_mhz: of the channel.
        compressed: whether there is no common field.

    Returns:
        For each content channel (common, fields): the bits of the common field without CRC and
        tail, None if compressed, and a list of the bits of the User fields.
    """
    channels = 1 if bandwidth_mhz == 20 else 2
    if compressed:
        fields = [_user_field(user, users) for user in users]
        half = -(-len(users) // channels)
        return [(None, fields[i * half:(i + 1) * half]) for i in range(channels)]
    small, wide, centre = _by_place(users, bandwidth_mhz)
    common, fields = [[] for _ in range(channels)], [[] for _ in range(channels)]
    for part in range(bandwidth_mhz // 20):
        channel = part % channels
        first = next((first for first, (size, _) in wide.items()
                      if first <= part < first + size // 242), None)
        if first is None:
            here = small.get(part, {})
            code = _code_of({ru: len(those) for ru, those in here.items()}) if here else 113
            for ru, count in allocation(code).items():
                fields[channel] += [_user_field(user, here[ru]) for user in here[ru]] if (
                    ru in here) else [_unassigned()] * count
        else:
            size, those = wide[first]
            # The users of a wide RU stand in its first subchannel of each content channel.
            half = -(-len(those) // 2)
            own = {first: those[:half], first + 1: those[half:]}.get(part, [])
            code = _WIDE[size][0] + len(own) - 1 if own else _WIDE[size][1]
            fields[channel] += [_user_field(user, those) for user in own]
        common[channel].append(bits_of(code, 8))
    if bandwidth_mhz >= 80:
        for channel in range(channels):
            block = 4 * channel if bandwidth_mhz == 160 else 0
            common[channel].append(np.array([block in centre], np.uint8))
            if block in centre and block == 4 * channel:
                fields[channel].append(_user_field(centre[block], [centre[block]]))
    return [(np.concatenate(bits), own) for bits, own in zip(common, fields, strict=True)]


def _by_place(users, bandwidth_mhz):
    """Sort users by their RU.

    Returns:
        {subchannel: {(size, place): users}}, {first subchannel: (size, users)} for RUs wider than
        20 MHz, and {first subchannel of 80 MHz: user of the RU in the centre}.
    """
    small, wide, centre = {}, {}, {}
    for user in users:
        if user.ru.size == 1992:
            raise Unsupported("an HE-SIG-B with common field for 2x996 tones (excluded by the "
                              "standard)")
        part, place = _subchannel(bandwidth_mhz, user.ru)
        if place is None:
            centre[part] = user
        elif user.ru.size > 242:
            wide.setdefault(part, (user.ru.size, []))[1].append(user)
        else:
            small.setdefault(part, {}).setdefault((user.ru.size, place), []).append(user)
    return small, wide, centre


def _user_field(user, sharing):
    """Return the User field of a user (Tables 27-28, 27-29).

    ``sharing`` are all users of its RU.
    """
    if len(sharing) == 1:
        middle = [bits_of(user.num_space_time_streams - 1, 3), [user.beamformed],
                  bits_of(user.mcs, 4), [user.dcm]]
    else:
        streams = tuple(one.num_space_time_streams for one in sharing)
        configurations = spatial_configurations(len(sharing))
        if streams not in configurations:
            raise Unsupported(f"users with {streams} streams in an RU (excluded by the standard, "
                              "which orders users by their number of streams)")
        middle = [bits_of(configurations.index(streams), 4), bits_of(user.mcs, 4), [0]]
    return np.concatenate([bits_of(user.sta_id, 11), *middle,
                           [user.coding == "ldpc"]]).astype(np.uint8)


def _unassigned():
    return np.concatenate([bits_of(NOBODY, 11), np.zeros(10, np.uint8)])


@lru_cache
def spatial_configurations(num_users):
    """Return the streams of 2 to 8 users of an RU for each value of Spatial Configuration.

    Source: Table 27-30, as a list of tuples.
    """
    found = [streams for streams in product(range(1, 5), repeat=num_users)
             if list(streams) == sorted(streams, reverse=True) and sum(streams) <= 8]
    return sorted(found, key=lambda streams: streams[::-1])


def blocks(common, fields):
    """Return the bits of a content channel: each block with its CRC and tail (Figure 27-28)."""
    parts = [] if common is None else [common]
    parts += [np.concatenate(fields[i:i + 2]) for i in range(0, len(fields), 2)]
    return np.concatenate([np.concatenate([part, crc8(part)[:CRC], np.zeros(TAIL, np.uint8)])
                           for part in parts]) if parts else np.zeros(0, np.uint8)


def common_bits(bandwidth_mhz):
    """Return the number of bits of the common field in a content channel, with CRC and tail."""
    return 8 * max(1, bandwidth_mhz // 40) + (bandwidth_mhz >= 80) + CRC + TAIL


def user_bits(count):
    """Return the number of bits of User fields in a content channel, with CRC and tail."""
    return USER * count + -(-count // 2) * (CRC + TAIL)


def _points_per_symbol(dcm):
    return CARRIERS // 2 if dcm else CARRIERS


def bits_per_symbol(mcs, dcm):
    """Return the number of bits before coding in a symbol."""
    name, rate = MCS[mcs]
    up, down = ratio(rate)
    return _points_per_symbol(dcm) * bits_per_point(name) * up // down


def symbols_of(users, mcs, dcm, compressed):
    """Return the number of HE-SIG-B symbols for the users of a frame."""
    most = max(blocks(*channel).size
               for channel in content(users, users[0].bandwidth_mhz, compressed))
    return -(-most // bits_per_symbol(mcs, dcm))


def num_symbols(frame_format):
    """Return the number of HE-SIG-B symbols of an HE MU frame."""
    f = frame_format
    return symbols_of(f.users, f.sig_b_mcs, f.sig_b_dcm, f.compressed)


def points(frame_format):
    """Return the points of HE-SIG-B (§27.3.11.8.5).

    Returns:
        complex128 (symbols, 52 * subchannels), data subcarriers of the 20 MHz subchannels in
        ascending order.
    """
    f = frame_format
    count = f.first.num_sig_b
    found = [channel_points(blocks(*channel), count, f.sig_b_mcs, f.sig_b_dcm)
             for channel in content(f.users, f.bandwidth_mhz, f.compressed)]
    return np.concatenate([found[part % len(found)] for part in range(f.bandwidth_mhz // 20)],
                          axis=1)


def channel_points(bits, count, mcs, dcm):
    """Return the points of coded bits in ``count`` symbols of 20 MHz: complex128 (count, 52)."""
    name, rate = MCS[mcs]
    per_carrier, size = bits_per_point(name), _points_per_symbol(dcm)
    # As in data, pseudo-random padding keeps the power of the symbol.
    padded = scrambler_sequence(PADDING_SEED, count * bits_per_symbol(mcs, dcm)).copy()
    padded[:bits.size] = bits
    # Each block ends in state 0; the puncturing goes on from block to block.
    coded = ConvolutionalCode(rate).encode(padded).reshape(count, -1)
    sent = np.empty_like(coded)
    sent[:, bit_order(size, 1, per_carrier)] = coded
    sent = sent.reshape(count, size, per_carrier)
    if dcm:
        sent = np.concatenate([sent, sent_again(sent, *dual_carriers(size, per_carrier))], axis=1)
    return constellations.get(name).modulate(sent).reshape(count, -1) * SIGNS
