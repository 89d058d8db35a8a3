# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""MPDUs: frame check sequences (FCS), A-MPDUs, and the addresses of the MAC header.

Section numbers are those of IEEE 802.11-2020.
"""

import zlib
from typing import NamedTuple

import numpy as np

from .. import _core
from .signal_fields import crc8

# Bytes of a frame check sequence, and of the delimiter before an MPDU in an A-MPDU.
FCS = 4
DELIMITER = 4
_SIGNATURE = 0x4E


class Mpdu(NamedTuple):
    """A MAC frame as received.

    Attributes:
        data: bytes, including the four bytes of the FCS.
        fcs_ok: whether the FCS is correct.
        offset: position of the first byte in the PSDU.
    """

    data: bytes
    fcs_ok: bool
    offset: int


class MacHeader(NamedTuple):
    """Fields of a MAC header (§9.2.4).

    Attributes:
        type, subtype: from the frame control field.
        addresses: tuple of up to four addresses, such as "02:00:00:00:00:01".
        sequence_number, fragment: numbers of the sequence and of the fragment in data and
            management frames; None in control frames, and in frames that are too short.
    """

    type: int
    subtype: int
    addresses: tuple
    sequence_number: int | None
    fragment: int | None


def fcs(data):
    """Return the 4-byte FCS of an MPDU given without its FCS (§9.2.4.8)."""
    return zlib.crc32(data).to_bytes(FCS, "little")


def delimiter(length, eof=False):
    """Return the 4-byte delimiter before an MPDU of this length in an A-MPDU (§9.7.1).

    Raises:
        ValueError: the length is not in 0..16383.
    """
    if not 0 <= length < 1 << 14:
        raise ValueError(f"length: got {length}, allowed are 0 to 16383")
    head = int(eof) | (length >> 12) << 2 | (length & 0xFFF) << 4
    crc = np.packbits(crc8(head >> np.arange(16) & 1), bitorder="little")
    return head.to_bytes(2, "little") + crc.tobytes() + bytes([_SIGNATURE])


def aggregate(mpdus, length=None):
    """Join MPDUs into an A-MPDU (§9.7).

    Args:
        mpdus: bytes objects, each with its FCS.
        length: length of the PSDU in bytes, as in VHT: delimiters of length 0 fill the rest and
            tell the receiver that no MPDU follows. None ends the PSDU after the last MPDU.

    Returns:
        PSDU as bytes.

    Raises:
        ValueError: the MPDUs are longer than ``length``.
    """
    parts = []
    for index, mpdu in enumerate(mpdus):
        last = index == len(mpdus) - 1
        padding = 0 if last and length is None else -len(mpdu) % 4
        parts += [delimiter(len(mpdu), eof=length is not None and len(mpdus) == 1), mpdu,
                  bytes(padding)]
    psdu = b"".join(parts)
    if length is None:
        return psdu
    if len(psdu) > length:
        trailing = len(psdu) - len(parts[-1]) if parts else 0
        if trailing > length:
            raise ValueError(f"length: got {length}, but the MPDUs take {trailing} bytes")
        psdu = psdu[:length]
    empty, rest = divmod(length - len(psdu), DELIMITER)
    return psdu + delimiter(0, eof=True) * empty + bytes(rest)


def split(psdu, aggregated):
    """Find the MPDUs of a PSDU: the subframes of an A-MPDU, or else the whole PSDU.

    After a delimiter with a wrong CRC, the search for the next one continues at multiples of four
    bytes (§9.7.3). MPDUs with a wrong FCS may overlap, up to four times the bytes of the PSDU in
    all; further MPDUs that would exceed this are left out.

    Args:
        psdu: bytes.
        aggregated: whether the PSDU is an A-MPDU.

    Returns:
        (mpdus, complete): a tuple of :class:`Mpdu`, in order, and whether they are all MPDUs of the
        PSDU. They are complete if each FCS is correct and no other part of an A-MPDU has room for
        an MPDU. A delimiter of length 0 holds no MPDU. Only padding follows the subframe with the
        first EOF delimiter (§9.7.1), so errors in the padding do not matter.
    """
    places, complete = _core.wifi.find_mpdus(psdu, aggregated)
    return at_places(psdu, places), complete


def at_places(psdu, places):
    """Return the tuple of MPDUs at places (offset, length, fcs_ok) in a PSDU."""
    return tuple([Mpdu(psdu[begin:begin + length], ok, begin) for begin, length, ok in places])


def parse_header(data):
    """Return the :class:`MacHeader` of an MPDU (§9.2.4), given with or without its FCS."""
    if len(data) < 2:
        return MacHeader(0, 0, (), None, None)
    kind, subtype = data[0] >> 2 & 3, data[0] >> 4
    to_ds, from_ds = data[1] & 1, data[1] >> 1 & 1
    if kind == 1:    # control: CTS and ACK have one address, all others two
        count = 1 if subtype in (0b1100, 0b1101) else 2
    else:
        count = 4 if kind == 2 and to_ds and from_ds else 3
    places = [4, 10, 16, 24][:count]
    addresses = tuple([data[place:place + 6].hex(":") for place in places
                       if len(data) >= place + 6])
    control = int.from_bytes(data[22:24], "little") if kind != 1 and len(data) >= 24 else None
    return MacHeader(kind, subtype, addresses, None if control is None else control >> 4,
                     None if control is None else control & 15)
