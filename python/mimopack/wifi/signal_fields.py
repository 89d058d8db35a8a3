# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signal fields: convert L-SIG, HT-SIG, VHT-SIG-A and VHT-SIG-B from bits to formats and back.

Bits are uint8 arrays in order of transmission. Parsing raises :class:`SignalError` if the parity or
the CRC is wrong, and ``formats.Unsupported`` if the check is right but the frame is not supported.
Numbers of sections, tables and figures are those of IEEE 802.11-2020.
"""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ..coding import ConvolutionalCode
from .bits import bits_of as _bits
from .bits import crc8
from .bits import number_of as _number
from .carriers import BANDWIDTHS
from .formats import HE, HT, VHT, VHTMU, JointHE, Unsupported
from .formats.base import TAIL
from .formats.he import DCM_MCS, TRAINING
from .formats.non_ht import MAX_LENGTH, RATES
from .formats.vht_mu import MOST_USERS, VHTUser
from .he_tables import RU
from .interleaving import bit_order

# VHT-SIG-B of one user by bandwidth: length bits, reserved bits (ones), copies, and the contents of
# an NDP. Of several users, it has four bits of the MCS behind the length, and no reserved bits.
_SIG_B = {20: (17, 3, 1, "00000111010001000010"),
          40: (19, 2, 2, "101001011010001000011"),
          80: (21, 2, 4, "01010011001011111110010"),
          160: (21, 2, 8, "01010011001011111110010")}
_SIG_B_MCS = 4
_RATE_OF = {bits: rate for rate, (bits, _, _) in RATES.items()}


class SignalError(ValueError):
    """A signal field was received with errors: its parity or CRC is wrong."""


@dataclass(frozen=True)
class LSig:
    """The non-HT signal field L-SIG (§17.3.4).

    Attributes:
        rate: rate in Mbit/s at 20 MHz.
        length: length in bytes.
    """

    rate: int
    length: int

    def bits(self):
        """Return the bits of the field: uint8 (24,).

        Raises:
            ValueError: the length exceeds the 12-bit field.
        """
        if self.length > MAX_LENGTH:
            raise ValueError(f"length: got {self.length} bytes for the L-SIG, allowed are 1 to "
                             f"{MAX_LENGTH}: the frame is longer than 5.46 ms")
        rate = _bits(RATES[self.rate][0], 4)[::-1]
        head = np.concatenate([rate, [0], _bits(self.length, 12)])
        return np.concatenate([head, [head.sum() & 1], np.zeros(TAIL)]).astype(np.uint8)

    @classmethod
    def parse(cls, bits):
        """Parse 24 bits.

        Raises:
            SignalError: the parity is wrong, the reserved bit is set, the rate does not exist, or
                the length is 0.
        """
        rate = _RATE_OF.get(_number(bits[:4][::-1]))
        if int(bits[:18].sum()) & 1 or bits[4] or rate is None:
            raise SignalError("L-SIG parity")
        length = _number(bits[5:17])
        if not length:
            raise SignalError("L-SIG length 0")
        return cls(rate, length)

    @property
    def duration(self):
        """Duration of an HT or VHT frame after the L-SIG, in samples at 20 MS/s."""
        return 80 * -(-(self.length + 3) // 3)


def ht_sig(frame_format):
    """Return the bits of the HT-SIG of an :class:`HT` frame: uint8 (48,) (Figures 19-6, 19-7)."""
    f = frame_format
    head = np.concatenate([
        _bits(f.mcs, 7), [f.bandwidth_mhz == 40], _bits(f.length, 16),
        [f.smoothing, not f.sounding, 1, f.aggregated], _bits(f.stbc, 2),
        [f.coding == "ldpc", f.short_gi], _bits(f.extension_streams, 2)]).astype(np.uint8)
    return np.concatenate([head, crc8(head), np.zeros(TAIL, np.uint8)])


def parse_ht_sig(bits, greenfield=False):
    """Return the :class:`HT` format announced by the 48 bits of an HT-SIG.

    Raises:
        SignalError: the CRC is wrong.
        Unsupported: :class:`HT` refuses the fields.
    """
    _check("HT-SIG CRC", bits, 34)
    announced = {"mcs": _number(bits[:7]), "length": _number(bits[8:24]),
                 "bandwidth_mhz": 40 if bits[7] else 20, "short_gi": bool(bits[31]),
                 "coding": "ldpc" if bits[30] else "bcc", "stbc": _number(bits[28:30])}
    with _announcing("ht", announced):
        if announced["stbc"] == 3:
            raise Unsupported("STBC 3 (reserved)")
        return HT(aggregated=bool(bits[27]), greenfield=greenfield, smoothing=bool(bits[24]),
                  sounding=not bits[25], extension_streams=_number(bits[32:34]), **announced)


def vht_sig_a(frame_format):
    """Return the VHT-SIG-A of a :class:`VHT` or :class:`VHTMU` frame: uint8 (48,) (Table 21-12)."""
    f = frame_format
    if isinstance(f, VHTMU):
        return _vht_sig_a_of_users(f)
    head = np.concatenate([
        _bits(BANDWIDTHS.index(f.bandwidth_mhz), 2), [1, bool(f.stbc)], _bits(f.group_id, 6),
        _bits(f.num_space_time_streams - 1, 3), _bits(f.partial_aid, 9), [0, 1],
        [f.short_gi, f.short_gi and f.num_symbols % 10 == 9, f.coding == "ldpc", f.extra_symbol],
        _bits(f.mcs, 4), [f.beamformed, 1]]).astype(np.uint8)
    return np.concatenate([head, crc8(head), np.zeros(TAIL, np.uint8)])


def _vht_sig_a_of_users(f):
    streams, ldpc = [0] * MOST_USERS, [1] * MOST_USERS    # no user: 1 is reserved
    for user in f.users:
        streams[user.user_position] = user.num_streams
        ldpc[user.user_position] = user.coding == "ldpc"
    head = np.concatenate([
        _bits(BANDWIDTHS.index(f.bandwidth_mhz), 2), [1, 0], _bits(f.group_id, 6),
        *[_bits(count, 3) for count in streams], [0, 1],
        [f.short_gi, f.short_gi and f.num_symbols % 10 == 9, ldpc[0], f.extra_symbol], ldpc[1:],
        [1, 1, 1]]).astype(np.uint8)
    return np.concatenate([head, crc8(head), np.zeros(TAIL, np.uint8)])


def is_for_several_users(bits):
    """Return whether a VHT-SIG-A, whose CRC may be wrong, names a group of users."""
    return _number(bits[4:10]) not in (0, 63)


def parse_vht_sig_a_of_users(bits, l_sig):
    """Return the parts of the users announced by a VHT-SIG-A and by the L-SIG.

    Args:
        bits: uint8 (48,), a VHT-SIG-A that :func:`is_for_several_users`.
        l_sig: :class:`LSig`.

    Returns:
        tuple of ``formats.vht_mu.VHTUser``, with MCS 0: the VHT-SIG-B has the MCS.

    Raises:
        SignalError: the CRC is wrong, or the fields disagree about the length.
        Unsupported: the frame is not received.
    """
    _check("VHT-SIG-A CRC", bits, 34)
    told = {"bandwidth_mhz": BANDWIDTHS[_number(bits[:2])], "short_gi": bool(bits[24]),
            "group_id": _number(bits[4:10])}
    with _announcing("vht-mu", told):
        streams = [_number(bits[10 + 3 * i:13 + 3 * i]) for i in range(MOST_USERS)]
        if max(streams) > 4:
            raise Unsupported(f"a user with {max(streams)} space-time streams (reserved)")
        if not any(streams):
            raise Unsupported("several users, none of which has streams")
        users = tuple(VHTUser(
            0, 0, count, coding="ldpc" if bits[26 if i == 0 else 27 + i] else "bcc",
            extra_symbol=bool(bits[27]), beamformed=True, first_stream=sum(streams[:i]),
            all_streams=sum(streams), user_position=i, **told)
            for i, count in enumerate(streams) if count)
    symbols = _vht_symbols(users[0], bits, l_sig)
    return tuple(replace(user, num_symbols=symbols) for user in users)


def _vht_symbols(f, bits, l_sig):
    """Return the number of symbols of a VHT frame, from its VHT-SIG-A and L-SIG."""
    symbols = max(0, (400 + l_sig.duration - f.data_start) // f.symbol)
    if f.short_gi and bits[25]:
        symbols -= 1
    if symbols < 0 or symbols % f.symbols_per_code_block:
        raise SignalError("VHT-SIG-A and L-SIG disagree about the length")
    return symbols


def parse_vht_sig_a(bits, l_sig):
    """Return the :class:`VHT` format announced by the 48 bits of a VHT-SIG-A and by the L-SIG.

    The L-SIG gives the number of symbols.

    Raises:
        SignalError: the CRC is wrong, or the fields disagree about the length.
        Unsupported: :class:`VHT` refuses the frame.
    """
    _check("VHT-SIG-A CRC", bits, 34)
    group, bandwidth = _number(bits[4:10]), BANDWIDTHS[_number(bits[:2])]
    space_time = _number(bits[10:13]) + 1
    stbc = space_time // 2 if bits[3] else 0
    announced = {"mcs": _number(bits[28:32]), "num_streams": space_time - stbc,
                 "bandwidth_mhz": bandwidth, "short_gi": bool(bits[24]),
                 "coding": "ldpc" if bits[26] else "bcc", "stbc": stbc}
    with _announcing("vht", announced):
        if bits[3] and space_time % 2:
            raise Unsupported(f"STBC with {space_time} space-time streams (excluded by the "
                              "standard)")
        fields = {**announced, "group_id": group, "partial_aid": _number(bits[13:22]),
                  "beamformed": bool(bits[32])}
        probe = VHT(num_symbols=0, **fields)
    symbols = _vht_symbols(probe, bits, l_sig)
    return VHT(num_symbols=symbols, extra_symbol=bool(bits[27]), **fields)


def he_sig_a(frame_format):
    """Return the HE-SIG-A of an :class:`HE` or :class:`HEMU` frame: uint8 (52,).

    See Tables 27-18 to 27-21 of 802.11ax-2021.
    """
    f = frame_format
    fields = {"he-tb": _he_sig_a_of_trigger, "he-mu": _he_sig_a_of_users}.get(
        f.name, _he_sig_a_of_one_user)
    head = np.concatenate(fields(f)).astype(np.uint8)
    # The CRC is the first half of the CRC of 8 bits (§27.3.11.7.3).
    return np.concatenate([head, crc8(head)[:4], np.zeros(TAIL, np.uint8)])


def _he_sig_a_of_one_user(f):
    training = TRAINING[f.name].index((f.ltf, f.gi_us))
    dcm, stbc = f.dcm, bool(f.stbc)
    if training == 4:    # 4x HE-LTF with 0.8 us: sent as 3 with both DCM and STBC
        training, dcm, stbc = 3, True, True
    if f.name == "he-er-su":
        bandwidth = int(f.ru.size == 106)
    else:
        bandwidth = BANDWIDTHS.index(f.bandwidth_mhz)
    streams = f.num_space_time_streams - 1
    if f.midamble:
        streams = _bits(streams, 2).tolist() + [f.midamble == 20]
    else:
        streams = _bits(streams, 3)
    return [[1, f.beam_change, f.uplink], _bits(f.mcs, 4), [dcm], _bits(f.bss_color, 6), [1],
            _bits(f.spatial_reuse, 4), _bits(bandwidth, 2), _bits(training, 2), streams,
            _bits(f.txop, 7), [f.coding == "ldpc", f.extra_symbol or f.coding == "bcc", stbc,
                               f.beamformed], _bits(f.pre_fec_padding % 4, 2),
            [f.pe_disambiguity, 1, bool(f.midamble)]]


# Bandwidth field of a punctured preamble: a subchannel outside the primary 40 MHz is empty. 4 and 6
# would say that the secondary 20 MHz are; frames do not say which channels are primary.
_PUNCTURED = {80: 5, 160: 7}


def _he_sig_a_of_users(f):
    one = f.first
    bandwidth = BANDWIDTHS.index(f.bandwidth_mhz)
    if f.punctured is not None:
        bandwidth = _PUNCTURED[f.bandwidth_mhz]
    count = len(f.users) if f.compressed else min(one.num_sig_b, 16)
    num_ltf = (1, 2, 4, 6, 8).index(one.num_ltf)
    if one.midamble:
        num_ltf = [*_bits(num_ltf, 2), one.midamble == 20]
    else:
        num_ltf = _bits(num_ltf, 3)
    return [[one.uplink], _bits(f.sig_b_mcs, 3), [f.sig_b_dcm], _bits(one.bss_color, 6),
            _bits(one.spatial_reuse, 4), _bits(bandwidth, 3), _bits(count - 1, 4), [f.compressed],
            _bits(TRAINING["he-mu"].index((one.ltf, one.gi_us)), 2), [bool(one.midamble)],
            _bits(one.txop, 7), [1], num_ltf, [one.extra_symbol, bool(one.stbc)],
            _bits(one.pre_fec_padding % 4, 2), [one.pe_disambiguity]]


def _he_sig_a_of_trigger(f):
    bandwidth = BANDWIDTHS.index(f.bandwidth_mhz)
    return [[0], _bits(f.bss_color, 6), np.tile(_bits(f.spatial_reuse, 4), 4), [1],
            _bits(bandwidth, 2), _bits(f.txop, 7), np.ones(9)]


@contextmanager
def _announcing(name, announced):
    """Attach the fields read so far to an Unsupported error raised inside."""
    try:
        yield
    except Unsupported as error:
        error.announced = {"format": name, **announced}
        raise


def _check(name, bits, covered):
    # NumPy before 1.25 hides in array_equal that there is no memory.
    if np.not_equal(crc8(bits[:covered]), bits[covered:covered + 8]).any():
        raise SignalError(name)


def vht_sig_b(frame_format):
    """Return the bits of one copy of the VHT-SIG-B without its tail: uint8 (20,), (21,) or (23,).

    See Tables 21-14 and 21-15.
    """
    f = frame_format
    length, reserved, _, ndp = _SIG_B[f.bandwidth_mhz]
    if not f.num_symbols:
        return np.array(list(ndp), np.uint8)
    last = np.ones(reserved, np.uint8)
    if isinstance(f, VHTUser):
        length, last = length + reserved - _SIG_B_MCS, _bits(f.mcs, _SIG_B_MCS)
    return np.concatenate([_bits(-(-(f.apep_length or f.length) // 4), length), last])


def parse_vht_sig_b_of_user(bits):
    """Return {"mcs", "apep_length"} of a VHT-SIG-B without its tail, of one of several users."""
    return {"mcs": _number(bits[-_SIG_B_MCS:]), "apep_length": 4 * _number(bits[:-_SIG_B_MCS])}


def num_sig_b_bits(bandwidth_mhz):
    """Return the number of bits in one copy of the VHT-SIG-B, including its tail."""
    length, reserved, _, _ = _SIG_B[bandwidth_mhz]
    return length + reserved + TAIL


def sig_b_length(frame_format, bits):
    """Return the length of the A-MPDU in bytes according to the bits of a VHT-SIG-B.

    The field holds the length rounded up to a multiple of 4.
    """
    return 4 * _number(bits[:_SIG_B[frame_format.bandwidth_mhz][0]])


# Bits of an HE-SIG-A without its tail, and of them those that its CRC covers.
HE_SIG_A, _HE_COVERED = 46, 42


def he_sig_a_crc_holds(bits):
    """Return whether the CRC of an HE-SIG-A is right: four bits of :func:`crc8` (§27.3.11.7.3)."""
    return not np.not_equal(crc8(bits[:_HE_COVERED])[:4], bits[_HE_COVERED:HE_SIG_A]).any()


def parse_he_sig_a(bits, l_sig, extended):
    """Return the :class:`HE` format announced by an HE-SIG-A and by the L-SIG.

    The L-SIG gives the number of symbols.

    Args:
        bits: uint8 (46 or more,), the HE-SIG-A without its tail.
        l_sig: :class:`LSig`.
        extended: whether it is the HE-SIG-A of an HE ER SU frame.

    Raises:
        SignalError: the CRC is wrong, or the fields disagree about the length.
        Unsupported: :class:`HE` refuses the frame.
    """
    if not he_sig_a_crc_holds(bits):
        raise SignalError("HE-SIG-A CRC")
    dcm, stbc, doppler = bool(bits[7]), bool(bits[35]), bool(bits[41])
    training = _number(bits[21:23])
    if training == 3 and dcm and stbc:    # both bits then mean neither
        training, dcm, stbc = 4, False, False
    ltf, gi_us = TRAINING["he-su"][training]
    streams, midamble = _number(bits[23:26]) + 1, 0
    if doppler:
        streams, midamble = _number(bits[23:25]) + 1, 20 if bits[25] else 10
    width, name = _number(bits[19:21]), "he-er-su" if extended else "he-su"
    announced = {"mcs": _number(bits[3:7]), "num_streams": max(1, streams - stbc),
                 "bandwidth_mhz": 20 if extended else BANDWIDTHS[width], "gi_us": gi_us,
                 "ltf": ltf, "coding": "ldpc" if bits[33] else "bcc", "stbc": int(stbc), "dcm": dcm,
                 "midamble": midamble, "uplink": bool(bits[2]), "bss_color": _number(bits[8:14]),
                 "spatial_reuse": _number(bits[15:19]), "txop": _number(bits[26:33])}
    with _announcing(name, announced | {"doppler": doppler}):
        if extended and width > 1:
            raise Unsupported("HE ER SU with a reserved bandwidth")
        found = HE(
            num_symbols=2, name=name, ru=RU(106, 2) if extended and width else None,
            pre_fec_padding=_number(bits[37:39]) or 4, beamformed=bool(bits[36]),
            extra_symbol=bool(bits[33] and bits[34]), beam_change=bool(bits[1]), **announced)
        symbols, extension = he_duration(found, l_sig.duration, bool(bits[39]))
        return replace(found, num_symbols=symbols, packet_extension_us=extension)


def trigger_based_bandwidth(bits):
    """Return the bandwidth of an HE TB frame's channel in MHz, from its HE-SIG-A."""
    return BANDWIDTHS[_number(bits[24:26])]


def parse_he_sig_a_of_trigger(bits, l_sig, trigger):
    """Return the :class:`HE` or :class:`JointHE` format of an HE TB frame (Table 27-21).

    Args:
        bits: uint8 (46,), its HE-SIG-A without its tail.
        l_sig: :class:`LSig`.
        trigger: ``he_trigger.Trigger``, what the Trigger frame has asked for.

    Raises:
        SignalError: the CRC is wrong, or the fields disagree about the length.
    """
    if not he_sig_a_crc_holds(bits):
        raise SignalError("HE-SIG-A CRC")
    f = trigger.format
    symbols, extension = he_duration(f, l_sig.duration, trigger.pe_disambiguity)
    own = {"num_symbols": symbols, "packet_extension_us": extension,
           "bss_color": _number(bits[1:7]), "spatial_reuse": _number(bits[7:11]),
           "txop": _number(bits[26:33])}
    if isinstance(f, JointHE):
        return JointHE.of([replace(user, **own) for user in f.users])
    return replace(f, **own)


def parse_he_sig_a_of_users(bits, l_sig):
    """Return what the HE-SIG-A of an HE MU frame says, a dictionary (Table 27-20).

    The keys are those of ``he_users.SeveralUsers``; ``common`` is an :class:`HE` with any user.

    Args:
        bits: uint8 (46,), its HE-SIG-A without its tail.
        l_sig: :class:`LSig`.

    Raises:
        SignalError: the CRC is wrong.
        Unsupported: the frame is not received.
    """
    if not he_sig_a_crc_holds(bits):
        raise SignalError("HE-SIG-A CRC")
    ltf, gi_us = TRAINING["he-mu"][_number(bits[23:25])]
    doppler, width = bool(bits[25]), _number(bits[15:18])
    fields, midamble = _number(bits[34:37]), 0
    if doppler:
        fields, midamble = _number(bits[34:36]), 20 if bits[36] else 10
    bandwidth = (20, 40, 80, 160, 80, 80, 160, 160)[width]
    announced = {"bandwidth_mhz": bandwidth, "gi_us": gi_us, "ltf": ltf,
                 "midamble": midamble, "uplink": bool(bits[0]), "bss_color": _number(bits[5:11]),
                 "spatial_reuse": _number(bits[11:15]), "txop": _number(bits[26:33]),
                 "stbc": int(bits[38])}
    with _announcing("he-mu", announced | {"doppler": doppler}):
        if width > 3 and bits[22]:
            raise Unsupported("HE MU with punctured preamble, without allocation (reserved)")
        if fields > 4:
            raise Unsupported("a reserved number of HE-LTFs")
        sig_b_mcs, sig_b_dcm = _number(bits[1:4]), bool(bits[4])
        if sig_b_mcs > 5 or sig_b_dcm and sig_b_mcs not in DCM_MCS:
            raise Unsupported(f"HE-SIG-B MCS {sig_b_mcs} (reserved)")
        common = HE(0, 2, name="he-mu", coding="ldpc", ltf_count=(1, 2, 4, 6, 8)[fields],
                    extra_symbol=bool(bits[37]), pre_fec_padding=_number(bits[39:41]) or 4,
                    **announced)
        return {"common": common, "sig_b_mcs": sig_b_mcs, "sig_b_dcm": sig_b_dcm,
                "count": _number(bits[18:22]) + 1, "compressed": bool(bits[22]),
                "punctured": width > 3, "pe_disambiguity": bool(bits[41]),
                "duration": l_sig.duration}


def he_duration(f, duration, pe_disambiguity):
    """Return (number of data symbols, packet extension in us) of a frame ((27-124) to (27-126)).

    Args:
        f: the frame's format with any number of symbols.
        duration: ``LSig.duration``.
        pe_disambiguity: the field of this name.

    Raises:
        SignalError: no frame has this length.
    """
    room, fields = 400 + duration - f.data_start, f.num_ltf * f.ltf_symbol
    if f.midamble:
        period = f.midamble * f.symbol + fields
        room -= fields * max(0, (room - (pe_disambiguity + 2) * f.symbol) // period)
    symbols = room // f.symbol - pe_disambiguity
    if symbols < 1 or symbols % f.symbols_per_code_block:
        raise SignalError("HE-SIG-A and L-SIG disagree about the length")
    return symbols, min(f.EXTENSIONS_US[-1], 4 * ((room - symbols * f.symbol) // 80))


@lru_cache
def code():
    """Return the convolutional code of signal fields."""
    return ConvolutionalCode("1/2")


def encode_signal(bits, size=48):
    """Encode and interleave the bits of L-SIG, HT-SIG, VHT-SIG-A or HE-SIG-A.

    ``size`` is the number of data subcarriers: 48, or 52 for HE-SIG-A. The result is uint8
    (symbols, size).
    """
    coded = code().encode(bits).reshape(-1, size)
    out = np.empty_like(coded)
    out[:, bit_order(size, 1, 1)] = coded
    return out


def encode_repeated_signal(bits):
    """Encode the HE-SIG-A of an HE ER SU frame: uint8 (4, 52) (802.11ax-2021 §27.3.11.7.4).

    Each symbol is followed by its coded bits in the order of the encoder, not interleaved.
    """
    plain = code().encode(bits).reshape(-1, 52)
    return np.stack([encode_signal(bits, 52), plain], axis=1).reshape(4, 52)


def sig_b_order(frame_format):
    """Return where the coded bits of the VHT-SIG-B are sent.

    Returns:
        (order, copies): int64, position at which each coded bit of all copies is sent, and the
        number of copies.
    """
    f = frame_format
    copies = _SIG_B[f.bandwidth_mhz][2]
    order = bit_order(f.plan.num_data, 1, 1, segments=f.segments)
    # At 80 MHz, two positions remain without a coded bit; they send a 0. At 160 MHz, the bits of
    # 80 MHz come twice.
    coded = 2 * num_sig_b_bits(f.bandwidth_mhz) * copies // f.segments
    return order.reshape(f.segments, -1)[:, :coded].ravel(), copies


def encode_sig_b(frame_format):
    """Return the coded, interleaved VHT-SIG-B: uint8 (data subcarriers,) (§21.3.8.3.6)."""
    bits = np.append(vht_sig_b(frame_format), np.zeros(TAIL, np.uint8))
    order, copies = sig_b_order(frame_format)
    out = np.zeros(frame_format.plan.num_data, np.uint8)
    out[order] = np.tile(code().encode(bits), copies)
    return out
