# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Convert frames, channel matrices and points to PMTs; convert found frames in both directions."""

import math
from dataclasses import fields
from functools import lru_cache

import numpy as np
import pmt

from .._runtime import to_pdu, to_pmt_dict, to_python, to_python_dict
from ..checks import integer, share, shown
from ..text import rate_in_words
from ..wifi import formats
from ..wifi.carriers import FFT_20
from ..wifi.csi import CsiRecord
from ..wifi.fields import fields_of, report_with_counts
from ..wifi.frame import FrameVectors, ReceivedFrame
from ..wifi.headers import Header
from ..wifi.preamble import Preamble
from ..wifi.synchroniser import Found
from .fec_encoder import pdu_parts
from .settings import scalar

_FORMATS = {kind.name: kind for kind in (formats.NonHT, formats.HT, formats.VHT)}
_FIELD = "format_"    # prefix of the arguments of a format
_OF_FORMAT = dict.fromkeys(("format", *(_FIELD + field.name for kind in _FORMATS.values()
                                         for field in fields(kind))))
_ANNOUNCED = "announced_"    # prefix of the known fields if there is no format
_MAY_BE_ANNOUNCED = [field.name for field in fields_of("announced")]


def frame_to_pmt(frame, **extra):
    """Return a ``ReceivedFrame`` as a PMT dictionary.

    The keys are those of ``ReceivedFrame.facts``, num_mpdus and num_mpdus_ok. ``extra`` adds or
    replaces keys.
    """
    return to_pmt_dict(report_with_counts(frame) | extra)


def csi_to_pmt(frame, **extra):
    """Return the PDU of a frame's channel matrices.

    The dictionary has the keys of ``wifi.csi.CsiRecord`` except the matrices, and num_rx,
    num_space_time_streams, coding and detector. ``extra`` adds or replaces keys. The c32vector
    holds the matrices, ordered by subcarrier, then antenna, then space-time stream.
    """
    told = dict(vars(CsiRecord.from_frame(frame)))
    matrices = told.pop("matrices")
    told |= {"num_rx": matrices.shape[1], "num_space_time_streams": matrices.shape[2],
             "coding": None if frame.format is None else frame.format.coding,
             "detector": frame.detector or None}
    for name in ("source", "destination", "transmitter"):
        told[name] = told[name] or None
    if told["sequence_number"] < 0:
        told["sequence_number"] = None
    if frame.frequency is None:
        told["frequency"] = None
    return to_pdu(told | extra, matrices)


def symbols_to_pmt(frame, most):
    """Return the PDU of a frame's equalised points: a c32vector, ordered by stream.

    ``most`` is the maximum number of points per stream.
    """
    f = frame.format
    points = frame.symbols.reshape(-1, frame.symbols.shape[-1])
    step = -(-len(points) // most)
    # A step that shares a factor with the number of subcarriers would always choose the same few of
    # them.
    while math.gcd(step, frame.symbols.shape[1]) > 1:
        step += 1
    points = points[::step].T
    told = {"start": frame.start, "num_streams": len(points), "num_points": points.shape[1],
            "constellation": f.constellation, "format": f.name, "mcs": f.mcs,
            "evm_db": frame.evm_db}
    return to_pdu(told, np.asarray(points, np.complex64))


def found_to_pmt(found, sample_rate, **extra):
    """Return the PDU of a frame found by ``Synchroniser``.

    The dictionary has the known fields of the frame. ``extra`` adds or replaces keys. The c32vector
    holds the frame's samples as received, ordered by antenna.
    """
    preamble, header, f = found.preamble, found.header, found.header.format
    told = {
        "start": preamble.start, "time": preamble.start / sample_rate,
        "num_samples": found.num_samples, "sample_rate": sample_rate,
        "num_rx": len(found.samples), "first": found.first, "window": preamble.window,
        "cfo_hz": preamble.cfo * sample_rate, "cfo": preamble.cfo,
        "snr_db": float(10 * np.log10(np.mean(header.signal / header.noise) + 1e-30)),
        "problem": header.problem, "truncated": found.truncated, "inside": found.inside,
        "subchannels": np.array(preamble.subchannels),
        "signal": header.signal, "noise": header.noise, "centre": header.centre}
    if f is not None:
        told |= {"format": f.name, "mcs": f.mcs, "num_streams": f.num_streams,
                 "bandwidth_mhz": float(f.bandwidth_mhz * min(1.0, sample_rate / 20e6)),
                 "short_gi": f.short_gi, "coding": f.coding, "length": f.length}
        told |= {_FIELD + field.name: getattr(f, field.name) for field in fields(f)}
    told |= {_ANNOUNCED + name: value for name, value in header.announced.items()}
    return to_pdu(told | extra, found.samples)


# Attributes of a ReceivedFrame in the tag of its vectors, and their types.
_OF_FRAME = {field.name: field.kind for field in fields_of("tag")}
_OF_VECTORS = dict.fromkeys((*_OF_FRAME, *_OF_FORMAT, "frequency", "num_vectors", "nested",
                             "sig_b"))


def vectors_to_pmt(vectors, **extra):
    """Return what a decoder needs of a ``FrameVectors``, a dictionary without the arrays.

    ``extra`` adds or replaces keys.
    """
    frame, f = vectors.frame, vectors.frame.format
    told = {name: getattr(frame, name) for name in (*_OF_FRAME, "frequency")}
    told |= {"num_vectors": len(vectors.y), "noise_var": vectors.noise_var,
             "nested": vectors.nested, "sig_b": vectors.sig_b or None}
    return to_pmt_dict(told | extra, onto=_format_to_pmt(f))    # frames of a format share its part


@lru_cache(maxsize=1024)
def _format_to_pmt(f):
    told = {_FIELD + field.name: getattr(f, field.name) for field in fields(f)}
    return to_pmt_dict({"format": f.name, **told})


def vectors_from_pmt(message):
    """Return the part of a ``FrameVectors`` that :func:`vectors_to_pmt` has written.

    Raises:
        ValueError: :func:`vectors_to_pmt` cannot have made the dictionary.
    """
    told = to_python_dict(message, _OF_VECTORS)
    of_frame = {}
    for name, kind in _OF_FRAME.items():
        value = told.get(name)
        if kind is tuple and isinstance(value, np.ndarray):
            value = tuple(value.tolist())
        if type(value) is not kind:
            # Do not show the value: a deeply nested one would exhaust the stack.
            raise ValueError(f"{name}: got no value or a wrong type, must be {kind.__name__}")
        of_frame[name] = value
    f, frequency, sig_b = _format(told), told.get("frequency"), told.get("sig_b", b"")
    if f is None or not isinstance(frequency, (float, type(None))) or not isinstance(sig_b, bytes):
        raise ValueError("format, frequency, sig_b: got no value or a wrong type")
    if told.get("num_vectors") != f.plan.num_data * f.num_symbols:
        raise ValueError(f"num_vectors: must be {f.plan.num_data * f.num_symbols}")
    return FrameVectors(ReceivedFrame(**of_frame, frequency=frequency, format=f, problem=""),
                        nested=bool(told.get("nested")), sig_b=sig_b)


def found_from_pmt(message, num_rx, sample_rate):
    """Return the ``Found`` of a PDU made by :func:`found_to_pmt`.

    Raises:
        ValueError: :func:`found_to_pmt` cannot have made the PDU, or its number of antennas or
            sample rate differs from the arguments.
    """
    told, samples = pdu_parts(message)
    if not pmt.is_c32vector(samples):
        raise ValueError("the message has no c32vector")
    if _number(told, "sample_rate") != sample_rate:
        got = rate_in_words(_number(told, "sample_rate"))
        raise ValueError(f"sample_rate: got {got}, must be {rate_in_words(sample_rate)}")
    if _whole(told, "num_rx") != num_rx:
        raise ValueError(f"num_rx: got {_whole(told, 'num_rx')}, must be {num_rx}")
    samples = to_python(samples)
    if samples.size % num_rx:
        raise ValueError(f"samples: got {samples.size}, must be a multiple of {num_rx}")
    subchannels = tuple(_vector(told, "subchannels", pmt.is_s32vector, pmt.s32vector_elements))
    if not subchannels or not all(0 <= one < max(1, sample_rate / 20e6) for one in subchannels):
        raise ValueError(f"subchannels: got {subchannels}, must be one or several of 0 to "
                         f"{max(1, round(sample_rate / 20e6)) - 1}")
    first = _whole(told, "first")
    preamble = Preamble(_whole(told, "start"), _whole(told, "window"),
                        float(_number(told, "cfo")), subchannels)
    signal, noise = _reals(told, "signal", num_rx), _reals(told, "noise", num_rx)
    if not (noise > 0).all() or not (signal >= 0).all():
        raise ValueError("signal, noise: got an invalid power, must be at least 0 (signal) and "
                         "above 0 (noise)")
    num_samples = _whole(told, "num_samples")
    header = Header(_format(to_python_dict(told, _OF_FORMAT)), _text(told, "problem"),
                    num_samples // max(1, round(sample_rate / 20e6)), _whole(told, "centre"),
                    noise, signal, _announced(told))
    if header.format is None and not header.problem:
        raise ValueError("problem: got no text, must say why there is no format")
    least, truncated = FFT_20 * max(1, round(sample_rate / 20e6)), _flag(told, "truncated")
    if header.format is not None and not truncated and samples.size < least * num_rx:
        raise ValueError(f"samples: got {samples.size // num_rx} per antenna, must be at least "
                         f"{least}")
    if not 0 <= preamble.window - first < 2**20:
        raise ValueError(f"window: got {preamble.window}, must be {first} (first) to "
                         f"{first + 2**20 - 1}")
    return Found(preamble, header, samples.reshape(num_rx, -1), first, truncated,
                 _flag(told, "inside"), num_samples)


def _format(values):
    """Return the frame format in a dictionary of Python values, or None if there is none."""
    name = values.get("format")
    if name is None:
        return None
    arguments = tuple((key, values[key]) for key in _OF_FORMAT
                      if key in values and key != "format")
    # Do not show a value: a deeply nested one would exhaust the stack.
    if not all(isinstance(value, (bool, int, str)) for value in (name, *dict(arguments).values())):
        raise ValueError("format: got a wrong type, must be numbers, flags or text")
    if name not in _FORMATS:
        raise ValueError(f"format: got an unknown value, allowed are {', '.join(_FORMATS)}")
    return _format_of(name, arguments)


@lru_cache(maxsize=1024)
def _format_of(name, arguments):
    try:
        return _FORMATS[name](**{key.removeprefix(_FIELD): value for key, value in arguments})
    except TypeError as error:
        raise ValueError(f"format: {error}") from error


def _announced(told):
    found = {}
    for name in _MAY_BE_ANNOUNCED:
        value = pmt.dict_ref(told, pmt.intern(_ANNOUNCED + name), pmt.PMT_NIL)
        if not pmt.is_null(value):
            found[name] = scalar(name, value)
    return found


def moment(name, value):
    """Return (seconds, fraction) of a PMT tuple such as rx_time or tx_time.

    Raises:
        ValueError: the PMT is not a tuple of an integer from 0 and a number from 0 to below 1.
    """
    if not (pmt.is_tuple(value) and pmt.length(value) == 2):
        raise ValueError(f"{name}: must be a tuple of seconds and a fraction")
    seconds, fraction = (scalar(name, pmt.tuple_ref(value, index)) for index in range(2))
    return integer(name, seconds, 0, 2**63 - 1), share(name, fraction)


def moment_to_pmt(time):
    """Return (seconds, fraction) as a PMT."""
    return pmt.make_tuple(pmt.from_uint64(time[0]), pmt.from_double(time[1]))


def times(time):
    """Return the keys ``time`` and ``rx_time`` of a message; {} if the time is None.

    Args:
        time: (seconds since 1970, fraction of a second), or None if unknown. The key ``time`` is
            their sum, a float with a resolution of a quarter of a microsecond. The key ``rx_time``
            is the exact pair as a PMT.
    """
    return {} if time is None else {"time": sum(time), "rx_time": moment_to_pmt(time)}


def lookup(told, name):
    """Return the PMT of a key; raise ValueError if it is missing."""
    value = pmt.dict_ref(told, pmt.intern(name), pmt.PMT_NIL)
    if pmt.is_null(value):
        raise ValueError(f"{name}: the key is missing")
    return value


def _number(told, name):
    value = scalar(name, lookup(told, name))
    if isinstance(value, (bool, str)) or not np.isfinite(value):
        raise ValueError(f"{name}: got {shown(value)}, must be a number")
    return value


def _whole(told, name):
    value = _number(told, name)
    if not isinstance(value, int) or abs(value) > 2**62:
        raise ValueError(f"{name}: got {shown(value)}, must be an integer")
    return value


def _flag(told, name):
    value = scalar(name, lookup(told, name))
    if not isinstance(value, bool):
        raise ValueError(f"{name}: got {shown(value)}, must be true or false")
    return value


def _text(told, name):
    value = scalar(name, lookup(told, name))
    if not isinstance(value, str):
        raise ValueError(f"{name}: got {shown(value)}, must be text")
    return value


def _vector(told, name, is_one, elements):
    value = lookup(told, name)
    if not is_one(value):
        raise ValueError(f"{name}: got a value of the wrong type")
    return elements(value)


def _reals(told, name, size):
    values = np.array(_vector(told, name, pmt.is_f64vector, pmt.f64vector_elements), float)
    if values.size != size or not np.isfinite(values).all():
        raise ValueError(f"{name}: got {values.size} values, must be {size} finite values")
    return values
