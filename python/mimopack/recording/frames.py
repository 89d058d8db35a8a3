# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Annotate the frames of a recording with fields of the SigMF namespace "mimopack"."""

import math
from dataclasses import dataclass

from ..checks import integer, number

_PREFIX = "mimopack:"
_MPDUS, _SNR = _PREFIX + "mpdus", _PREFIX + "snr_db"

@dataclass(frozen=True)
class TrueFrame:
    """A transmitted frame as its annotation describes it.

    Attributes:
        start: index of the frame's first sample in the recording.
        count: number of samples of the frame.
        mpdus: tuple of the transmitted MPDUs, as bytes with the frame check sequence; None if the
            annotation has no MPDUs.
        snr_db: mean SNR per receive antenna in dB, or None.
    """

    start: int
    count: int
    mpdus: tuple | None
    snr_db: float | None


def annotate_frame(writer, start, count, mpdus, snr_db, label="frame", **fields):
    """Add the annotation of a transmitted frame to a ``Writer``; ``read_frames`` reads it back.

    Args:
        writer: ``Writer`` of the recording.
        start, count, mpdus, snr_db: see :class:`TrueFrame`.
        label: text that viewers of recordings show.
        fields: further facts, such as format="ht", mcs=28. Each key gets the prefix "mimopack:".

    Raises:
        ValueError: snr_db is not a finite number, or SigMF does not allow the annotation.
    """
    writer.annotate(start, count, label=label, **{
        _SNR: _decibels(snr_db), _MPDUS: [bytes(mpdu).hex() for mpdu in mpdus],
        **{f"mimopack:{name}": value for name, value in fields.items()}})


def frame_annotation(facts):
    """Return the arguments of ``annotate`` for a frame that a receiver has reported::

        start, count, fields = recording.frame_annotation(frame.facts())
        recorder.annotate(start, count, **fields)

    Args:
        facts: dictionary with ``start`` and ``num_samples``, and any other keys of
            ``wifi.ReceivedFrame.facts`` or of the messages at ``wifi_receiver``'s port ``frames``.
            The keys ``label`` and ``comment`` replace the texts that this function composes.

    Returns:
        (start, count, fields). The fields are label, comment, the frequencies of the channel's
        edges if ``frequency`` and ``bandwidth_mhz`` are known, and fields of the namespace
        "mimopack": "received" (true), format, MCS and quality of the frame. ``read_frames`` skips
        these annotations, because they do not describe transmitted frames.

    Raises:
        ValueError: ``start`` or ``num_samples`` is missing or not an integer, or ``num_samples`` is
            negative.
    """
    facts = {key: value for key, value in facts.items() if value is not None}
    start = integer("start", facts.get("start"), -2**62, 2**62)
    count = integer("num_samples", facts.get("num_samples"), 0, 2**62)
    fields = {"label": str(facts.get("label", _label(facts))),
              "comment": str(facts.get("comment", _comment(facts))), "generator": "gr-mimopack",
              _PREFIX + "received": True}
    frequency, bandwidth = (facts.get(name) for name in ("frequency", "bandwidth_mhz"))
    if _is_number(frequency) and _is_number(bandwidth):
        fields |= {"freq_lower_edge": frequency - 5e5 * bandwidth,
                   "freq_upper_edge": frequency + 5e5 * bandwidth}
    # Import it here: reading and writing need no receiver.
    from ..wifi.fields import fields_of

    for name in (field.name for field in fields_of("annotation")):
        value = facts.get(name)
        if isinstance(value, (bool, str)) or _is_number(value):
            # read_frames reads "mimopack:snr_db" as the true SNR.
            fields[_PREFIX + ("measured_snr_db" if name == "snr_db" else name)] = value
    return start, count, fields


def _label(facts):
    kind = str(facts.get("format", "frame")).upper().replace("NON-HT", "non-HT")
    if "mcs" not in facts:
        return kind
    return f"{kind} {facts['mcs']} Mbit/s" if kind == "non-HT" else f"{kind} MCS {facts['mcs']}"


def _comment(facts):
    parts = []
    if facts.get("problem"):
        parts.append(str(facts["problem"]))
    count, good = facts.get("num_mpdus"), facts.get("num_mpdus_ok")
    if isinstance(facts.get("mpdus"), (list, tuple)):
        count = len(facts["mpdus"])
        good = sum(bool(mpdu.get("fcs_ok")) for mpdu in facts["mpdus"] if isinstance(mpdu, dict))
    if count is not None:
        parts.append(f"MPDUs with a good FCS: {good} of {count}")
    if _is_number(facts.get("snr_db")):
        parts.append(f"SNR {facts['snr_db']:.1f} dB")
    return ", ".join(parts)


def _is_number(value):
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and math.isfinite(value))


def read_frames(annotations):
    """Return the annotations of transmitted frames: a list of ``TrueFrame``, sorted by start.

    Args:
        annotations: list of dictionaries as in SigMF, such as ``Reader.annotations``. Other
            annotations are skipped.

    Raises:
        ValueError: a value has the wrong type, or the SNR is not finite.
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
        raise ValueError(f"{_MPDUS}: got a string that is not hexadecimal, must have two digits "
                         "for each byte") from None
