# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""N-way and FPFSD with a-priori LLRs, and their log-sum LLRs."""

import numpy as np
import pytest
from gnuradio.mimopack import channel, constellation, detectors
from simulated import assert_close, problem, random_prior

NAMES = ["nway", "fpfsd"]
EXACT = {"maxlog": "mla", "logsum": "omap"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", EXACT)
def test_a_layer_is_exact_where_the_prior_knows_the_others(method, name):
    """The pass of a layer has all symbols of the layer, with the others as the prior has them.

    This holds however little the received vector tells, so slicing must take the prior into
    account.
    """
    for points, m in (("qpsk", 2), ("qam16", 4), ("wlan_qam64", 6)):
        y, h, noise_var, bits = problem(40, 2, 2, points, 0)
        size = {"num_tx": 2, "num_rx": 2, "constellation": points}
        for layer in range(2):
            prior = np.where(bits, 60, -60).astype(np.float32)
            own = slice(layer * m, (layer + 1) * m)
            prior[:, own] = random_prior(bits, 1)[:, own]
            expected = detectors.create(EXACT[method], backend="cpu", **size).detect(
                y, h, noise_var, prior)
            llr = detectors.create(
                name, backend="cpu", llr_method=method, llr_clip=None, **size).detect(
                y, h, noise_var, prior)
            assert_close(llr[:, own], expected[:, own])


@pytest.mark.parametrize("snr", [10, 25, 40])
@pytest.mark.parametrize("spread", [0, 0.1, 0.3, 1])
@pytest.mark.parametrize("points, vectors", [("qam256", 160), ("qam1024", 32)])
def test_two_layers_with_many_points_are_exact(points, vectors, spread, snr):
    """How many candidates are tried depends on how far the columns are from orthogonal."""
    _, random, noise_var, bits = problem(vectors, 2, 2, points, snr)
    h = (np.fft.fft(np.eye(2)) + spread * random).astype(np.complex64)
    x = constellation.of_layers(points, 2).modulate(bits)
    noise = channel.awgn(x.shape, noise_var, np.random.default_rng(1))
    y = (np.einsum("nij,nj->ni", h, x) + noise).astype(np.complex64)
    size = {"num_tx": 2, "num_rx": 2, "constellation": points, "backend": "cpu"}
    llr = detectors.NWay(num_passes=2, llr_clip=None, **size).detect(y, h, noise_var)
    assert_close(llr, detectors.MLA(**size).detect(y, h, noise_var))


@pytest.mark.parametrize("name", NAMES)
def test_log_sum_of_llrs_that_are_sure(name):
    """LLRs beyond 80 may be max-log, which is lower by at most ln(number of candidates)."""
    y, h, noise_var, bits = problem(200, 3, 3, "qam16", 15)
    prior = np.clip(random_prior(bits, 60), -100, 100)
    llr, expected = (detectors.create(name, num_tx=3, num_rx=3, backend=backend,
                                      llr_method="logsum", llr_clip=None)
                     .detect(y, h, noise_var, prior) for backend in ("cpu", "reference"))
    sure = np.abs(expected) > 80
    error = np.abs(llr - expected)
    assert sure.any() and error[sure].max() < np.log(48) and np.isfinite(llr).all()
    assert np.all(error <= np.where(sure, np.inf, 1e-3 * np.abs(expected) + 1e-2))


@pytest.mark.gpu
@pytest.mark.parametrize("points, size", [("qpsk", 2), ("qam16", 4), ("qam64", 3), ("qam16", 6)])
@pytest.mark.parametrize("name", NAMES)
def test_log_sum_on_a_gpu(name, points, size):
    y, h, noise_var, bits = problem(500, size, size, points, 10)
    for prior in (None, random_prior(bits)):
        llr, expected = (detectors.create(
            name, num_tx=size, num_rx=size, constellation=points, backend=backend,
            llr_method="logsum").detect(y, h, noise_var, prior) for backend in ("cuda", "cpu"))
        assert_close(llr, expected)
