# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for arrays of libraries that may not be installed."""


class Elsewhere:
    """An array of another library, on the host, which speaks DLPack and can be seen by NumPy."""

    def __init__(self, values):
        self.values = values

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __array_namespace__(self):
        return Elsewhere

    @staticmethod
    def from_dlpack(array):
        return Elsewhere(array)
