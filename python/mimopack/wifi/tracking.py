# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Phase and sampling clock over a frame, from subcarriers that are known."""

import numpy as np

from .. import _core


def sampling_offset(known, carriers, distance, fft_size):
    """Offset of the sampling clock of frames.

    A clock that is slower by epsilon makes a symbol come later by epsilon * distance, which turns
    subcarrier k by -2 pi k epsilon distance / fft_size. Pairs of subcarriers tell it free of the
    common phase; maximum a posteriori with a deviation of 25 ppm.

    Args:
        known: complex64 (n, symbols, k): received times the conjugate of what is expected, over
            the noise: mean and variance are both that subcarrier's SNR.
        carriers: int64 (k,) their numbers, ascending.
        distance: float64 (symbols,) samples from the middle of the training fields.
        fft_size: samples of a symbol without guard interval.

    Returns:
        float64 (n,): epsilon.
    """
    return _track(known, carriers, distance, fft_size, None, False)[0]


def track(known, carriers, distance, fft_size, before=None):
    """Sampling offsets and phases of frames.

    The phases of the symbols' sums are a line and a random walk seen in white noise, which is
    smoothed by the exponential kernel that its own wander asks for.

    Args:
        known, carriers, distance, fft_size: as for :func:`sampling_offset`.
        before: float64 (n,), sampling offsets that are taken out first; None for 0.

    Returns:
        (what sampling offset is left, float64 (n,); phases, float64 (n, symbols), radians).
    """
    return _track(known, carriers, distance, fft_size, before, True)


def _track(known, carriers, distance, fft_size, before, phases):
    if before is None:
        before = np.zeros(len(known))
    return _core.wifi.track(np.ascontiguousarray(known, np.complex64), k=np.asarray(carriers),
                            distance=distance, before=before, fft=fft_size, phases=phases)
