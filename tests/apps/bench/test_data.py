# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmarks' simulated vectors."""

import numpy as np
import pytest
from gnuradio.mimopack.apps.bench.data import Setting, Store, simulate
from gnuradio.mimopack.constellation import get


def test_simulated_data_follow_the_model():
    points = get("qam16")
    y, h, bits = simulate(14 * 200, 3, 4, points, 0.05, 14)
    x = points.modulate(bits)
    noise = y - np.einsum("nij,nj->ni", np.repeat(h, 14, axis=0), x)
    assert h.shape == (200, 4, 3) and y.dtype == h.dtype == np.complex64
    assert np.mean(np.abs(noise) ** 2) == pytest.approx(0.05, rel=0.05)
    assert np.mean(np.abs(h) ** 2) == pytest.approx(1, rel=0.1)
    setting = Setting(num_tx=3, num_rx=4, per_channel=14)
    data = Store(100).get(setting)
    assert setting.noise_var == pytest.approx(0.03) and data.vectors == 98
    assert data.y.shape == (98, 4) and data.h.shape == (7, 4, 3) and data.llr.shape == (98, 12)
