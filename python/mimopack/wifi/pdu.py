# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""PDUs: each MPDU of a received frame as a dictionary and bytes."""

from functools import lru_cache

from .formats.non_ht import RATES
from .mac import FCS

DLT = 105    # LINKTYPE_IEEE802_11: an MPDU without a header of the radio
# The rate of gr-ieee802-11's key "encoding", an index.
ENCODINGS = tuple(RATES)

# Every key of a PDU and the type of its value; a tuple holds floats, one for each antenna.
KEYS = {
    "frame_bytes": int, "encoding": int, "snr": float, "freq": float, "freq_offset": float,
    "dlt": int, "format": str, "mcs": int, "num_streams": int, "stbc": int,
    "bandwidth_mhz": float, "short_gi": bool, "coding": str, "greenfield": bool, "fcs_ok": bool,
    "fcs": int, "time": float, "start": int, "antenna_snr_db": tuple, "level_dbfs": tuple,
    "noise_dbfs": tuple, "ampdu_index": int, "ampdu_count": int, "ampdu_reference": int,
    "group_id": int, "partial_aid": int, "beamformed": bool, "extra_symbol": bool}


def frame_to_pdus(frame, ampdu_reference=0):
    """Return the MPDUs of a frame as PDUs: a list of (dictionary, bytes).

    The bytes are the MPDU without its frame check sequence, as gr-ieee802-11 sends them. The
    dictionary has

        frame_bytes: length of the MPDU with its frame check sequence.
        encoding: rate of a non-HT frame, 0 to 7 for 6 to 54 Mbit/s at 20 MHz. HT and VHT frames
            have none.
        snr: in dB, mean over the antennas.
        freq, freq_offset: centre of the channel, 0 where it is unknown, and carrier offset, in Hz.
        dlt: 105, LINKTYPE_IEEE802_11.
        format, mcs, num_streams, stbc, short_gi, coding, greenfield: as of ``FrameFormat``.
        bandwidth_mhz: width of the channel; 10 or 5 in the narrow channels of 802.11p.
        fcs_ok: whether the frame check sequence fits.
        fcs: the frame check sequence as received, a little-endian number.
        time: seconds from the stream's first sample to the frame's.
        start: the frame's first sample.
        antenna_snr_db, level_dbfs, noise_dbfs: tuples with a value for each antenna.
        ampdu_index, ampdu_count: place of the MPDU among those found in its A-MPDU.
        ampdu_reference: the argument; the MPDUs of one A-MPDU share it.
        group_id, partial_aid, beamformed, extra_symbol: of a VHT frame, as of ``VHT``.

    A key is missing where its value is not known or does not apply. An MPDU shorter than a frame
    check sequence stays whole and has no ``fcs``.

    Args:
        frame: :class:`frame.ReceivedFrame`; one without MPDUs gives an empty list.
        ampdu_reference: a number that consecutive A-MPDUs do not share, 0..2^32-1.
    """
    common = of_frame(frame) | of_format(frame.format, frame.sample_rate_scale)
    return [(common | own, blob) for own, blob in of_mpdus(frame, ampdu_reference)]


def of_frame(frame):
    """What the dictionaries of a frame's PDUs have in common, but for the format."""
    return {
        "snr": float(frame.snr_db), "freq": float(frame.frequency or 0),
        "freq_offset": float(frame.cfo_hz), "time": float(frame.time), "start": int(frame.start),
        "antenna_snr_db": _floats(frame.antenna_snr_db), "level_dbfs": _floats(frame.level_dbfs),
        "noise_dbfs": _floats(frame.noise_dbfs)}


def of_mpdus(frame, ampdu_reference):
    """The rest: a list of (dictionary, bytes), one for each MPDU."""
    aggregated = frame.format is not None and frame.format.aggregated
    pdus = []
    for index, mpdu in enumerate(frame.mpdus):
        own = {"frame_bytes": len(mpdu.data), "fcs_ok": mpdu.fcs_ok}
        blob = mpdu.data
        if len(blob) >= FCS:
            blob, own["fcs"] = blob[:-FCS], int.from_bytes(blob[-FCS:], "little")
        if aggregated:
            own |= {"ampdu_index": index, "ampdu_count": len(frame.mpdus),
                    "ampdu_reference": ampdu_reference}
        pdus.append((own, blob))
    return pdus


@lru_cache(maxsize=1024)
def of_format(f, scale):
    """Return the keys that follow from a frame's format; scale: sample rate over 20 MS/s, at most
    1."""
    if f is None:
        return {"dlt": DLT}
    info = {"dlt": DLT} | {name: getattr(f, name) for name in
            ("mcs", "num_streams", "stbc", "short_gi", "coding", "greenfield")}
    info |= {"format": f.name, "bandwidth_mhz": float(f.bandwidth_mhz * scale)}
    if f.name == "non-ht":
        info["encoding"] = ENCODINGS.index(f.mcs)
    elif f.name == "vht":
        info |= {name: getattr(f, name) for name in
                 ("group_id", "partial_aid", "beamformed", "extra_symbol")}
    return {name: value for name, value in info.items() if value is not None}


def _floats(values):
    return tuple(map(float, values))
