# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spectra of windows of frames' samples."""

from dataclasses import dataclass, replace

import numpy as np

from .. import _core


@dataclass(frozen=True)
class FrameSamples:
    """Samples of frames as received, and what is taken out of them.

    Attributes:
        samples: complex64 (n, num_rx, length), C-contiguous.
        cfo: float64 (n,), carrier offsets in cycles per sample.
        direct: complex64 (n, num_rx), direct current.
        origin: the first sample's place in the turn exp(-j 2 pi cfo place).
        white: complex64 (n, num_rx, num_rx), what spectra are multiplied with; None for nothing.
    """

    samples: np.ndarray
    cfo: np.ndarray
    direct: np.ndarray
    origin: int = 0
    white: np.ndarray | None = None

    def spectra(self, starts, fft, bins, scale=None):
        """FFTs of windows.

        Args:
            starts: int (n, windows), or (windows,) for all frames alike: first samples. Windows
                that reach beyond the samples are moved inside.
            fft: samples of a window.
            bins: int (K,), wanted ones.
            scale: float32 (n, num_rx), factors of the spectra; None for 1.

        Returns:
            complex64 (n, num_rx, windows, K), without scaling by the length. A frame's spectra do
            not depend on the others.
        """
        n, num_rx, length = self.samples.shape
        starts = np.clip(np.broadcast_to(starts, (n, np.shape(starts)[-1])), 0, length - fft)
        if scale is None:
            scale = np.ones((n, num_rx), np.float32)
        out = _core.wifi.spectra(
            self.samples, cfo=np.ascontiguousarray(self.cfo, float), origin=self.origin,
            starts=np.ascontiguousarray(starts, np.int64), fft=fft, bins=bins,
            scale=np.ascontiguousarray(scale, np.float32), direct=np.ascontiguousarray(self.direct))
        if self.white is not None:
            shape = out.shape
            out = (self.white @ out.reshape(*shape[:2], -1)).reshape(shape)
        return out

    def take(self, indices):
        """Samples of some frames."""
        white = None if self.white is None else self.white[indices]
        return replace(self, samples=self.samples[indices], cfo=self.cfo[indices],
                       direct=self.direct[indices], white=white)
