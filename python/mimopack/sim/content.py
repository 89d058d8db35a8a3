# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check the content of a file of results, before a simulation continues from it.

Each check raises a ValueError with the place in the file, such as ``results[3].counts.blocks``.
"""

import hashlib
import json
import reprlib
from functools import partial
from math import inf

from ..checks import choice, flag, integer, number, positive, snr
from .link import BLOCK

# Entry "what" of the file, by which a file of results is recognised.
WHAT = "bit and frame error rates, simulated"
DATA = "simulated"
_MOST = 2**62    # of any count


def digest(content):
    """Return the SHA-256 of a dictionary's JSON text, which spaces and the order do not affect."""
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def parse(text):
    """Return the content of a JSON text; NaN and infinite numbers are refused.

    Raises:
        ValueError: the text is not JSON.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("lists are nested too deeply") from None


def check(content, passes):
    """Check that a dictionary holds results, whole and consistent.

    Args:
        content: the dictionary. Its entry "sha256" is removed if there is one, and must be the
            ``digest`` of the others. Files of gr-mimopack before this entry do not have it.
        passes: {detector: number of passes} of the detectors that the simulation continues with.

    Raises:
        ValueError: the content is damaged.
    """
    checksum = content.pop("sha256", ...)
    _check("", content, {
        "what": partial(choice, allowed=(WHAT,)), "data": partial(choice, allowed=(DATA,)),
        "parameters": _dictionary,
        "runs": _each({"machine": _dictionary, "backend": _text, "seconds": _between(0, inf)}),
        "results": _each(partial(_row, passes))})
    points = set()
    for index, row in enumerate(content["results"]):
        point = row["detector"], row["at_db"]
        if point in points:
            raise ValueError(f"results[{index}]: a second row of {point[0]} at {point[1]:g} dB")
        points.add(point)
    if checksum is not ... and checksum != digest(content):
        raise ValueError("sha256: not that of the content")


def _row(passes, name, row):
    """Check a row of results: each value, and what the counts say about each other."""
    _dictionary(name, row)
    _text(f"{name}.detector", row.get("detector"))
    _check(name, row, _row_form(passes.get(row["detector"]) or _num_passes(row)))
    counts, place = row["counts"], f"{name}.counts"
    frames, wrong = counts["frames"], counts["frame_errors"]
    _equal(f"{place}.frames", frames, BLOCK * counts["blocks"])
    _equal(f"{name}.frames", row["frames"], frames)
    _equal(f"{name}.fer", row["fer"], [n / frames for n in wrong])
    for rate in ("passes", "decoder_iterations"):
        _equal(f"{name}.mean_{rate}", row[f"mean_{rate}"], counts[rate] / frames)
    integer(f"{place}.passes", counts["passes"], 0, frames * len(wrong))
    integer(f"{place}.undetected", counts["undetected"], 0, wrong[-1])
    _check_bits(f"{place}.detected_bit_errors", counts["detected_bit_errors"], 0)
    for index, frame_errors in enumerate(wrong):
        integer(f"{place}.frame_errors[{index}]", frame_errors, 0, frames)
        _check_bits(f"{place}.bit_errors[{index}]", counts["bit_errors"][index], frame_errors)


def _check_bits(name, sums, least):
    """Check the sum over frames of wrong bits, and the sum of squares."""
    total, squares = sums
    integer(f"{name}[0]", total, least, _MOST)
    integer(f"{name}[1]", squares, total, total**2)


def _equal(name, value, expected):
    if value != expected:
        raise ValueError(f"{name}: got {value}, must be {expected} by the counts")


def _num_passes(row):
    """Return the number of passes of a row's detector, as far as the row shows it."""
    counts = row.get("counts")
    wrong = counts.get("frame_errors") if isinstance(counts, dict) else None
    return max(1, len(wrong)) if isinstance(wrong, list) else 1


def _row_form(num_passes):
    rate, interval = _between(0, 1), [_between(0, inf)] * 2
    counts = {name: _count for name in ("frames", "undetected", "passes", "decoder_iterations")}
    return {"detector": _text, "at_db": snr, "snr_db": number, "ebn0_db": number,
            "noise_var": positive, "frames": _count, "complete": flag,
            "counts": {"blocks": partial(integer, low=1, high=_MOST), **counts,
                       "frame_errors": [_count] * num_passes,
                       "bit_errors": [[_count] * 2] * num_passes,
                       "detected_bit_errors": [_count] * 2},
            "fer": [rate] * num_passes, "fer_95": [interval] * num_passes,
            "ber": [rate] * num_passes, "ber_95": [interval] * num_passes,
            "ber_before_decoding": rate, "ber_before_decoding_95": interval,
            "mean_passes": _between(0, inf), "mean_decoder_iterations": _between(0, inf)}


def _check(name, value, form):
    """Check a value from JSON.

    Args:
        name: place of the value in the file.
        value: the value.
        form: a dictionary with the form of each entry, a list with the form of each element, or a
            function of (name, value).
    """
    if isinstance(form, dict):
        _dictionary(name, value)
        for key in {**form, **value}:
            place = f"{name}.{key}".removeprefix(".")
            if key not in value:
                raise ValueError(f"{place}: missing")
            if key not in form:
                raise ValueError(f"{place}: unknown")
            _check(place, value[key], form[key])
    elif isinstance(form, list):
        _list(name, value)
        if len(value) != len(form):
            raise ValueError(f"{name}: got {len(value)} values, must be {len(form)}")
        for index, (one, own) in enumerate(zip(value, form, strict=True)):
            _check(f"{name}[{index}]", one, own)
    else:
        form(name, value)


def _each(form):
    def check_each(name, value):
        _list(name, value)
        for index, one in enumerate(value):
            _check(f"{name}[{index}]", one, form)
    return check_each


def _between(low, high):
    def check_number(name, value):
        if not low <= number(name, value) <= high:
            raise ValueError(f"{name}: got {value}, allowed are {low} to {high}")
    return check_number


def _of(kind, words):
    def check_kind(name, value):
        if not isinstance(value, kind):
            raise ValueError(f"{name}: got {reprlib.repr(value)}, must be {words}")
    return check_kind


_dictionary, _list = _of(dict, "an object"), _of(list, "a list")
_count = partial(integer, low=0, high=_MOST)


def _text(name, value):
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{name}: got {reprlib.repr(value)}, must be printable text")


def _refuse_constant(text):
    raise ValueError(f"{text} is not a number of JSON")


def _finite(text):
    value = float(text)
    if abs(value) == inf:
        raise ValueError(f"{text} is too large")
    return value
