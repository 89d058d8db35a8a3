# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell host arrays (NumPy) from GPU arrays (CuPy) without importing CuPy."""

import numpy


def is_device_array(value):
    """Return whether a value is a CuPy array, without importing CuPy."""
    return type(value).__module__.partition(".")[0] == "cupy"


def array_module(value):
    """Return the module that an array belongs to: CuPy, or NumPy for everything else."""
    if is_device_array(value):
        import cupy
        return cupy
    return numpy


class Constant:
    """A constant array, copied to each GPU on first use.

    Args:
        values: NumPy array, which must not change.
    """

    def __init__(self, values):
        self.values = values
        self._copies = {}

    def beside(self, value):
        """Return the constant as an array on the device that holds ``value``: host or GPU."""
        if not is_device_array(value):
            return self.values
        gpu = value.device.id
        if gpu not in self._copies:
            self._copies[gpu] = array_module(value).asarray(self.values)
        return self._copies[gpu]
