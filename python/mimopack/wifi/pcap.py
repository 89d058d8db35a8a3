# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Capture files for Wireshark: MPDUs with radiotap headers (https://www.radiotap.org)."""

import math
import os
import re
import select
import stat
import struct
import time as clock
from contextlib import suppress

from ..checks import choice, integer, number
from .fields import ENCODINGS, fields_of
from .formats import EHT, HE
from .formats.non_ht import RATES
from .frame import ReceivedFrame
from .mac import FCS
from .pdu import frame_to_pdus

LINKTYPE = 127    # LINKTYPE_IEEE802_11_RADIOTAP
SNAPLEN = 262144    # maximum length of a record in bytes
MAX_TIME = 2.0**32    # latest time of a record, seconds since 1970
_NANOSECOND_MAGIC = 0xA1B23C4D
_BANDWIDTHS = {20: 0, 40: 1, 80: 4, 160: 11}    # in the VHT field; the MCS field has the first two
_NEEDED = ("mcs", "bandwidth_mhz", "num_streams", "stbc", "short_gi", "coding", "greenfield")
_HE_NEEDED = ("mcs", "bandwidth_mhz", "num_streams", "stbc", "gi_us", "ltf", "ru", "dcm", "coding")
_AMPDU_KEYS = ("ampdu_reference", "ampdu_index", "ampdu_count")
_FIELDS = {field.pdu or field.name: field for field in fields_of("pdu")}

# Numbers of the radiotap fields. _ALIGNMENT lists the fields that need alignment.
_TSFT, _FLAGS, _RATE, _CHANNEL, _SIGNAL, _NOISE = 0, 1, 2, 3, 5, 6
_ANTENNA, _MCS, _AMPDU, _VHT, _HE, _HE_MU = 11, 19, 20, 21, 23, 24
_ALIGNMENT = {_TSFT: 8, _CHANNEL: 2, _AMPDU: 4, _VHT: 2, _HE: 2, _HE_MU: 2}
_VHT_FORMATS = ("vht", "vht-mu")
_HE_GUARDS = {0.8: 0, 1.6: 1, 3.2: 2}
_HE_LTFS = {1: 1, 2: 2, 4: 3}
_HE_BANDWIDTHS = {20: 0, 40: 1, 80: 2, 160: 3}
_RU = re.compile(r"[0-9x]+( upper| index ([1-9]|[1-6][0-9]|7[0-4]))?")
_HE_UNITS = {"26": 4, "52": 5, "106": 6, "242": 7, "484": 8, "996": 9}    # in place of a bandwidth
# Another word of presence bits follows, and it begins another radiotap namespace.
_NEXT_NAMESPACE = 1 << 29 | 1 << 31


def check_pdu(info):
    """Raise ValueError if the dictionary of a PDU has a value out of range.

    PDUs of gr-ieee802-11 pass too. Unknown keys are ignored.
    """
    for name, field in _FIELDS.items():
        if name in info:
            field.check(info[name])
    name = info.get("format")
    he, eht = name in HE.NAMES, name in EHT.NAMES
    missing = [key for key in (_HE_NEEDED if he else _NEEDED) if key not in info]
    if name is not None and not eht and missing:
        raise ValueError(f"{missing[0]}: the key is missing, must be present if format is")
    if name == "non-ht":
        choice("mcs", info["mcs"], tuple(RATES))
    elif he:
        integer("mcs", info["mcs"], 0, 15)
        integer("num_streams", info["num_streams"], 1, 8)
        choice("bandwidth_mhz", _nominal(info), tuple(_HE_BANDWIDTHS))
        choice("gi_us", info["gi_us"], tuple(_HE_GUARDS))
        choice("ltf", info["ltf"], tuple(_HE_LTFS))
        if not _RU.fullmatch(info["ru"]):
            raise ValueError(f'ru: got {info["ru"]!r}, must be such as "242" or "106 index 2"')
        codes = info.get("ru_allocation", "").split()
        if len(codes) > 8 or not all(code.isdecimal() and int(code) < 256 for code in codes):
            raise ValueError(f"ru_allocation: got {info['ru_allocation']!r}, must be up to 8 "
                             "numbers of 0 to 255")
    elif name is not None and not eht:
        integer("mcs", info["mcs"], 0, 15 if name in _VHT_FORMATS else 127)
        integer("stbc", info["stbc"], 0, 4 if name in _VHT_FORMATS else 3)
        choice("bandwidth_mhz", _nominal(info), (20, 40) if name == "ht" else tuple(_BANDWIDTHS))
    if info.get("bandwidth_mhz", 20) <= 0:
        raise ValueError(f"bandwidth_mhz: got {info['bandwidth_mhz']}, must be above 0")
    if all(key in info for key in _AMPDU_KEYS):
        integer("ampdu_index", info["ampdu_index"], 0, info["ampdu_count"] - 1)


def _nominal(info):
    """Return the bandwidth of the format in MHz: 20 for channels of 20 MHz or less."""
    return max(20, info["bandwidth_mhz"])


def radiotap(info, dbm_full_scale=0.0):
    """Return the radiotap header of an MPDU as bytes (https://www.radiotap.org).

    The header has the following fields, as far as their values are known:

        TSFT: microseconds from the first sample of the stream to the first sample of the frame.
        Flags: FCS at end, bad FCS, short guard interval.
        Rate: for non-HT frames, in units of 500 kbit/s. A rate between two units (9 Mbit/s in a
            5 MHz channel) is rounded up, as in Linux.
        Channel: centre of the frame's channel in whole MHz, and the flags OFDM, 2 GHz or 5 GHz
            (which includes 6 GHz, as in Linux), and half or quarter rate in 10 or 5 MHz channels.
        Antenna signal and antenna noise: in dBm, of the antenna with the strongest signal.
        Antenna: number of the antenna, if there is only one.
        MCS, VHT or HE: for HT, VHT or HE frames. In VHT frames for several users, the MPDUs of
            each user have records of their own, with the user's MCS at its place in the group.
            EHT frames have no such field: radiotap describes them by TLVs, which are not written.
        HE-MU: for HE MU frames, what their HE-SIG-B says for all users. The MPDUs of each user have
            records of their own, with the user's HE field. Field HE-MU-other-user is never
            written: Wireshark takes a header with it for malformed.
        A-MPDU status: the reference number. The last MPDU found is marked as the last subframe.

    With several antennas, the signal, noise and number of each antenna follow, each antenna in a
    separate radiotap namespace.

    A receiver without calibration knows its powers only in dBFS. ``dbm_full_scale`` converts dBFS
    to dBm. If ``dbm_full_scale`` is 0, the fields in dBm hold dBFS. Powers are rounded to integers
    and limited to -128..127.

    Args:
        info: dictionary of a PDU, see :func:`pdu.frame_to_pdus`; every key is optional, but
            ``format`` needs the other keys of a format. A PDU of gr-ieee802-11 without ``format``
            is a non-HT frame of the rate ``encoding``.
        dbm_full_scale: power at the antenna, in dBm, of a constant signal of magnitude 1.

    Raises:
        ValueError: a value is out of range.
    """
    check_pdu(info)
    name, mcs, frequency = info.get("format"), info.get("mcs"), info.get("freq")
    if name is None and "encoding" in info:
        name, mcs = "non-ht", ENCODINGS[info["encoding"]]
    powers = _powers(info, _offset(dbm_full_scale))
    main = {_FLAGS: bytes([0x10 * ("fcs" in info) | 0x40 * (not info.get("fcs_ok", True))
                           | 0x80 * info.get("short_gi", False)])}
    if "time" in info:
        main[_TSFT] = struct.pack("<Q", _whole(info["time"], 10**6))
    if name == "non-ht":
        clock_rate = min(1.0, info.get("bandwidth_mhz", 20) / 20)
        main[_RATE] = bytes([math.ceil(2 * mcs * clock_rate)])
    elif name == "ht":
        main[_MCS] = _mcs(info)
    elif name in _VHT_FORMATS:
        main[_VHT] = _vht(info)
    elif name in HE.NAMES:
        main[_HE] = _he(info)
        if name == "he-mu":
            main[_HE_MU] = _he_mu(info)
    if frequency is not None and 1 <= round(frequency / 1e6) < 1 << 16:
        main[_CHANNEL] = _channel(frequency, info.get("bandwidth_mhz"))
    if all(key in info for key in _AMPDU_KEYS):
        last_known, last = 0x0004, 0x0008 * (info["ampdu_index"] == info["ampdu_count"] - 1)
        main[_AMPDU] = struct.pack("<IHBB", info["ampdu_reference"], last_known | last, 0, 0)
    if len(powers) == 1:
        return _header([main | powers[0]])
    if powers:
        levels = [level if math.isfinite(level) else -math.inf
                  for level in info.get("level_dbfs", ())]
        strongest = powers[levels.index(max(levels)) if levels else 0]
        main |= {bit: value for bit, value in strongest.items() if bit != _ANTENNA}
    return _header([main, *powers])


def _header(namespaces):
    """Lay out a header from one dictionary {field number: bytes} per namespace."""
    words = [sum(1 << bit for bit in namespace) | _NEXT_NAMESPACE for namespace in namespaces]
    words[-1] &= ~_NEXT_NAMESPACE
    header = bytearray(4) + struct.pack(f"<{len(words)}I", *words)
    for namespace in namespaces:
        for bit, value in sorted(namespace.items()):
            header += bytes(-len(header) % _ALIGNMENT.get(bit, 1)) + value
    header[2:4] = len(header).to_bytes(2, "little")
    return bytes(header)


def _channel(frequency, bandwidth_mhz):
    flags = 0x0040    # OFDM
    if 2e9 <= frequency < 3e9:
        flags |= 0x0080
    elif 4e9 <= frequency < 8e9:
        flags |= 0x0100
    flags |= {10: 0x4000, 5: 0x8000}.get(bandwidth_mhz, 0)
    return struct.pack("<HH", round(frequency / 1e6), flags)


def _mcs(info):
    # Bandwidth, index, guard interval, format, code, STBC, and extension streams. The latter are
    # always 0, but Wireshark needs them to compute the duration.
    known = 0x7F
    flags = (_BANDWIDTHS[_nominal(info)] | info["short_gi"] << 2 | info["greenfield"] << 3
             | (info["coding"] == "ldpc") << 4 | info["stbc"] << 5)
    return bytes([known, flags, info["mcs"]])


def _vht(info):
    known = 0x0001 | 0x0004 | 0x0040    # STBC, guard interval, bandwidth
    for bit, name in ((0x0010, "extra_symbol"), (0x0020, "beamformed"), (0x0080, "group_id"),
                      (0x0100, "partial_aid")):
        known |= bit * (name in info)
    flags = (bool(info["stbc"]) | info["short_gi"] << 2 | info.get("extra_symbol", False) << 4
             | info.get("beamformed", False) << 5)
    place, users = info.get("user_position", 0), [0] * 4
    users[place] = info["mcs"] << 4 | info["num_streams"]
    return struct.pack("<HBB4BBBH", known, flags, _BANDWIDTHS[_nominal(info)], *users,
                       (info["coding"] == "ldpc") << place, info.get("group_id", 0),
                       info.get("partial_aid", 0))


def _he(info):
    """Return the HE field: six words, of which the first two say what is known."""
    def known(**bits):
        return sum(bit for name, bit in bits.items() if name in info)

    def flags(**bits):
        return sum(bit for name, bit in bits.items() if info.get(name))

    alone = info["format"] in HE.NAMES[:2]    # others may have more HE-LTFs
    first = HE.NAMES.index(info["format"]) | 0x42E0 | known(
        bss_color=0x0004, uplink=0x0010, extra_symbol=0x0100, spatial_reuse=0x0400, doppler=0x8000)
    second = 0x0002 | 0x0004 * alone | known(beamformed=0x0010, txop=0x0040, midamble=0x0080)
    third = (info.get("bss_color", 0) | info["mcs"] << 8 | (info["coding"] == "ldpc") << 13
             | flags(uplink=0x0080, dcm=0x1000, extra_symbol=0x4000, stbc=0x8000))
    size, _, part = info["ru"].partition(" ")
    width = _HE_UNITS.get(size, 0) if part else _HE_BANDWIDTHS[_nominal(info)]
    if part and _nominal(info) < 160:    # there, the field counts within one half
        place = 2 if part == "upper" else int(part.rpartition(" ")[2])
        second |= 0x4000 | (place - 1) << 8
    fourth = info.get("spatial_reuse", 0)
    if info["format"] == "he-mu" and "sta_id" in info:
        first |= 0x0800
        fourth |= info["sta_id"] << 4
    streams = info["num_streams"] + info["stbc"]
    fields = (streams - 1).bit_length() if alone else 0    # 1, 2, 4, 4 HE-LTFs
    fifth = (width | _HE_GUARDS[info["gi_us"]] << 4 | _HE_LTFS[info["ltf"]] << 6 | fields << 8
             | flags(beamformed=0x4000))
    sixth = (streams | info.get("txop", 0) << 8 | (info.get("midamble") == 20) << 15
             | flags(doppler=0x0010))
    return struct.pack("<6H", first, second, third, fourth, fifth, sixth)


def _he_mu(info):
    """Return the HE-MU field: two words, and RU Allocation subfields by content channel."""
    mcs, dcm, count = (info.get(name) for name in ("sig_b_mcs", "sig_b_dcm", "num_sig_b"))
    compressed, codes = info.get("sig_b_compressed"), info.get("ru_allocation", "").split()
    first = second = 0
    if mcs is not None:
        first |= 0x0010 | mcs
    if dcm is not None:
        first |= 0x0040 | dcm << 5
    if compressed is not None:
        first |= 0x4000
        second |= compressed << 3
    if count and not compressed:    # otherwise the place has the number of users
        first |= 0x8000
        second |= min(count, 16) - 1 << 4
    second |= 0x0004 | _HE_BANDWIDTHS[_nominal(info)]
    channels = b""
    for channel in range(2):
        units = bytes(map(int, codes[channel::2]))
        first |= (0x0100 << channel) * bool(units)
        channels += units.ljust(4, b"\0")
    return struct.pack("<2H", first, second) + channels


def _powers(info, offset):
    """Return the fields of signal, noise and number for each antenna."""
    levels, noises = info.get("level_dbfs", ()), info.get("noise_dbfs", ())
    powers = []
    for antenna in range(max(len(levels), len(noises))):
        power = {_ANTENNA: bytes([antenna])}
        for bit, values in ((_SIGNAL, levels), (_NOISE, noises)):
            if antenna < len(values) and math.isfinite(values[antenna]):
                dbm = max(-128, min(127, round(values[antenna] + offset)))
                power[bit] = struct.pack("b", dbm)
        powers.append(power)
    return powers


def _offset(value):
    if not math.isfinite(number("dbm_full_scale", value)):
        raise ValueError(f"dbm_full_scale: got {value}, must be finite")
    return float(value)


def _whole(seconds, per_second):
    """Return seconds in whole units; 0 for a frame that began before the stream."""
    # Split first: as a float, nanoseconds since 1970 are exact only to 256 ns.
    whole, rest = divmod(max(0.0, seconds), 1)
    return int(whole) * per_second + round(rest * per_second)


class PcapWriter:
    """Write MPDUs into a capture file for Wireshark.

    The file is a classic pcap file with nanosecond time stamps and link type 127
    (LINKTYPE_IEEE802_11_RADIOTAP). Each MPDU is one record: a radiotap header (see
    :func:`radiotap`) and the MPDU with its FCS. MPDUs with a wrong FCS are written too, and marked
    in the header. Frames without an MPDU make no record.

    Each call hands its records to the operating system at once, so Wireshark can read a FIFO live::

        mkfifo live.pcap; wireshark -k -i live.pcap

    Opening a FIFO blocks until the FIFO has a reader. If the reader goes away, or a write to the
    disk fails, the call raises an exception, and the writer is ``closed`` and accepts nothing more.
    A file then ends with the last whole record.
    If the reader of a FIFO stalls for longer than ``patience``, calls raise TimeoutError at once
    and lose their records until the reader continues.

    Args:
        path_or_file: path, or a binary file open for writing. The writer closes only a file that it
            opened itself.
        dbm_full_scale: power at the antenna, in dBm, of a constant signal of magnitude 1, see
            :func:`radiotap`.
        patience: seconds to wait for a stalled reader of a FIFO, 0..10^6; None waits without limit.

    Attributes:
        records: number of MPDUs written.
        closed: whether the writer is closed.

    Raises:
        ValueError: an argument is not as above.
        OSError: the file cannot be opened or written.
    """

    def __init__(self, path_or_file, dbm_full_scale=0.0, patience=None):
        self._dbm_full_scale = _offset(dbm_full_scale)
        if patience is not None and not 0 <= number("patience", patience) <= 1e6:
            raise ValueError(f"patience: got {patience}, allowed are 0 to 10^6 seconds, or None")
        self._patience, self._full_since = patience, None
        self._rest = b""    # remainder of a record that a FIFO accepted in part
        self._size = 0    # bytes of whole records in a file
        self.records = 0
        self.closed = False
        self._references = 0
        self._owned = isinstance(path_or_file, (str, os.PathLike))
        if self._owned:
            # A buffer would keep data that the reader refused, and closing it would fail.
            self._file = open(path_or_file, "wb", buffering=0)
            if patience is not None and stat.S_ISFIFO(os.fstat(self._file.fileno()).st_mode):
                os.set_blocking(self._file.fileno(), False)
        elif callable(getattr(path_or_file, "write", None)):
            self._file = path_or_file
        else:
            raise ValueError(f"path_or_file: got {path_or_file!r}, must be a path or a binary file")
        self._name = os.fspath(path_or_file) if self._owned else getattr(
            path_or_file, "name", "the file")
        self._put(struct.pack("<IHHiIII", _NANOSECOND_MAGIC, 2, 4, 0, 0, SNAPLEN, LINKTYPE))

    def write(self, frame, time=None, frame_time=None):
        """Write the MPDUs of a frame; return the number of MPDUs written.

        Args:
            frame: :class:`frame.ReceivedFrame`.
            time: time of the stream's first sample, in seconds since 1970 (UTC); None means 0.
            frame_time: time (seconds since 1970, fraction) of the frame's first sample; None if it
                follows from ``time``.

        Raises:
            ValueError: an argument is not as above, or the writer is closed.
            BrokenPipeError: the reader of a FIFO has gone away.
            TimeoutError: the reader of a FIFO has stalled, see above. The records are lost.
            OSError: the file cannot be written.
        """
        if not isinstance(frame, ReceivedFrame):
            raise ValueError(f"frame: got {type(frame).__name__}, must be a ReceivedFrame")
        pdus = frame_to_pdus(frame, self._references % 2**32)
        if frame_time is not None:
            time = None
            pdus = [(info | {"time": sum(frame_time)}, blob) for info, blob in pdus]
        records = [self._record(info, blob, time) for info, blob in pdus]
        if pdus and "ampdu_reference" in pdus[0][0]:
            self._references += len(frame.parts)
        self._put(b"".join(records))
        self.records += len(records)
        return len(records)

    def write_pdu(self, info, blob, time=None):
        """Write an MPDU.

        Args:
            info: dictionary with keys of :func:`pdu.frame_to_pdus`; every key is optional. The
                value of ``fcs`` is written after the MPDU.
            blob: bytes of the MPDU without its FCS.
            time: as for :meth:`write`.

        Raises:
            ValueError, OSError: as for :meth:`write`.
        """
        self._put(self._record(info, blob, time))
        self.records += 1

    def close(self):
        """End writing; close the file if the writer opened it."""
        if not self.closed:
            self.closed = True
            if self._owned:
                with suppress(OSError):
                    self._taken(self._rest)
                self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _record(self, info, blob, time):
        if not isinstance(blob, (bytes, bytearray)):
            raise ValueError(f"blob: got {type(blob).__name__}, must be bytes")
        header = radiotap(info, self._dbm_full_scale)
        fcs = info["fcs"].to_bytes(FCS, "little") if "fcs" in info else b""
        data = header + blob + fcs
        if len(data) > SNAPLEN:
            raise ValueError(f"blob: got {len(blob)} bytes, allowed are 0 to "
                             f"{SNAPLEN - len(data) + len(blob)}")
        epoch = 0.0 if time is None else number("time", time)
        since = info.get("time", 0.0)
        if not (0 <= epoch and epoch + since < MAX_TIME):
            raise ValueError(f"time: got {epoch} plus {since} seconds, the sum must be 0 to 2^32")
        stamp = _whole(epoch, 10**9) + _whole(since, 10**9)
        return struct.pack("<IIII", *divmod(stamp, 10**9), len(data), len(data)) + data

    def _put(self, data):
        if self.closed:
            raise ValueError(f"{self._name}: writing has ended")
        late = False
        try:
            if self._owned:
                late = self._wait_to_write(data)
            else:
                self._file.write(data)
                flush = getattr(self._file, "flush", None)
                if flush is not None:
                    flush()
        except BrokenPipeError as error:
            self.close()
            raise BrokenPipeError(error.errno, "the reader has gone away", self._name) from error
        except OSError:
            if self._owned:
                with suppress(OSError):    # a FIFO cannot be cut
                    self._file.truncate(self._size)
            self.close()
            raise
        if late:
            raise TimeoutError(f"{self._name}: the reader has stalled")
        self._size += len(data)

    def _wait_to_write(self, data):
        """Write data; return True if the reader of a FIFO stalls before any of it is written."""
        self._rest = self._rest[self._taken(self._rest):]
        taken = 0 if self._rest else self._taken(data)
        if data and not taken:
            return True
        # A partial record would corrupt all later ones, so the remainder has to go first.
        self._rest = data[taken:]
        return False

    def _taken(self, data):
        """Write data; return the number of bytes that a FIFO accepted in time."""
        at = 0
        while at < len(data):
            written = self._file.write(memoryview(data)[at:])
            if written is not None:
                at, self._full_since = at + written, None
            elif not self._room():
                break
        return at

    def _room(self):
        """Wait for room in a full FIFO; return False if the reader stalls for too long."""
        now = clock.monotonic()
        self._full_since = now if self._full_since is None else self._full_since
        poll = select.poll()
        poll.register(self._file.fileno(), select.POLLOUT)
        return bool(poll.poll(max(0.0, self._full_since + self._patience - now) * 1000))
