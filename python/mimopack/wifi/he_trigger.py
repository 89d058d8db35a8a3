# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Trigger frame asks of the HE TB frames that follow it (IEEE 802.11ax-2021 §9.3.1.22)."""

import json
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..checks import integer
from .bits import number_of
from .carriers import BANDWIDTHS
from .formats import HE, JointHE, Unsupported
from .formats.he import TRAINING
from .he_signal_b import NOBODY, subchannels_of
from .he_tables import RU, WHOLE, num_rus
from .signal_fields import (
    SignalError,
    parse_he_sig_a_of_trigger,
    trigger_based_bandwidth,
)

_NEEDED = ("ul_length", "ru", "mcs", "coding", "gi_us", "ltf")


class Trigger(NamedTuple):
    """What is known of HE TB frames before they come.

    Attributes:
        format: :class:`HE` of the frames, or :class:`JointHE` of stations that share a resource
            unit; its number of symbols means nothing.
        ul_length: LENGTH of the frames' L-SIG.
        pe_disambiguity: field of the Trigger frame.
    """

    format: HE | JointHE
    ul_length: int
    pe_disambiguity: bool


def trigger_of(values):
    """Return the :class:`Trigger` of a dictionary, or of a JSON file with one; None for None.

    Args:
        values: name of the file, or dictionary with the keys
            ul_length: UL Length;
            ru: resource unit, such as "106 index 2", or "242" for the whole channel;
            mcs, coding, gi_us, ltf: see :class:`HE`; coding in any case of letters.
            These may be missing: nss (1), stbc, dcm, midamble (0), pre_fec_padding (4), he_ltf
            (the number of HE-LTFs; the least), ldpc_extra (0), pe (PE Disambiguity, 0),
            bandwidth_mhz (20), masked_ltf (0), sta_id, users (a list with a dictionary for each
            station that shares the resource unit, of the keys mcs, coding, nss and sta_id; their
            streams follow each other). Further keys are ignored.

    Raises:
        ValueError: the file cannot be read, a key is missing, or a value is not as above.
    """
    if values is None:
        return None
    if isinstance(values, (str, os.PathLike)):
        values = read_trigger(values)
    if not isinstance(values, dict):
        raise ValueError(f"he_trigger: got {type(values).__name__}, must be a dictionary")
    users = values.get("users") or [{}]
    if not isinstance(users, list) or not all(isinstance(user, dict) for user in users):
        raise ValueError("users: must be a list of dictionaries")
    stations = [values | user for user in users]
    for name in _NEEDED:
        if not all(name in station for station in stations):
            raise ValueError(f"he_trigger: {name} is missing")
    length = integer("ul_length", values["ul_length"], 1, 4095)
    if length % 3 != 1:
        raise ValueError(f"ul_length: got {length}, HE TB frames have a LENGTH of 3n + 1")
    try:
        f = _shared(stations) if len(stations) > 1 else _format(stations[0])
    except TypeError as error:
        raise ValueError(f"he_trigger: {error}") from error
    return Trigger(f, length, bool(values.get("pe", 0)))


def _format(values, **streams):
    bandwidth = values.get("bandwidth_mhz", 20)
    return HE(
        values["mcs"], 2, values.get("nss", 1), bandwidth, values["gi_us"], values["ltf"],
        str(values["coding"]).lower(), int(values.get("stbc", 0)), bool(values.get("dcm", 0)),
        values.get("midamble", 0), values.get("pre_fec_padding", 4),
        bool(values.get("ldpc_extra", 0)), name="he-tb", ru=_ru(values["ru"], bandwidth),
        ltf_count=values.get("he_ltf"), masked_ltf=bool(values.get("masked_ltf", 0)),
        sta_id=values.get("sta_id"), uplink=True, **streams)


def _shared(stations):
    """Return the :class:`JointHE` of stations that share a resource unit."""
    streams = [integer("nss", own.get("nss", 1), 1, 4) for own in stations]
    return JointHE.of([_format(own, first_stream=sum(streams[:i]), ru_streams=sum(streams))
                       for i, own in enumerate(stations)])


def read_trigger(path):
    """Return the contents of a JSON file; raise ValueError if it cannot be read."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"he_trigger: {path}: {error}") from error


def _ru(text, bandwidth_mhz):
    """Return the resource unit of a text such as "106 index 2"."""
    size, _, index = str(text).partition(" index ")
    try:
        return RU(1992 if size == "2x996" else int(size), int(index or 1))
    except ValueError:
        raise ValueError(f'ru: got {text!r}, must be such as "106 index 2" or '
                         f'"{WHOLE.get(bandwidth_mhz)}"') from None


_BASIC = 0    # type of Trigger frames that ask for data
_FRAME_CONTROL = 0x24    # first byte of a Trigger frame
_HEADER, _COMMON, _USER, _OF_BASIC = 16, 8, 5, 1    # bytes
_END = 4095    # AID that ends the list
# Table 9-31g: first number of the RUs of each size, and how many there are in 80 MHz.
_UNITS = {first + i: RU(size, i + 1) for size, first, count in (
    (26, 0, 37), (52, 37, 16), (106, 53, 8), (242, 61, 4), (484, 65, 2), (996, 67, 1),
    (1992, 68, 1)) for i in range(count)}


def triggers_in(mpdu):
    """Return what a basic Trigger frame asks (Figures 9-64a to 9-64e).

    What :class:`HE` and :class:`JointHE` refuse is left out. The lower half of a channel of 160 MHz
    is taken for the primary one; :meth:`Answer.formats` finds out.

    Args:
        mpdu: bytes of an MPDU with its FCS.

    Returns:
        list of :class:`Trigger`, one for each resource unit; empty if the MPDU is no such frame.
    """
    if len(mpdu) < _HEADER + _COMMON + 4 or mpdu[0] != _FRAME_CONTROL:
        return []
    common = np.unpackbits(np.frombuffer(mpdu, np.uint8, _COMMON, _HEADER), bitorder="little")
    if number_of(common[:4]) != _BASIC:
        return []
    bandwidth = BANDWIDTHS[number_of(common[18:20])]
    doppler, training = bool(common[53]), number_of(common[20:22])
    fields, midamble = number_of(common[23:26]), 0
    if doppler:
        fields, midamble = number_of(common[23:25]), 20 if common[25] else 10
    if training > 2 or fields > 4:
        return []
    ltf, gi_us = TRAINING["he-tb"][training]
    found = []
    for at in range(_HEADER + _COMMON, len(mpdu) - 4 - _USER - _OF_BASIC + 1, _USER + _OF_BASIC):
        bits = np.unpackbits(np.frombuffer(mpdu, np.uint8, _USER, at), bitorder="little")
        station, unit = number_of(bits[:12]), number_of(bits[13:20])
        if station == _END:
            break
        if station == NOBODY or unit not in _UNITS:
            continue
        ru = _UNITS[unit]
        if bits[12]:    # in the secondary 80 MHz; always set for 2x996 tones
            ru = _in_other_half(ru)
        try:
            f = HE(number_of(bits[21:25]), 2, number_of(bits[29:32]) + 1, bandwidth,
                   gi_us, ltf, "ldpc" if bits[20] else "bcc", int(common[26]), bool(bits[25]),
                   midamble, number_of(common[34:36]) or 4, bool(common[27]), name="he-tb",
                   ru=ru, ltf_count=(1, 2, 4, 6, 8)[fields], masked_ltf=bool(common[22]),
                   uplink=True, sta_id=station, first_stream=number_of(bits[26:29]))
        except (Unsupported, ValueError):
            continue
        found.append(f)
    return [Trigger(f, number_of(common[4:16]), bool(common[36])) for f in _by_unit(found)]


def _in_other_half(ru):
    """Return the resource unit at the same place in the other half of a channel of 160 MHz."""
    count = num_rus(160, ru.size)
    return RU(ru.size, (ru.index - 1 + count // 2) % count + 1)


def _by_unit(formats):
    """Return the formats of stations, with one :class:`JointHE` for those that share a unit."""
    units = {}
    for f in formats:
        units.setdefault(f.ru, []).append(f)
    found = []
    for sharing in units.values():
        if len(sharing) == 1:
            found += sharing
        else:
            with suppress(Unsupported, ValueError):
                found.append(JointHE.of(sharing))
    return found


class Answer(NamedTuple):
    """The signal fields of an HE TB frame, until a Trigger frame is known that asked for it.

    Attributes:
        bits: HE-SIG-A without its tail, a byte for each bit.
        l_sig: :class:`signal_fields.LSig`.
    """

    bits: bytes
    l_sig: object

    def formats(self, triggers, occupied):
        """Return the list of formats of the stations, one for each :class:`Trigger` that fits.

        ``occupied`` are the 20 MHz subchannels with a signal, which tell where the primary 80 MHz
        of a channel of 160 MHz lie.
        """
        bits, found = np.frombuffer(self.bits, np.uint8), []
        for trigger in triggers:
            if (trigger.ul_length, trigger.format.bandwidth_mhz) == (
                    self.l_sig.length, trigger_based_bandwidth(bits)):
                with suppress(SignalError):
                    found.append(parse_he_sig_a_of_trigger(bits, self.l_sig, trigger))
        if found and found[0].bandwidth_mhz == 160:
            asked = set().union(*(subchannels_of(160, f.ru) for f in found))
            turned = {(part + 4) % 8 for part in asked}
            if len(turned.symmetric_difference(occupied)) < len(
                    asked.symmetric_difference(occupied)):
                found = [_moved(f) for f in found]
        return found


def _moved(f):
    """Return the format of stations in the other half of a channel of 160 MHz."""
    ru = _in_other_half(f.ru)
    if isinstance(f, JointHE):
        return JointHE.of([replace(user, ru=ru) for user in f.users])
    return replace(f, ru=ru)
