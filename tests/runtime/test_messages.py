# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of _runtime: Python's values as PMTs and back, against the same in Python; sending."""

import math
import sys
import threading
import time

import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr
from gnuradio.mimopack import _runtime


def plain(value):
    """``_runtime.to_pmt`` by GNU Radio's own functions for Python."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "c":
        return pmt.init_c32vector(value.size, value.ravel().tolist())
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return pmt.init_s32vector(len(value), value.tolist())
    if isinstance(value, (tuple, list, np.ndarray)):
        return pmt.init_f64vector(
            len(value), [math.nan if one is None else float(one) for one in value])
    if isinstance(value, bytes):
        return pmt.init_u8vector(len(value), list(value))
    if isinstance(value, pmt.pmt_base):
        return value
    return pmt.to_pmt(value.item() if isinstance(value, np.generic) else value)


def plain_dict(values):
    told = pmt.make_dict()
    for name, value in values.items():
        if value is not None:
            told = pmt.dict_add(told, pmt.intern(name), plain(value))
    return told


VALUES = {
    "flag": True, "false": False, "zero": 0, "negative": -5, "most": 2**63 - 1, "least": -2**63,
    "real": 1.5, "minus zero": -0.0, "nan": math.nan, "inf": -math.inf, "tiny": 5e-324,
    "text": "vht", "no text": "", "long text": "x" * 100, "umlaut": "Gerät \u2014 \U0001F600",
    "complex": 1 + 2j, "float32": np.float32(0.1), "float64": np.float64(0.1), "int8": np.int8(-3),
    "uint16": np.uint16(65535), "bool_": np.bool_(True), "str_": np.str_("wifi"),
    "complex64": np.complex64(1j), "tuple": (1.0, 2, True), "list": [1.5, None, np.float32(2)],
    "no numbers": (), "integers": np.array([-2**31, 0, 2**31 - 1]),
    "16 bits": np.arange(-3, 3, dtype=np.int16), "unsigned": np.arange(5, dtype=np.uint32),
    "every other": np.arange(20)[::2], "floats": np.array([0.5, np.nan, -np.inf]),
    "singles": np.array([0.1, 0.2], np.float32), "flags": np.array([True, False]),
    "objects": np.array([1.0, None], object), "no elements": np.zeros(0),
    "no integers": np.zeros(0, int), "points": np.array([1 + 2j, -3j], np.complex64),
    "matrices": np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1) * np.complex64(1j),
    "doubles": np.array([1 / 3 + 1j]), "no points": np.zeros((0, 3), np.complex64),
    "bytes": bytes(range(256)), "no bytes": b"", "dictionary": {"a": 1, "b": {"c": 2.0}},
    "pmt": pmt.make_tuple(pmt.from_uint64(3), pmt.from_double(0.5))}


@pytest.mark.parametrize("value", VALUES.values(), ids=list(VALUES))
def test_values_are_those_of_python(value):
    made = _runtime.to_pmt(value)
    assert type(made) is pmt.pmt_base
    assert pmt.serialize_str(made) == pmt.serialize_str(plain(value))
    if not {"nan", "inf"} & set(pmt.write_string(made).split()):
        assert pmt.equal(made, plain(value))


def test_none():
    assert pmt.is_null(_runtime.to_pmt(None))


@pytest.mark.parametrize("value", [
    2**63, -2**63 - 1, 2**200, pytest.param(object(), id="object"), {1, 2}, np.longdouble(1),
    ("a",), (1.0, (2.0,)), [[1.0]], (1j,), range(3), np.array(["a"]), np.array([None, "x"]),
    np.array([2**31]),
    np.array([-2**31 - 1]), np.array([2**63], np.uint64), np.zeros((2, 2)), np.zeros((2, 2), int),
    np.array(0.5)], ids=repr)
def test_refuses_what_python_refuses(value):
    with pytest.raises(Exception) as expected:
        plain(value)
    with pytest.raises((TypeError, ValueError)) as caught:
        _runtime.to_pmt(value)
    assert isinstance(caught.value, ValueError) == isinstance(expected.value, ValueError)
    if not isinstance(value, np.ndarray):
        assert str(caught.value).split(" at 0x")[0] == str(expected.value).split(" at 0x")[0]


def test_dictionary_is_that_of_python():
    values = {**VALUES, "left out": None}
    made = _runtime.to_pmt_dict(values)
    assert pmt.is_dict(made) and pmt.serialize_str(made) == pmt.serialize_str(plain_dict(values))
    assert pmt.equal(_runtime.to_pmt_dict({}), pmt.make_dict())


def test_dictionary_is_added_to_another():
    first = _runtime.to_pmt_dict({"a": 1, "b": 2.0})
    both = _runtime.to_pmt_dict({"c": "x", "a": 3}, onto=first)
    assert pmt.length(first) == 2    # stays as it was
    assert _runtime.to_python_dict(both, dict.fromkeys("abc")) == {"a": 3, "b": 2.0, "c": "x"}
    assert pmt.to_long(pmt.dict_ref(both, pmt.intern("a"), pmt.PMT_NIL)) == 3


def test_pdu():
    values, payload = {"mcs": 3, "none": None}, np.array([1 + 1j], np.complex64)
    for made in (_runtime.to_pdu(values, payload), _runtime.to_pdu(values, payload, onto=None)):
        assert pmt.equal(made, pmt.cons(plain_dict({"mcs": 3}), plain(payload)))


@pytest.mark.parametrize("kind, value, expected", [
    (int, 3, pmt.from_long(3)), (int, 3.0, pmt.from_long(3)), (int, True, pmt.from_long(1)),
    (int, np.int64(-3), pmt.from_long(-3)), (float, 3, pmt.from_double(3)),
    (float, np.float32(0.5), pmt.from_double(0.5)), (float, math.inf, pmt.from_double(math.inf)),
    (bool, 1, pmt.PMT_T), (bool, np.bool_(False), pmt.PMT_F), (str, "ht", pmt.intern("ht")),
    (np.uint64, 3, pmt.from_uint64(3)), (np.uint64, 2**64 - 1, pmt.from_uint64(2**64 - 1)),
    (tuple, (1, 2.5), pmt.init_f32vector(2, [1, 2.5])), (tuple, (), pmt.init_f32vector(0, [])),
    (tuple, np.array([0.1]), pmt.init_f32vector(1, [0.1])),
    (pmt.pmt_base, pmt.PMT_EOF, pmt.PMT_EOF)], ids=str)
def test_kinds(kind, value, expected):
    made = _runtime.to_pmt_dict({"key": value}, {"key": kind, "other": int})
    assert pmt.serialize_str(made) == pmt.serialize_str(
        pmt.dict_add(pmt.make_dict(), pmt.intern("key"), expected))


@pytest.mark.parametrize("kind, value", [
    (int, "x"), (int, 2**63), (int, math.inf), (int, math.nan), (int, ()), (float, "x"),
    (float, 1j), (float, 10**400), (str, 3), (np.uint64, -1), (np.uint64, 2**64),
    (tuple, 3.0), (tuple, ("x",)), (tuple, (None,)), (pmt.pmt_base, 3), (complex, 3)], ids=str)
def test_refused_kinds_name_the_key(kind, value):
    with pytest.raises(ValueError, match=r"^mcs: got .* must be a " + kind.__name__):
        _runtime.to_pmt_dict({"mcs": value}, {"mcs": kind})


def test_unknown_key_names_those_that_are_allowed():
    with pytest.raises(ValueError, match="^info: got the key 'x', allowed are a, b"):
        _runtime.to_pmt_dict({"a": 1, "x": None}, {"a": int, "b": int})
    with pytest.raises((TypeError, ValueError)):
        _runtime.to_pmt_dict({3: 4})


@pytest.mark.parametrize("value", [
    True, False, 0, -2**63, 2**63 - 1, 1.5, math.inf, "vht", "Gerät", "", bytes(range(256)), b""])
def test_there_and_back(value):
    found = _runtime.to_python(_runtime.to_pmt(value))
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize("made, expected", [
    (pmt.from_uint64(2**64 - 1), 2**64 - 1),
    (pmt.init_f32vector(2, [0.1, 2]), np.array([0.1, 2], np.float32)),
    (pmt.init_f64vector(2, [0.1, math.nan]), np.array([0.1, math.nan])),
    (pmt.init_s32vector(2, [-2**31, 5]), np.array([-2**31, 5], np.int32)),
    (pmt.init_c32vector(2, [1j, 2]), np.array([1j, 2], np.complex64)),
    (pmt.init_c32vector(0, []), np.zeros(0, np.complex64))], ids=str)
def test_vectors_become_arrays(made, expected):
    found = _runtime.to_python(made)
    np.testing.assert_array_equal(found, expected)
    if isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype and found.flags.writeable
        found[:] = 7    # a copy: messages are shared
        np.testing.assert_array_equal(_runtime.to_python(made), expected)


def nested(depth):
    value = pmt.PMT_NIL
    for _ in range(depth):
        value = pmt.cons(value, pmt.PMT_NIL)
    return value


@pytest.mark.parametrize("value", [
    pmt.PMT_NIL, pmt.PMT_EOF, pmt.make_tuple(pmt.PMT_T), pmt.from_complex(1j), nested(100_000),
    pmt.init_s8vector(1, [1]), pmt.make_vector(2, pmt.PMT_NIL)], ids=range(7))
def test_other_messages_stay(value):
    assert pmt.eq(_runtime.to_python(value), value)


def test_dictionary_back_has_what_was_asked_for():
    told = pmt.make_dict()
    for key, value in (("a", pmt.from_long(1)), ("b", pmt.PMT_NIL), ("c", pmt.PMT_T),
                       ("d", pmt.init_u8vector(2, [1, 2])), ("e", nested(3))):
        told = pmt.dict_add(told, pmt.intern(key), value)
    told = pmt.acons(pmt.from_long(3), pmt.PMT_T, told)    # a key that is no text
    told = pmt.acons(pmt.intern("a"), pmt.from_long(2), told)    # the first one holds
    found = _runtime.to_python_dict(told, dict.fromkeys("abde"))
    assert set(found) == {"a", "d", "e"} and (found["a"], found["d"]) == (2, b"\x01\x02")
    assert pmt.equal(found["e"], nested(3))


@pytest.mark.parametrize("told", [
    pmt.PMT_NIL, pmt.make_dict(), pmt.PMT_T, pmt.from_long(3), pmt.intern("a"), nested(100_000),
    pmt.cons(pmt.intern("a"), pmt.PMT_T), pmt.to_pmt([1, 2])], ids=range(8))
def test_no_dictionary_has_nothing(told):
    assert _runtime.to_python_dict(told, {"a": None}) == {}


def test_a_dictionary_of_gnu_radio_is_read():
    told = pmt.dict_add(pmt.make_dict(), pmt.intern("freq"), pmt.from_double(5e9))
    assert _runtime.to_python_dict(told, {"freq": float}) == {"freq": 5e9}


class sender(gr.basic_block):
    def __init__(self):
        gr.basic_block.__init__(self, "sender", None, None)
        self.message_port_register_out(pmt.intern("out"))


class slow(gr.basic_block):
    """Takes messages on a Python thread, which needs the interpreter's lock."""

    def __init__(self, count):
        self.got, self.count, self.all = [], count, threading.Event()
        gr.basic_block.__init__(self, "slow", None, None)
        self.message_port_register_in(pmt.intern("in"))
        self.set_msg_handler(pmt.intern("in"), self.take)

    def take(self, message):
        self.got.append(pmt.to_long(message))
        if len(self.got) == self.count:
            self.all.set()


def test_publish_keeps_the_order_and_reaches_all():
    count, top, source = 3000, gr.top_block(), sender()
    first, second, debug = slow(count), slow(count), blocks.message_debug()
    top.msg_connect(source, "out", first, "in")
    top.msg_connect(source, "out", second, "in")
    top.msg_connect(source, "out", debug, "store")
    top.start()
    try:
        block, port = source.to_basic_block(), pmt.intern("out")
        for begin in range(0, count, 100):
            _runtime.publish(block, port, list(map(pmt.from_long, range(begin, begin + 100))))
        assert first.all.wait(30) and second.all.wait(30)
        deadline = time.monotonic() + 30
        while debug.num_messages() < count and time.monotonic() < deadline:
            time.sleep(0.01)
        assert debug.num_messages() == count
    finally:
        top.stop()
        top.wait()
    assert first.got == second.got == list(range(count))


def test_publish_refuses():
    block = sender().to_basic_block()
    _runtime.publish(block, pmt.intern("out"), [])
    with pytest.raises(RuntimeError):
        _runtime.publish(block, pmt.intern("nowhere"), [pmt.PMT_T])
    for arguments in ((block, "out", [pmt.PMT_T]), (3, pmt.intern("out"), []),
                      (block, pmt.intern("out"), [3])):
        with pytest.raises(TypeError):
            _runtime.publish(*arguments)


def test_nothing_is_kept_of_what_was_converted():
    values = [1.5, object(), "text", (1.0,), np.zeros(3)]
    kinds = {str(index): kind for index, kind in enumerate([float, bool, str, tuple, tuple])}
    info = dict(zip(kinds, values, strict=True))
    before = list(map(sys.getrefcount, values))
    for _ in range(1000):
        told = _runtime.to_pmt_dict(info, kinds)
        _runtime.to_python_dict(told, kinds)
        with pytest.raises(ValueError):
            _runtime.to_pmt_dict({"0": "x"}, {"0": float})
    assert list(map(sys.getrefcount, values)) == before


@pytest.mark.parametrize("place", [(-1, 2, True), (0, 11, True), (11, 0, True), (4, -1, True),
                                   (2**62, 2**62, True)])
def test_mpdus_must_lie_in_their_psdu(place):
    def pdus(places):
        return _runtime.mpdus_to_pdus(
            bytes(10), places, bad_fcs=False, ampdu_reference=None, onto=pmt.make_dict())

    assert len(pdus([(0, 10, True), (10, 0, True), (3, 5, False)])) == 2
    with pytest.raises(ValueError, match="outside the PSDU"):
        pdus([place])
