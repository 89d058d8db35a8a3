# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check arguments.

Each function returns the value, or raises a ValueError with the name of the argument, the value and
the allowed values.
"""

import operator
import os

import numpy as np

from .arrays import is_device_array
from .text import rate_in_words, rates_in_words, shortened

ISAS = ("auto", "avx512", "avx2", "neon", "baseline")    # instruction sets, or the best one
# More threads than this never help, and a system may refuse to start them.
MOST_THREADS = max(16, 4 * (os.cpu_count() or 1))
# Range of float32, with a margin for intermediate results.
SMALLEST, LARGEST = 1e-37, 1e37
_MOST_SHOWN = 200    # characters of a value in an error


def shown(value):
    """Return the first characters of a value as Python writes it.

    NumPy 2 would write np.float64(2.5).
    """
    try:
        return shortened(repr(value.item() if isinstance(value, np.generic) else value),
                         _MOST_SHOWN)
    except ValueError:    # Python refuses to write integers of more than 4300 digits
        return "a value too long to write"


def integer(name, value, low, high):
    """Check for an integer in low..high. Types with __index__ pass; 2.0, "2" and True do not."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        value = operator.index(value)
    except TypeError:
        raise ValueError(f"{name}: got {shown(value)}, must be an integer") from None
    if not low <= value <= high:
        raise ValueError(f"{name}: got {shown(value)}, allowed are {low} to {high}")
    return value


def thread_count(value):
    """Check for a number of threads, 0 to MOST_THREADS; 0 means all cores."""
    return integer("threads", value, 0, MOST_THREADS)


def number(name, value):
    """Check for a real number and return a float; "2", True and arrays are refused."""
    try:
        if isinstance(value, (bool, np.bool_, str, bytes)) or np.ndim(value):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: got {shown(value)}, must be a number") from None


def positive(name, value):
    """Check for a positive, finite number in the range of float32; return a float."""
    value = value if type(value) is float else number(name, value)
    if not SMALLEST <= value <= LARGEST:
        raise ValueError(f"{name}: got {value}, must be positive and finite"
                         + (f", allowed are {SMALLEST} to {LARGEST}" if 0 < value < np.inf else ""))
    return value


def limit(name, value):
    """Check for a positive number or infinity; return a float, or None for infinity."""
    infinite = isinstance(value, (float, np.floating)) and value == np.inf
    return None if infinite else positive(name, value)


def snr(name, value):
    """Check for an SNR in dB, -100..200; return a float."""
    value = number(name, value)
    if not -100 <= value <= 200:
        raise ValueError(f"{name}: got {value}, allowed are -100 to 200 (dB)")
    return value


def back_off(value):
    """Check for a back-off in dB, -100..100; return a float."""
    value = number("backoff_db", value)
    if not -100 <= value <= 100:
        raise ValueError(f"backoff_db: got {value}, allowed are -100 to 100")
    return value


def share(name, value):
    """Check for a number from 0 to less than 1; return a float."""
    value = number(name, value)
    if not 0 <= value < 1:
        raise ValueError(f"{name}: got {value}, allowed are 0 to less than 1")
    return value


def flag(name, value):
    """Check for True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}: got {shown(value)}, must be True or False")
    return bool(value)


def choice(name, value, allowed):
    """Check for one of the allowed values; return the one that equals ``value`` (20 for 20.0)."""
    if not getattr(value, "ndim", 0):    # comparing an array gives an array
        for candidate in allowed:
            if candidate == value:
                return candidate
    raise ValueError(f"{name}: got {shown(value)}, allowed are {', '.join(map(str, allowed))}")


def rate_choice(value, allowed):
    """Check for one of the allowed sample rates, in samples per second."""
    rate = positive("sample_rate", value)
    if rate not in allowed:
        raise ValueError(f"sample_rate: got {rate_in_words(rate)}, allowed are "
                         f"{rates_in_words(allowed)}" + (", such as 20e6" if rate < 1e3 else ""))
    return rate


def integer_choice(name, value, allowed):
    """Check for one of the allowed integers; floats such as 20.0 are refused."""
    return choice(name, integer(name, value, -np.inf, np.inf), allowed)


def array(name, value, dtype, shape, gpu=None):
    """Check for a C-contiguous array of a type and shape.

    Args:
        name: name of the argument.
        value: the array.
        dtype: its type.
        shape: its shape; a name in the tuple stands for any size.
        gpu: index of the GPU that must hold a CuPy array; None for a NumPy array.
    """
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
        wanted = ", ".join(map(str, shape)) + "," * (len(shape) == 1)
        raise ValueError(f"{name}: got shape {value.shape}, must be ({wanted})")
    if not value.flags.c_contiguous:
        raise ValueError(f"{name}: got a strided array, must be C-contiguous: "
                         f"{_cure(name, dtype, on_device)}")
    return value


def instruction_set(value):
    """Check for the name of an instruction set; the compiled modules check that they have it."""
    return choice("isa", value, ISAS)


def real_numbers(name, value):
    """Check for real numbers in any form that NumPy makes an array of; return the array."""
    try:
        numbers = np.asarray(value)
    except ValueError:    # lists of different lengths
        numbers = np.asarray(None)
    if numbers.dtype.kind not in "biuf":
        raise ValueError(f"{name}: got {type(value).__name__}, must be an array of real numbers")
    return numbers


def integers(name, value, dimensions, low, high):
    """Check for integers in low..high, in any form that NumPy makes an array of; return the array.

    Args:
        dimensions: number of dimensions. The array must not be empty.
    """
    numbers = real_numbers(name, value)
    if numbers.ndim != dimensions or numbers.dtype.kind not in "iu" or not numbers.size:
        raise ValueError(f"{name}: got type {numbers.dtype} of shape {numbers.shape}, must be an "
                         f"array of integers with ndim = {dimensions}")
    if numbers.min() < low or numbers.max() > high:
        raise ValueError(f"{name}: got {numbers.min()} to {numbers.max()}, allowed are {low} to "
                         f"{high}")
    return numbers


def any_bits(name, value):
    """Check for bits in any form that NumPy makes an array of; return a uint8 array."""
    numbers = real_numbers(name, value)
    with np.errstate(invalid="ignore"):
        values = numbers.astype(np.uint8, copy=False)
    if values.size and (values.max() > 1 or values is not numbers and (values != numbers).any()):
        wrong = numbers[(numbers != 0) & (numbers != 1)][0]
        raise ValueError(f"{name}: got {wrong}, allowed are 0 and 1")
    return values


def bits(name, value, length):
    """Check for the bits of n codewords: (n, length) uint8 array of 0 and 1."""
    value = array(name, value, np.uint8, ("n", length))
    if value.size and value.max() > 1:
        raise ValueError(f"{name}: got {value.max()}, allowed are 0 and 1")
    return value


def _cure(name, dtype, on_device):
    module = "cupy" if on_device else "numpy"
    dtype = f"{module}.{np.dtype(dtype)}"
    if name == "out":    # results would go to a copy
        return f"{module}.empty(shape, {dtype})"
    return f"{module}.ascontiguousarray({name}, {dtype})"
