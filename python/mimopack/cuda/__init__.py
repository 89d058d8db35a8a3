# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors on NVIDIA GPUs: the kernels of lib/kernels through CuPy.

``source`` writes programs, of the sources in lib/cuda, and needs neither CuPy nor a GPU; ``device``
compiles and runs them; ``transfer`` takes the host's arrays there and back in parts, and
``pinning`` spares the copy of those in GNU Radio's buffers.
"""

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
