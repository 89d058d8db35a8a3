# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixed-complexity sphere decoders and ZF-SIC: candidate lists and parameters."""

import numpy as np
import pytest
from gnuradio.mimopack import constellation, detectors
from gnuradio.mimopack.reference import fsd
from simulated import assert_close, problem, random_prior

FSD = [detectors.HFSD, detectors.SFSD]


@pytest.mark.parametrize("num_tx, levels", [(1, 1), (2, 1), (4, 1), (5, 2), (9, 2), (10, 3),
                                            (16, 3)])
def test_default_levels(num_tx, levels):
    """ceil(sqrt(nt)) - 1, at least 1."""
    for detector in FSD:
        assert detector(num_tx=num_tx, num_rx=16, constellation="qpsk").levels == levels


def test_default_paths_and_list_sizes():
    """000 §4.2.1: P = M^L + N_iter m (nt - L)."""
    for points, m in (("qpsk", 2), ("qam16", 4), ("qam64", 6), ("qam256", 8)):
        det = detectors.SFSD(constellation=points)
        assert det.num_paths == m and det.candidates == 2**m + m * m * 3
        assert detectors.HFSD(constellation=points).candidates == 2**m
        assert detectors.BitFlip(constellation=points).candidates == 1 + 4 * m


@pytest.mark.quick
@pytest.mark.parametrize("with_prior", [False, True])
def test_all_levels_expanded_is_max_log(with_prior):
    for points, num_tx in (("qpsk", 4), ("qam16", 3), ("wlan_qam64", 2)):
        y, h, noise_var, bits = problem(60, num_tx, num_tx, points, 12)
        prior = random_prior(bits, 3) if with_prior else None
        size = {"num_tx": num_tx, "num_rx": num_tx, "constellation": points}
        exact = detectors.MLA(**size).detect(y, h, noise_var, prior)
        soft = detectors.SFSD(levels=num_tx, llr_clip=None, **size).detect(
            y, h, noise_var, prior)
        assert_close(soft, exact)
        hard = detectors.HFSD(levels=num_tx, **size).detect(y, h, noise_var, prior)
        clear = np.abs(exact) > 1e-3
        np.testing.assert_array_equal(hard[clear], np.sign(exact)[clear])


def kernel_6(y, h, noise_var, points):
    """Return (LLRs by Kernel 6 of 000, whether the nearest path is one of the hard stage)."""
    tree = fsd.Tree(y, h, noise_var, points, fsd.fsd_order(h, 1), None)
    paths, hard_metric = fsd.hfsd_list(tree, 1)
    best = np.argsort(hard_metric, kind="stable")[:points.bits_per_symbol]
    paths = np.concatenate([paths, fsd.extension(tree, paths[best], 1)])
    metric, bits = tree.metric(paths), points.bits[tree.labels(paths)].reshape(len(paths), -1)
    solution = bits[best[0]]
    counter = np.where(bits != solution, metric[:, None], np.inf).min(axis=0)
    return ((counter - hard_metric[best[0]]) * (2.0 * solution - 1),
            metric.min() > (1 - 1e-9) * hard_metric[best[0]])


def test_sfsd_differs_from_kernel_6_where_an_added_path_is_the_nearest():
    """The paper's hypothesis is the best path of the hard stage, ours the best of all paths."""
    y, h, noise_var, _ = problem(200, 4, 4, "qam16", 12)
    points = constellation.get("qam16")
    llr = detectors.SFSD(backend="reference", llr_clip=None).detect(y, h, noise_var)
    results = [kernel_6(*vector, noise_var, points)
               for vector in zip(y.astype(complex), h.astype(complex), strict=True)]
    theirs, is_hard = (np.array(part) for part in zip(*results, strict=True))
    np.testing.assert_array_equal(np.isclose(llr, theirs, 1e-4, 1e-4).all(axis=1), is_hard)
    assert 0.85 < np.mean(is_hard) < 0.99
