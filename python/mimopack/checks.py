# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of arguments: each returns the value, or raises a ValueError that names the argument,
what it got and what is allowed."""

import operator

import numpy as np

from .arrays import is_device_array

# What float32 holds, with room for what is computed of it.
SMALLEST, LARGEST = 1e-37, 1e37


def integer(name, value, low, high):
    """An integer in low..high (anything with __index__; not 2.0, not "2", not True)."""
    try:
        if isinstance(value, bool):
            raise TypeError
        value = operator.index(value)
    except TypeError:
        raise ValueError(f"{name}: got {value!r}, must be an integer") from None
    if not low <= value <= high:
        raise ValueError(f"{name}: got {value}, allowed are {low} to {high}")
    return value


def number(name, value):
    """A real number (not "2", not True, not an array), as a float."""
    try:
        if isinstance(value, (bool, np.bool_, str, bytes)) or np.ndim(value):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: got {value!r}, must be a number") from None


def positive(name, value):
    """A positive, finite number that float32 holds, as a float."""
    value = value if type(value) is float else number(name, value)
    if not SMALLEST <= value <= LARGEST:
        raise ValueError(f"{name}: got {value}, must be positive and finite"
                         + (f", allowed are {SMALLEST} to {LARGEST}" if 0 < value < np.inf else ""))
    return value


def share(name, value):
    """A number from 0 to less than 1, as a float."""
    value = number(name, value)
    if not 0 <= value < 1:
        raise ValueError(f"{name}: got {value}, allowed are 0 to less than 1")
    return value


def flag(name, value):
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}: got {value!r}, must be True or False")
    return bool(value)


def choice(name, value, allowed):
    """One of a few values; returns the one that it equals, so 20 for 20.0."""
    for one in allowed:
        if one == value:
            return one
    raise ValueError(f"{name}: got {value!r}, allowed are {', '.join(map(str, allowed))}")


def integer_choice(name, value, allowed):
    """One of a few integers (not 20.0)."""
    return choice(name, integer(name, value, -np.inf, np.inf), allowed)


def array(name, value, dtype, shape, gpu=None):
    """A C-contiguous NumPy array of a type and shape, or a CuPy one where the number of a GPU is
    given; a name in shape stands for any size."""
    on_device = gpu is not None
    if not (is_device_array(value) if on_device else isinstance(value, np.ndarray)):
        kind = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
        raise ValueError(f"{name}: got {kind}, must be a "
                         f"{'CuPy array, as y is' if on_device else 'NumPy array'}")
    if on_device and value.device.id != gpu:
        raise ValueError(f"{name}: got an array on GPU {value.device.id}, must be on GPU {gpu}")
    if value.dtype != dtype:
        raise ValueError(f"{name}: got type {value.dtype}, must be {np.dtype(dtype)}: "
                         f"{_cure(name, dtype, on_device)}")
    if value.ndim != len(shape) or any(
            not isinstance(want, str) and have != want
            for have, want in zip(value.shape, shape, strict=True)):
        asked = ", ".join(map(str, shape)) + "," * (len(shape) == 1)
        raise ValueError(f"{name}: got shape {value.shape}, must be ({asked})")
    if not value.flags.c_contiguous:
        raise ValueError(f"{name}: got a strided array, must be C-contiguous: "
                         f"{_cure(name, dtype, on_device)}")
    return value


def bits(name, value, length):
    """Bits of codewords, (n, length) uint8."""
    value = array(name, value, np.uint8, ("n", length))
    if value.size and value.max() > 1:
        raise ValueError(f"{name}: got {value.max()}, allowed are 0 and 1")
    return value


def _cure(name, dtype, on_device):
    module = "cupy" if on_device else "numpy"
    dtype = f"{module}.{np.dtype(dtype)}"
    if name == "out":    # a copy would take what is written
        return f"{module}.empty(shape, {dtype})"
    return f"{module}.ascontiguousarray({name}, {dtype})"
