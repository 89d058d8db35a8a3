# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of a received frame: one table, from which all outputs are made.

A new fact is a row in ``FIELDS``: its attribute in ``ReceivedFrame``, or in the frame formats, then
appears in the outputs that the row names. These are the JSON of ``mimopack wifi`` and its schema,
the messages and tags of the blocks, files of channel matrices, annotations of recordings, and
``mimopack play``. Only a radiotap header has a layout of its own (``pcap.py``).
"""

from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from operator import attrgetter

from ..checks import LARGEST, choice, flag, integer, number
from .formats import BY_NAME, EHT, HE
from .formats.non_ht import RATES

DLT = 105    # LINKTYPE_IEEE802_11: an MPDU without a radio header
# Rates in Mbit/s, indexed by key "encoding" of gr-ieee802-11.
ENCODINGS = tuple(RATES)
MAX_ANTENNAS = 256    # a radiotap header numbers antennas with one byte


@dataclass(frozen=True)
class Field:
    """A fact of a frame, its format or one of its MPDUs.

    Attributes:
        name: key in all outputs, and attribute of ``ReceivedFrame`` or ``FrameFormat``.
        kind: type of the value; tuple: floats, one for each antenna or stream.
        text: meaning and unit.
        outputs: words of
            report: JSON, and port ``frames`` of the blocks;
            pdu: PDUs of MPDUs;
            csi: files of channel matrices, and port ``csi``;
            annotation: annotations of recordings;
            play: frames in summary.json of ``mimopack play``;
            tag: what a decoder needs of the frame of received vectors;
            announced: known from the signal fields of a frame that is not supported;
            user: users of a frame of several users, in JSON and on port ``frames``.
        of: whose attribute it is: "frame", "format", or "" if it is computed.
        pdu: key in PDUs if it differs.
        column: (type, value if unknown) of the column in files of channel matrices.
        formats: formats whose reports have it; () means all.
        least, most: range of an integer, or of the magnitude of a float in a PDU.
        choices: allowed values.
        known: whether reports always have a value.
    """

    name: str
    kind: type
    text: str
    outputs: str
    of: str = "frame"
    pdu: str = ""
    column: tuple = ()
    formats: tuple = ()
    least: float | None = None
    most: float | None = None
    choices: tuple = ()
    known: bool = False

    def schema(self):
        """Return the JSON Schema of the value in a report."""
        if self.kind is tuple:
            return {"type": "array", "description": self.text,
                    "items": {"type": ["number", "null"]}}
        schema = {"description": self.text}
        if self.choices:
            return {"enum": [*self.choices, None]} | schema
        # The rate of a non-HT frame may be a fraction in a narrow channel.
        kind = "number" if self.name == "mcs" else _JSON_TYPES[self.kind]
        schema = {"type": kind if self.known else [kind, "null"]} | schema
        if self.least is not None and self.kind is int:
            schema["minimum"] = self.least
        return schema

    def check(self, value):
        """Raise ValueError if a PDU cannot have this value."""
        name = self.pdu or self.name
        if self.choices:
            choice(name, value, self.choices)
        elif self.kind is bool:
            flag(name, value)
        elif self.kind is int:
            integer(name, value, -2**62 if self.least is None else self.least,
                    2**62 if self.most is None else self.most)
        elif self.kind is float:
            most = self.most or LARGEST
            if not abs(number(name, value)) < most:
                raise ValueError(f"{name}: got {value}, allowed are -{most:g} to {most:g}")
        elif self.kind is tuple:
            if len(value) > MAX_ANTENNAS:
                raise ValueError(f"{name}: got {len(value)} antennas, allowed are 0 to "
                                 f"{MAX_ANTENNAS}")
            for part in value:
                number(name, part)


_JSON_TYPES = {int: "integer", float: "number", str: "string", bool: "boolean"}
_NAN = float("nan")
_HE = HE.NAMES
_VHT = ("vht", "vht-mu")
_NEW = (*_HE, *EHT.NAMES)
_FORMATS = (*BY_NAME, "eht-tb")    # the last one is recognised, but not received
FIELDS = (
    Field("start", int, "first sample of the short training field",
          "report pdu csi play tag", column=("i8", 0), known=True),
    Field("time", float, "its time in seconds, from the first sample on",
          "report pdu csi", column=("f8", _NAN), most=2.0**32, known=True),
    Field("num_samples", int, "samples in the frame", "report tag", least=1, known=True),
    Field("sample_rate", float, "samples per second", "tag", known=True),
    Field("format", str, "null if the signal fields were not read",
          "report pdu csi annotation play announced", of="format",
          column=(f"S{max(map(len, _FORMATS))}", ""), choices=_FORMATS),
    Field("mcs", int, "MCS index; for a non-HT frame the rate in Mbit/s",
          "report pdu csi annotation play announced user", of="format", column=("i4", -1), least=0,
          most=127),
    Field("num_streams", int, "spatial streams", "report pdu csi annotation play announced user",
          of="format", column=("i4", 0), least=1, most=8),
    Field("stbc", int, "space-time streams minus spatial streams",
          "report pdu annotation announced", of="format", least=0, most=4),
    Field("bandwidth_mhz", float, "bandwidth in MHz",
          "report pdu csi annotation play announced", of="format", column=("f8", 0.0), most=161),
    Field("short_gi", bool, "whether the guard interval is short; null for HE, EHT",
          "report pdu annotation announced", of="format"),
    Field("gi_us", float, "guard interval of the data in us; null except for HE, EHT",
          "report pdu annotation announced", of="format", formats=_NEW, most=4),
    Field("ltf", int, "size of the LTFs: 1, 2 or 4; null except for HE, EHT",
          "report pdu annotation announced", of="format", formats=_NEW, least=1, most=4),
    Field("ru", str, "resource unit: number of its subcarriers, and where it lies unless it fills "
          "the channel; null except for HE, EHT", "report pdu csi annotation announced user",
          of="format", column=("S16", ""), formats=_NEW),
    Field("dcm", bool, "whether each point is sent twice (dual carrier modulation); null except "
          "for HE, EHT", "report pdu annotation announced user", of="format", formats=_NEW),
    Field("midamble", int, "symbols from one midamble to the next, 0 without; null except for HE",
          "report pdu annotation announced", of="format", formats=_HE, least=0, most=20),
    Field("doppler", bool, "whether the frame may have midambles; null except for HE",
          "report pdu announced", of="format", formats=_HE),
    Field("bss_color", int, "number that tells networks apart, 0 without; null except for HE, EHT",
          "report pdu annotation announced", of="format", formats=_NEW, least=0, most=63),
    Field("uplink", bool, "whether the frame goes to an access point; null except for HE, EHT",
          "report pdu announced", of="format", formats=_NEW),
    Field("txop", int, "field TXOP, 127 without a duration; null except for HE, EHT",
          "report pdu announced", of="format", formats=_NEW, least=0, most=127),
    Field("spatial_reuse", int, "field of HE-SIG-A or EHT-SIG; null except for HE, EHT",
          "report pdu announced", of="format", formats=_NEW, least=0, most=15),
    Field("coding", str, "code of the data", "report pdu annotation play announced user",
          of="format", choices=("bcc", "ldpc")),
    Field("length", int, "bytes of the PSDU", "report csi annotation play announced", of="format",
          column=("i8", -1), least=0),
    Field("aggregated", bool, "whether the PSDU is an A-MPDU; null for non-HT",
          "report annotation", of="format", formats=("ht", *_VHT, *_NEW)),
    Field("greenfield", bool,
          "whether the non-HT part of the preamble is missing; null except for HT",
          "report pdu", of="format", formats=("ht",)),
    Field("beamformed", bool, "whether the streams are beamformed; null except for VHT, HE, EHT",
          "report pdu", of="format", formats=(*_VHT, *_NEW)),
    Field("group_id", int, "field of VHT-SIG-A; null except for VHT", "report pdu announced",
          of="format", formats=_VHT, least=0, most=63),
    Field("user_position", int, "place of the user in the group of a VHT frame for several users",
          "pdu user", of="format", formats=("vht-mu",), least=0, most=3),
    Field("partial_aid", int, "field of VHT-SIG-A; null except for VHT", "report pdu",
          of="format", formats=("vht",), least=0, most=511),
    Field("extra_symbol", bool, "whether LDPC coding added a symbol, or a part of one; only for "
          "VHT, HE and EHT", "pdu", of="format", formats=(*_VHT, *_NEW)),
    Field("sta_id", int, "number of the station that receives this EHT frame or this part of an HE "
          "MU frame, or that sends this HE TB frame", "pdu csi user", of="format",
          column=("i4", -1), formats=("he-mu", "he-tb", "eht-mu"), least=0, most=2047),
    Field("num_sig_b", int, "HE-SIG-B or EHT-SIG symbols; only for HE and EHT, 0 without", "pdu",
          of="format", formats=_NEW, least=0, most=400),
    Field("sig_b_mcs", int, "MCS of the HE-SIG-B", "pdu", of="format", formats=("he-mu",),
          least=0, most=5),
    Field("sig_b_dcm", bool, "whether the HE-SIG-B has dual carrier modulation", "pdu",
          of="format", formats=("he-mu",)),
    Field("sig_b_compressed", bool, "whether the HE-SIG-B names no resource units", "pdu",
          of="format", formats=("he-mu",)),
    Field("ru_allocation", str, "RU Allocation subfields of the HE-SIG-B, one for each 20 MHz, as "
          "decimal numbers separated by spaces", "pdu", of="format", formats=("he-mu",)),
    Field("problem", str, "why nothing was decoded; empty otherwise", "report annotation play",
          known=True),
    Field("cfo_hz", float, "carrier offset of the transmitter",
          "report pdu csi annotation play tag", pdu="freq_offset", column=("f8", _NAN)),
    Field("sampling_offset_ppm", float, "offset of its sampling clock", "report tag"),
    Field("snr_db", float, "signal over noise in a subcarrier, mean over the antennas",
          "report pdu csi annotation play tag", pdu="snr", column=("f8", _NAN)),
    Field("antenna_snr_db", tuple, "the same for each antenna", "report pdu tag"),
    Field("level_dbfs", tuple,
          "power of the signal for each antenna; 0 dBFS is a constant of magnitude 1",
          "report pdu tag"),
    Field("noise_dbfs", tuple, "power of the noise for each antenna", "report pdu tag"),
    Field("condition_db", float,
          "condition number of the channel matrices, averaged over the subcarriers",
          "report annotation play tag"),
    Field("evm_db", tuple, "error vector magnitude for each stream", "report tag"),
    Field("detector", str, "the detector used, with its parameters", "report annotation",
          known=True),
    Field("scrambler_seed", int, "the transmitter's scrambler seed", "report", least=0,
          known=True),
    Field("centre_hz", float, "centre of its channel relative to that of the band", "tag",
          known=True),
    Field("frequency", float, "centre of the frame's channel in Hz; null if unknown",
          "report pdu csi", pdu="freq", column=("f8", _NAN), most=1e15),
    Field("complete", bool, "whether mpdus holds all MPDUs of the frame and all are good",
          "report annotation", known=True),
    Field("fcs_ok", bool, "whether the frame check sequence is right, of all MPDUs in csi",
          "pdu csi", column=("?", False)),
    Field("num_mpdus", int, "MPDUs found", "annotation play", of="", least=0, known=True),
    Field("num_mpdus_ok", int, "of these, MPDUs with a good frame check sequence",
          "annotation play", of="", least=0, known=True),
    # Of the first MPDU with a correct FCS
    Field("source", str, "MAC address of the source", "csi", of="", column=("S17", "")),
    Field("destination", str, "MAC address of the destination", "csi", of="",
          column=("S17", "")),
    Field("transmitter", str, "MAC address of the transmitter", "csi", of="",
          column=("S17", "")),
    Field("sequence_number", int, "sequence number", "csi", of="", column=("i4", -1)),
    # Of the MPDU of a PDU
    Field("frame_bytes", int, "length of the MPDU in bytes, with its FCS", "pdu", of="", least=0),
    Field("encoding", int, "rate of a non-HT frame, 0 to 7 for 6 to 54 Mbit/s at 20 MHz", "pdu",
          of="", least=0, most=len(ENCODINGS) - 1),
    Field("dlt", int, "105, LINKTYPE_IEEE802_11", "pdu", of="", choices=(DLT,)),
    Field("fcs", int, "the four bytes of the FCS as a little-endian number", "pdu", of="",
          least=0, most=2**32 - 1),
    Field("ampdu_index", int, "position of the MPDU in its A-MPDU, from 0", "pdu", of="",
          least=0, most=2**31),
    Field("ampdu_count", int, "number of MPDUs found in the A-MPDU", "pdu", of="", least=1,
          most=2**31),
    Field("ampdu_reference", int, "number of the A-MPDU", "pdu", of="", least=0,
          most=2**32 - 1))


@lru_cache
def fields_of(output, of=None):
    """Return the rows of an output, in the order of the table; ``of`` selects as in ``Field``."""
    return tuple(field for field in FIELDS if output in field.outputs.split()
                 and of in (None, field.of))


_REPORT_OF_FORMAT = fields_of("report", "format")
_UNKNOWN_FORMAT = dict.fromkeys(field.name for field in _REPORT_OF_FORMAT)


def report(frame):
    """Return the facts of a ``ReceivedFrame`` for JSON. Unknown values are None."""
    f = frame.format
    values = dict(zip(_HEAD, _head_of(frame), strict=True))
    values |= (_UNKNOWN_FORMAT | frame.announced if f is None
               else _format_report(f, frame.sample_rate_scale))
    for (name, converted), value in zip(_TAIL, _tail_of(frame), strict=True):
        values[name] = converted(value) if converted else value
    return values


def report_with_counts(frame):
    """Return :func:`report`, and the keys num_mpdus and num_mpdus_ok."""
    return report(frame) | counts(frame)


def counts(frame):
    """Return the keys num_mpdus and num_mpdus_ok of a frame, or of one of its users."""
    return {"num_mpdus": len(frame.mpdus),
            "num_mpdus_ok": sum([mpdu.fcs_ok for mpdu in frame.mpdus])}


def of_user(frame):
    """Return what tells a user of a frame from the others, from its :class:`ReceivedFrame`."""
    return format_values(frame.format, frame.sample_rate_scale, fields_of("user"))


def _rounded(value):
    """Round a number; None, nan and infinities become None."""
    return round(float(value), 3) if value is not None and isfinite(value) else None


def _all_rounded(values):
    return [round(float(value), 3) if isfinite(value) else None for value in values]


def _conversion(field):
    """Return the function that makes a value fit for JSON, or None if every value is."""
    if field.known:
        return None
    return _all_rounded if field.kind is tuple else _rounded


# Facts of the frame in reports. Those of its format stand between _HEAD and _TAIL.
_OF_FRAME = fields_of("report", "frame")
_HEAD = tuple(field.name for field in _OF_FRAME[:3])
_TAIL = tuple((field.name, _conversion(field)) for field in _OF_FRAME[3:])
_head_of, _tail_of = attrgetter(*_HEAD), attrgetter(*(name for name, _ in _TAIL))


@lru_cache(maxsize=4096)
def _format_report(f, scale):
    values = _UNKNOWN_FORMAT | format_values(f, scale, [
        field for field in _REPORT_OF_FORMAT if not field.formats or f.name in field.formats])
    if f.name == "non-ht" and scale != 1:    # its MCS is a rate, which a narrow channel divides
        values["mcs"] *= scale
    return values


def format_values(f, scale, fields):
    """Return {name: value} of those fields that a frame format has.

    ``scale`` is the sample rate divided by 20 MS/s, limited to 1.
    """
    own = {"format": f.name, "bandwidth_mhz": f.bandwidth_mhz * scale, "ru": f.ru_name}
    values = {field.name: own.get(field.name, getattr(f, field.name, None)) for field in fields}
    return {name: value for name, value in values.items() if value is not None}
