# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples for recordings, and their bytes."""

import numpy as np
from gnuradio.mimopack import recording
from gnuradio.mimopack.recording.packing import Packing


def random_samples(channels, n, seed=0):
    parts = np.random.default_rng(seed).uniform(-0.9, 0.9, (channels, n, 2))
    return parts.astype(np.float32).view(np.complex64)[..., 0]


def exact_samples(channels, n, datatype, seed=0):
    """Return random samples (channels, n) that the datatype stores exactly."""
    rng = np.random.default_rng(seed)
    largest = recording.get_datatype(datatype).largest
    if largest is not None:
        # float32 holds only the upper 24 of 32 bits.
        steps = min(round(1 / (1 - largest)), 1 << 23)
        parts = rng.integers(-steps, steps, (channels, n, 2)) / np.float32(steps)
        parts[0, 0] = (-1.0, 1 - 1 / steps)
    else:
        parts = rng.standard_normal((channels, n, 2))
    return parts.astype(np.float32).view(np.complex64)[..., 0]


def stored(samples, datatype):
    """Return (channels, n) samples as a file holds them: components (n, channels, 2)."""
    packing = Packing(len(samples), datatype, "interleaved")
    block = packing.empty(len(samples[0]))
    packing.pack(packing.check(samples), block)
    return block[0]
