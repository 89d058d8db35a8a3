# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays of the host and of GPUs, told apart without importing CuPy."""

import numpy


def is_device_array(value):
    """Whether this is a CuPy array (without importing CuPy)."""
    return type(value).__module__.partition(".")[0] == "cupy"


def array_module(value):
    """NumPy, or CuPy where this is one of its arrays."""
    if is_device_array(value):
        import cupy
        return cupy
    return numpy


class Constant:
    """An array of the host, and its copies on GPUs, made when they are first wanted."""

    def __init__(self, values):
        self.values = values
        self._copies = {}

    def beside(self, value):
        """It, where an array is: NumPy's, or CuPy's on the same GPU."""
        if not is_device_array(value):
            return self.values
        gpu = value.device.id
        if gpu not in self._copies:
            self._copies[gpu] = array_module(value).asarray(self.values)
        return self._copies[gpu]
