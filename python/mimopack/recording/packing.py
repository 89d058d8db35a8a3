# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks of samples as they stand in the files of a recording."""

import numpy as np

from ..checks import choice, integer
from .datatypes import get_datatype

LAYOUTS = ("interleaved", "collection")


class Packing:
    """How the samples of several channels stand in one file or several.

    Args:
        num_channels: antennas.
        datatype: see ``get_datatype``.
        layout: "interleaved" or "collection".

    Attributes:
        num_channels, layout: as above.
        datatype: ``Datatype``.
        num_files: 1, or one for each channel.
        sample_bytes: of a sample of all channels.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, num_channels, datatype, layout):
        self.num_channels = integer("num_channels", num_channels, 1, 1 << 10)
        self.layout = choice("layout", layout, LAYOUTS)
        self.datatype = get_datatype(datatype)
        self.num_files = 1 if layout == "interleaved" else self.num_channels
        self.sample_bytes = 2 * self.num_channels * self.datatype.component.itemsize

    def empty(self, count):
        """An array for count samples: (num_files, count, channels of a file, 2)."""
        return np.empty((self.num_files, count, self.num_channels // self.num_files, 2),
                        self.datatype.component)

    def pack(self, samples, out, position=0):
        """Write samples into an array that :meth:`empty` made.

        Args:
            samples: complex64 arrays of equally many samples, one for each channel, contiguous.
            out: the array.
            position: of the first sample in it.

        Returns:
            The number of components that were clipped, or were not a number.
        """
        each = self.num_channels // self.num_files
        count = len(samples[0])
        return sum(self.datatype.encode_into(samples[each * index:each * (index + 1)],
                                             one[position:position + count])
                   for index, one in enumerate(out))

    def check(self, samples):
        """Samples as a list of contiguous complex64 arrays, one for each channel.

        Args:
            samples: (num_channels, n) complex, or a sequence of arrays of n.

        Raises:
            ValueError: they have another shape.
        """
        if not isinstance(samples, (list, tuple)):
            samples = np.asarray(samples)
        shape = np.shape(samples) if isinstance(samples, np.ndarray) else _shape(samples)
        if len(shape) != 2 or shape[0] != self.num_channels:
            raise ValueError(f"samples: got shape {shape}, must be ({self.num_channels}, n)")
        return [np.ascontiguousarray(one, np.complex64) for one in samples]


def _shape(arrays):
    """The shape that a sequence of arrays has as one array; with "?" where they differ."""
    shapes = {np.shape(one) for one in arrays}
    return (len(arrays), *(shapes.pop() if len(shapes) == 1 else ("?",) * 2))
