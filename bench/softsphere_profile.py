#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run exact `softsphere` on a GPU twice, for a profiler to look at the launches of the second.

    ncu --section SpeedOfLight --section Occupancy --section WarpStateStats -k regex:detect
        -s 2 -c 2 bench/softsphere_profile.py

The vectors are simulated: 2^14 with 6x6 antennas and 16-QAM, i.i.d. Rayleigh at 20 dB.
"""

import cupy
import numpy as np
from gnuradio.mimopack import channel, constellation, detectors

N, ANTENNAS, SNR_DB = 2**14, 6, 20


def main():
    rng = np.random.default_rng(1)
    noise_var = ANTENNAS * 10 ** (-SNR_DB / 10)
    bits = rng.integers(0, 2, (N, ANTENNAS * 4), np.uint8)
    h = channel.flat_rayleigh(N, ANTENNAS, ANTENNAS, rng)
    y = np.einsum("nij,nj->ni", h, constellation.get("qam16").modulate(bits))
    y = (y + channel.awgn(y.shape, noise_var, rng)).astype(np.complex64)
    detector = detectors.SoftSphere(ANTENNAS, ANTENNAS, "qam16", llr_clip=None, backend="cuda")
    y, h = cupy.asarray(y), cupy.asarray(h)
    for _ in range(2):
        detector.detect(y, h, noise_var)
    cupy.cuda.Device().synchronize()


if __name__ == "__main__":
    main()
