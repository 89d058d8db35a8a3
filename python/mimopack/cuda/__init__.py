# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors on NVIDIA GPUs: the kernels of lib/kernels through CuPy.

``source`` writes programs and needs neither CuPy nor a GPU; ``device`` compiles and runs them.
"""


def is_device_array(value):
    """Whether this is a CuPy array (without importing CuPy)."""
    return type(value).__module__.partition(".")[0] == "cupy"
