# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""PSDUs: MPDUs of A-MPDUs, and MAC headers.

The first byte of an input chooses how the PSDU is made from the other bytes: as they are, with
right CRCs of delimiters and some right FCSs, or by joining MPDUs.
"""

from gnuradio.mimopack.reference import wifi as reference
from gnuradio.mimopack.wifi import mac

from . import mutations

MAX_LEN = 1024
_SIGNATURE = 0x4E
mutate = mutations.of_bytes


def check(data):
    """MPDUs equal those of the plain search, lie within the PSDU, and reverse joining."""
    if not data:
        return
    kind, rest = data[0] % 4, data[1:]
    if kind == 3:
        _check_joined(rest)
        return
    psdu = repaired(rest) if kind else rest
    for aggregated in (False, True):
        mpdus, complete = mac.split(psdu, aggregated)
        places = [(mpdu.offset, len(mpdu.data), mpdu.fcs_ok) for mpdu in mpdus]
        assert (places, complete) == reference.find_mpdus(psdu, aggregated)
        end = 0
        for mpdu in mpdus:
            assert mpdu.data == psdu[mpdu.offset:mpdu.offset + len(mpdu.data)] and mpdu.data
            assert not mpdu.fcs_ok or mpdu.offset >= end
            end = mpdu.offset + len(mpdu.data) if mpdu.fcs_ok else end
            _check_header(mpdu.data)
        # A short PSDU must not fill the memory: wrong MPDUs may overlap, but not without limit.
        assert sum(len(mpdu.data) for mpdu in mpdus) <= 5 * len(psdu)


def repaired(data):
    """Return a PSDU in which words with a delimiter's signature have a right CRC.

    If a delimiter's reserved bit is set, the MPDU behind it gets a right FCS.
    """
    psdu = bytearray(data)
    for place in range(0, len(psdu) - 3, mac.DELIMITER):
        if psdu[place + 3] != _SIGNATURE:
            continue
        head = int.from_bytes(psdu[place:place + 2], "little")
        psdu[place + 2] = reference.delimiter_crc(head)
        begin, length = place + mac.DELIMITER, head >> 4 | (head >> 2 & 3) << 12
        if head & 2 and mac.FCS < length <= len(psdu) - begin:
            end = begin + length
            psdu[end - mac.FCS:end] = mac.fcs(bytes(psdu[begin:end - mac.FCS]))
    return bytes(psdu)


def _check_joined(data):
    """Join MPDUs; they are found again, and nothing is missing."""
    mpdus, at = [], 0
    while at < len(data) and len(mpdus) < 64:
        body = data[at + 1:at + 1 + data[at]]
        mpdus.append(body + mac.fcs(body))
        at += 1 + data[at]
    # The FCS of an empty MPDU is not one.
    mpdus = [mpdu for mpdu in mpdus if len(mpdu) > mac.FCS]
    if not mpdus:
        return
    plain = mac.aggregate(mpdus)
    longer = len(plain) + 4 * (data[0] % 8)
    for psdu in (plain, mac.aggregate(mpdus, longer)):
        found, complete = mac.split(psdu, True)
        assert complete and [mpdu.data for mpdu in found] == mpdus
        assert all(mpdu.fcs_ok for mpdu in found)


def _check_header(mpdu):
    header = mac.parse_header(mpdu)
    assert 0 <= header.type < 4 and 0 <= header.subtype < 16 and len(header.addresses) <= 4
    assert all(len(one) == 17 for one in header.addresses)
    assert header.sequence_number is None or 0 <= header.sequence_number < 4096
    assert header.fragment is None or 0 <= header.fragment < 16


def seeds():
    """Return A-MPDUs, good and with errors, a bare MPDU, and bytes to join."""
    short = b"\xd4\x00\x00\x00" + bytes(range(6))
    long = b"\x88\x03" + bytes(range(60))
    mpdus = [body + mac.fcs(body) for body in (short, long, short)]
    plain, padded = mac.aggregate(mpdus), mac.aggregate(mpdus[:1], 60)
    torn = plain[:30] + b"\xff" + plain[31:]
    joined = b"".join(bytes([len(one)]) + one for one in (short, long, b"", short))
    return [bytes([kind]) + psdu for kind in (0, 1) for psdu in (plain, padded, torn, mpdus[1])
            ] + [bytes([3]) + joined, bytes([1]) + mac.delimiter(200) * 100]
