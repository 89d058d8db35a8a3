# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""PDUs of Wi-Fi frames as PMTs, and back."""

import pmt

from ..wifi.pdu import KEYS
from .fec_encoder import pdu_parts

_NAMES = {name: pmt.intern(name) for name in KEYS}
# gr-ieee802-11 sends these as uint64, and others may read them as that.
_UNSIGNED = {"frame_bytes", "encoding"}
_CONVERSIONS = {
    int: lambda value: pmt.from_long(int(value)),
    float: lambda value: pmt.from_double(float(value)),
    bool: lambda value: pmt.from_bool(bool(value)),
    str: pmt.intern,
    tuple: lambda value: pmt.init_f32vector(len(value), [float(one) for one in value])}
_TO_PMT = {name: _CONVERSIONS[kind] for name, kind in KEYS.items()} | dict.fromkeys(
    _UNSIGNED, lambda value: pmt.from_uint64(int(value)))
# What PDUs of equal formats have in common is made once. Of so many such dictionaries each is kept.
_COMMON = ("freq", "dlt", "format", "mcs", "num_streams", "stbc", "bandwidth_mhz", "short_gi",
           "coding", "greenfield", "encoding", "fcs_ok", "group_id", "partial_aid", "beamformed",
           "extra_symbol")
_KEPT = 256
_common = {}
# Before and behind the length: a uniform vector of uint8, one byte of padding.
_U8VECTOR, _PADDING = b"\x0a\x00", b"\x01\x00"


def to_pmt(info, blob):
    """Return a PDU as a PMT, a pair of a dictionary and a u8vector.

    Args:
        info: dictionary with keys of ``wifi.pdu.KEYS``; None leaves a key out.
        blob: bytes.

    Raises:
        ValueError: a key that is none of these, or a value of another type.
    """
    told = _common_dictionary(tuple([info.get(name) for name in _COMMON]))
    for name, value in info.items():
        if name not in KEYS:
            raise ValueError(f"info: got the key {name!r}, allowed are {', '.join(KEYS)}")
        if name not in _COMMON and value is not None:
            # dict_add() would look for the name in all before it.
            told = pmt.acons(_NAMES[name], _converted(name, value), told)
    return pmt.cons(told, _u8vector(blob))


def _common_dictionary(values):
    """Return a dictionary with those of _COMMON that are not None."""
    try:
        if values in _common:
            return _common[values]
    except TypeError:    # one that cannot be a key is none that is allowed
        pass
    told = pmt.make_dict()
    for name, value in zip(_COMMON, values, strict=True):
        if value is not None:
            told = pmt.acons(_NAMES[name], _converted(name, value), told)
    if len(_common) >= _KEPT:
        _common.clear()
    _common[values] = told
    return told


def _converted(name, value):
    try:
        return _TO_PMT[name](value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: got {value!r}, must be a {KEYS[name].__name__}") from error


def from_pmt(message):
    """Return (dictionary, bytes) of a PDU; keys that are not in ``wifi.pdu.KEYS`` are left out.

    Raises:
        ValueError: the message is no PDU of bytes, or a key has a value of another type.
    """
    told, blob = pdu_parts(message)
    if not pmt.is_u8vector(blob):
        raise ValueError("it holds no u8vector")
    info = {}
    if pmt.is_dict(told):
        for name, key in _NAMES.items():
            value = pmt.dict_ref(told, key, pmt.PMT_NIL)
            if not pmt.is_null(value):
                info[name] = _value_from_pmt(name, value)
    return info, bytes(pmt.u8vector_elements(blob))


def _u8vector(blob):
    """Return the u8vector of bytes, by way of its serialised form (pmt/pmt_serial_tags.h): for 4000
    bytes that takes a twentieth of the time of init_u8vector(), which wants a list of numbers."""
    return pmt.deserialize_str(_U8VECTOR + len(blob).to_bytes(4, "big") + _PADDING + bytes(blob))


def _value_from_pmt(name, value):
    kind = KEYS[name]
    if kind is bool and pmt.is_bool(value):
        return pmt.to_bool(value)
    if kind in (int, float) and pmt.is_uint64(value):
        return kind(pmt.to_uint64(value))
    if kind in (int, float) and pmt.is_integer(value):
        return kind(pmt.to_long(value))
    if kind is float and pmt.is_real(value):
        return pmt.to_double(value)
    if kind is str and pmt.is_symbol(value):
        return pmt.symbol_to_string(value)
    if kind is tuple and pmt.is_f32vector(value):
        return tuple(pmt.f32vector_elements(value))
    # The value is not shown: a deeply nested one would exhaust the stack.
    raise ValueError(f"{name}: got another type, must be "
                     f"{'an f32vector' if kind is tuple else kind.__name__}")
