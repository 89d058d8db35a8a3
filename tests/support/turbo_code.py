# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated codewords of the turbo code."""

import numpy as np
from gnuradio.mimopack.coding import turbo

RNG = np.random.default_rng


def transmitted(size, n, ebn0_db, seed=0):
    """Return simulated (bits, codewords, LLRs) over AWGN with BPSK."""
    rng = RNG(seed)
    bits = rng.integers(0, 2, (n, size), np.uint8)
    words = turbo.TurboEncoder(size).encode(bits)
    noise_var = 3 / 2 * 10 ** (-ebn0_db / 10)
    y = 2.0 * words - 1 + rng.normal(0, np.sqrt(noise_var), words.shape)
    return bits, words, (2 * y / noise_var).astype(np.float32)


def of_sionna(size):
    """Return the position of each bit of a codeword in Sionna's codewords.

    TS 36.212 §5.1.3.2.2 distributes the tail bits x and parity bits z of both encoders over the
    streams.
    """
    x, z = np.arange(0, 12, 2) + 3 * size, np.arange(1, 12, 2) + 3 * size
    tails = ((x[0], z[1], x[3], z[4]), (z[0], x[2], z[3], x[5]), (x[1], z[2], x[4], z[5]))
    return np.concatenate([np.r_[stream:3 * size:3, tails[stream]] for stream in range(3)])
