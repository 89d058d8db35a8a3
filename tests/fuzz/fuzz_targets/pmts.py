# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""GNU Radio's messages (PMTs) as bytes: every input is a message, and messages have an input."""

import struct

import numpy as np
import pmt

# Keys and texts of messages in this package.
NAMES = (
    "format", "mcs", "num_streams", "bandwidth_mhz", "short_gi", "coding", "stbc", "aggregated",
    "greenfield", "encoding", "ampdu", "crc_included", "scrambler_seed", "tx_time", "rx_time",
    "start", "num_samples", "sample_rate", "num_rx", "first", "window", "cfo", "cfo_hz", "snr_db",
    "problem", "truncated", "inside", "subchannels", "signal", "noise", "centre", "length", "time",
    "freq", "frequency", "fcs", "fcs_ok", "dlt", "level_dbfs", "noise_dbfs", "antenna_snr_db",
    "evm_db", "num_mpdus", "num_mpdus_ok", "label", "comment", "detector", "threshold",
    "iterations", "threads", "noise_var", "ampdu_reference", "ampdu_index", "ampdu_count",
    "group_id", "partial_aid", "beamformed", "extra_symbol", "carriers", "num_space_time_streams",
    "num_points", "constellation", "complete", "condition_db", "sampling_offset_ppm", "format_mcs",
    "format_length", "format_rate", "format_num_symbols", "format_num_streams",
    "format_bandwidth_mhz", "format_short_gi", "format_coding", "format_stbc",
    "format_aggregated", "announced_format", "announced_mcs", "ht", "vht", "non-ht", "bcc", "ldpc",
    "qam16", "mmse", "kbest", "nway", "", "x", "cfo_hz", "snr", "frame_bytes", "wlan_qam16")
(_NIL, _FLAG, _SHORT, _LONG, _UINT64, _REAL, _NAME, _TEXT, _PAIR, _DICT, _TUPLE, _COMPLEX, _EOF,
 _DEEP, _BYTES, _F32, _F64, _S32, _C32, _S8, _KEPT) = range(21)
# {kind: (function that makes a vector, bytes of an element, NumPy type, test, elements)}
_VECTORS = {
    _BYTES: (pmt.init_u8vector, "u1", pmt.is_u8vector, pmt.u8vector_elements),
    _F32: (pmt.init_f32vector, "<f4", pmt.is_f32vector, pmt.f32vector_elements),
    _F64: (pmt.init_f64vector, "<f8", pmt.is_f64vector, pmt.f64vector_elements),
    _S32: (pmt.init_s32vector, "<i4", pmt.is_s32vector, pmt.s32vector_elements),
    _C32: (pmt.init_c32vector, "<c8", pmt.is_c32vector, pmt.c32vector_elements),
    _S8: (pmt.init_s8vector, "i1", pmt.is_s8vector, pmt.s8vector_elements)}
_DEPTH = 6
_NESTED = [pmt.PMT_NIL] * 2
for index, levels in enumerate((3, 1000)):
    for _ in range(levels):
        _NESTED[index] = pmt.cons(_NESTED[index], pmt.PMT_NIL)
# Long vectors of points, which an input refers to by their number.
KEPT = []


class _Bytes:
    def __init__(self, data):
        self._data, self._at = data, 0

    def take(self, count):
        part = self._data[self._at:self._at + count]
        self._at += count
        return part.ljust(count, b"\0")

    def number(self, form):
        value, = struct.unpack(form, self.take(struct.calcsize(form)))
        return value

    @property
    def left(self):
        return max(0, len(self._data) - self._at)


def decode(data):
    """Return the message that bytes stand for; any bytes stand for one."""
    return _value(_Bytes(data), 0)


def _value(source, depth):
    kind = source.number("B") % 21
    if kind == _KEPT and KEPT:
        points = KEPT[source.number("B") % len(KEPT)]
        return pmt.init_c32vector(points.size, points.tolist())
    if kind in _VECTORS:
        make, dtype, *_ = _VECTORS[kind]
        size = np.dtype(dtype).itemsize
        count = min(source.number("<H"), source.left // size)
        values = np.frombuffer(source.take(count * size), dtype).tolist()
        return make(count, values)
    if kind in (_PAIR, _DICT, _TUPLE) and depth >= _DEPTH:
        return pmt.PMT_NIL
    if kind == _PAIR:
        return pmt.cons(_value(source, depth + 1), _value(source, depth + 1))
    if kind == _DICT:
        made = pmt.make_dict()
        for _ in range(min(source.number("B"), source.left)):
            # Keys are rarely anything but names.
            key = source.number("B")
            name = (pmt.intern(NAMES[key % len(NAMES)]) if key != 0xFF
                    else _value(source, _DEPTH))
            made = pmt.acons(name, _value(source, depth + 1), made)
        return made
    if kind == _TUPLE:
        return pmt.make_tuple(*[_value(source, depth + 1)
                                for _ in range(min(source.number("B") % 5, source.left))])
    return _scalar(kind, source)


def _scalar(kind, source):
    if kind == _FLAG:
        return pmt.from_bool(bool(source.number("B") & 1))
    if kind == _SHORT:
        return pmt.from_long(source.number("b"))
    if kind == _LONG:
        return pmt.from_long(source.number("<q"))
    if kind == _UINT64:
        return pmt.from_uint64(source.number("<Q"))
    if kind == _REAL:
        return pmt.from_double(source.number("<d"))
    if kind == _COMPLEX:
        return pmt.from_complex(complex(source.number("<f"), source.number("<f")))
    if kind == _NAME:
        return pmt.intern(NAMES[source.number("B") % len(NAMES)])
    if kind == _TEXT:
        # A symbol from another program may hold any bytes; only this way they get into one. GNU
        # Radio keeps every symbol for ever, so only the first two bytes count.
        text = source.take(min(source.number("B"), source.left))[:2]
        return pmt.deserialize_str(b"\x02" + struct.pack(">H", len(text)) + text)
    if kind == _EOF:
        return pmt.PMT_EOF
    if kind == _DEEP:
        return _NESTED[source.number("B") & 1]
    return pmt.PMT_NIL


def encode(message):
    """Return bytes that stand for a message."""
    for kind, (_, dtype, is_one, elements) in _VECTORS.items():
        if is_one(message):
            values = np.array(elements(message), dtype)
            for index, points in enumerate(KEPT):
                if kind == _C32 and np.array_equal(points, values):
                    return bytes([_KEPT, index])
            return bytes([kind]) + struct.pack("<H", values.size) + values.tobytes()
    if pmt.is_null(message):
        return bytes([_NIL])
    if pmt.is_bool(message):
        return bytes([_FLAG, pmt.to_bool(message)])
    if pmt.is_uint64(message):
        return bytes([_UINT64]) + struct.pack("<Q", pmt.to_uint64(message))
    if pmt.is_integer(message):
        return bytes([_LONG]) + struct.pack("<q", pmt.to_long(message))
    if pmt.is_real(message):
        return bytes([_REAL]) + struct.pack("<d", pmt.to_double(message))
    if pmt.is_symbol(message):
        text = pmt.symbol_to_string(message)
        if text in NAMES:
            return bytes([_NAME, NAMES.index(text)])
        return bytes([_TEXT, len(text.encode())]) + text.encode()
    if pmt.is_dict(message):
        items = pmt.dict_items(message)
        entries = [pmt.nth(index, items) for index in range(pmt.length(items))]
        kept = [one for one in entries if pmt.symbol_to_string(pmt.car(one)) in NAMES]
        return bytes([_DICT, len(kept)]) + b"".join(
            bytes([NAMES.index(pmt.symbol_to_string(pmt.car(one)))]) + encode(pmt.cdr(one))
            for one in reversed(kept))
    if pmt.is_tuple(message):
        parts = [pmt.tuple_ref(message, index) for index in range(pmt.length(message))]
        return bytes([_TUPLE, len(parts)]) + b"".join(map(encode, parts))
    return bytes([_PAIR]) + encode(pmt.car(message)) + encode(pmt.cdr(message))
