# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Annotations of the frames in a recording: what was sent, in SigMF's namespace "mimopack"."""

import math
from dataclasses import dataclass

from ..checks import integer, number

_PREFIX = "mimopack:"
_MPDUS, _SNR = _PREFIX + "mpdus", _PREFIX + "snr_db"
# What an annotation keeps of a received frame.
_RECEIVED = ("format", "mcs", "num_streams", "stbc", "bandwidth_mhz", "short_gi", "coding",
             "length", "aggregated", "problem", "cfo_hz", "snr_db", "evm_db", "condition_db",
             "detector", "complete", "num_mpdus", "num_mpdus_ok")


@dataclass(frozen=True)
class TrueFrame:
    """A frame as its annotation tells it.

    Attributes:
        start, count: samples of the recording.
        mpdus: tuple of the MPDUs that were sent, bytes with the frame check sequence; None where
            the annotation has none.
        snr_db: mean SNR per receive antenna at which it was sent, or None.
    """

    start: int
    count: int
    mpdus: tuple | None
    snr_db: float | None


def annotate_frame(writer, start, count, mpdus, snr_db, label="frame", **fields):
    """Add the annotation of a frame to a ``Writer``; ``read_frames`` reads it back.

    Args:
        start, count, mpdus, snr_db: as of :class:`TrueFrame`.
        label: shown by viewers.
        fields: more to tell, such as format="ht", mcs=28; each gets the prefix "mimopack:".

    Raises:
        ValueError: snr_db is no finite number.
    """
    writer.annotate(start, count, label=label, **{
        _SNR: _decibels(snr_db), _MPDUS: [bytes(mpdu).hex() for mpdu in mpdus],
        **{f"mimopack:{name}": value for name, value in fields.items()}})


def frame_annotation(told):
    """What annotates a frame that a receiver has reported, for ``annotate``.

        start, count, fields = recording.frame_annotation(frame.facts())
        recorder.annotate(start, count, **fields)

    Args:
        told: dictionary with ``start`` and ``num_samples``, and whichever other keys of
            ``wifi.ReceivedFrame.facts`` or of the messages of ``wifi_receiver``'s port ``frames``
            there are. ``label`` and ``comment`` replace the texts made here.

    Returns:
        (start, count, fields): label and comment, the edges of the channel where ``frequency`` and
        ``bandwidth_mhz`` are known, and "mimopack:received" (true) with the format, MCS and quality
        of the frame. ``read_frames`` does not take it for a frame whose truth is known.

    Raises:
        ValueError: start is missing or no integer, or num_samples is none from 0.
    """
    told = {key: value for key, value in told.items() if value is not None}
    start = integer("start", told.get("start"), -2**62, 2**62)
    count = integer("num_samples", told.get("num_samples"), 0, 2**62)
    fields = {"label": str(told.get("label", _label(told))),
              "comment": str(told.get("comment", _comment(told))), "generator": "gr-mimopack",
              _PREFIX + "received": True}
    frequency, bandwidth = (told.get(name) for name in ("frequency", "bandwidth_mhz"))
    if _is_number(frequency) and _is_number(bandwidth):
        fields |= {"freq_lower_edge": frequency - 5e5 * bandwidth,
                   "freq_upper_edge": frequency + 5e5 * bandwidth}
    for name in _RECEIVED:
        value = told.get(name)
        if isinstance(value, (bool, str)) or _is_number(value):
            # The key of read_frames is that of the truth.
            fields[_PREFIX + ("measured_snr_db" if name == "snr_db" else name)] = value
    return start, count, fields


def _label(told):
    kind = str(told.get("format", "frame")).upper().replace("NON-HT", "non-HT")
    if "mcs" not in told:
        return kind
    return f"{kind} {told['mcs']} Mbit/s" if kind == "non-HT" else f"{kind} MCS {told['mcs']}"


def _comment(told):
    parts = []
    if told.get("problem"):
        parts.append(str(told["problem"]))
    count, good = told.get("num_mpdus"), told.get("num_mpdus_ok")
    if isinstance(told.get("mpdus"), (list, tuple)):
        count = len(told["mpdus"])
        good = sum(bool(mpdu.get("fcs_ok")) for mpdu in told["mpdus"] if isinstance(mpdu, dict))
    if count is not None:
        parts.append(f"MPDUs with a good FCS: {good} of {count}")
    if _is_number(told.get("snr_db")):
        parts.append(f"SNR {told['snr_db']:.1f} dB")
    return ", ".join(parts)


def _is_number(value):
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and math.isfinite(value))


def read_frames(annotations):
    """Return the annotations that describe frames, as ``TrueFrame``, in the order of their start.

    Raises:
        ValueError: a value is not of its type, or the SNR is not finite.
    """
    frames = []
    for entry in annotations:
        mpdus, snr_db = entry.get(_MPDUS), entry.get(_SNR)
        if mpdus is None and snr_db is None:
            continue
        start = int(entry["core:sample_start"])
        try:
            frames.append(TrueFrame(
                start, int(entry.get("core:sample_count", 0)),
                None if mpdus is None else _bytes_of(mpdus),
                None if snr_db is None else _decibels(snr_db)))
        except ValueError as error:
            raise ValueError(f"{error} (annotation at sample {start})") from error
    return sorted(frames, key=lambda frame: frame.start)


def _decibels(value):
    if not math.isfinite(number(_SNR, value)):
        raise ValueError(f"{_SNR}: got {value}, must be finite")
    return float(value)


def _bytes_of(mpdus):
    if not isinstance(mpdus, list) or not all(isinstance(mpdu, str) for mpdu in mpdus):
        raise ValueError(f"{_MPDUS}: got another type, must be a list of hexadecimal strings")
    try:
        return tuple(map(bytes.fromhex, mpdus))
    except ValueError:
        raise ValueError(f"{_MPDUS}: got a string that is not hexadecimal, must be two digits for "
                         "each byte") from None
