# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate received codewords of the convolutional code, and what the Viterbi decoder must find."""

import numpy as np
from gnuradio.mimopack import coding, reference
from gnuradio.mimopack.coding.convolutional import GENERATORS, LARGEST_MEAN, PUNCTURING, TAIL

RNG = np.random.default_rng
# Largest integer after rounding: lib/codes/decoders.h
LARGEST = {"1/2": 21, "2/3": 31, "3/4": 36, "5/6": 42}
# Noise deviation at which about one bit in a hundred is wrong.
DEVIATION = {"1/2": 0.85, "2/3": 0.67, "3/4": 0.59, "5/6": 0.53}


def transmitted(size, rate, n, deviation=None, seed=0, prior=0.0):
    """Simulate BPSK over AWGN: (bits, codewords, LLRs, a-priori LLRs of the information bits)."""
    rng = RNG(seed)
    bits = rng.integers(0, 2, (n, size), np.uint8)
    words = coding.ConvolutionalEncoder(size, rate).encode(bits)
    noise_var = (DEVIATION[rate] if deviation is None else deviation) ** 2
    llr = 2 / noise_var * (2.0 * words - 1 + rng.normal(0, noise_var**0.5, words.shape))
    llr[:, :size] = rng.normal(0, 1, bits.shape) * prior
    return bits, words, llr.astype(np.float32)


def metric(llr, code, bits):
    """Return the sum of the LLRs of the ones that are sent for bits."""
    coded = code.encode(np.append(bits, np.zeros(TAIL, np.uint8)))
    return np.sum(np.asarray(llr, float)[coded == 1])


def exact(llr, rate):
    """Return the reference's bits for one block, and their metric."""
    bits, best = reference.viterbi(llr[None], PUNCTURING[rate], GENERATORS)
    return bits[0], best[0]


def quantised(llr, rate):
    """Return a block's LLRs rounded to integers."""
    size = np.abs(llr[np.isfinite(llr) & (llr != 0)])
    scale = np.float32(LARGEST[rate] / 2 / min(size.mean(dtype=float), LARGEST_MEAN))
    scaled = np.nan_to_num(llr.astype(np.float32) * scale, nan=0.0)
    return np.clip(np.rint(scaled), -LARGEST[rate], LARGEST[rate])
