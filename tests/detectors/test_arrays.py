# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors for many antennas: the CPU's forms for sizes known when running."""

import numpy as np
import pytest
from gnuradio.mimopack import detectors
from rounding import assert_only_rounding
from simulated import assert_close, problem

NAMES = ("zf", "mmse", "mmsepic", "ep")
SEARCHES = (("nway", {}), ("nway", {"num_passes": 2, "llr_method": "logsum"}), ("fpfsd", {}),
            ("kbest", {"k": 12}), ("hfsd", {"levels": 1}), ("sfsd", {"levels": 1}))
every_search = pytest.mark.parametrize("name, own", SEARCHES)


def pair(name, num_tx, num_rx, points, **own):
    return [detectors.create(name, num_tx=num_tx, num_rx=num_rx, constellation=points,
                             backend=backend, **own) for backend in ("cpu", "reference")]


@pytest.mark.quick
@pytest.mark.parametrize("num_tx, num_rx, points, snr_db, period", [
    (9, 11, "qpsk", 10, 7), (12, 12, "qam16", 20, 1), (16, 64, "wlan_qam16", 5, 7),
    (13, 26, "qam256", 25, 1), (12, 24, "wlan_qam1024", 35, 7)])
@pytest.mark.parametrize("name", NAMES)
def test_reference(name, num_tx, num_rx, points, snr_db, period):
    """Tall matrices take H^H H, others Gram-Schmidt; columns come in pairs and one by one."""
    y, h, noise_var, _ = problem(14, num_tx, num_rx, points, snr_db, period)
    cpu, reference = pair(name, num_tx, num_rx, points)
    assert_close(cpu.detect(y, h, noise_var), reference.detect(y, h, noise_var), 3e-3)


@pytest.mark.quick
@pytest.mark.parametrize("num_tx, num_rx, points, snr_db, period", [
    (9, 17, "qpsk", 10, 1), (12, 12, "wlan_qam16", 20, 3), (5, 256, "qam64", 20, 3),
    (17, 18, "qpsk", 10, 1), (32, 40, "qam16", 25, 3)])
@every_search
def test_searches_equal_the_reference(name, own, num_tx, num_rx, points, snr_db, period):
    """From twice as many antennas as layers on, they search in R."""
    y, h, noise_var, bits = problem(6, num_tx, num_rx, points, snr_db, period)
    cpu, reference = pair(name, num_tx, num_rx, points, **own)
    arguments = {"y": y, "h": h, "noise_var": noise_var}
    if period > 1:
        prior = np.random.default_rng(2).normal(0, 1, bits.shape).astype(np.float32)
        arguments["prior"] = prior
    assert_only_rounding(cpu.detect(**arguments), reference.detect(**arguments), reference,
                         arguments, period)


@every_search
def test_searches_with_antennas_that_receive_nothing_more(name, own):
    """Rotate a square channel into the space of more antennas."""
    y, h, noise_var, _ = problem(30, 12, 12, "qam16", 22)
    rng = np.random.default_rng(4)
    q, _ = np.linalg.qr(rng.standard_normal((50, 12)) + 1j * rng.standard_normal((50, 12)))
    square, tall = (detectors.create(name, num_tx=12, num_rx=num_rx, backend="cpu", **own)
                    for num_rx in (12, 50))
    llr = tall.detect((y @ q.T).astype(np.complex64), (q @ h).astype(np.complex64), noise_var)
    assert_close(llr, square.detect(y, h, noise_var), 1e-3)


@pytest.mark.quick
@pytest.mark.parametrize("points, num_tx, num_rx", [("qpsk", 8, 64), ("qam16", 5, 128),
                                                    ("qam64", 4, 16)])
def test_softsphere_equals_mla(points, num_tx, num_rx):
    y, h, noise_var, _ = problem(40, num_tx, num_rx, points, 0)
    sphere = detectors.SoftSphere(num_tx, num_rx, points, backend="cpu", llr_clip=None)
    mla = detectors.MLA(num_tx, num_rx, points, backend="cpu")
    assert_close(sphere.detect(y, h, noise_var), mla.detect(y, h, noise_var), 1e-4)


@pytest.mark.parametrize("name, own", [*((name, {}) for name in NAMES), *SEARCHES])
def test_nearly_dependent_columns_among_others(name, own):
    """One matrix of a group makes all of them take Gram-Schmidt; no other LLR is lost."""
    y, h, noise_var, _ = problem(32, 8, 32, "qam16", 20)
    h[5, :, 3] = h[5, :, 2] + 1e-3 * h[5, :, 3]
    h[6, :, 1] = h[6, :, 0]
    h[7] = 0
    cpu, reference = pair(name, 8, 32, "qam16", **own)
    llr = cpu.detect(y, h, noise_var)
    erased = [6, 7] if cpu.NEEDS_RANK else []
    assert cpu.erasures == len(erased) and not llr[erased].any()
    kept = np.delete(np.arange(32), [6, 7])
    assert_close(llr[kept], reference.detect(y, h, noise_var)[kept], 1e-2)


@pytest.mark.parametrize("name", ["mmse", "mmsepic"])
def test_vectors_of_a_matrix_with_their_own_noise(name):
    """A decomposition serves only the vectors that have the same noise."""
    y, h, _, _ = problem(56, 12, 14, "qam16", 15, 7)
    noise = np.repeat([0.1, 0.3, 0.3, 2.0], 14).astype(np.float32)
    noise[::5] *= 3
    cpu, reference = pair(name, 12, 14, "qam16")
    assert_close(cpu.detect(y, h, noise), reference.detect(y, h, noise))


def test_known_bits_after_unknown_ones():
    """The filter without known bits does not serve a call with a-priori LLRs."""
    y, h, noise_var, bits = problem(28, 12, 16, "qam16", 8, 7)
    prior = np.random.default_rng(1).normal(0, 3, bits.shape).astype(np.float32)
    cpu, reference = pair("mmsepic", 12, 16, "qam16", num_iterations=2)
    for known in (None, prior, None):
        assert_close(cpu.detect(y, h, noise_var, known), reference.detect(y, h, noise_var, known))
