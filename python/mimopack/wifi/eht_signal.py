# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""U-SIG and EHT-SIG: what an EHT frame (802.11be) says of itself, and of its only user.

Bits are uint8 arrays in order of transmission. Source: IEEE 802.11be-2024 §36.3.12.7, §36.3.12.8.
"""

from dataclasses import dataclass, replace

import numpy as np

from . import carriers
from .bits import bits_of, crc8, number_of
from .formats import EHT, Unsupported
from .formats.base import MCS, TAIL
from .formats.eht import COMMON, CRC, SIG_MCS, USER
from .formats.he import TRAINING
from .he_signal_b import channel_points
from .he_users import BlockReader, signal_llrs
from .signal_fields import SignalError, he_duration

_BANDWIDTHS = (20, 40, 80, 160, 320, 320)
# Number of patterns of a punctured channel (Table 36-30). Another implementation sends 15 for none.
_PATTERNS = {80: 4, 160: 12}
_ONE_USER = 1    # PPDU Type And Compression Mode of a frame for one user, or without data


@dataclass(frozen=True)
class OneUser:
    """Fields of the U-SIG of an EHT MU frame for one user.

    Attributes:
        bandwidth_mhz, uplink, bss_color, txop: see :class:`EHT`.
        sig_mcs: field EHT-SIG MCS.
        num_symbols: number of EHT-SIG symbols.
        duration: samples at 20 MS/s after the L-SIG.
    """

    bandwidth_mhz: int
    uplink: bool
    bss_color: int
    txop: int
    sig_mcs: int
    num_symbols: int
    duration: int

    @property
    def modulation(self):
        """MCS of the EHT-SIG, and whether it has dual carrier modulation."""
        return SIG_MCS[self.sig_mcs]

    def complete(self, bits):
        """Return the :class:`EHT` that the U-SIG and an EHT-SIG announce.

        Args:
            bits: uint8 (42,), common field and User field (Tables 36-36, 36-40).

        Raises:
            SignalError: the fields disagree about the length.
            Unsupported, ValueError: :class:`EHT` refuses the frame.
        """
        ltf, gi_us = TRAINING["eht-mu"][number_of(bits[4:6])]
        fields = number_of(bits[6:9])
        if fields > 4:
            raise Unsupported(f"field Number Of EHT-LTF Symbols {fields} (reserved)")
        user = bits[COMMON:]
        coding = "ldpc" if user[21] else "bcc"
        f = EHT(
            number_of(user[11:15]), 1, number_of(user[16:20]) + 1, self.bandwidth_mhz, gi_us, ltf,
            coding, pre_fec_padding=number_of(bits[10:12]) or 4,
            extra_symbol=bool(coding == "ldpc" and bits[9]), bss_color=self.bss_color,
            uplink=self.uplink, txop=self.txop, spatial_reuse=number_of(bits[:4]),
            beamformed=bool(user[20]), ltf_count=(1, 2, 4, 6, 8)[fields],
            sta_id=number_of(user[:11]), num_sig_b=self.num_symbols, sig_mcs=self.sig_mcs)
        symbols, extension = he_duration(f, self.duration, bool(bits[12]))
        return replace(f, num_symbols=symbols, packet_extension_us=extension)


def u_sig(frame_format):
    """Return the U-SIG of an :class:`EHT` frame: uint8 (52,) (Table 36-28)."""
    f = frame_format
    # No channel is punctured. Bits to disregard and to validate are 1.
    head = np.concatenate([
        np.zeros(3), bits_of(_BANDWIDTHS.index(f.bandwidth_mhz), 3), [f.uplink],
        bits_of(f.bss_color, 6), bits_of(f.txop, 7), np.ones(6), bits_of(_ONE_USER, 2), [1],
        np.zeros(5), [1], bits_of(f.sig_mcs, 2), bits_of(f.num_sig_b - 1, 5)]).astype(np.uint8)
    return np.concatenate([head, crc8(head)[:CRC], np.zeros(TAIL, np.uint8)])


def parse_u_sig(bits, l_sig):
    """Return (:class:`OneUser`, fields with keys of ``ReceivedFrame.as_json``) of a U-SIG.

    Args:
        bits: uint8 (46 or more,), a U-SIG with a correct CRC.
        l_sig: :class:`signal_fields.LSig`.

    Raises:
        Unsupported: the frame is not for one user, has a punctured channel, or is wider than 160
            MHz.
    """
    version, bandwidth, kind = number_of(bits[:3]), number_of(bits[3:6]), number_of(bits[26:28])
    uplink = bool(bits[6])
    announced = {"bss_color": number_of(bits[7:13]), "uplink": uplink,
                 "txop": number_of(bits[13:20])}
    error = None
    if version:
        error = Unsupported(f"a frame newer than 802.11be: version {version} in its U-SIG")
    elif bandwidth >= len(_BANDWIDTHS):
        error = Unsupported(f"802.11be (EHT) with bandwidth {bandwidth} (reserved)")
    else:
        announced |= {"format": "eht-tb" if uplink and not kind else "eht-mu",
                      "bandwidth_mhz": _BANDWIDTHS[bandwidth]}
        error = _unsupported(kind, uplink, bits, announced["bandwidth_mhz"])
    if error:
        error.announced = announced
        raise error
    return OneUser(announced["bandwidth_mhz"], uplink, announced["bss_color"], announced["txop"],
                   number_of(bits[35:37]), number_of(bits[37:42]) + 1, l_sig.duration), announced


def _unsupported(kind, uplink, bits, bandwidth_mhz):
    """Return why an EHT frame is not received, an Unsupported; None if it may be."""
    if kind != _ONE_USER:
        what = {(0, False): "EHT MU by OFDMA", (0, True): "EHT TB",
                (2, False): "EHT MU for several users (MU-MIMO)"}.get((kind, uplink))
        return Unsupported(what or f"EHT with a reserved type {kind}")
    if not bits[35:42].any():    # one EHT-SIG symbol of BPSK has no room for a user
        return Unsupported("EHT sounding frame")
    if bandwidth_mhz > 160:
        return Unsupported(f"EHT in {bandwidth_mhz} MHz")
    if 0 < number_of(bits[29:34]) <= _PATTERNS.get(bandwidth_mhz, 0):
        return Unsupported("EHT with a punctured channel")
    return None


def eht_sig(frame_format):
    """Return the EHT-SIG of an :class:`EHT` frame: uint8 (52,) (Tables 36-36, 36-40)."""
    f = frame_format
    head = np.concatenate([
        bits_of(f.spatial_reuse, 4), bits_of(TRAINING[f.name].index((f.ltf, f.gi_us)), 2),
        bits_of((1, 2, 4, 6, 8).index(f.num_ltf), 3), [f.extra_symbol or f.coding == "bcc"],
        bits_of(f.pre_fec_padding % 4, 2), [f.pe_disambiguity], np.ones(4), np.zeros(3),
        bits_of(f.sta_id or 0, 11), bits_of(f.mcs, 4), [1], bits_of(f.num_streams - 1, 4),
        [f.beamformed, f.coding == "ldpc"]]).astype(np.uint8)
    return np.concatenate([head, crc8(head)[:CRC], np.zeros(TAIL, np.uint8)])


def eht_sig_points(frame_format):
    """Return the points of the EHT-SIG, the same in each 20 MHz, subcarriers ascending.

    The shape is (symbols, 52 for each 20 MHz).
    """
    f = frame_format
    points = channel_points(eht_sig(f), f.num_sig_b, *SIG_MCS[f.sig_mcs])
    return np.tile(points, f.bandwidth_mhz // 20)


def with_format(one, scale):
    """Read the EHT-SIG of a frame.

    Args:
        one: :class:`synchroniser.FoundFrame` whose ``several`` is :class:`OneUser`.
        scale: sample rate over 20 MS/s.

    Returns:
        The frame with its format, or with the reason why it has none.
    """
    user, named = one.several, {"several": None, "signal_fields": b""}
    mcs, dcm = user.modulation
    centres = np.array(carriers.subchannels(20 * scale))[list(one.subchannels)]
    llr = signal_llrs(one, scale, user.num_symbols, mcs, dcm, centres)
    reader = BlockReader(llr, MCS[mcs][1])
    bits = reader.block(COMMON + USER)
    if bits is None:
        return replace(one, problem="EHT-SIG CRC", **named)
    try:
        f = user.complete(bits)
    except (SignalError, ValueError) as error:
        return replace(one, problem=str(error), **named)
    return replace(one, format=f, problem="", num_samples=f.num_samples * scale, **named)
