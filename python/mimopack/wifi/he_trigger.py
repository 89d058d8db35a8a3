# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Trigger frame asks of the HE TB frames that follow it (IEEE 802.11ax-2021 §9.3.1.22)."""

from typing import NamedTuple

from ..checks import integer
from .formats import HE
from .he_tables import RU, WHOLE

_NEEDED = ("ul_length", "ru", "mcs", "coding", "gi_us", "ltf")


class Trigger(NamedTuple):
    """What is known of HE TB frames before they come.

    Attributes:
        format: :class:`HE` of the frames; its number of symbols means nothing.
        ul_length: LENGTH of the frames' L-SIG.
        pe_disambiguity: field of the Trigger frame.
    """

    format: HE
    ul_length: int
    pe_disambiguity: bool


def trigger_of(values):
    """Return the :class:`Trigger` of a dictionary; None for None.

    Args:
        values: dictionary with the keys
            ul_length: UL Length;
            ru: resource unit, such as "106 index 2", or "242" for the whole channel;
            mcs, coding, gi_us, ltf: see :class:`HE`; coding in any case of letters.
            These may be missing: nss (1), stbc, dcm, midamble (0), pre_fec_padding (4), he_ltf
            (the number of HE-LTFs; the least), ldpc_extra (0), pe (PE Disambiguity, 0),
            bandwidth_mhz (20). Further keys are ignored.

    Raises:
        ValueError: a key is missing, or a value is not as above.
    """
    if values is None:
        return None
    if not isinstance(values, dict):
        raise ValueError(f"he_trigger: got {type(values).__name__}, must be a dictionary")
    for name in _NEEDED:
        if name not in values:
            raise ValueError(f"he_trigger: {name} is missing")
    length = integer("ul_length", values["ul_length"], 1, 4095)
    if length % 3 != 1:
        raise ValueError(f"ul_length: got {length}, HE TB frames have a LENGTH of 3n + 1")
    bandwidth = values.get("bandwidth_mhz", 20)
    try:
        f = HE(
            values["mcs"], 2, values.get("nss", 1), bandwidth, values["gi_us"], values["ltf"],
            str(values["coding"]).lower(), int(values.get("stbc", 0)), bool(values.get("dcm", 0)),
            values.get("midamble", 0), values.get("pre_fec_padding", 4),
            bool(values.get("ldpc_extra", 0)), name="he-tb", ru=_ru(values["ru"], bandwidth),
            ltf_count=values.get("he_ltf"), uplink=True)
    except TypeError as error:
        raise ValueError(f"he_trigger: {error}") from error
    return Trigger(f, length, bool(values.get("pe", 0)))


def _ru(text, bandwidth_mhz):
    """Return the resource unit of a text such as "106 index 2"."""
    size, _, index = str(text).partition(" index ")
    try:
        return RU(1992 if size == "2x996" else int(size), int(index or 1))
    except ValueError:
        raise ValueError(f'ru: got {text!r}, must be such as "106 index 2" or '
                         f'"{WHOLE.get(bandwidth_mhz)}"') from None
