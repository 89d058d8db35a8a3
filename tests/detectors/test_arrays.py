# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors for many antennas: the CPU's forms for sizes known when running."""

import numpy as np
import pytest
from gnuradio.mimopack import detectors
from simulated import assert_close, problem, random_prior


def pair(name, num_tx, num_rx):
    return [detectors.create(name, num_tx=num_tx, num_rx=num_rx, backend=backend)
            for backend in ("cpu", "reference")]


@pytest.mark.parametrize("name", [
    "zf", "mmse", "mmsepic", "ep", "nway", "nway:num_passes=2,llr_method=logsum", "fpfsd",
    "kbest:k=12", "hfsd:levels=1", "sfsd:levels=1"])
def test_nearly_dependent_columns_among_others(name):
    """One matrix of a group makes all of them take Gram-Schmidt; no other LLR is lost."""
    y, h, noise_var, _ = problem(32, 8, 32, "qam16", 20)
    h[5, :, 3] = h[5, :, 2] + 1e-3 * h[5, :, 3]
    h[6, :, 1] = h[6, :, 0]
    h[7] = 0
    cpu, reference = pair(name, 8, 32)
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
    cpu, reference = pair(name, 12, 14)
    assert_close(cpu.detect(y, h, noise), reference.detect(y, h, noise))


def test_known_bits_after_unknown_ones():
    """The filter without known bits does not serve a call with a-priori LLRs."""
    y, h, noise_var, bits = problem(28, 12, 16, "qam16", 8, 7)
    prior = random_prior(bits, 3)
    cpu, reference = pair("mmsepic:num_iterations=2", 12, 16)
    for known in (None, prior, None):
        assert_close(cpu.detect(y, h, noise_var, known), reference.detect(y, h, noise_var, known))
