# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""MMSE-PIC and expectation propagation, in addition to test_every_detector.py."""

import numpy as np
import pytest
from gnuradio.mimopack import constellation, detectors
from simulated import assert_close, problem


@pytest.mark.parametrize("strength", [1, 10, 100, 1000])
@pytest.mark.parametrize("name, points, parameters", [
    ("mmsepic", "qpsk", {}), ("mmsepic", "qam64", {}), ("mmsepic", "qam16", {"num_iterations": 3}),
    ("mmsepic", "bpsk", {"num_iterations": 2}), ("mmsepic", "wlan_qam256", {}),
    ("ep", "qpsk", {}), ("ep", "qam64", {}), ("ep", "qam16", {"num_iterations": 2}),
    ("ep", "qam16", {"smoothing": 0.5, "initial_variance": 0.3})])
def test_priors_up_to_certainty(name, points, parameters, strength):
    """Priors up to `strength`, mostly right.

    The variances approach 0 and the extrinsic LLRs stay.
    """
    y, h, noise_var, bits = problem(30, 3, 3, points, 18)
    rng = np.random.default_rng(8)
    right = np.where(rng.random(bits.shape) < 0.95, 1, -0.02) * (2.0 * bits - 1)
    prior = (strength * right * rng.random(bits.shape)).astype(np.float32)
    llr, expected = (detectors.create(name, num_tx=3, num_rx=3, constellation=points,
                                      backend=backend, **parameters).detect(y, h, noise_var, prior)
                     for backend in ("cpu", "reference"))
    assert_close(llr - prior, expected - prior, 2e-3)


def test_perfect_priors_leave_no_interference():
    """If all other layers are known, a layer's extrinsic LLRs are those of that layer alone."""
    y, h, noise_var, bits = problem(200, 4, 4, "qam16", 12)
    for layer in range(4):
        own = slice(4 * layer, 4 * layer + 4)
        prior = 1000 * (2 * bits.astype(np.float32) - 1)
        prior[:, own] = 0
        others = np.delete(np.arange(4), layer)
        x = constellation.get("qam16").modulate(bits).astype(complex)
        alone = (y - np.einsum("nij,nj->ni", h[:, :, others], x[:, others])).astype(np.complex64)
        expected = detectors.MLA(1, 4, "qam16").detect(
            alone, np.ascontiguousarray(h[:, :, layer:layer + 1]), noise_var)
        for name in ("mmsepic", "ep"):
            det = detectors.create(name, extrinsic=True)
            assert_close(det.detect(y, h, noise_var, prior=prior)[:, own], expected)
