# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""MPDUs: their frame check sequence, A-MPDUs, and the header's addresses."""

import zlib
from dataclasses import dataclass

import numpy as np

from .signal_fields import crc8

FCS = 4
DELIMITER = 4
_SIGNATURE = 0x4E
# Words of the smallest MPDU, an acknowledgement, with its delimiter: 4 + 14 bytes.
_SMALLEST = 5


def _crc_table():
    """CRC of a delimiter by its first 16 bits: uint8 (65536,). It is linear but for a constant."""
    zero = crc8(np.zeros(16, np.uint8))
    table = np.packbits(zero, bitorder="little")
    for bits in np.eye(16, dtype=np.uint8):
        table = np.append(table, table ^ np.packbits(crc8(bits) ^ zero, bitorder="little"))
    return table


_CRC = _crc_table()


@dataclass(frozen=True)
class Mpdu:
    """A MAC frame as it was received.

    Attributes:
        data: bytes, with the four of the frame check sequence.
        fcs_ok: whether that fits.
        offset: where it begins in the PSDU.
    """

    data: bytes
    fcs_ok: bool
    offset: int


@dataclass(frozen=True)
class MacHeader:
    """Fields of a MAC header; None where the frame is too short for a field.

    Attributes:
        type, subtype: of the frame control field.
        addresses: up to four, as "02:00:00:00:00:01".
        sequence_number, fragment: of data and management frames.
    """

    type: int
    subtype: int
    addresses: tuple
    sequence_number: int | None
    fragment: int | None


def fcs(data):
    """The frame check sequence of an MPDU without it: 4 bytes (§9.2.4.8)."""
    return zlib.crc32(data).to_bytes(FCS, "little")


def fcs_fits(data):
    """Tell whether the last four bytes of an MPDU are its frame check sequence."""
    return len(data) > FCS and fcs(data[:-FCS]) == data[-FCS:]


def delimiter(length, eof=False):
    """The delimiter before an MPDU of length bytes in an A-MPDU: 4 bytes (§9.7.1).

    Raises:
        ValueError: the length is not in 0..16383.
    """
    if not 0 <= length < 1 << 14:
        raise ValueError(f"length: got {length}, allowed are 0 to 16383")
    head = int(eof) | (length >> 12) << 2 | (length & 0xFFF) << 4
    return head.to_bytes(2, "little") + bytes([_CRC[head], _SIGNATURE])


def aggregate(mpdus, length=None):
    """An A-MPDU (§9.7).

    Args:
        mpdus: bytes objects, each with its frame check sequence.
        length: of the PSDU to be filled as VHT does, with delimiters of length 0 that say that
            nothing follows; None ends behind the last MPDU.

    Raises:
        ValueError: the MPDUs are longer than that.
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
            raise ValueError(f"length: got {length}, the MPDUs take {trailing} bytes")
        psdu = psdu[:length]
    empty, rest = divmod(length - len(psdu), DELIMITER)
    return psdu + delimiter(0, eof=True) * empty + bytes(rest)


def deaggregate(psdu):
    """The MPDUs of an A-MPDU: list of :class:`Mpdu`, in order.

    Behind a delimiter whose CRC does not fit, the next one is looked for at multiples of four
    bytes (§9.7.3).
    """
    places, lengths, _ = _delimiters(psdu)
    mpdus, free = [], 0    # words before `free` are known
    for at, length in zip(places.tolist(), lengths.tolist(), strict=True):
        begin = DELIMITER * (at + 1)
        if not length or at < free or begin + length > len(psdu):
            continue
        data = psdu[begin:begin + length]
        mpdus.append(Mpdu(data, fcs_fits(data), begin))
        # A wrong length that a CRC let pass must not hide what follows.
        if mpdus[-1].fcs_ok:
            free = at + 1 - -length // DELIMITER
    return mpdus


def _delimiters(psdu):
    """Words of a PSDU that are delimiters, ascending, with their lengths and EOF bits: arrays."""
    words = np.frombuffer(psdu, "<u4", len(psdu) // DELIMITER)
    places = np.flatnonzero(words >> 24 == _SIGNATURE)
    head = (words[places] & 0xFFFF).astype(np.int64)
    fits = _CRC[head] == (words[places] >> 16 & 0xFF)
    places, head = places[fits], head[fits]
    return places, head >> 4 | (head >> 2 & 3) << 12, (head & 1).astype(bool)


def is_complete(psdu, mpdus, aggregated):
    """Tell whether all MPDUs of a PSDU are there: the check sequences of those found fit, and
    nothing else of an A-MPDU has room for another.

    Delimiters of length 0 hold none, and behind the first EOF delimiter's subframe there is
    padding only (§9.7.1), right or wrong.

    Args:
        psdu: bytes.
        mpdus: as :func:`split` finds them.
        aggregated: whether the PSDU is an A-MPDU.
    """
    if not mpdus or not all(mpdu.fcs_ok for mpdu in mpdus):
        return False
    if not aggregated:
        return True
    places, lengths, eof = _delimiters(psdu)
    known = np.zeros(-(-len(psdu) // DELIMITER) + 2, bool)    # words, and an end on both sides
    known[[0, -1]] = True
    for mpdu in mpdus:
        begin = mpdu.offset // DELIMITER    # the delimiter's word, behind the first end
        known[begin:begin + 1 - len(mpdu.data) // -DELIMITER] = True
    before_mpdu = np.isin(places, [mpdu.offset // DELIMITER - 1 for mpdu in mpdus])
    empty = (lengths == 0) & ~known[places + 1]    # what an MPDU's bytes look like does not count
    known[places[empty] + 1] = True
    last = places[eof & (before_mpdu | empty)]
    if last.size:
        known[last[0] + 1:] = True
    return int(np.diff(np.flatnonzero(known)).max()) <= _SMALLEST


def split(psdu, aggregated):
    """The MPDUs of a PSDU: an A-MPDU's, or the one that it is."""
    if aggregated:
        return deaggregate(psdu)
    return [Mpdu(psdu, fcs_fits(psdu), 0)] if psdu else []


def parse_header(data):
    """The :class:`MacHeader` of an MPDU (§9.2.4), with or without its frame check sequence."""
    if len(data) < 2:
        return MacHeader(0, 0, (), None, None)
    kind, subtype = data[0] >> 2 & 3, data[0] >> 4
    to_ds, from_ds = data[1] & 1, data[1] >> 1 & 1
    if kind == 1:    # control: CTS and ACK have one address, all others here two
        count = 1 if subtype in (0b1100, 0b1101) else 2
    else:
        count = 4 if kind == 2 and to_ds and from_ds else 3
    places = [4, 10, 16, 24][:count]
    addresses = tuple(":".join(f"{byte:02x}" for byte in data[place:place + 6])
                      for place in places if len(data) >= place + 6)
    control = int.from_bytes(data[22:24], "little") if kind != 1 and len(data) >= 24 else None
    return MacHeader(kind, subtype, addresses, None if control is None else control >> 4,
                     None if control is None else control & 15)
