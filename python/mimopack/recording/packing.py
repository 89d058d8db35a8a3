# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrange samples in blocks with the layout of the files of a recording."""

import numpy as np

from ..checks import choice, integer
from .datatypes import get_datatype

# Layouts of a recording: one file for all channels, or one file for each channel.
LAYOUTS = ("interleaved", "collection")
MOST_CHANNELS = 1 << 10


class Packing:
    """Layout of the samples of several channels in files; arguments as for ``Writer``.

    Attributes:
        num_channels, layout: as for ``Writer``.
        datatype: ``Datatype``.
        num_files: number of files: one, or one for each channel.
        sample_bytes: number of bytes of one sample of all channels together.
    """

    def __init__(self, num_channels, datatype, layout):
        self.num_channels = integer("num_channels", num_channels, 1, MOST_CHANNELS)
        self.layout = choice("layout", layout, LAYOUTS)
        self.datatype = get_datatype(datatype)
        self.num_files = 1 if layout == "interleaved" else self.num_channels
        self.sample_bytes = 2 * self.num_channels * self.datatype.component.itemsize

    def empty(self, count):
        """Return an array to fill with count samples: (num_files, count, channels per file, 2)."""
        return np.empty((self.num_files, count, self.num_channels // self.num_files, 2),
                        self.datatype.component)

    def pack(self, samples, out, position=0):
        """Write :meth:`check`-ed samples into an array of :meth:`empty`, from a position on.

        Return the number of real and imaginary parts that were clipped, or were NaN and became 0.
        """
        each = self.num_channels // self.num_files
        count = len(samples[0])
        return sum(self.datatype.encode(samples[each * index:each * (index + 1)],
                                             part[position:position + count])
                   for index, part in enumerate(out))

    def check(self, samples):
        """Return samples as a list of contiguous complex64 arrays, one for each channel.

        They are a (num_channels, n) array, or a sequence of num_channels arrays of length n.
        """
        if not isinstance(samples, (list, tuple)):
            samples = np.asarray(samples)
        shape = np.shape(samples) if isinstance(samples, np.ndarray) else _shape(samples)
        if len(shape) != 2 or shape[0] != self.num_channels:
            raise ValueError(f"samples: got shape {shape}, must be ({self.num_channels}, n)")
        return [np.ascontiguousarray(row, np.complex64) for row in samples]


def _shape(arrays):
    """Return the shape of a stack of the arrays, with "?" if their shapes differ."""
    shapes = {np.shape(array) for array in arrays}
    return (len(arrays), *(shapes.pop() if len(shapes) == 1 else ("?",) * 2))
