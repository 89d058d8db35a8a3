# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codewords in detection problems, and an iterative receiver for them."""

import numpy as np
from gnuradio.mimopack import channel, coding, constellation, detectors, iterative
from gnuradio.mimopack.coding import ldpc

NAME = "wifi:648:1/2"
CODE = coding.get(NAME)
MATRIX = ldpc.get(NAME)
INTERLEAVER = coding.RandomInterleaver(648, 3)
POINTS = constellation.get("qam16")


def transmitted(n, snr_db, num_tx=4, seed=0, per_channel=1, interleaver=INTERLEAVER):
    """Simulate n codewords over i.i.d. Rayleigh fading: (bits, words, y, h, noise_var)."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (n, CODE.num_info), np.uint8)
    words = CODE.encode(bits)
    layout = iterative.CodewordLayout(648, 4 * num_tx, interleaver)
    x = POINTS.modulate(layout.spread(words))
    noise_var = num_tx * 10 ** (-snr_db / 10)
    h = channel.flat_rayleigh(-(-len(x) // per_channel), num_tx, num_tx, rng)
    y = np.einsum("nij,nj->ni", np.repeat(h, per_channel, axis=0)[:len(x)], x)
    return bits, words, (y + channel.awgn(y.shape, noise_var, rng)).astype(np.complex64), h, \
        noise_var


def covariances(count, noise_var, num_rx=4):
    """Draw covariance matrices of the noise, of about this power."""
    a = np.random.default_rng(1).normal(size=(count, num_rx, 2 * num_rx, 2)) @ [1, 1j]
    return (a @ a.conj().swapaxes(1, 2) * noise_var / (4 * num_rx)).astype(np.complex64)


def receiver(name="mmsepic", iterations=4, num_tx=4, decoder=None, interleaver=INTERLEAVER,
             early_stop=True, feedback_scale=0.6, **parameters):
    detector = detectors.create(name, num_tx=num_tx, num_rx=num_tx, **parameters,
                                extrinsic=detectors.REGISTRY[name].SUPPORTS_PRIOR)
    return iterative.IterativeReceiver(detector, decoder or CODE.decoder(iterations=10),
                                       interleaver, iterations, early_stop, feedback_scale)
