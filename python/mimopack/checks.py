# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of arguments: each returns the value, or raises a ValueError that names the argument,
what it got and what is allowed."""

import operator

import numpy as np


def integer(name, value, low, high):
    """An integer in low..high (anything with __index__; not 2.0, not "2")."""
    try:
        value = operator.index(value)
    except TypeError:
        raise ValueError(f"{name}: got {value!r}, must be an integer") from None
    if not low <= value <= high:
        raise ValueError(f"{name}: got {value}, allowed are {low} to {high}")
    return value


def positive(name, value):
    """A positive, finite number, as a float."""
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: got {value!r}, must be a number") from None
    if not 0 < value < np.inf:
        raise ValueError(f"{name}: got {value}, must be positive and finite")
    return value


def choice(name, value, allowed):
    """One of a few values."""
    if value not in allowed:
        raise ValueError(f"{name}: got {value!r}, allowed are {', '.join(map(str, allowed))}")
    return value


def array(name, value, dtype, shape):
    """A C-contiguous NumPy array of a type and shape; None in shape stands for any size."""
    if not isinstance(value, np.ndarray):
        raise ValueError(f"{name}: got {type(value).__name__}, must be a NumPy array")
    if value.dtype != dtype:
        raise ValueError(f"{name}: got type {value.dtype}, must be {np.dtype(dtype)}: "
                         f"{_cure(name, dtype)}")
    if value.ndim != len(shape) or any(
            want is not None and have != want
            for have, want in zip(value.shape, shape, strict=True)):
        wanted = ", ".join("n" if size is None else str(size) for size in shape)
        raise ValueError(f"{name}: got shape {value.shape}, must be ({wanted})")
    if not value.flags.c_contiguous:
        raise ValueError(f"{name}: got a strided array, must be C-contiguous: "
                         f"{_cure(name, dtype)}")
    return value


def _cure(name, dtype):
    return f"numpy.ascontiguousarray({name}, numpy.{np.dtype(dtype)})"
