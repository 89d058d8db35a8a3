# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fading statistics compared with theory."""

import numpy as np
import pytest
from gnuradio.mimopack.channel import MIMOChannel


def bessel_j0(x):
    """Compute J0 as the mean of cos(x sin(theta)) over a period (DLMF 10.9.1).

    The mean of a periodic analytic function over equidistant angles converges exponentially.
    """
    theta = 2 * np.pi * np.arange(256) / 256
    return np.mean(np.cos(np.multiply.outer(x, np.sin(theta))), axis=-1)


def test_doppler_autocorrelation_is_bessel():
    doppler = 1000.0
    channel = MIMOChannel(4, 4, doppler=doppler, sample_rate=1e6, seed=7)
    lags = np.array([0, 100, 200, 383, 610, 900])  # samples of 1 us; J0 is 0 at 383
    correlation = np.zeros(len(lags), complex)
    realisations = 250
    for _ in range(realisations):
        h = np.stack([channel.impulse_response(lag / 1e6) for lag in lags])[..., 0]
        correlation += np.mean(h * h[0].conj(), axis=(1, 2))
        channel.renew()
    expected = bessel_j0(2 * np.pi * doppler * lags / 1e6)
    assert correlation / realisations == pytest.approx(expected, abs=0.05)


def test_doppler_channel_follows_its_gains():
    channel = MIMOChannel(1, 1, doppler=5000.0, sample_rate=1e6, seed=8)
    y = channel.apply(np.ones((1, 3000), np.complex64))[0]
    points = [0, 17, 1024, 2999]
    expected = [channel.impulse_response(n / 1e6)[0, 0, 0] for n in points]
    assert y[points] == pytest.approx(np.array(expected), abs=2e-3)
