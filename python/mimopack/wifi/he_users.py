# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the HE-SIG-B of HE MU frames, which says what each user receives.

Source: IEEE 802.11ax-2021 §27.3.11.8.
"""

from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from .. import _core
from .. import constellation as constellations
from ..coding.convolutional import PUNCTURING
from . import carriers, training
from .bits import crc8, number_of
from .formats import HE, JointHE, Unsupported
from .formats.base import MCS, TAIL
from .he_signal_b import (
    CARRIERS,
    CRC,
    NOBODY,
    SIGNS,
    USER,
    allocation,
    bits_per_symbol,
    common_bits,
    ru_of,
    spatial_configurations,
    user_bits,
)
from .he_tables import RU, WHOLE, plan
from .interleaving import bit_order, dual_carriers
from .signal_fields import code, he_duration
from .windows import FrameSamples

_MANY = 16    # HE-SIG-B symbols, or more
# Number of the first RU of 26 tones in the centre of 80 MHz, and of all RUs of 26 tones there.
_CENTRE, _OF_26 = 19, 37
# From the first FFT window of the L-LTF to the window of the L-SIG, at 20 MS/s.
_L_SIG = 144
# Signs of the outermost subcarriers of the L-SIG, at -28, -27, 27, 28.
_OUTER = np.array([-1, -1, -1, 1])


@dataclass(frozen=True)
class SeveralUsers:
    """What the HE-SIG-A of an HE MU frame says.

    Attributes:
        common: :class:`HE` with what all users share, and without HE-SIG-B symbols.
        sig_b_mcs, sig_b_dcm: modulation of the HE-SIG-B.
        count: number of HE-SIG-B symbols, or of users if ``compressed``.
        compressed: whether the HE-SIG-B has no common field: one RU fills the channel.
        punctured: whether nothing is sent in some 20 MHz subchannels.
        pe_disambiguity: field of this name.
        duration: samples at 20 MS/s after the L-SIG.
    """

    common: HE
    sig_b_mcs: int
    sig_b_dcm: bool
    count: int
    compressed: bool
    punctured: bool
    pe_disambiguity: bool
    duration: int

    @property
    def num_symbols(self):
        """Number of HE-SIG-B symbols."""
        if not self.compressed:
            return self.count
        channels = 1 if self.common.bandwidth_mhz == 20 else 2
        bits = user_bits(-(-self.count // channels))
        return -(-bits // bits_per_symbol(self.sig_b_mcs, self.sig_b_dcm))

    def complete(self, **own):
        """Return the :class:`HE` of a user with these fields of its own."""
        f = replace(self.common, num_sig_b=self.num_symbols, sig_b_mcs=self.sig_b_mcs,
                    sig_b_dcm=self.sig_b_dcm, sig_b_compressed=self.compressed, **own)
        symbols, extension = he_duration(f, self.duration, self.pe_disambiguity)
        # The extra segment of LDPC lengthens the frame for all users, whatever their code.
        return replace(f, num_symbols=symbols, packet_extension_us=extension)


def users_of(one, scale):
    """Read the HE-SIG-B of a frame.

    Args:
        one: :class:`synchroniser.FoundFrame` with the attribute ``several``.
        scale: sample rate over 20 MS/s.

    Returns:
        (formats, reason): a list with an :class:`HE` for each user who has an RU alone, and a
        :class:`JointHE` for users who share one; and why others are missing, "" if none is.
    """
    fields, several, units, reason = _user_fields(one, scale)
    users, bandwidth = [], several.common.bandwidth_mhz
    for ru in sorted(fields, key=lambda ru: plan(bandwidth, ru).used[0]):
        own = fields[ru]
        if any(field is None for field in own):
            reason = "HE-SIG-B CRC"
        elif ru.size > 242 and reason:
            continue    # a content channel is missing that may tell of further users
        else:
            read = _user if len(own) == 1 else _sharing_users
            try:
                user = read(own, ru, several, units)
            except (Unsupported, ValueError) as error:
                reason = reason or str(error)
            else:
                users += [user] if user else []
    return users, reason


def _user_fields(one, scale):
    """Read the content channels of a frame's HE-SIG-B.

    The second of two content channels is sent in every second 20 MHz subchannel.

    Returns:
        (fields, several, units, reason): {RU: User fields of its users, None for one with a wrong
        CRC}; ``one.several`` with the right number of symbols; the RU Allocation subfields, see
        :class:`HE`; and why anything is missing, "" if nothing is.
    """
    several = one.several
    bandwidth, rate = several.common.bandwidth_mhz, MCS[several.sig_b_mcs][1]
    centres = np.array(carriers.subchannels(20 * scale))
    numbers = np.array(one.subchannels)
    parts = [numbers] if bandwidth == 20 else [numbers[numbers % 2 == channel]
                                               for channel in (0, 1)]
    if not all(part.size for part in parts):
        return {}, several, None, "HE-SIG-B without one of its content channels"

    def readers():
        return [BlockReader(signal_llrs(one, scale, several.num_symbols, several.sig_b_mcs,
                                        several.sig_b_dcm, centres[part].tolist()), rate)
                for part in parts]

    found, fields = readers(), {}
    if several.compressed:
        for channel, reader in enumerate(found):
            own = reader.users((several.count + len(found) - 1 - channel) // len(found))
            fields.setdefault(RU(WHOLE[bandwidth], 1), []).extend(own)
        return fields, several, None, ""
    layouts, units, reason = [], {}, ""
    for channel, reader in enumerate(found):
        layout, own, problem = _common(reader, channel, bandwidth)
        layouts.append(layout)
        units |= own
        reason = reason or problem
    if several.count == _MANY:
        # 16 symbols or more: as many as the users need.
        bits = max(common_bits(bandwidth) + user_bits(sum(count for _, count in layout))
                   for layout in layouts)
        per_symbol = bits_per_symbol(several.sig_b_mcs, several.sig_b_dcm)
        several = replace(several, count=max(_MANY, -(-bits // per_symbol)))
        if several.count > _MANY:
            found = readers()
            for reader in found:
                reader.block(common_bits(bandwidth) - CRC - TAIL)
    for reader, layout in zip(found, layouts, strict=True):
        own = iter(reader.users(sum(count for _, count in layout)))
        for ru, count in layout:
            fields.setdefault(ru, []).extend(islice(own, count))
    allocation = " ".join(str(units[part]) for part in sorted(units))
    return {ru: own for ru, own in fields.items() if own}, several, allocation, reason


def _common(reader, channel, bandwidth_mhz):
    """Read the common field of a content channel.

    Returns:
        (layout, units, problem): a list of (RU, number of users in this content channel) in the
        order of the User fields, {subchannel: RU Allocation subfield}, and why they are missing.
    """
    bits = reader.block(common_bits(bandwidth_mhz) - CRC - TAIL)
    if bits is None:
        return [], {}, "HE-SIG-B CRC"
    layout, units = [], {}
    step = 1 if bandwidth_mhz == 20 else 2
    for at, part in enumerate(range(channel, bandwidth_mhz // 20, step)):
        units[part] = number_of(bits[8 * at:8 * at + 8])
        found = allocation(units[part])
        if found is None or any(size > WHOLE[bandwidth_mhz] for size, _ in found):
            return [], {}, "HE-SIG-B with a reserved allocation of resource units"
        layout += [(ru_of(size, place, part, bandwidth_mhz), count)
                   for (size, place), count in sorted(found.items(), key=lambda item: item[0][1])]
    # At 80 MHz, both content channels tell of the RU in the centre, and the first has its user.
    if bandwidth_mhz >= 80 and bits[-1] and (channel == 0 or bandwidth_mhz == 160):
        layout.append((RU(26, _CENTRE + _OF_26 * channel), 1))
    return layout, units, ""


def _user(fields, ru, several, units):
    """Return the :class:`HE` of a User field of a user alone (Table 27-28), None for nobody."""
    bits, = fields
    sta_id = number_of(bits[:11])
    if sta_id == NOBODY:
        return None
    stbc = several.common.stbc
    return several.complete(
        ru=ru, ru_allocation=units, sta_id=sta_id,
        num_streams=number_of(bits[11:14]) + 1 - stbc,
        beamformed=bool(bits[14]), mcs=number_of(bits[15:19]), dcm=bool(bits[19]),
        coding="ldpc" if bits[20] else "bcc")


def _sharing_users(fields, ru, several, units):
    """Return the :class:`JointHE` of the User fields of users that share an RU (Table 27-29)."""
    said = {number_of(bits[11:15]) for bits in fields}
    configurations = spatial_configurations(len(fields))
    if len(said) > 1 or max(said) >= len(configurations):
        raise Unsupported("HE-SIG-B with contradictory or reserved spatial configurations")
    streams = configurations[said.pop()]
    first = np.cumsum([0, *streams])
    # Users that share an RU are told apart by beamforming.
    return JointHE.of([several.complete(
        ru=ru, ru_allocation=units, sta_id=number_of(bits[:11]), num_streams=own,
        first_stream=int(begin), ru_streams=sum(streams), beamformed=True,
        mcs=number_of(bits[15:19]), coding="ldpc" if bits[20] else "bcc")
        for bits, own, begin in zip(fields, streams, first, strict=False)])


class BlockReader:
    """Decode the blocks of a content channel, one after another.

    Args:
        llr: LLRs of the channel's coded bits.
        rate: code rate. The puncturing goes on from block to block.
    """

    def __init__(self, llr, rate):
        kept = np.resize(PUNCTURING[rate], 2 * len(llr))
        at = np.flatnonzero(kept)[:len(llr)]
        self._llr = np.zeros(at[-1] + 2 if at.size else 0, np.float32)
        self._llr[at] = llr
        self._at = 0

    def block(self, size):
        """Return the next block of ``size`` bits; None if it is not there, or its CRC is wrong."""
        count = size + CRC
        end = self._at + 2 * (count + TAIL)
        llr = self._llr[self._at:end]
        self._at = end
        if llr.size < 2 * (count + TAIL):
            return None
        bits = code().decode_batch(np.ascontiguousarray(llr), np.array([count]), 1)
        return bits[:size] if (crc8(bits[:size])[:CRC] == bits[size:]).all() else None

    def users(self, count):
        """Return the User fields of ``count`` users, None for those with a wrong CRC."""
        fields = []
        while len(fields) < count:
            own = min(2, count - len(fields))
            found = self.block(own * USER)
            fields += [None] * own if found is None else list(found.reshape(own, USER))
        return fields


def signal_llrs(one, scale, count, mcs, dcm, centres):
    """Return the LLRs of the coded bits of an HE-SIG-B or EHT-SIG in the order of the code.

    Args:
        one: :class:`synchroniser.FoundFrame`.
        scale: sample rate over 20 MS/s.
        count: number of symbols of the field.
        mcs, dcm: its modulation.
        centres: subcarrier indices of the centres of the 20 MHz subchannels that send the same.
    """
    fft = carriers.FFT_20 * scale
    used = carriers.high_throughput(20)
    first_symbol = 4    # behind L-SIG, RL-SIG, and HE-SIG-A or U-SIG
    starts = np.concatenate([
        [0, carriers.FFT_20], _L_SIG + training.SYMBOL * np.arange(2),
        _L_SIG + training.SYMBOL * (first_symbol + np.arange(count))])
    samples = FrameSamples([one.samples], [one.window - one.first], [one.cfo])
    centres = np.array(centres)
    x = samples.spectra(starts * scale, fft, (centres[:, None] + used.used).ravel() % fft)[0]
    x = x / np.sqrt(one.noise)[:, None, None]
    # Each subchannel acts as further antennas.
    x = np.concatenate(np.split(x, centres.size, axis=2))
    # Channel over the noise: from the L-LTF, and for the outer subcarriers from the L-SIGs.
    inner = np.searchsorted(used.used, carriers.legacy().used)
    outer = np.setdiff1d(np.arange(used.used.size), inner)
    h = np.zeros((len(x), used.used.size), complex)
    h[:, inner] = (x[:, 0] + x[:, 1])[:, inner] / 2 * training.legacy_long_training()
    combined = np.einsum("rk,rtk->tk", h.conj(), x[:, 2:])
    signs = training.legacy_pilots(0, first_symbol + count)
    signs = np.concatenate([signs[:2], signs[first_symbol:]])
    phase = np.angle(np.sum(combined[:, used.pilot_index] * signs, axis=1))
    x = x[:, 2:] * np.exp(-1j * phase)[:, None]
    h[:, outer] = x[:, :2, outer].mean(axis=1) * _OUTER
    combined = np.einsum("rk,rtk->tk", h.conj(), x[:, 2:])
    strength = np.maximum(np.sum(np.abs(h)**2, axis=0), 1e-9)
    points = (combined / strength)[:, used.data_index] * SIGNS
    return _demapped(points, strength[used.data_index], mcs, dcm)


def _demapped(points, strength, mcs, dcm):
    """Return LLRs in the order of the code from points (symbols, 52) of a strength (52,)."""
    layer = constellations.get(MCS[mcs][0])
    m = layer.bits_per_symbol
    distance = np.abs(points[..., None] - layer.points)**2 * strength[:, None]
    labels = np.arange(len(layer.points))
    llr = np.stack([
        distance[..., labels >> (m - 1 - b) & 1 == 0].min(axis=-1)
        - distance[..., labels >> (m - 1 - b) & 1 == 1].min(axis=-1) for b in range(m)], axis=-1)
    if dcm:
        size = CARRIERS // 2
        place, sign = dual_carriers(size, m)
        arrangement = _core.wifi.Arrangement(
            streams=1, bits=m, stbc=0, segments=1, place=place, sign=sign)
        llr = arrangement.combine_copies(llr.swapaxes(0, 1)[None].astype(np.float32))
        llr = llr[0].swapaxes(0, 1)
    order = bit_order(llr.shape[1], 1, m)
    return np.take(llr.reshape(len(llr), -1), order, axis=1).ravel().astype(np.float32)
