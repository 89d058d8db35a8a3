# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a recording says of the frames in it: fields of the namespace "mimopack" in SigMF.

Global fields carry the format that a receiver must know (``mimopack:num_tx`` ...). An annotation
of each frame may carry what was sent, so that errors can be counted.
"""

import base64
import binascii
from dataclasses import dataclass

FORMAT_FIELDS = {"num_tx": int, "constellation": str, "code_rate": str, "payload_length": int,
                 "scrambler_seed": int}
_PREFIX = "mimopack:"


@dataclass(frozen=True)
class TrueFrame:
    """A frame as its annotation tells it.

    Attributes:
        start, count: samples of the recording.
        payload: bytes that were sent, or None where the annotation has none.
        snr_db: mean SNR per receive antenna at which it was sent, or None.
    """

    start: int
    count: int
    payload: bytes | None
    snr_db: float | None


def format_fields(**parameters):
    """Global fields of SigMF for a frame format, as ``Writer`` takes them.

    Args:
        parameters: those of ``FORMAT_FIELDS`` that are known.
    """
    return {_PREFIX + name: FORMAT_FIELDS[name](value) for name, value in parameters.items()}


def read_format(global_info):
    """The parameters of ``FORMAT_FIELDS`` that global metadata has.

    Raises:
        ValueError: a field is not of its type.
    """
    found = {}
    for name, kind in FORMAT_FIELDS.items():
        value = global_info.get(_PREFIX + name)
        if value is None:
            continue
        if type(value) is not kind:
            raise ValueError(f"{_PREFIX}{name}: got {value!r}, must be of type {kind.__name__}")
        found[name] = value
    return found


def annotate_frame(writer, start, count, payload, snr_db):
    """Add the annotation of a frame to a ``Writer``; ``read_frames`` reads it back."""
    writer.annotate(start, count, label="frame", **{
        _PREFIX + "payload": base64.b64encode(payload).decode("ascii"),
        _PREFIX + "snr_db": float(snr_db)})


def read_frames(annotations):
    """The annotations that describe frames, as ``TrueFrame``, in the order of their start.

    Raises:
        ValueError: a payload is not base64.
    """
    frames = []
    for entry in annotations:
        payload, snr_db = entry.get(_PREFIX + "payload"), entry.get(_PREFIX + "snr_db")
        if payload is None and snr_db is None:
            continue
        start = entry["core:sample_start"]
        if payload is not None:
            try:
                payload = base64.b64decode(payload, validate=True)
            except (binascii.Error, TypeError, ValueError) as error:
                raise ValueError(f"{_PREFIX}payload: annotation at sample {start} is not "
                                 f"base64 ({error})") from error
        frames.append(TrueFrame(start, entry.get("core:sample_count", 0), payload, snr_db))
    return sorted(frames, key=lambda frame: frame.start)
