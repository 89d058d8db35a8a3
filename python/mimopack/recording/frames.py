# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Annotations of the frames in a recording: what was sent, in SigMF's namespace "mimopack"."""

import math
from dataclasses import dataclass

from ..checks import number

_MPDUS, _SNR = "mimopack:mpdus", "mimopack:snr_db"


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
