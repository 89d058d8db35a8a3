# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SoftSphere gives the LLRs of exact max-log for every problem."""

import numpy as np
import pytest
from gnuradio.mimopack import constellation, detectors
from simulated import assert_close, problem, random_prior


def both(name, num_tx, num_rx=None, **parameters):
    common = {"num_tx": num_tx, "num_rx": num_rx or num_tx, "constellation": name}
    return (detectors.SoftSphere(**common, **{"llr_clip": None} | parameters),
            detectors.MLA(**common))


def ill_conditioned(h, factor):
    """Return H with all columns equal to the first, except for a part of size ``factor``."""
    h = h.copy()
    h[:, :, 1:] = h[:, :, :1] + factor * h[:, :, 1:]
    return h


ANY_SNR = (0, 15, 22, 40)    # from noise alone to almost no noise


@pytest.mark.quick
@pytest.mark.parametrize("name, num_tx, num_rx, n, spread, snrs", [
    ("qpsk", 4, 4, 200, 60, ANY_SNR), ("qam16", 2, 2, 200, 0, ANY_SNR),
    ("qam16", 4, 4, 100, 4, ANY_SNR), ("qam64", 3, 3, 40, 4, ANY_SNR),
    ("qam64", 2, 2, 100, 60, ANY_SNR), ("qam256", 2, 2, 30, 0, ANY_SNR),
    ("qam16", 4, 4, 3000, 0, [20]), ("qam64", 4, 4, 20, 0, [25]), ("qam16", 5, 6, 100, 0, [20]),
    ("qpsk", 8, 8, 100, 0, [10]), ("qpsk", 8, 64, 40, 0, [0]), ("qam64", 4, 16, 40, 0, [0])])
def test_softsphere_equals_mla(name, num_tx, num_rx, n, spread, snrs):
    """With weak and dominant priors, and where it searches in place of MLA's method."""
    sphere, mla = both(name, num_tx, num_rx)
    for snr in snrs:
        y, h, noise_var, bits = problem(n, num_tx, num_rx, name, snr, seed=snr)
        prior = random_prior(bits, spread) if spread else None
        assert_close(sphere.detect(y, h, noise_var, prior=prior),
                     mla.detect(y, h, noise_var, prior=prior), 1e-4)
        assert sphere.erasures == 0


@pytest.mark.parametrize("spread", [0, 4])
@pytest.mark.parametrize("name, num_tx, n", [("qam16", 4, 200), ("qam64", 3, 60)])
def test_ill_conditioned_channels(name, num_tx, n, spread):
    sphere, mla = both(name, num_tx)
    for factor, tolerance in ((0.1, 1e-4), (1e-2, 1e-3), (1e-3, 1e-2)):
        y, h, noise_var, bits = problem(n, num_tx, num_tx, name, 20)
        bad = ill_conditioned(h, factor)
        y = y + np.einsum("nij,nj->ni", bad - h, constellation.get(name).modulate(bits))
        prior = random_prior(bits, spread) if spread else None
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
        prior = random_prior(bits, spread)
        exact = mla.detect(y, h, noise_var, prior=prior)
        expected = prior + np.clip(exact - prior, -llr_clip, llr_clip)
        assert np.any(np.abs(exact - prior) > llr_clip) or llr_clip == 100
        error = np.max(np.abs(sphere.detect(y, h, noise_var, prior=prior) - expected), axis=1)
        assert np.all(error <= 1e-4 * np.max(np.abs(exact), axis=1) + 1e-5)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_the_limit_of_llrs(backend):
    """10 by default; None and infinity are the same."""
    y, h, noise_var, _ = problem(20, 2, 2, "qam16", 30)
    llrs = [detectors.SoftSphere(2, 2, backend=backend, **own).detect(y, h, noise_var)
            for own in ({}, {"llr_clip": 10.0}, {"llr_clip": np.inf}, {"llr_clip": None})]
    assert np.abs(llrs[3]).max() > 10 == np.abs(llrs[0]).max()
    np.testing.assert_array_equal(llrs[0], llrs[1])
    np.testing.assert_array_equal(llrs[2], llrs[3])


@pytest.mark.parametrize("assumed", [1e-3, 1e-12])
def test_far_more_noise_than_assumed(assumed):
    """All metrics are then far above the limit of LLRs, which is less than their last digit."""
    y, h, _, bits = problem(40, 4, 4, "qam16", 15, 1)
    llr, exact = (detectors.SoftSphere(4, 4, "qam16", backend=backend).detect(y, h, assumed)
                  for backend in ("cpu", "reference"))
    at_limit = np.abs(exact) == 10
    assert np.mean(at_limit) > 0.98
    np.testing.assert_allclose(llr[at_limit], exact[at_limit], rtol=1e-5)


def test_budget():
    """LLRs come from N-way's candidates and those found; they end at the exact ones."""
    n = 300
    y, h, noise_var, _ = problem(n, 4, 4, "qam16", 10)
    exact = detectors.SoftSphere()
    wanted = exact.detect(y, h, noise_var)
    assert exact.truncated == 0
    errors, truncated = [], []
    for max_nodes in (1, 10, 40, 80, 160, 2**24):
        det = detectors.SoftSphere(max_nodes=max_nodes)
        errors.append(np.abs(det.detect(y, h, noise_var) - wanted).mean())
        truncated.append(det.truncated)
        assert det.erasures == 0
    assert np.all(np.diff(errors) < 0) and errors[0] < 0.4 and errors[-1] == 0
    assert np.all(np.diff(truncated) <= 0) and truncated[0] == n and truncated[-1] == 0


def test_budget_with_priors():
    y, h, noise_var, bits = problem(60, 3, 4, "qam64", 18)
    prior = random_prior(bits, 4)
    exact = detectors.SoftSphere(3, 4, "qam64").detect(y, h, noise_var, prior)
    errors = []
    for max_nodes in (1, 10, 2**24):
        det = detectors.SoftSphere(3, 4, "qam64", max_nodes=max_nodes)
        errors.append(np.abs(det.detect(y, h, noise_var, prior) - exact).mean())
    assert errors[0] > errors[1] > errors[2] == 0
    assert det.truncated == 0


def test_a_budget_holds_where_a_search_would_take_hours():
    y, h, noise_var, _ = problem(50, 16, 16, "qam16", 5)
    y[3] = np.nan
    det = detectors.SoftSphere(16, 16, max_nodes=1000)
    llr = det.detect(y, h, noise_var)
    assert det.truncated == 49 and det.erasures == 1
    assert not llr[3].any() and np.all(np.isfinite(llr)) and np.abs(llr).max() <= 10
