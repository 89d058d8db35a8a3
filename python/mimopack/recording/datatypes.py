# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sample formats of SigMF datasets that are read and written."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Datatype:
    """A complex sample format.

    Attributes:
        name: as in ``core:datatype``.
        component: NumPy type of the real and of the imaginary part.
        scale: what a stored value is multiplied by, so that full scale is 1.
    """

    name: str
    component: np.dtype
    scale: float

    def decode(self, stored, out):
        """Stored components (n, channels, 2) to out: one complex64 array of n per channel."""
        for channel, samples in enumerate(out):
            np.multiply(stored[:, channel], np.float32(self.scale),
                        out=samples.view(np.float32).reshape(-1, 2), casting="unsafe",
                        dtype=np.float32)

    def encode(self, samples):
        """Samples (channels, n) complex64 to components (n, channels, 2).

        Returns:
            The components, and how many of them were clipped to the range of the type, or were
            not a number and became 0.
        """
        parts = np.ascontiguousarray(samples.T, np.complex64).view(np.float32)
        parts = parts.reshape(samples.shape[1], samples.shape[0], 2)
        if self.component.kind == "f":
            return parts.astype(self.component, copy=False), 0
        limits = np.iinfo(self.component)
        scaled = np.rint(parts / np.float32(self.scale))
        # A comparison with NaN is false, so this counts what is not a number as well.
        inside = (scaled >= limits.min) & (scaled <= limits.max)
        clipped = scaled.size - int(np.count_nonzero(inside))
        if clipped:
            scaled = np.clip(np.nan_to_num(scaled, nan=0.0), limits.min, limits.max)
        return scaled.astype(self.component), clipped


_ALL = (Datatype("cf32_le", np.dtype("<f4"), 1.0), Datatype("ci16_le", np.dtype("<i2"), 2.0**-15))
_BY_NAME = {datatype.name: datatype for datatype in _ALL}
DATATYPES = tuple(_BY_NAME)


def get_datatype(name):
    """The Datatype of a name; ValueError names what is allowed."""
    if name not in _BY_NAME:
        raise ValueError(f"datatype: got {name!r}, allowed are {', '.join(DATATYPES)}")
    return _BY_NAME[name]
