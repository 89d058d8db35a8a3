# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of frames, and spectra of FFT windows in them."""

from dataclasses import dataclass

import numpy as np

from .. import _core


@dataclass
class FrameSamples:
    """Samples of frames as received, and the corrections to apply to them.

    Attributes:
        samples: list of n complex64 arrays (num_rx, length), C-contiguous, one per frame. Several
            frames may share an array.
        first: int (n,), positions in the arrays to which the positions of windows are relative.
        cfo: float (n,), carrier frequency offsets in cycles per sample.
        direct: complex64 (n, num_rx), DC offsets; None estimates them from windows.
        white: complex64 (n, num_rx, num_rx), whitening matrices to multiply spectra with; None for
            no whitening.
    """

    samples: list
    first: np.ndarray
    cfo: np.ndarray
    direct: np.ndarray | None = None
    white: np.ndarray | None = None

    def spectra(self, starts, fft, bins):
        """Compute FFTs of windows.

        Args:
            starts: int (windows,), positions of the windows' first samples, relative to ``first``.
                Windows that reach beyond the samples are moved inside.
            fft: number of samples in a window.
            bins: int (K,), FFT bins to return.

        Returns:
            complex64 (n, num_rx, windows, K), not scaled by the FFT length. The spectra of a frame
            do not depend on the other frames.
        """
        direct = self.direct
        if direct is None:
            direct = _core.wifi.direct_current(self.samples, rows=len(self.samples[0]),
                                               cfo=self.cfo, fft=fft)
        return _core.wifi.spectra(
            self.samples, cfo=self.cfo, starts=np.asarray(self.first)[:, None] + starts, fft=fft,
            bins=bins, direct=direct, white=self.white)
