# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPU's own code (lib/cuda, cuda*.h) gives the CPU's LLRs, with a case for each form.

g++ compiles the programs, and the threads of a block take turns.
"""

import numpy as np
import pytest
from gnuradio.mimopack import constellation, detectors
from gnuradio.mimopack.cuda import source
from gpu_forms import FORMS, SOFT
from simulated import assert_close, problem
from without_gpu import compiled, detect, launcher, run


@pytest.mark.parametrize("form, name, size, own, period, more", FORMS)
def test_forms(form, name, size, own, period, more, tmp_path):
    det = detectors.create(name, num_tx=size[0], num_rx=size[1], backend="cpu", **own)
    launch = launcher(det, tmp_path, form, matrix_each=period == 1, has_prior="known" in more)
    compare(det, launch, period, **more)


def compare(det, launch, period, n=70, snrs_db=(15,), known=0, ties=0):
    """Compare with the CPU, on two blocks.

    known is the standard deviation of the a-priori LLRs, ties the number of vectors that may
    differ.
    """
    for snr_db in snrs_db:
        y, h, noise_var, bits = problem(n, det.num_tx, det.num_rx, det.constellation.name, snr_db,
                                        period)
        h[3] = 0
        if not det.NEEDS_RANK:
            h[4, :, -1] = 0.4 * h[4, :, 0]
        prior = (np.random.default_rng(1).normal(0, known, bits.shape).astype(np.float32)
                 if known else None)
        llr, erased = detect(det, launch, y, h, noise_var, prior, 2, period)
        expected = det.detect(y, h, noise_var, prior)
        differ = np.max(np.abs(llr - expected), axis=1) > 1e-3 * np.max(np.abs(expected), axis=1)
        if np.count_nonzero(differ) <= ties:
            llr[differ] = expected[differ]
        assert_close(llr, expected)
        assert erased == det.erasures == (period if det.NEEDS_RANK else 0)


@pytest.mark.parametrize("form, name, size, own, known", [
    ("shared_sphere", "psd", (3, 3), {}, False), ("nearest_leaf", "asd", (5, 5), {}, False),
    ("nearest_leaf", "psd", (3, 3), {}, True), ("listed_leaves", "sd", (4, 4), SOFT, False),
    ("listed_leaves", "psd", (3, 3), SOFT, True),
    ("bit_hypotheses", "softsphere", (4, 4), {}, False),
    ("bit_hypotheses", "softsphere", (5, 5), {}, True)])
def test_budget(form, name, size, own, known, tmp_path):
    n = 40
    y, h, noise_var, bits = problem(n, *size, "qam16", 8)
    prior = (np.random.default_rng(1).normal(0, 2, bits.shape).astype(np.float32)
             if known else None)
    common = {"num_tx": size[0], "num_rx": size[1], "backend": "cpu", **own}
    exact = detectors.create(name, **common).detect(y, h, noise_var, prior)
    h[3] = 0
    truncated, errors = [], []
    for max_nodes in (1, 70, 2**24):
        det = detectors.create(name, max_nodes=max_nodes, **common)
        folder = tmp_path / str(max_nodes)
        folder.mkdir()
        # With more than 2 * 20 nodes, long searches are left to the second launch.
        launch = launcher(det, folder, form, arena=2**17, has_prior=known,
                          options=["-DMIMOPACK_LONG_SEARCH=20"])
        llr, erased = detect(det, launch, y, h, noise_var, prior, 2)
        assert erased == 1 and not llr[3].any()
        assert (launch.later > 0) == (max_nodes > 1 and form in (
            "nearest_leaf", "bit_hypotheses"))
        truncated.append(launch.truncated)
        errors.append(np.abs(np.delete(llr - exact, 3, 0)).mean())
    assert truncated[0] > truncated[2] == 0 and errors[0] > errors[1] >= errors[2] < 1e-4
    assert truncated[0] <= n - 1


@pytest.mark.parametrize("name, size, own, period, known", [
    ("sd", (5, 5), {}, 1, 0), ("psd", (6, 6), {}, 14, 1),
    ("softsphere", (5, 5), {}, 14, 0), ("softsphere", (4, 4), {"llr_clip": 5.0}, 1, 0),
    ("softsphere", (9, 9), {"constellation": "qpsk", "extrinsic": True}, 1, 3),
    ("softsphere", (5, 5), {"llr_clip": None}, 1, 0)])
def test_warps_share_long_searches(name, size, own, period, known, tmp_path):
    """Warps of any speed: all searches but the shortest are long, and warps run out of vectors."""
    det = detectors.create(name, num_tx=size[0], num_rx=size[1], backend="cpu", **own)
    launch = launcher(det, tmp_path, options=["-DMIMOPACK_LONG_SEARCH=5"],
                      plan={"gpu_threads": 128}, matrix_each=period == 1, has_prior=known > 0)
    for n, snr_db, shared in ((28, 3, True), (56, 15, False)):
        y, h, noise_var, bits = problem(n, *size, det.constellation.name, snr_db, period)
        h[-1, :, 1] = 0.999 * h[-1, :, 0]
        prior = (np.random.default_rng(1).normal(0, known, bits.shape).astype(np.float32)
                 if known else None)
        expected, found = det.detect(y, h, noise_var, prior), []
        for seed in (0, 1, 2):
            launch.disorder(seed)
            llr, erased = detect(det, launch, y, h, noise_var, prior, 2, period)
            assert erased == det.erasures and n / 3 < launch.later <= n - erased
            assert launch.given > 0 or not shared
            found.append(llr)
        assert_close(found[0], expected)
        for llr in found[1:]:
            np.testing.assert_array_equal(llr, found[0])


@pytest.fixture(scope="module", params=["nearest_leaf", "listed_leaves"])
def sphere(request, tmp_path_factory):
    """Return (detector, program) of SD, 5x5 64-QAM, with hard and with soft output."""
    det = detectors.SD(5, 5, "qam64", backend="cpu", soft=request.param == "listed_leaves")
    return det, launcher(det, tmp_path_factory.mktemp("sphere"), request.param)


class TestTeamsSearchForTheNearestCandidates:
    """The CPU finds them too; its order of nodes and its radius are others."""

    @pytest.mark.parametrize("noise_var", [1e-37, 1e-9, 1e9])
    def test_whatever_the_first_radius(self, noise_var, sphere):
        det, launch = sphere
        y, h, _, _ = problem(6, 5, 5, "qam64", 20)
        llr, erased = detect(det, launch, y, h, noise_var)
        assert_close(llr, det.detect(y, h, noise_var))
        assert not erased

    @pytest.mark.parametrize("share", [1e-1, 1e-3, 1e-5])
    def test_nearly_dependent_columns(self, share, sphere):
        det, launch = sphere
        y, h, noise_var, _ = problem(24, 5, 5, "qam64", 25)
        h[:, :, 3] = h[:, :, 1] + share * h[:, :, 3]
        llr, erased = detect(det, launch, y, h, noise_var)
        expected = det.detect(y, h, noise_var)
        assert erased == det.erasures

        def distance(llr):
            x = det.constellation.modulate((llr > 0).astype(np.uint8))
            return np.linalg.norm(y - np.einsum("nij,nj->ni", h, x), axis=1)

        found = np.all(llr * expected != 0, axis=1)    # an LLR of 0 decides nothing
        np.testing.assert_allclose(distance(llr)[found], distance(expected)[found], rtol=1e-5)


@pytest.fixture(scope="module")
def log_sums(tmp_path_factory):
    """Return (detector, program) of N-way with log-sums, 4x4 16-QAM, with a-priori LLRs."""
    det = detectors.NWay(backend="cpu", llr_method="logsum")
    return det, launcher(det, tmp_path_factory.mktemp("log_sums"), has_prior=True)


class TestNumbersOfAnySize:
    """Each LLR is accurate by itself, even if others of its vector are far larger."""

    def test_a_weak_layer_beside_strong_ones(self, log_sums):
        det, launch = log_sums
        y, h, noise_var, bits = problem(200, 4, 4, "qam16", 20)
        strong = np.array([1000, 1000, 1000, 1], np.float32)    # 60 dB
        x = det.constellation.modulate(bits)
        y, h = (y + np.einsum("nij,nj->ni", h, (strong - 1) * x)).astype(np.complex64), h * strong
        prior = np.random.default_rng(2).normal(0, 1, bits.shape).astype(np.float32)
        llr, _ = detect(det, launch, y, h, noise_var, prior)
        expected = detectors.NWay(backend="reference", llr_method="logsum").detect(
            y, h, noise_var, prior)[:, 12:]
        own, cpu = (np.max(np.abs(found[:, 12:] - expected))
                    for found in (llr, det.detect(y, h, noise_var, prior)))
        assert own < 4 * cpu + 1e-3

    @pytest.mark.parametrize("certain", [1e2, 1e6])
    def test_bits_that_are_known(self, log_sums, certain):
        """The known bits are right, or one of them is wrong."""
        det, launch = log_sums
        y, h, noise_var, bits = problem(200, 4, 4, "qam16", 6)
        prior = ((2.0 * bits - 1) * certain).astype(np.float32)
        prior[:, [5, 11]] = 0
        prior[100:, 3] *= -1
        llr, _ = detect(det, launch, y, h, noise_var, prior)
        np.testing.assert_allclose(llr[:, [5, 11]],
                                   det.detect(y, h, noise_var, prior)[:, [5, 11]], atol=2e-3)

    def test_candidates_far_better_than_those_before(self, log_sums):
        """A weight too large for a sum occurs in any pass."""
        det, launch = log_sums
        rng = np.random.default_rng(1)
        y, h, _, bits = problem(200, 4, 4, "qam16", 30)
        h[:, :, 1] = h[:, :, 0] + 1e-3 * (rng.normal(size=(200, 4))
                                          + 1j * rng.normal(size=(200, 4)))
        llr, erased = detect(det, launch, y, h, 1e-9, np.zeros(bits.shape, np.float32))
        assert not erased and np.all(np.any(llr, axis=1)) and np.all(np.isfinite(llr))
        assert np.mean(np.isclose(llr, det.detect(y, h, 1e-9), rtol=0.05).all(axis=1)) > 0.9


def test_teams_erase_what_is_not_finite(tmp_path):
    """Other vectors of the same warp and of the same pass over H stay as they are."""
    det = detectors.MMSE(9, 10, backend="cpu")
    y, h, noise_var, _ = problem(12 * 14, 9, 10, "qam16", 20, 14)
    h[2, 1, 3], h[7, 9, 8] = np.nan, np.inf
    y[140, 0], y[121, 9] = np.nan, -1j * np.inf
    llr, erased = detect(det, launcher(det, tmp_path, matrix_each=False), y, h, noise_var, chunk=14)
    expected = det.detect(y, h, noise_var)
    assert erased == det.erasures == 2 * 14 + 2
    assert_close(llr, expected, 2e-3)


def nearly_dependent(name, tmp_path, share, period=1, num_rx=10, matrices=12):
    """Return (LLRs of the program, the reference's, h) for nine layers.

    In each third matrix two columns are nearly dependent.
    """
    det = detectors.create(name, num_tx=9, num_rx=num_rx, backend="cpu")
    n = matrices * period
    _, h, noise_var, bits = problem(n, 9, num_rx, "qam16", 30, period)
    h[::3, :, 4] = h[::3, :, 2] + share * h[::3, :, 4]
    x = constellation.get("qam16").modulate(bits)
    noise = np.random.default_rng(1).standard_normal((n, num_rx, 2)).view(complex)[..., 0]
    y = (np.einsum("nij,nj->ni", np.repeat(h, period, axis=0), x)
         + np.sqrt(noise_var / 2) * noise).astype(np.complex64)
    llr, erased = detect(det, launcher(det, tmp_path, matrix_each=period == 1), y, h, noise_var,
                         chunk=period)
    assert erased == 0
    exact = detectors.create(name, num_tx=9, num_rx=num_rx, backend="reference").detect(
        y, h, noise_var)
    return llr, exact, h


def test_teams_expand_the_levels_of_nearly_dependent_columns(tmp_path):
    """Errors of H^H H then change the metrics by as little as they are."""
    llr, exact, _ = nearly_dependent("sfsd", tmp_path, 4e-4, 14)
    assert_close(llr, exact)


@pytest.mark.parametrize("period", [1, 14])
def test_tensor_cores_leave_enough_digits(period, tmp_path):
    """With so many antennas they compute H^H H. Columns that need more go to one thread."""
    llr, exact, _ = nearly_dependent("zf", tmp_path, 7e-3, period, 20, matrices=6)
    dependent = np.arange(len(llr)) // period % 3 == 0
    assert_close(llr[~dependent], exact[~dependent], 2e-4)
    assert_close(llr[dependent], exact[dependent], 2e-3)


@pytest.mark.parametrize("name, period", [("zf", 1), ("nway", 14)])
def test_teams_repeat_nearly_dependent_columns_in_double_precision(name, period, tmp_path):
    """H multiplies an error of float32 by its condition number, and H^H H by its square."""
    llr, exact, h = nearly_dependent(name, tmp_path, 3e-4, period)
    condition = np.repeat(np.linalg.cond(h), period)
    error = np.max(np.abs(llr - exact), axis=1) / np.max(np.abs(exact), axis=1)
    dependent = condition > 1e3
    assert np.count_nonzero(dependent) == 4 * period
    assert np.all(error[dependent] < np.finfo(np.float32).eps * condition[dependent])


def test_columns_dependent_in_double_precision_are_left_to_one_thread(tmp_path):
    """It erases the vectors that the CPU erases."""
    det = detectors.ZF(9, 10, backend="cpu")
    y, h, noise_var, _ = problem(12, 9, 10, "qam16", 30)
    h[::3, :, 4] = h[::3, :, 2] + 1e-6 * h[::3, :, 4]
    h[1::6, :, 5] = 0
    llr, erased = detect(det, launcher(det, tmp_path), y, h, noise_var)
    expected = det.detect(y, h, noise_var)
    assert erased == det.erasures == 6
    assert_close(llr, expected, 5e-3)


@pytest.fixture(scope="module")
def whitening(tmp_path_factory):
    """Return the program that whitens 20x3 in memory."""
    return compiled(source.whitening(3, 20, 32), tmp_path_factory.mktemp("whitening"),
                    kernels=("whiten",))


@pytest.mark.parametrize("period", [1, 14])
@pytest.mark.parametrize("count", [1, 5])
def test_whitening_in_memory(count, period, whitening):
    """One covariance, or one for each of five matrices: the noise becomes white."""
    rng = np.random.default_rng(1)
    y, h, a = ((rng.normal(size=(*shape, 2)) @ [1, 1j]).astype(np.complex64) for shape in (
        (5 * period, 20), (5, 20, 3), (count, 20, 30)))
    covariances = a @ a.conj().swapaxes(1, 2)
    bad = {1: 0, 5: 2}[count]
    white_y, white_h = np.zeros_like(y), np.zeros_like(h)

    def whiten():
        run(whitening.launch_whiten, 3, covariances, np.uint64(count), np.uint64(5 // count),
            np.uint64(period), h, y, white_h, white_y, np.empty((3, 20, 20), np.complex64))

    whiten()
    factor = np.linalg.cholesky(covariances.astype(np.complex128))
    np.testing.assert_allclose(white_h, np.linalg.solve(factor, h), atol=1e-5)
    np.testing.assert_allclose(white_y, np.linalg.solve(
        factor, y.reshape(5, period, 20).swapaxes(1, 2)).swapaxes(1, 2).reshape(-1, 20), atol=1e-5)
    covariances[bad] *= -1
    whiten()
    erased = np.isnan(white_y[:, 0])
    assert np.array_equal(erased, np.repeat(np.arange(5) * count // 5 == bad, period))
    assert np.array_equal(np.isnan(white_h[:, 0, 0]), erased[::period])
