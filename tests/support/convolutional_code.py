# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Received codewords of the convolutional code."""

import numpy as np
from gnuradio.mimopack import coding

RNG = np.random.default_rng
# Noise at which about one bit in a hundred is wrong.
DEVIATION = {"1/2": 0.85, "2/3": 0.67, "3/4": 0.59, "5/6": 0.53}


def transmitted(size, rate, n, deviation=None, seed=0, prior=0.0):
    """Return simulated (bits, codewords, LLRs) over AWGN with BPSK.

    The a-priori LLRs of the information bits have the given deviation.
    """
    rng = RNG(seed)
    bits = rng.integers(0, 2, (n, size), np.uint8)
    words = coding.ConvolutionalEncoder(size, rate).encode(bits)
    noise_var = (DEVIATION[rate] if deviation is None else deviation) ** 2
    llr = 2 / noise_var * (2.0 * words - 1 + rng.normal(0, noise_var**0.5, words.shape))
    llr[:, :size] = rng.normal(0, 1, bits.shape) * prior
    return bits, words, llr.astype(np.float32)
