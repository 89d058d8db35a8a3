# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate random bits and detection problems, and compare LLRs."""

import numpy as np
from gnuradio.mimopack import channel, constellation

PSK8 = (np.exp(2j * np.pi * np.arange(8) / 8), [3, 1, 0, 7, 5, 2, 6, 4])    # points, labels


def random_bits(n, length, seed=1):
    return np.random.default_rng(seed).integers(0, 2, (n, length), np.uint8)


def problem(n, num_tx, num_rx, name, snr_db, per_channel=1, seed=0):
    """Simulate i.i.d. Rayleigh fading at an SNR per receive antenna: (y, h, noise_var, bits)."""
    rng = np.random.default_rng(seed)
    points = constellation.of_layers(name, num_tx)
    noise_var = num_tx * 10 ** (-snr_db / 10)
    h = channel.flat_rayleigh(n // per_channel, num_rx, num_tx, rng)
    bits = rng.integers(0, 2, (n, constellation.bits_per_vector(name, num_tx)), np.uint8)
    x = points.modulate(bits)
    y = np.einsum("nij,nj->ni", np.repeat(h, per_channel, axis=0), x)
    y = (y + channel.awgn(y.shape, noise_var, rng)).astype(np.complex64)
    return y, h, noise_var, bits


def coloured(y, noise_var, seed=2):
    """Add an interferer to received vectors: (y, covariance of noise and interference)."""
    rng = np.random.default_rng(seed)
    response = channel.awgn(y.shape[1], 10.0, rng)
    covariance = noise_var * (np.eye(len(response)) + np.outer(response, response.conj()))
    return (y + channel.awgn((len(y), 1), noise_var, rng) * response,
            covariance.astype(np.complex64))


def random_prior(bits, spread=4, seed=5):
    """Draw a-priori LLRs for these bits, with mean 0 and this standard deviation."""
    return np.random.default_rng(seed).normal(0, spread, bits.shape).astype(np.float32)


def assert_close(llr, expected, tolerance=1e-3):
    """Assert that LLRs agree within ``tolerance`` of each vector's largest LLR."""
    scale = np.max(np.abs(expected), axis=1)
    error = np.max(np.abs(llr - expected), axis=1)
    assert np.all(error <= tolerance * scale + 1e-6), np.max(error / (scale + 1e-30))


def calibrated(n, mean=4.0, seed=1):
    """Simulate BPSK in Gaussian noise: (LLRs, bits). The LLRs are calibrated by Bayes' rule."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, n, np.uint8)
    llr = (2.0 * bits - 1) * mean + rng.normal(0, np.sqrt(2 * mean), n)
    return llr, bits
