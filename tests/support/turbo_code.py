# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Received codewords of the turbo code."""

import numpy as np
from gnuradio.mimopack.coding import turbo

RNG = np.random.default_rng


def transmitted(size, n, ebn0_db, seed=0):
    """(bits, codewords, LLRs) over AWGN with BPSK; simulated."""
    rng = RNG(seed)
    bits = rng.integers(0, 2, (n, size), np.uint8)
    words = turbo.TurboEncoder(size).encode(bits)
    noise_var = 3 / 2 * 10 ** (-ebn0_db / 10)
    y = 2.0 * words - 1 + rng.normal(0, np.sqrt(noise_var), words.shape)
    return bits, words, (2 * y / noise_var).astype(np.float32)
