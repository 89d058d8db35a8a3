# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""K-best and the trellis detector, in addition to test_every_detector.py."""

import numpy as np
import pytest
from gnuradio.mimopack import detectors
from simulated import PSK8, assert_close, problem, random_prior


@pytest.mark.quick
@pytest.mark.parametrize("name, parameters, num_tx, num_rx, points", [
    ("kbest", {"k": 256}, 2, 2, "qam16"), ("kbest", {"k": 100}, 3, 4, "qpsk"),
    ("kbest", {"k": 64}, 1, 3, "qam64"), ("kbest", {"k": 256}, 8, 8, "bpsk"),
    ("kbest", {"k": 64}, 2, 3, PSK8), ("trellis", {}, 1, 1, "qam64"), ("trellis", {}, 2, 2, "qpsk"),
    ("trellis", {}, 2, 4, "wlan_qam64"), ("trellis", {}, 2, 3, PSK8)])
def test_complete_lists_are_max_log(name, parameters, num_tx, num_rx, points):
    """K-best with k for all paths, and a trellis of two stages, which has all paths."""
    common = {"num_tx": num_tx, "num_rx": num_rx, "constellation": points}
    for snr in (0, 12, 30):
        y, h, noise_var, bits = problem(70, num_tx, num_rx, points, snr)
        for prior in (None, random_prior(bits)):
            assert_close(detectors.create(name, **common, **parameters).detect(
                             y, h, noise_var, prior=prior),
                         detectors.MLA(**common).detect(y, h, noise_var, prior=prior), 1e-4)


@pytest.mark.parametrize("k, points", [(5, "qam16"), (12, PSK8)])
def test_neighbours_change_nothing_even_where_metrics_tie(k, points):
    """y = 0 and orthogonal columns make all metrics equal; the other lanes are arbitrary."""
    y, h, noise_var, _ = problem(48, 3, 3, points, 15)
    y[::3] = 0
    h[::3] = np.eye(3)
    det = detectors.KBest(3, 3, points, k=k, threads=1)
    together = det.detect(y, h, noise_var)
    for i in range(12):
        np.testing.assert_array_equal(together[i:i + 1], det.detect(y[i:i + 1], h[i:i + 1],
                                                                    noise_var))


def test_kbest_clips_from_the_prior():
    """With one survivor, every bit lacks candidates of one value."""
    y, h, noise_var, bits = problem(50, 3, 3, "qam16", 25)
    prior = random_prior(bits, 2)
    for backend in ("cpu", "reference"):
        llr = detectors.KBest(3, 3, k=1, llr_clip=6, backend=backend).detect(
            y, h, noise_var, prior=prior)
        np.testing.assert_allclose(np.abs(llr - prior), 6, rtol=1e-5)
    assert detectors.KBest(2, 2, k=16).llr_clip == 8
    assert detectors.KBest(2, 2, k=256).llr_clip is None
