# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""PDUs: each MPDU of a received frame as a dictionary and bytes."""

from functools import lru_cache
from math import isfinite
from textwrap import fill

from .fields import DLT, ENCODINGS, fields_of, format_values
from .mac import FCS

# {key of a PDU: type of its value}. A tuple holds one float per antenna.
KEYS = {field.pdu or field.name: field.kind for field in fields_of("pdu")}
_OF_FRAME = [field for field in fields_of("pdu", "frame") if field.name != "fcs_ok"]
_OF_FORMAT = fields_of("pdu", "format")


def frame_to_pdus(frame, ampdu_reference=0):
    """Convert the MPDUs of a frame into PDUs: a list of (dictionary, bytes).

    The bytes are the MPDU without its FCS, as in gr-ieee802-11, whose PDUs have the keys
    frame_bytes, encoding, snr, freq, freq_offset and dlt too. If an MPDU is shorter than an FCS,
    the bytes are the whole MPDU. A key is missing if its value is unknown or does not apply; only
    freq is 0 then. These are the keys:

@KEYS@

    Args:
        frame: :class:`frame.ReceivedFrame`. Without MPDUs, the list is empty.
        ampdu_reference: number that tells consecutive A-MPDUs apart, 0..2^32-1. The next numbers
            belong to the next users of a frame.
    """
    return [(of_frame(part) | of_format(part.format, part.sample_rate_scale) | own, blob)
            for index, part in enumerate(frame.parts)
            for own, blob in of_mpdus(part, (ampdu_reference + index) % 2**32)]


frame_to_pdus.__doc__ = (frame_to_pdus.__doc__ or "").replace("@KEYS@", "\n".join(
    fill(f"{field.pdu or field.name}: {field.text}", 100, initial_indent=8 * " ",
         subsequent_indent=12 * " ") for field in fields_of("pdu")))


def of_mpdus(frame, ampdu_reference):
    """Yield the keys and values of each MPDU alone, and its bytes without the FCS."""
    aggregated = frame.format is not None and frame.format.aggregated
    for index, mpdu in enumerate(frame.mpdus):
        own = {"frame_bytes": len(mpdu.data), "fcs_ok": mpdu.fcs_ok}
        blob = mpdu.data
        if len(blob) >= FCS:
            blob, own["fcs"] = blob[:-FCS], int.from_bytes(blob[-FCS:], "little")
        if aggregated:
            own |= {"ampdu_index": index, "ampdu_count": len(frame.mpdus),
                    "ampdu_reference": ampdu_reference}
        yield own, blob


def of_frame(frame):
    """Return the keys and values of a PDU that belong to its frame, without its format."""
    info = {"freq": 0.0}
    for field in _OF_FRAME:
        value = getattr(frame, field.name)
        if field.kind is tuple:
            info[field.pdu or field.name] = tuple(map(float, value))
        elif value is not None and isfinite(value):
            info[field.pdu or field.name] = field.kind(value)
    return info


@lru_cache(maxsize=1024)
def of_format(f, scale):
    """Return the keys and values of a PDU that follow from the frame's format.

    ``scale`` is the sample rate divided by 20 MS/s, limited to 1.
    """
    if f is None:
        return {"dlt": DLT}
    info = {"dlt": DLT} | format_values(f, scale, _OF_FORMAT)
    info["bandwidth_mhz"] = float(info["bandwidth_mhz"])
    if f.name == "non-ht":
        info["encoding"] = ENCODINGS.index(f.mcs)
    return info
