# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SoftSphere gives the LLRs of exact max-log for every problem."""

import numpy as np
import pytest
from gnuradio.mimopack import constellation, detectors
from simulated import assert_close, problem


def priors(bits, spread, seed=5):
    """Return zero-mean a-priori LLRs with this standard deviation; None for 0."""
    return np.random.default_rng(seed).normal(0, spread, bits.shape).astype(
        np.float32) if spread else None


def both(name, num_tx, num_rx=None, **parameters):
    common = {"num_tx": num_tx, "num_rx": num_rx or num_tx, "constellation": name}
    return (detectors.SoftSphere(**common, **{"llr_clip": None} | parameters),
            detectors.MLA(**common))


def ill_conditioned(h, factor):
    """Return H with all columns equal to the first, except for a part of size ``factor``."""
    h = h.copy()
    h[:, :, 1:] = h[:, :, :1] + factor * h[:, :, 1:]
    return h


@pytest.mark.quick
@pytest.mark.parametrize("name, num_tx, n, spread", [
    ("qpsk", 4, 200, 60), ("qam16", 2, 200, 0), ("qam16", 4, 100, 4), ("qam64", 3, 40, 4),
    ("qam64", 2, 100, 60), ("qam256", 2, 30, 0)])
def test_softsphere_equals_mla(name, num_tx, n, spread):
    """From noise alone to almost no noise, with weak and dominant priors."""
    sphere, mla = both(name, num_tx)
    for snr in (0, 15, 22, 40):
        y, h, noise_var, bits = problem(n, num_tx, num_tx, name, snr, seed=snr)
        prior = priors(bits, spread)
        assert_close(sphere.detect(y, h, noise_var, prior=prior),
                     mla.detect(y, h, noise_var, prior=prior), 1e-4)
        assert sphere.erasures == 0


@pytest.mark.parametrize("name, num_tx, snr, n", [
    ("qam16", 4, 20, 3000), ("qam64", 4, 25, 20), ("qam16", 5, 20, 100), ("qpsk", 8, 10, 100)])
def test_softsphere_equals_mla_where_it_searches(name, num_tx, snr, n):
    """Problems of a typical receiver, and more than four layers."""
    sphere, mla = both(name, num_tx, num_tx + num_tx % 2)
    y, h, noise_var, _ = problem(n, num_tx, num_tx + num_tx % 2, name, snr)
    assert_close(sphere.detect(y, h, noise_var), mla.detect(y, h, noise_var), 1e-4)


@pytest.mark.parametrize("spread", [0, 4])
@pytest.mark.parametrize("name, num_tx, n", [("qam16", 4, 200), ("qam64", 3, 60)])
def test_ill_conditioned_channels(name, num_tx, n, spread):
    sphere, mla = both(name, num_tx)
    for factor, tolerance in ((0.1, 1e-4), (1e-2, 1e-3), (1e-3, 1e-2)):
        y, h, noise_var, bits = problem(n, num_tx, num_tx, name, 20)
        bad = ill_conditioned(h, factor)
        y = y + np.einsum("nij,nj->ni", bad - h, constellation.get(name).modulate(bits))
        prior = priors(bits, spread)
        # In float32 the QR decompositions of different column orders differ by the small part of H
        assert_close(sphere.detect(y.astype(np.complex64), bad, noise_var, prior=prior),
                     mla.detect(y.astype(np.complex64), bad, noise_var, prior=prior), tolerance)


@pytest.mark.parametrize("name, num_tx, llr_clip, spread", [
    ("qpsk", 4, 0.5, 60), ("qam16", 4, 8.0, 4), ("qam64", 3, 100.0, 4)])
def test_clipping(name, num_tx, llr_clip, spread):
    """The result is the exact LLR with a limited distance from the prior."""
    sphere, mla = both(name, num_tx, llr_clip=llr_clip)
    for snr in (5, 25):
        y, h, noise_var, bits = problem(100, num_tx, num_tx, name, snr)
        prior = priors(bits, spread)
        known = 0 if prior is None else prior
        exact = mla.detect(y, h, noise_var, prior=prior)
        expected = known + np.clip(exact - known, -llr_clip, llr_clip)
        assert np.any(np.abs(exact - known) > llr_clip) or llr_clip == 100
        error = np.max(np.abs(sphere.detect(y, h, noise_var, prior=prior) - expected), axis=1)
        assert np.all(error <= 1e-4 * np.max(np.abs(exact), axis=1) + 1e-5)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_the_limit_of_llrs(backend):
    """10 by default; None and infinity are the same."""
    y, h, noise_var, _ = problem(20, 2, 2, "qam16", 30)
    found = [detectors.SoftSphere(2, 2, backend=backend, **own).detect(y, h, noise_var)
             for own in ({}, {"llr_clip": 10.0}, {"llr_clip": np.inf}, {"llr_clip": None})]
    assert np.abs(found[3]).max() > 10 == np.abs(found[0]).max()
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[2], found[3])


@pytest.mark.parametrize("assumed", [1e-3, 1e-12])
def test_far_more_noise_than_assumed(assumed):
    """All metrics are then far above the limit of LLRs, which is less than their last digit."""
    y, h, _, bits = problem(40, 4, 4, "qam16", 15, 1)
    found, exact = (detectors.SoftSphere(4, 4, "qam16", backend=backend).detect(y, h, assumed)
                    for backend in ("cpu", "reference"))
    at_limit = np.abs(exact) == 10
    assert np.mean(at_limit) > 0.98
    np.testing.assert_allclose(found[at_limit], exact[at_limit], rtol=1e-5)
