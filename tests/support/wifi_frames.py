# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Received Wi-Fi frames, made without samples."""

import struct

import numpy as np
from gnuradio.mimopack.wifi import mac
from gnuradio.mimopack.wifi.formats import HE, HT, VHT, NonHT
from gnuradio.mimopack.wifi.frame import ReceivedFrame


def mpdu_bytes(sequence=0, size=40, fcs_ok=True, control=b"\x08\x00",
               addresses=("020000000001", "020000000002", "020000000003")):
    """An MPDU of a data frame, with its frame check sequence."""
    body = control + bytes(2) + b"".join(map(bytes.fromhex, addresses[:3]))
    body += struct.pack("<H", sequence << 4) + b"".join(map(bytes.fromhex, addresses[3:]))
    body += bytes(i & 0xFF for i in range(size))
    check = mac.fcs(body)
    return body + (check if fcs_ok else bytes(byte ^ 0x55 for byte in check))


def received(fmt, mpdus=None, antennas=1, **fields):
    """A frame in that format, with MPDUs (bytes)."""
    mpdus = [mpdu_bytes()] if mpdus is None else mpdus
    parts = tuple(mac.Mpdu(data, mac.fcs(data[:-4]) == data[-4:], 0) for data in mpdus)
    return ReceivedFrame(**{
        "start": 4000, "num_samples": 1000, "sample_rate": 20e6, "frequency": 5180e6,
        "format": fmt, "problem": "", "cfo_hz": -1234.5, "snr_db": 30.0,
        "antenna_snr_db": (30.0,) * antennas, "level_dbfs": tuple(-20.0 - 3 * i for i in
                                                                  range(antennas)),
        "noise_dbfs": tuple(-50.0 - i for i in range(antennas)), "mpdus": parts, **fields})


def trigger_frame(stations, length, ltf_type=2, fields=0, padding=4, extra=False, pe=False,
                  masked=False, width=0):
    """Return a basic Trigger frame with its FCS.

    Stations are (AID, number of the RU, MCS, LDPC), and if they share an RU the number of streams
    before theirs and the number of theirs. In the secondary 80 MHz, numbers of RUs are 128 larger.
    """
    def packed(*fields):
        bits = np.concatenate([value >> np.arange(count) & 1 for value, count in fields])
        return np.packbits(bits.astype(np.uint8), bitorder="little").tobytes()

    body = bytes([0x24, 0, 0, 0]) + bytes(6 * [0xFF]) + bytes([2, 0, 0, 0, 0, 1])
    body += packed((0, 4), (length, 12), (0, 2), (width, 2), (ltf_type, 2), (masked, 1),
                   (fields, 3), (0, 1), (extra, 1), (0, 6), (padding % 4, 2), (pe, 1),
                   (0xFFFF, 16), (0, 1), (0x1FF, 9), (0, 1))
    for aid, unit, mcs, ldpc, *streams in stations:
        first, count = streams or (0, 1)
        body += packed((aid, 12), (unit >> 7, 1), (unit % 128, 7), (ldpc, 1), (mcs, 4), (0, 1),
                       (first, 3), (count - 1, 3), (60, 7), (0, 1)) + b"\0"
    body += packed((4095, 12), (0, 28)) + bytes(1)
    return body + mac.fcs(body)


HT_FRAMES = [
    HT(0, 100), HT(7, 100, short_gi=True), HT(8, 100, bandwidth_mhz=40, coding="ldpc"),
    HT(15, 100, stbc=1), HT(15, 100, stbc=2), HT(12, 100, greenfield=True, short_gi=True),
    HT(31, 100, bandwidth_mhz=40, short_gi=True, coding="ldpc"), HT(32, 100, bandwidth_mhz=40),
    HT(2, 100, stbc=1, coding="ldpc", aggregated=True)]
VHT_FRAMES = [
    VHT(0, 10), VHT(9, 10, num_streams=2, bandwidth_mhz=80, short_gi=True),
    VHT(4, 10, num_streams=4, bandwidth_mhz=40, coding="ldpc", group_id=63, partial_aid=511),
    VHT(3, 10, num_streams=2, stbc=2), VHT(8, 10, stbc=1, coding="ldpc", extra_symbol=True),
    VHT(7, 10, num_streams=3, beamformed=True, partial_aid=256), VHT(9, 10, bandwidth_mhz=160)]
HE_FRAMES = [
    HE(0, 10), HE(11, 10, 2, gi_us=1.6, coding="ldpc", extra_symbol=True, bss_color=37, txop=5),
    HE(3, 12, ltf=4, gi_us=3.2, dcm=True, uplink=True, spatial_reuse=9, beamformed=True),
    HE(5, 30, 4, ltf=1, midamble=20), HE(4, 12, stbc=1, midamble=10),
    HE(2, 10, name="he-er-su"), HE(0, 10, name="he-er-su", ru=(106, 2)),
    HE(7, 10, name="he-tb", ltf=4, gi_us=3.2, ru=(52, 3), uplink=True),
    HE(1, 10, name="he-mu", ru=(26, 5), num_sig_b=3)]


FRAMES = [received(NonHT(54, 44), antennas=2), received(NonHT(9, 44), sample_rate=5e6),
          *map(received, HT_FRAMES), *map(received, VHT_FRAMES), *map(received, HE_FRAMES),
          received(HT(3, 200, aggregated=True), [mpdu_bytes(1), mpdu_bytes(2, fcs_ok=False)]),
          received(NonHT(6, 44), frequency=None), received(None)]
