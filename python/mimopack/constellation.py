# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Constellations with unit mean energy; the index of a point is its label, MSB first."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .checks import shown

_QAM_BITS = {"qpsk": 2, "qam16": 4, "qam64": 6, "qam256": 8, "qam1024": 10,
             "qam4096": 12}
# Names that ``get`` takes.
BUILT_IN = ("bpsk", *_QAM_BITS, "wlan_bpsk", *("wlan_" + name for name in _QAM_BITS))

ALLOWED = (f"{', '.join(BUILT_IN)}, points (complex numbers), (points, labels) or a "
           "digital.constellation object")


@dataclass(frozen=True)
class Grid:
    """Points on a grid with Gray labels on each axis, for detectors that slice per axis.

    A point is ``turn * scale * ((2 k_re - (sides[0] - 1)) + 1j (2 k_im - (sides[1] - 1)))``, where
    k_re is 0..sides[0]-1 and k_im is 0..sides[1]-1.

    Attributes:
        sides: number of levels of the two axes: (sqrt(M), sqrt(M)), or (2, 1) for BPSK.
        scale: half the distance between neighbouring levels.
        turn: complex number of magnitude 1 that turns the axes; 1 for QAM.
        bits: a tuple (axis, place, inverted) for each label bit, MSB first. The label bit is bit
            ``place`` (0 = most significant) of the binary reflected Gray code of k_re (axis 0) or
            k_im (axis 1), inverted if ``inverted`` is 1.
    """

    sides: tuple
    scale: float
    turn: complex
    bits: tuple

    @property
    def side(self):
        """The number of levels of the first axis: the larger one."""
        return self.sides[0]

    @property
    def levels(self):
        """The levels of the two axes, a pair of arrays."""
        return tuple(self.scale * (2 * np.arange(side) - (side - 1)) for side in self.sides)


class Constellation:
    """M points with unit mean energy; ``points[label]`` carries the bits of label, MSB first.

    Args:
        points: M complex numbers, M = 2, 4, ... 1024 or 4096, with E|x|^2 = 1 (within 1e-3).
        labels: permutation of 0..M-1; labels[i] is the label of points[i]. Default 0..M-1.
        name: name for messages.

    Attributes:
        points: (M,) complex128, read-only, in the order of their labels.
        name: see above.
        size: M.
        bits_per_symbol: m = log2(M).

    Raises:
        ValueError: points or labels are invalid.
    """

    def __init__(self, points, labels=None, name="custom"):
        try:
            if np.ndim(points) == 0:
                raise TypeError
            points = np.asarray(points, dtype=np.complex128).ravel()
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"constellation: got {shown(points)}, allowed are {ALLOWED}") from None
        size = len(points)
        if size not in [2**m for m in (*range(1, 11), 12)]:
            raise ValueError(
                f"constellation: got {size} points, allowed are 2, 4, 8, ... 1024 and 4096")
        if not np.all(np.isfinite(points)):
            raise ValueError("constellation: points must be finite")
        if len(np.unique(points)) != size:
            raise ValueError("constellation: two points are equal, all must differ")
        energy = np.mean(np.abs(points) ** 2)
        if abs(energy - 1) > 1e-3:
            raise ValueError(f"constellation: mean energy is {energy:.4g}, must be 1: "
                             "scale the points (and H accordingly)")
        labels = np.arange(size) if labels is None else np.asarray(labels)
        if (labels.shape != (size,) or labels.dtype.kind not in "iu"
                or not np.array_equal(np.sort(labels), np.arange(size))):
            raise ValueError(f"constellation: labels must be a permutation of 0..{size - 1}, "
                             "one for each point")
        self.points = np.empty(size, np.complex128)
        self.points[labels] = points
        self.points.setflags(write=False)
        self.name = name
        self.size = size
        self.bits_per_symbol = size.bit_length() - 1

    def __repr__(self):
        return f"Constellation({self.name!r}, {self.size} points)"

    @cached_property
    def bits(self):
        """The bits of each point's label, MSB first: (M, m) uint8."""
        shifts = np.arange(self.bits_per_symbol - 1, -1, -1)
        return ((np.arange(self.size)[:, None] >> shifts) & 1).astype(np.uint8)

    def modulate(self, bits):
        """Map bits (..., k*m), MSB first, to complex64 points (..., k).

        Raises:
            ValueError: the last axis is not a multiple of m, or a value is not 0 or 1.
        """
        bits = np.asarray(bits)
        m = self.bits_per_symbol
        if bits.shape[-1] % m:
            raise ValueError(
                f"bits: got {bits.shape[-1]} in the last axis, must be a multiple of {m}")
        if ((bits != 0) & (bits != 1)).any():
            raise ValueError("bits: got values other than 0 and 1")
        groups = bits.reshape(*bits.shape[:-1], bits.shape[-1] // m, m).astype(np.int32)
        labels = groups[..., 0]
        for bit in range(1, m):
            labels = labels << 1 | groups[..., bit]
        return self.points.astype(np.complex64)[labels]

    @cached_property
    def grid(self):
        """``Grid`` description, or None if this is neither square QAM with Gray labels nor BPSK."""
        if self.size == 2:
            zero, one = self.points
            if abs(zero + one) > 0.02:
                return None
            return Grid((2, 1), float(abs(one)), complex(one / abs(one)), ((0, 0, 0),))
        side = round(np.sqrt(self.size))
        if side * side != self.size:
            return None
        scale = np.sqrt(1.5 / (self.size - 1))
        levels = np.stack([self.points.real, self.points.imag]) / scale
        k = np.rint((levels + side - 1) / 2).astype(int)
        if np.max(np.abs(levels - (2 * k - (side - 1)))) > 0.02:
            return None
        gray = k ^ (k >> 1)
        width = side.bit_length() - 1
        codes = [(axis, g, gray[axis] >> (width - 1 - g) & 1)
                 for axis in range(2) for g in range(width)]
        places = []
        for label_bit in self.bits.T:
            match = [(axis, g, invert) for axis, g, code in codes for invert in (0, 1)
                     if np.array_equal(label_bit, code ^ invert)]
            if not match:
                return None
            places.append(match[0])
        return Grid((side, side), float(scale), 1.0, tuple(places))

    @property
    def square_qam(self):
        """``grid`` of a square QAM; None for any other constellation."""
        return self.grid if self.size > 2 else None


class Layers(tuple):
    """The constellations of layers that do not all have the same: one ``Constellation`` for each.

    Attributes:
        name: the names, separated by commas.
        size, bits_per_symbol: those of the largest constellation.
    """

    name = property(lambda self: ",".join(points.name for points in self))
    size = property(lambda self: max(points.size for points in self))
    bits_per_symbol = property(lambda self: self.size.bit_length() - 1)
    grid = property(lambda self: max((points.grid for points in self), key=lambda grid: grid.side))
    square_qam = grid

    def __repr__(self):
        return f"Layers({self.name!r})"

    def __reduce__(self):
        return Layers, (list(self),)

    def modulate(self, bits):
        """Map the bits of vectors (..., all bits of a vector) to complex64 points (..., nt)."""
        bits = np.asarray(bits)
        ends = np.cumsum([points.bits_per_symbol for points in self])
        if bits.shape[-1] != ends[-1]:
            raise ValueError(f"bits: got {bits.shape[-1]} in the last axis, must be {ends[-1]}")
        return np.concatenate([points.modulate(part) for points, part in zip(
            self, np.split(bits, ends[:-1], axis=-1), strict=True)], axis=-1)


def of_layers(spec, num_tx):
    """Make the constellation of all layers, or ``Layers`` if they differ.

    Args:
        spec: as for ``get``; or a list with a name, an object or a ``Constellation`` for each of
            the num_tx layers; or their names in one string, separated by commas.

    Raises:
        ValueError: spec is none of these, or constellations that differ are not all square QAM with
            Gray labels on each axis or BPSK.
    """
    if isinstance(spec, str) and "," in spec:
        spec = spec.split(",")
    if not isinstance(spec, (tuple, list)) or not all(
            isinstance(part, (str, Constellation)) or _is_gnuradio(part) for part in spec):
        return get(spec)
    layers = Layers(get(part.strip() if isinstance(part, str) else part) for part in spec)
    if len(layers) != num_tx:
        raise ValueError(f"constellation: got a list of {len(layers)}, must have {num_tx}, one "
                         "for each of the num_tx layers")
    first = layers[0]
    if all(np.array_equal(points.points, first.points) for points in layers):
        return first
    for points in layers:
        if points.grid is None:
            raise ValueError(f"constellation: got {points.name} in a list, allowed in a list are "
                             "square QAM with Gray labels on each axis and BPSK")
    return layers


def gray_qam(side):
    """Return the square QAM whose labels are the Gray codes of its real axis, then its imaginary.

    Levels per axis: side.
    """
    k = np.arange(side)
    label, level = k ^ (k >> 1), 2 * k - (side - 1)
    points = np.empty(side * side, complex)
    points[label[:, None] * side + label] = level[:, None] + 1j * level
    return Constellation(points / np.sqrt(np.mean(np.abs(points) ** 2)), name=f"gray{side * side}")


def bits_per_vector(spec, num_tx):
    """Return the number of bits of a vector: the sum of the layers' bits; see ``of_layers``."""
    return sum(points.bits_per_symbol for points in each_layer(of_layers(spec, num_tx), num_tx))


def each_layer(constellation, num_tx):
    """Return a tuple with the constellation of each layer."""
    return tuple(constellation) if isinstance(constellation, Layers) else (constellation,) * num_tx


def _pam(bits):
    """Map bits (..., w) to levels by IEEE 802.11-2020 §17.3.5.8.

    The bits are the binary reflected Gray code of the level, from the lowest level up. With all
    bits inverted, this is the mapping of 3GPP TS 38.211 §5.1:
    (1-2b0)(2^(w-1) - (1-2b1)(2^(w-2) - ...)).
    """
    binary = np.bitwise_xor.accumulate(bits.astype(int), axis=-1)
    width = bits.shape[-1]
    return 2.0 * (binary @ (1 << np.arange(width - 1, -1, -1))) - (2**width - 1)


def _built_in(name):
    wlan = name.startswith("wlan_")
    plain = name.removeprefix("wlan_")
    if plain == "bpsk":
        return np.array([-1, 1], complex) if wlan else np.array([1 + 1j, -1 - 1j]) / np.sqrt(2)
    m = _QAM_BITS[plain]
    bits = (np.arange(2**m)[:, None] >> np.arange(m - 1, -1, -1)) & 1
    if wlan:
        points = _pam(bits[:, :m // 2]) + 1j * _pam(bits[:, m // 2:])
    else:
        points = _pam(1 - bits[:, 0::2]) + 1j * _pam(1 - bits[:, 1::2])
    return points / np.sqrt(np.mean(np.abs(points) ** 2))


def get(spec):
    """Make a ``Constellation`` from a name, a GNU Radio constellation object or points.

    Args:
        spec: one of:

            - a name from ``BUILT_IN``: "bpsk", "qpsk", "qam16", ... "qam4096" have the Gray mapping
              of 3GPP TS 38.211; with the prefix "wlan_" they have the mapping of IEEE 802.11;
            - a ``digital.constellation`` object with one complex dimension; its points are scaled
              to unit energy, and its pre-differential code is applied if it has one;
            - points, whose index is their label;
            - a pair (points, labels);
            - a ``Constellation``, which is returned unchanged.

    Returns:
        :class:`Constellation`

    Raises:
        ValueError: spec is none of these.
    """
    if isinstance(spec, Constellation):
        return spec
    if isinstance(spec, str):
        if spec not in BUILT_IN:
            raise ValueError(f"constellation: got {shown(spec)}, allowed are {ALLOWED}")
        return Constellation(_built_in(spec), name=spec)
    if _is_gnuradio(spec):
        return _from_gnuradio(spec)
    if isinstance(spec, (tuple, list)) and len(spec) == 2 and np.ndim(spec[0]) == 1:
        return Constellation(spec[0], labels=spec[1])
    return Constellation(spec)


def _is_gnuradio(spec):
    base = getattr(spec, "base", None)
    return hasattr(spec, "pre_diff_code") or (callable(base) and hasattr(base(), "pre_diff_code"))


def _from_gnuradio(spec):
    if spec.dimensionality() != 1:
        raise ValueError(f"constellation: got a digital.constellation of dimension "
                         f"{spec.dimensionality()}, must be 1")
    points = np.array(spec.points(), complex)
    points /= np.sqrt(np.mean(np.abs(points) ** 2))
    # The pre-differential code maps a label to the index of the point that carries it.
    code = list(spec.pre_diff_code()) if spec.apply_pre_diff_code() else []
    labels = np.argsort(code) if code else None
    return Constellation(points, labels, name=type(spec).__name__)
