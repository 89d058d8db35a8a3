# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Convert frames, channel matrices and points to PMTs; convert found frames in both directions."""

import math
from dataclasses import fields
from functools import lru_cache

import numpy as np
import pmt

from .._runtime import to_pdu, to_pmt_dict, to_python, to_python_dict
from ..checks import integer, share
from ..text import rate_in_words
from ..wifi import headers
from ..wifi.carriers import FFT_20
from ..wifi.csi import CsiRecord
from ..wifi.fields import counts, fields_of, of_user, report_with_counts
from ..wifi.formats import BY_NAME
from ..wifi.frame import FrameVectors, ReceivedFrame
from ..wifi.synchroniser import FoundFrame
from .fec_encoder import pdu_parts
from .settings import scalar

_FIELD = "format_"    # prefix of the arguments of a format
_OF_FORMAT = dict.fromkeys(("format", *(_FIELD + field.name for kind in BY_NAME.values()
                                         for field in fields(kind))))
_RU = _FIELD + "ru"
_ANNOUNCED = "announced_"    # prefix of the known fields if there is no format
_OF_ANNOUNCED = dict.fromkeys(_ANNOUNCED + field.name for field in fields_of("announced"))
# Keys of a found frame that are neither of its format nor announced, and their types.
_OF_FOUND = {"start": int, "num_samples": int, "sample_rate": float, "num_rx": int, "first": int,
             "window": int, "cfo": float, "problem": str, "truncated": bool, "inside": bool,
             "subchannels": np.ndarray, "signal": np.ndarray, "noise": np.ndarray, "centre": int}
_OF_SEVERAL = {"signal_fields": bytes}
_COMPUTED = "sample_rate", "num_rx", "subchannels"    # of these, not equal to attributes


def frame_to_pmt(frame, **extra):
    """Return a ``ReceivedFrame`` as a PMT dictionary.

    The keys are those of ``ReceivedFrame.facts``, num_mpdus and num_mpdus_ok. A frame of several
    users also has users: a vector with a dictionary for each user, see ``wifi.fields.of_user``.
    ``extra`` adds or replaces keys.
    """
    values = report_with_counts(frame)
    if frame.users:
        users = pmt.make_vector(len(frame.users), pmt.PMT_NIL)
        for index, user in enumerate(frame.users):
            pmt.vector_set(users, index, to_pmt_dict(of_user(user) | counts(user)))
        values["users"] = users
    return to_pmt_dict(values | extra)


def csi_to_pmt(frame, **extra):
    """Return the PDU of a frame's channel matrices.

    The dictionary has the keys of ``wifi.csi.CsiRecord`` except the matrices, and num_rx,
    num_space_time_streams, coding, detector and the arguments of the format's class, as in
    format_mcs. ``extra`` adds or replaces keys. The c32vector holds the matrices, ordered by
    subcarrier, then antenna, then space-time stream.
    """
    values = dict(vars(CsiRecord.from_frame(frame)))
    matrices = values.pop("matrices")
    values |= {"num_rx": matrices.shape[1], "num_space_time_streams": matrices.shape[2],
             "coding": None if frame.format is None else frame.format.coding,
             "detector": frame.detector or None}
    for name in ("source", "destination", "transmitter"):
        values[name] = values[name] or None
    if values["sequence_number"] < 0:
        values["sequence_number"] = None
    if frame.frequency is None:
        values["frequency"] = None
    if frame.format is not None:
        values |= _arguments(frame.format)
    return to_pdu(values | extra, matrices)


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
    values = {"start": frame.start, "num_streams": len(points), "num_points": points.shape[1],
            "constellation": f.constellation, "format": f.name, "mcs": f.mcs,
            "evm_db": frame.evm_db}
    return to_pdu(values, np.asarray(points, np.complex64))


def found_to_pmt(found, sample_rate, **extra):
    """Return the PDU of a frame found by ``Synchroniser``.

    The dictionary has the known fields of the frame. ``extra`` adds or replaces keys. The c32vector
    holds the frame's samples as received, ordered by antenna.
    """
    f = found.format
    values = {name: getattr(found, name) for name in _OF_FOUND if name not in _COMPUTED}
    values |= {
        "time": found.start / sample_rate, "sample_rate": sample_rate,
        "num_rx": len(found.samples), "cfo_hz": found.cfo * sample_rate,
        "snr_db": float(10 * np.log10(np.mean(found.signal / found.noise) + 1e-30)),
        "subchannels": np.array(found.subchannels)}
    if f is not None:
        values |= {"format": f.name, "mcs": f.mcs, "num_streams": f.num_streams,
                   "bandwidth_mhz": float(f.bandwidth_mhz * min(1.0, sample_rate / 20e6)),
                   "short_gi": f.short_gi, "coding": f.coding, "length": f.length}
        values |= _arguments(f)
    values |= {_ANNOUNCED + name: value for name, value in found.announced.items()}
    if found.several:
        values["signal_fields"] = found.signal_fields
    return to_pdu(values | extra, found.samples)


# Attributes of a ReceivedFrame in the tag of its vectors, and their types.
_OF_FRAME = {field.name: field.kind for field in fields_of("tag")}
_OF_VECTORS = dict.fromkeys((*_OF_FRAME, *_OF_FORMAT, "frequency", "num_vectors", "nested",
                             "sig_b"))


def vectors_to_pmt(vectors, **extra):
    """Return what a decoder needs of a ``FrameVectors``, a dictionary without the arrays.

    ``extra`` adds or replaces keys.
    """
    frame, f = vectors.frame, vectors.frame.format
    values = {name: getattr(frame, name) for name in (*_OF_FRAME, "frequency")}
    values |= {"num_vectors": len(vectors.y), "noise_var": vectors.noise_var,
             "nested": vectors.nested, "sig_b": vectors.sig_b or None}
    # Frames of a format share its part.
    return to_pmt_dict(values | extra, onto=_format_to_pmt(f))


@lru_cache(maxsize=1024)
def _format_to_pmt(f):
    return to_pmt_dict({"format": f.name, **_arguments(f)})


def _arguments(f):
    """Return the arguments of a format's class, with a resource unit as a text "size/index"."""
    values = {_FIELD + field.name: getattr(f, field.name) for field in fields(f)}
    if _RU in values:
        values[_RU] = "{}/{}".format(*values[_RU])
    return values


def vectors_from_pmt(message):
    """Return the part of a ``FrameVectors`` that :func:`vectors_to_pmt` has written.

    Raises:
        ValueError: :func:`vectors_to_pmt` cannot have made the dictionary.
    """
    values = to_python_dict(message, _OF_VECTORS)
    of_frame = {}
    for name, kind in _OF_FRAME.items():
        value = values.get(name)
        if kind is tuple and isinstance(value, np.ndarray):
            value = tuple(value.tolist())
        if type(value) is not kind:
            # Do not show the value: a deeply nested one would exhaust the stack.
            raise ValueError(f"{name}: got no value or a wrong type, must be {kind.__name__}")
        of_frame[name] = value
    f, frequency, sig_b = _format(values), values.get("frequency"), values.get("sig_b", b"")
    if f is None or not isinstance(frequency, (float, type(None))) or not isinstance(sig_b, bytes):
        raise ValueError("format, frequency, sig_b: got no value or a wrong type")
    if values.get("num_vectors") != f.plan.num_data * f.num_symbols:
        raise ValueError(f"num_vectors: must be {f.plan.num_data * f.num_symbols}")
    return FrameVectors(ReceivedFrame(**of_frame, frequency=frequency, format=f, problem=""),
                        nested=bool(values.get("nested")), sig_b=sig_b)


def found_from_pmt(message, num_rx, sample_rate):
    """Return the ``FoundFrame`` of a PDU made by :func:`found_to_pmt`.

    Raises:
        ValueError: :func:`found_to_pmt` cannot have made the PDU, or its number of antennas or
            sample rate differs from the arguments.
    """
    dictionary, samples = pdu_parts(message)
    if not pmt.is_c32vector(samples):
        raise ValueError("the message has no c32vector")
    facts = read(dictionary, _OF_FOUND)
    if facts["sample_rate"] != sample_rate:
        raise ValueError(f"sample_rate: got {rate_in_words(facts['sample_rate'])}, must be "
                         f"{rate_in_words(sample_rate)}")
    if facts["num_rx"] != num_rx:
        raise ValueError(f"num_rx: got {facts['num_rx']}, must be {num_rx}")
    samples = to_python(samples)
    if samples.size % num_rx:
        raise ValueError(f"samples: got {samples.size}, must be a multiple of {num_rx}")
    width = max(1, round(sample_rate / 20e6))
    subchannels = tuple(facts["subchannels"].tolist())
    if not subchannels or not set(subchannels) <= set(range(width)):
        raise ValueError(f"subchannels: got {subchannels}, must be one or several of 0 to "
                         f"{width - 1}")
    for name in ("start", "window", "first"):
        integer(name, facts[name], -2**62, 2**62)
    integer("num_samples", facts["num_samples"], 0, 2**62)
    signal, noise = facts["signal"], facts["noise"]
    if not signal.size == noise.size == num_rx or not np.isfinite([signal, noise]).all() or (
            noise <= 0).any() or (signal < 0).any():
        raise ValueError(f"signal, noise: must be {num_rx} finite powers, at least 0 (signal) and "
                         "above 0 (noise)")
    announced = {name.removeprefix(_ANNOUNCED): value
                 for name, value in to_python_dict(dictionary, _OF_ANNOUNCED).items()}
    f = format_from_pmt(dictionary)
    several = _several(to_python_dict(dictionary, _OF_SEVERAL), len(subchannels))
    if f is None and not facts["problem"]:
        raise ValueError("problem: got no text, must say why there is no format")
    least = FFT_20 * width
    if f is not None and not facts["truncated"] and samples.size < least * num_rx:
        raise ValueError(f"samples: got {samples.size // num_rx} per antenna, must be at least "
                         f"{least}")
    first = facts["first"]
    if not 0 <= facts["window"] - first < 2**20:
        raise ValueError(f"window: got {facts['window']}, must be {first} (first) to "
                         f"{first + 2**20 - 1}")
    facts = {name: value for name, value in facts.items() if name not in _COMPUTED}
    return FoundFrame(**facts, subchannels=subchannels, format=f, announced=announced,
                      several=several, samples=samples.reshape(num_rx, -1))


def _several(values, num_subchannels):
    """Return what a frame's ``several`` was made of its signal fields, None without them."""
    fields = values.get("signal_fields")
    if fields is None:
        return None
    if not isinstance(fields, bytes) or len(fields) != headers.SIGNAL_BYTES or max(fields[1:]) > 1:
        raise ValueError("signal_fields: got another value, must be as wifi_synchroniser sends it")
    found = headers.announced(fields[0], fields[1:], 20 * num_subchannels)
    return found and found.several


def format_from_pmt(dictionary):
    """Return the frame format that a PMT dictionary of this module has; None if it has none.

    Raises:
        ValueError: the dictionary has values that no format has.
    """
    return _format(to_python_dict(dictionary, _OF_FORMAT))


def _format(values):
    """Return the frame format in a dictionary of Python values, or None if there is none."""
    name = values.get("format")
    if name is None:
        return None
    arguments = tuple((key, values[key]) for key in _OF_FORMAT
                      if key in values and key != "format")
    # Do not show a value: a deeply nested one would exhaust the stack.
    if not all(isinstance(value, (bool, int, float, str))
               for value in (name, *dict(arguments).values())):
        raise ValueError("format: got a wrong type, must be numbers, flags or text")
    if name not in BY_NAME:
        raise ValueError(f"format: got an unknown value, allowed are {', '.join(BY_NAME)}")
    return _format_of(name, arguments)


@lru_cache(maxsize=1024)
def _format_of(name, arguments):
    values = dict(arguments)
    try:
        if _RU in values:
            values[_RU] = tuple(map(int, values[_RU].split("/")))
        return BY_NAME[name](**{key.removeprefix(_FIELD): value for key, value in values.items()})
    except (AttributeError, TypeError) as error:
        raise ValueError(f"format: {error}") from error


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


def read(dictionary, kinds):
    """Return values of a PMT dictionary, in the order of ``kinds``.

    Args:
        dictionary: the dictionary.
        kinds: {name: int, float, bool, str or np.ndarray}.

    Raises:
        ValueError: a key is missing, or its value is of another type or not finite.
    """
    found, values = to_python_dict(dictionary, kinds), {}
    for name, kind in kinds.items():
        value = found.get(name)
        if kind is float and type(value) is int:
            value = float(value)
        if value is None:
            raise ValueError(f"{name}: the key is missing")
        if not isinstance(value, kind) or isinstance(value, bool) and kind is not bool or (
                kind is float and not math.isfinite(value)):
            # Do not show the value: a deeply nested one would exhaust the stack.
            raise ValueError(f"{name}: got another value, must be {_KINDS[kind]}")
        values[name] = value
    return values


_KINDS = {int: "an integer", float: "a number", bool: "true or false", str: "text",
          np.ndarray: "a vector"}
