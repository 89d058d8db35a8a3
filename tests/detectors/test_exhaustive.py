# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact max-log has one result: all methods of MLA give it for every problem."""

import numpy as np
import pytest
from gnuradio.mimopack import _core, constellation, detectors, reference
from simulated import assert_close, problem

PSK8 = (np.exp(2j * np.pi * np.arange(8) / 8), [3, 1, 0, 7, 5, 2, 6, 4])


def priors(bits, spread, seed=5):
    """Return zero-mean a-priori LLRs with this standard deviation; None for 0."""
    return np.random.default_rng(seed).normal(0, spread, bits.shape).astype(
        np.float32) if spread else None


@pytest.mark.parametrize("method", ["sliced", "plain", "table"])
@pytest.mark.parametrize("name, num_tx, n, spread", [
    ("bpsk", 4, 40, 0), ("qpsk", 3, 40, 60), ("wlan_qam16", 2, 40, 4), ("qam16", 3, 20, 4),
    ("qam64", 2, 20, 0), ("qam256", 1, 20, 4), (PSK8, 2, 40, 4)],
    ids=lambda value: "psk8" if isinstance(value, tuple) else str(value))
def test_methods_equal_the_reference(name, num_tx, n, method, spread):
    y, h, noise_var, bits = problem(n, num_tx, num_tx + 1, name, 12)
    prior = priors(bits, spread)
    expected, _ = reference.run(reference.mla, y, h, np.full(n, noise_var),
                                constellation.get(name), prior=prior)
    for isa in _core.available_isas():
        det = detectors.MLA(num_tx, num_tx + 1, name, method=method, isa=isa)
        assert_close(det.detect(y, h, noise_var, prior=prior), expected, 1e-4)
