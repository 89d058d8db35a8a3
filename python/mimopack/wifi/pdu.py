# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""PDUs: each MPDU of a received frame as a dictionary and bytes."""

from functools import lru_cache

from .formats.non_ht import RATES
from .mac import FCS

DLT = 105    # LINKTYPE_IEEE802_11: an MPDU without a radio header
# Rates in Mbit/s, indexed by key "encoding" of gr-ieee802-11.
ENCODINGS = tuple(RATES)

# {key of a PDU: type of its value}. A tuple holds one float per antenna.
KEYS = {
    "frame_bytes": int, "encoding": int, "snr": float, "freq": float, "freq_offset": float,
    "dlt": int, "format": str, "mcs": int, "num_streams": int, "stbc": int,
    "bandwidth_mhz": float, "short_gi": bool, "coding": str, "greenfield": bool, "fcs_ok": bool,
    "fcs": int, "time": float, "start": int, "antenna_snr_db": tuple, "level_dbfs": tuple,
    "noise_dbfs": tuple, "ampdu_index": int, "ampdu_count": int, "ampdu_reference": int,
    "group_id": int, "partial_aid": int, "beamformed": bool, "extra_symbol": bool}


def frame_to_pdus(frame, ampdu_reference=0):
    """Convert the MPDUs of a frame into PDUs: a list of (dictionary, bytes).

    The bytes are the MPDU without its FCS, as in gr-ieee802-11. The dictionary has these keys:

        frame_bytes: length of the MPDU in bytes, including its FCS.
        encoding: rate of a non-HT frame, 0 to 7 for 6 to 54 Mbit/s at 20 MHz; missing for HT and
            VHT frames.
        snr: SNR in dB, mean over the antennas.
        freq: centre frequency of the channel in Hz; 0 if unknown.
        freq_offset: carrier frequency offset in Hz.
        dlt: 105, LINKTYPE_IEEE802_11.
        format, mcs, num_streams, stbc, short_gi, coding, greenfield: see ``FrameFormat``.
        bandwidth_mhz: bandwidth of the channel in MHz; 10 or 5 in the narrow channels of 802.11p.
        fcs_ok: whether the FCS is correct.
        fcs: the four bytes of the received FCS as a little-endian number.
        time: seconds from the first sample of the stream to the first sample of the frame.
        start: first sample of the frame, counted from the start of the stream.
        antenna_snr_db, level_dbfs, noise_dbfs: tuples with one value per antenna, see
            :class:`frame.ReceivedFrame`.
        ampdu_index, ampdu_count: position of the MPDU, from 0, among the MPDUs found in its A-MPDU,
            and the number of these MPDUs.
        ampdu_reference: the argument; the MPDUs of one A-MPDU share it.
        group_id, partial_aid, beamformed, extra_symbol: see ``VHT``; only for a VHT frame.

    A key is missing if its value is unknown or does not apply. If an MPDU is shorter than an FCS,
    the bytes are the whole MPDU, and ``fcs`` is missing.

    Args:
        frame: :class:`frame.ReceivedFrame`. Without MPDUs, the list is empty.
        ampdu_reference: number that tells consecutive A-MPDUs apart, 0..2^32-1.
    """
    aggregated = frame.format is not None and frame.format.aggregated
    common = _of_frame(frame) | of_format(frame.format, frame.sample_rate_scale)
    pdus = []
    for index, mpdu in enumerate(frame.mpdus):
        own = {"frame_bytes": len(mpdu.data), "fcs_ok": mpdu.fcs_ok}
        blob = mpdu.data
        if len(blob) >= FCS:
            blob, own["fcs"] = blob[:-FCS], int.from_bytes(blob[-FCS:], "little")
        if aggregated:
            own |= {"ampdu_index": index, "ampdu_count": len(frame.mpdus),
                    "ampdu_reference": ampdu_reference}
        pdus.append((common | own, blob))
    return pdus


def _of_frame(frame):
    return {
        "snr": float(frame.snr_db), "freq": float(frame.frequency or 0),
        "freq_offset": float(frame.cfo_hz), "time": float(frame.time), "start": int(frame.start),
        "antenna_snr_db": _floats(frame.antenna_snr_db), "level_dbfs": _floats(frame.level_dbfs),
        "noise_dbfs": _floats(frame.noise_dbfs)}


@lru_cache(maxsize=1024)
def of_format(f, scale):
    """Return the keys and values of a PDU that follow from the frame's format.

    ``scale`` is the sample rate divided by 20 MS/s, limited to 1.
    """
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
