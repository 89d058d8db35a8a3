# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""LDPC codes for the tests, and simulated codewords."""

import numpy as np
from gnuradio.mimopack.coding import ldpc

SMALL = ldpc.wifi(648, "1/2")
# (7, 4) Hamming code; in this order of checks no bit follows from a single check
HAMMING = ldpc.ParityChecks(3, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2],
                            [0, 2, 4, 6, 1, 2, 5, 6, 3, 4, 5, 6])


def transmitted(code, n, ebn0_db, seed=0):
    """Return simulated (bits, codewords, LLRs) over AWGN with BPSK."""
    rng = np.random.default_rng(seed)
    encoder = ldpc.LdpcEncoder(code)
    bits = rng.integers(0, 2, (n, encoder.num_info), np.uint8)
    words = encoder.encode(bits)
    noise_var = encoder.num_bits / encoder.num_info / 2 * 10 ** (-ebn0_db / 10)
    y = 2.0 * words - 1 + rng.normal(0, np.sqrt(noise_var), words.shape)
    return bits, words, (2 * y / noise_var).astype(np.float32)
