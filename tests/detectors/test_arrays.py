# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""ZF, MMSE, MMSE-PIC and EP for many antennas: the CPU's forms for sizes known when running."""

import numpy as np
import pytest
from gnuradio.mimopack import detectors
from simulated import assert_close, problem

NAMES = ("zf", "mmse", "mmsepic", "ep")


def pair(name, num_tx, num_rx, points, **own):
    return [detectors.create(name, num_tx=num_tx, num_rx=num_rx, constellation=points,
                             backend=backend, **own) for backend in ("cpu", "reference")]


@pytest.mark.parametrize("num_tx, num_rx, points, snr_db", [
    (9, 11, "qpsk", 10), (12, 12, "qam16", 20), (16, 16, "qam64", 30), (16, 64, "wlan_qam16", 5),
    (13, 26, "qam256", 25), (16, 128, "qam1024", 30), (12, 24, "wlan_qam1024", 35)])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("period", [1, 7])
def test_reference(name, num_tx, num_rx, points, snr_db, period):
    """Tall matrices take H^H H, others Gram-Schmidt; columns come in pairs and one by one."""
    y, h, noise_var, _ = problem(14, num_tx, num_rx, points, snr_db, period)
    cpu, reference = pair(name, num_tx, num_rx, points)
    assert_close(cpu.detect(y, h, noise_var), reference.detect(y, h, noise_var), 3e-3)


@pytest.mark.parametrize("name", NAMES)
def test_nearly_dependent_columns_among_others(name):
    """One matrix of a group makes all of them take Gram-Schmidt; no other LLR is lost."""
    y, h, noise_var, _ = problem(32, 8, 32, "qam16", 20)
    h[5, :, 3] = h[5, :, 2] + 1e-3 * h[5, :, 3]
    h[6, :, 1] = h[6, :, 0]
    h[7] = 0
    cpu, reference = pair(name, 8, 32, "qam16")
    llr = cpu.detect(y, h, noise_var)
    assert cpu.erasures == 2 and not llr[6:8].any()
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
