# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of _runtime: Python's values as PMTs and back, against GNU Radio's own functions."""

import math

import numpy as np
import pmt
import pytest
from gnuradio.mimopack import _runtime
from wifi_blocks import nested


def plain(value):
    """``_runtime.to_pmt`` by GNU Radio's own functions for Python."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "c":
        return pmt.init_c32vector(value.size, value.ravel().tolist())
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return pmt.init_s32vector(len(value), value.tolist())
    if isinstance(value, (tuple, list, np.ndarray)):
        return pmt.init_f64vector(
            len(value), [math.nan if number is None else float(number) for number in value])
    if isinstance(value, bytes):
        return pmt.init_u8vector(len(value), list(value))
    if isinstance(value, pmt.pmt_base):
        return value
    return pmt.to_pmt(value.item() if isinstance(value, np.generic) else value)


VALUES = {
    "flag": True, "most": 2**63 - 1, "least": -2**63, "real": 1.5, "nan": math.nan, "text": "vht",
    "umlaut": "Ger\u00e4t", "complex": 1 + 2j, "float32": np.float32(0.1), "int8": np.int8(-3),
    "bool_": np.bool_(True), "str_": np.str_("wifi"), "tuple": (1.0, 2, True),
    "list": [1.5, None, np.float32(2)], "no numbers": (),
    "integers": np.array([-2**31, 0, 2**31 - 1]), "16 bits": np.arange(-3, 3, dtype=np.int16),
    "every other": np.arange(20)[::2], "floats": np.array([0.5, np.nan, -np.inf]),
    "singles": np.array([0.1, 0.2], np.float32), "objects": np.array([1.0, None], object),
    "matrices": np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1) * np.complex64(1j),
    "no points": np.zeros((0, 3), np.complex64), "bytes": bytes(range(256)),
    "dictionary": {"a": 1, "b": {"c": 2.0}},
    "pmt": pmt.make_tuple(pmt.from_uint64(3), pmt.from_double(0.5))}


@pytest.mark.parametrize("value", VALUES.values(), ids=list(VALUES))
def test_values_are_those_of_gnu_radio(value):
    assert pmt.serialize_str(_runtime.to_pmt(value)) == pmt.serialize_str(plain(value))


@pytest.mark.parametrize("value", [
    2**63, {1, 2}, ("a",), (1j,), np.array(["a"]), np.array([2**31]), np.zeros((2, 2))], ids=repr)
def test_what_no_pmt_can_hold_is_refused(value):
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        _runtime.to_pmt(value)


def test_dictionary_is_that_of_gnu_radio():
    made = _runtime.to_pmt_dict({**VALUES, "left out": None})
    expected = pmt.make_dict()
    for name, value in VALUES.items():
        expected = pmt.dict_add(expected, pmt.intern(name), plain(value))
    assert pmt.serialize_str(made) == pmt.serialize_str(expected)
    with pytest.raises(ValueError, match=r"^mcs: got .*, which no PMT can hold"):
        _runtime.to_pmt_dict({"mcs": 2**63})


def test_dictionary_is_added_to_another():
    first = _runtime.to_pmt_dict({"a": 1, "b": 2.0})
    both = _runtime.to_pmt_dict({"c": "x", "a": 3}, onto=first)
    assert pmt.length(first) == 2    # stays as it was
    assert _runtime.to_python_dict(both, dict.fromkeys("abc")) == {"a": 3, "b": 2.0, "c": "x"}


@pytest.mark.parametrize("kind, value, expected", [
    (int, np.int64(-3), pmt.from_long(-3)), (float, 3, pmt.from_double(3)),
    (float, np.float32(0.5), pmt.from_double(0.5)), (bool, np.bool_(False), pmt.PMT_F),
    (str, "ht", pmt.intern("ht")), (np.uint64, 2**64 - 1, pmt.from_uint64(2**64 - 1)),
    (tuple, (1, 2.5), pmt.init_f32vector(2, [1, 2.5])),
    (tuple, np.array([0.1]), pmt.init_f32vector(1, [0.1])),
    (pmt.pmt_base, pmt.PMT_EOF, pmt.PMT_EOF)], ids=str)
def test_kinds(kind, value, expected):
    made = _runtime.to_pdu({"key": value}, b"\x05", {"key": kind, "other": int})
    assert pmt.serialize_str(made) == pmt.serialize_str(pmt.cons(
        pmt.dict_add(pmt.make_dict(), pmt.intern("key"), expected), pmt.init_u8vector(1, [5])))


@pytest.mark.parametrize("kind, value", [
    (int, "x"), (int, 2**63), (float, "x"), (str, 3), (np.uint64, -1), (tuple, (None,)),
    (pmt.pmt_base, 3)], ids=str)
def test_refused_kinds_name_the_key(kind, value):
    with pytest.raises(ValueError, match=r"^mcs: got .* must be a " + kind.__name__):
        _runtime.to_pmt_dict({"mcs": value}, {"mcs": kind})
    with pytest.raises(ValueError, match="^info: got the key 'x', allowed are mcs"):
        _runtime.to_pmt_dict({"x": None}, {"mcs": kind})


@pytest.mark.parametrize("value", [True, 0, -2**63, 1.5, "Ger\u00e4t", "", bytes(range(256))])
def test_there_and_back(value):
    back = _runtime.to_python(_runtime.to_pmt(value))
    assert back == value and type(back) is type(value)


@pytest.mark.parametrize("made, expected", [
    (pmt.init_f32vector(2, [0.1, 2]), np.array([0.1, 2], np.float32)),
    (pmt.init_f64vector(2, [0.1, math.nan]), np.array([0.1, math.nan])),
    (pmt.init_s32vector(2, [-2**31, 5]), np.array([-2**31, 5], np.int32)),
    (pmt.init_c32vector(2, [1j, 2]), np.array([1j, 2], np.complex64)),
    (pmt.init_c32vector(0, []), np.zeros(0, np.complex64))], ids=str)
def test_vectors_become_arrays(made, expected):
    array = _runtime.to_python(made)
    np.testing.assert_array_equal(array, expected)
    assert array.dtype == expected.dtype
    array[:] = 7    # a copy: messages are shared
    np.testing.assert_array_equal(_runtime.to_python(made), expected)


@pytest.mark.parametrize("value", [
    pmt.PMT_NIL, pmt.make_tuple(pmt.PMT_T), nested(100_000), pmt.init_s8vector(1, [1])],
    ids=range(4))
def test_other_messages_stay(value):
    assert pmt.eq(_runtime.to_python(value), value)
    assert _runtime.to_python_dict(value, {"a": None}) == {}


def test_dictionary_back_has_what_was_asked_for():
    message = pmt.make_dict()
    for key, value in (("a", pmt.from_long(1)), ("b", pmt.PMT_NIL), ("c", pmt.PMT_T),
                       ("d", pmt.init_u8vector(2, [1, 2])), ("e", nested(3))):
        message = pmt.dict_add(message, pmt.intern(key), value)
    message = pmt.acons(pmt.from_long(3), pmt.PMT_T, message)    # a key that is no text
    message = pmt.acons(pmt.intern("a"), pmt.from_long(2), message)    # the first one holds
    values = _runtime.to_python_dict(message, dict.fromkeys("abde"))
    assert set(values) == {"a", "d", "e"} and (values["a"], values["d"]) == (2, b"\x01\x02")
    assert pmt.equal(values["e"], nested(3))
