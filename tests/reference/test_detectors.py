# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""NumPy references of the tree, list and iterative detectors: oracles and known relations."""

import numpy as np
import pytest
from gnuradio.mimopack import constellation
from gnuradio.mimopack.reference import (
    fsd,
    kbest,
    mla,
    sic,
    sphere,
    tree,
    trellis,
)
from gnuradio.mimopack.reference.exhaustive import candidates
from gnuradio.mimopack.reference.nway import fpfsd, norm_order
from simulated import problem

pytestmark = pytest.mark.quick

def vectors(n, num_tx, name, snr, seed=0):
    """Yield (y, h, noise_var, bits) in double precision."""
    y, h, noise_var, bits = problem(n, num_tx, num_tx, name, snr, seed=seed)
    for i in range(n):
        yield y[i].astype(complex), h[i].astype(complex), noise_var, bits[i]


@pytest.mark.parametrize("with_prior", [False, True])
@pytest.mark.parametrize("detector, parameters", [
    (fsd.sfsd, {"levels": 3, "num_paths": 2}), (kbest, {"k": 64, "llr_clip": None})])
def test_complete_lists_are_max_log(detector, parameters, with_prior):
    points = constellation.get("qpsk")
    rng = np.random.default_rng(4)
    for y, h, noise_var, _ in vectors(20, 3, "qpsk", 8):
        prior = {"prior": rng.normal(0, 3, 6)} if with_prior else {}
        np.testing.assert_allclose(detector(y, h, noise_var, points, **parameters, **prior),
                                   mla(y, h, noise_var, points, **prior), atol=1e-9)


@pytest.mark.parametrize("detector, parameters", [
    (fsd.hfsd, {"levels": 1}), (fsd.sfsd, {"levels": 1, "num_paths": 4}), (fpfsd, {}),
    (kbest, {"k": 16, "llr_clip": 50.0}), (trellis, {}), (sic.bitflip, {}),
    (sic.zfsic, {})])
def test_one_layer_is_max_log(detector, parameters):
    """With one antenna every list is complete; hard detectors agree in sign."""
    points = constellation.get("qam16")
    hard = detector in (fsd.hfsd, sic.zfsic)
    for y, h, noise_var, _ in vectors(20, 1, "qam16", 12):
        expected = mla(y, h, noise_var, points)
        found = detector(y, h, noise_var, points, **parameters)
        if detector is sic.bitflip:    # one flip of each bit, not all symbols
            np.testing.assert_array_equal(found > 0, expected > 0)
        else:
            np.testing.assert_allclose(found, np.sign(expected) if hard else
                                       np.clip(expected, -50, 50) if "llr_clip" in parameters
                                       else expected, atol=1e-9)


def test_fsd_order_of_barbero_and_thompson():
    """With orthogonal columns of different norms, the expanded level takes the weakest layer."""
    h = np.diag([3.0, 1.0, 4.0, 2.0]).astype(complex)
    assert fsd.fsd_order(h, 1) == [3, 0, 2, 1]     # top: the weakest; below: strongest first
    assert fsd.fsd_order(h, 0) == [1, 3, 0, 2]
    assert fsd.fsd_order(h, 2)[-2:] == [3, 1]


def test_fpfsd_orders_are_those_of_table_1():
    """000 table 1: norm-based ordering {2, 4, 3, 1} and the four orderings derived from it."""
    h = np.diag([1.0, 4.0, 2.0, 3.0]).astype(complex)
    detection = [[layer + 1 for layer in norm_order(h, top)[::-1]] for top in range(4)]
    assert detection == [[1, 2, 4, 3], [2, 4, 3, 1], [3, 2, 4, 1], [4, 2, 3, 1]]


def test_bit_flipping_list():
    """The list has a branch per bit (002 fig. 6): 8 for QPSK and four layers."""
    points = constellation.get("qpsk")
    y, h, noise_var, _ = next(vectors(1, 4, "qpsk", 10))
    search = tree.Tree(y, h, noise_var, points, sic.sic_order(h, "none"))
    start = np.array([0b00, 0b01, 0b11, 0b10])
    paths = fsd.extension(search, start[None], 0)
    for branch, (level, bit) in zip(paths, [(i, k) for i in range(4) for k in (2, 1)],
                                    strict=True):
        assert np.array_equal(branch[level + 1:], start[level + 1:])
        assert branch[level] == start[level] ^ bit


@pytest.mark.parametrize("with_prior", [False, True])
@pytest.mark.parametrize("ordering", sphere.ORDERINGS)
@pytest.mark.parametrize("name, num_tx, snr, levels, expansions", [
    ("qpsk", 2, 5, [3, 1], [1]), ("qam16", 2, 12, [3, 1], [2]), ("qpsk", 4, 8, [7, 4, 1], [2, 3]),
    ("qam64", 1, 20, [2, 1], [3]), ("qam16", 2, 12, [1], []),
    ("qam16", 2, 12, [4, 3, 2, 1], [3, 5, 2]), ("wlan_qam64", 1, 15, [1], [])])
def test_sphere_detectors_find_the_ml_solution(name, num_tx, snr, levels, expansions, ordering,
                                               with_prior):
    """Compare with exhaustive search; each fourth channel is ill-conditioned, or of rank 1 or 0."""
    points = constellation.get(name)
    symbols, bits = candidates(points, num_tx)
    rng = np.random.default_rng(1)
    for i, (y, h, noise_var, _) in enumerate(vectors(40, num_tx, name, snr)):
        if num_tx > 1 and i % 4 == 0:
            h[:, 1] = h[:, 0] * (1 + (1e-4 if i % 8 else 0))
        if i == 36:
            h[:] = 0
        prior = rng.normal(0, 3, bits.shape[1]) if with_prior else np.zeros(bits.shape[1])
        metric = np.sum(np.abs(y - symbols @ h.T) ** 2, axis=1) - noise_var * (bits @ prior)
        search = sphere.RealTree(y, h, points, noise_var, prior if with_prior else None, ordering)
        for path in (sphere.sd_search(search)[0], sphere.sd_search(search, "zf")[0],
                     sphere.asd_search(search)[0],
                     sphere.psd_search(search, levels, expansions, team_size=5)[0]):
            found = np.flatnonzero(np.all(bits == search.bits(path), axis=1))[0]
            assert metric[found] == pytest.approx(metric.min(), abs=1e-9)


def test_sorted_qr_order():
    """The column with the smallest residual comes first.

    The first three columns have norms 3, 1 and 2 along different axes. The fourth is nearly equal
    to the first; projection leaves only the small difference.
    """
    h = np.diag([3.0, 1.0, 2.0, 0.5]).astype(complex)
    h[0, 3] = 3.0
    assert sphere.sorted_qr_order(h) == [1, 2, 0, 3]
    assert np.allclose(np.diag(sphere.RealTree(h[0], h, constellation.get("qpsk"),
                                               ordering="sorted").r[::2, 1::2]), 0)
