# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spatial correlation between antennas."""

import numpy as np
import pytest
from gnuradio.mimopack.channel import MIMOChannel, exponential_correlation, flat_rayleigh


@pytest.mark.parametrize(("rho_tx", "rho_rx"), [(0.0, 0.0), (0.7, 0.3)])
def test_correlation_is_kronecker_and_exponential(rho_tx, rho_rx):
    n = 60000
    h = flat_rayleigh(n, 2, 3, np.random.default_rng(5), rho_tx, rho_rx)
    vector = h.transpose(0, 2, 1).reshape(n, -1)  # columns of H one after another
    measured = vector.T @ vector.conj() / n
    expected = np.kron(exponential_correlation(3, rho_tx), exponential_correlation(2, rho_rx))
    assert measured == pytest.approx(expected, abs=0.02)


def test_waveform_channel_is_correlated_too():
    channel = MIMOChannel(2, 2, rho_tx=0.8, rho_rx=0.5, seed=6)
    products = []
    for _ in range(4000):
        h = channel.impulse_response()[..., 0]
        products.append([h[0, 0] * np.conj(h[0, 1]), h[0, 0] * np.conj(h[1, 0])])
        channel.renew()
    assert np.mean(products, axis=0) == pytest.approx([0.8, 0.5], abs=0.06)
