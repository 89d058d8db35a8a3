# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sample formats of recordings: their names, and conversion from and to complex64."""

from dataclasses import dataclass

import numpy as np

from .. import _core
from ..checks import shown


@dataclass(frozen=True)
class Datatype:
    """A complex sample format.

    Attributes:
        name: SigMF name, as in ``core:datatype``.
        component: NumPy type of the real and of the imaginary part.
        scale: factor that turns a stored value into a sample with full scale 1.
        offset: stored value that represents 0.
    """

    name: str
    component: np.dtype
    scale: float
    offset: int = 0

    @property
    def largest(self):
        """Largest real or imaginary part that the format can hold, with full scale 1.

        None for floating point.
        """
        if self.component.kind == "f":
            return None
        return (int(np.iinfo(self.component).max) - self.offset) * self.scale

    def decode(self, stored, out):
        """Convert stored components to samples.

        Args:
            stored: C-contiguous (n, channels, 2) array of ``component``.
            out: sequence of contiguous complex64 arrays of n samples to fill, one for each channel.
        """
        direct = out[0].view(np.float32).reshape(stored.shape) if len(out) == 1 else None
        # A stored double may overflow to an infinite float, and any stored bytes may be NaN.
        with np.errstate(over="ignore", invalid="ignore"):
            parts = np.multiply(stored, np.float32(self.scale), out=direct, casting="unsafe",
                                dtype=np.float32)
            if self.offset:
                parts -= np.float32(self.offset * self.scale)
        if direct is None:
            for channel, samples in enumerate(out):
                samples[...] = parts.view(np.complex64)[:, channel, 0]

    def encode(self, samples, out):
        """Convert samples to stored components in an existing array.

        Args:
            samples: sequence of contiguous complex64 arrays of n samples, one for each channel.
            out: C-contiguous (n, channels, 2) array of ``component``.

        Returns:
            Number of components that were clipped to the range of the type, or were NaN and became
            0.
        """
        if self.component == np.float32:
            whole = out.view(np.uint64)[..., 0]
            for channel, row in enumerate(samples):
                whole[:, channel] = row.view(np.uint64)    # one 8-byte copy for each sample
            return 0
        if self.component.kind == "f":
            for channel, row in enumerate(samples):
                out[:, channel] = row.view(np.float32).reshape(-1, 2)
            return 0
        if self.component.itemsize <= 2 and self.component.isnative:
            # This call releases Python's lock, so a receiver can run beside a recorder.
            return _core.quantise_samples(list(samples), out, factor=1 / self.scale,
                                          offset=self.offset)
        limits, clipped = np.iinfo(self.component), 0
        with np.errstate(invalid="ignore"):
            for channel, row in enumerate(samples):
                scaled = np.rint(row.view(np.float32).astype(float) / self.scale) + self.offset
                # A comparison with NaN is false, so this test also finds NaN.
                inside = (scaled >= limits.min) & (scaled <= limits.max)
                clipped += scaled.size - int(np.count_nonzero(inside))
                scaled[np.isnan(scaled)] = self.offset
                out[:, channel] = np.clip(scaled, limits.min, limits.max).reshape(-1, 2)
        return clipped


def _integers(name, component):
    component = np.dtype(component)
    half = 1 << 8 * component.itemsize - 1
    return Datatype(name, component, 1.0 / half, half if component.kind == "u" else 0)


_ALL = (Datatype("cf32_le", np.dtype("<f4"), 1.0), _integers("ci16_le", "<i2"),
        _integers("ci8", "i1"), _integers("cu8", "u1"), _integers("cu16_le", "<u2"),
        _integers("ci32_le", "<i4"), Datatype("cf64_le", np.dtype("<f8"), 1.0),
        _integers("ci16_be", ">i2"), _integers("cu16_be", ">u2"), _integers("ci32_be", ">i4"),
        Datatype("cf32_be", np.dtype(">f4"), 1.0), Datatype("cf64_be", np.dtype(">f8"), 1.0))
_BY_NAME = {datatype.name: datatype for datatype in _ALL}
# SigMF names of the sample formats.
DATATYPES = tuple(_BY_NAME)
# {name that other programs use in options and as file name extension: SigMF name}
ALIASES = {"cf32": "cf32_le", "ci16": "ci16_le", "cu16": "cu16_le", "ci32": "ci32_le",
           "cf64": "cf64_le", "fc32": "cf32_le", "cfile": "cf32_le", "fc64": "cf64_le",
           "cs8": "ci8", "sc8": "ci8", "cs16": "ci16_le", "sc16": "ci16_le", "cs32": "ci32_le",
           "sc32": "ci32_le", "complex64": "cf32_le", "complex128": "cf64_le"}


def get_datatype(name):
    """Return the ``Datatype`` with a name from DATATYPES or ALIASES.

    Raises:
        ValueError: the name is unknown; the message lists the allowed ones.
    """
    known = _BY_NAME.get(ALIASES.get(name, name)) if isinstance(name, str) else None
    if known is None:
        raise ValueError(f"datatype: got {shown(name)}, allowed are {', '.join(DATATYPES)}")
    return known
