# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPU's own code (lib/cuda) gives the CPU's LLRs.

g++ compiles the programs, and the threads of a block take turns.
"""


import numpy as np
import pytest
from gnuradio.mimopack import constellation, detectors
from gnuradio.mimopack.cuda import source
from simulated import assert_close, problem
from without_gpu import detect, launcher


@pytest.mark.parametrize("name, own", [
    ("nway", {}), ("hfsd", {}),
    ("fpfsd", {"constellation": "wlan_qam64", "num_tx": 3}),
    ("sfsd", {"num_tx": 2, "num_rx": 3}), ("psd", {}), ("softsphere", {"llr_clip": 5.0}),
    ("kbest", {"k": 8, "num_tx": 3, "num_rx": 4}), ("mmse", {}),
    ("omap", {"constellation": "qpsk"}), ("nway", {"constellation": "bpsk"}),
    ("sfsd", {"constellation": "bpsk"}), ("softsphere", {"constellation": "wlan_bpsk"}),
    *((name, {"constellation": "bpsk,qam16,qpsk", "num_tx": 3})
      for name in ("zf", "kbest", "softsphere", "omap")), ("sd", {"enumeration": "natural"})])
def test_same_llrs(name, own, tmp_path):
    det = detectors.create(name, backend="cpu", **own)
    compare(det, launcher(det, tmp_path, matrix_each=False), chunk=7, period=14)


@pytest.mark.parametrize("name", ["nway", "psd"])
def test_rows_through_shared_memory(name, tmp_path):
    det = detectors.create(name, backend="cpu")
    compare(det, launcher(det, tmp_path, matrix_each=True), chunk=1, period=1)


@pytest.mark.parametrize("name, own, has_prior", [
    ("omap", {"num_tx": 3}, False), ("mla", {"constellation": "qpsk"}, True),
    ("mla", {"constellation": "wlan_qam256", "num_tx": 2}, True)])
def test_searches_by_teams(name, own, has_prior, tmp_path):
    """Sums over all candidates: from all candidates of equal weight to a single dominant one."""
    det = detectors.create(name, backend="cpu", **own)
    launch = launcher(det, tmp_path, matrix_each=True, has_prior=has_prior)
    for snr_db in (-5, 10, 20, 30, 45):
        compare(det, launch, chunk=1, period=1, n=70, snr_db=snr_db,
                known=3 * has_prior)


A_WARP_SEARCHES = """
using namespace mimopack::device;
template <class>
constexpr bool warp_searches = false;
template <int NT, int NR, int WIDTH>
constexpr bool warp_searches<team_soft_search<NT, NR, WIDTH>> = true;
static_assert(warp_searches<asked_kernel>);
"""


@pytest.mark.parametrize("own, period, has_prior", [
    ({"llr_clip": None}, 14, True), ({"llr_clip": 5.0, "extrinsic": True}, 1, True),
    ({"constellation": "qam256"}, 1, False)])
def test_soft_searches_by_warps(own, period, has_prior, tmp_path):
    """From long searches for LLRs near 0 to LLRs of thousands."""
    det = detectors.create("softsphere", backend="cpu", **{"constellation": "qam64"} | own)
    launch = launcher(det, tmp_path, A_WARP_SEARCHES, matrix_each=period == 1,
                      has_prior=has_prior)
    for snr_db in (10, 20, 30, 45):
        compare(det, launch, chunk=period, period=period, n=70, snr_db=snr_db,
                known=3 * has_prior)


@pytest.mark.parametrize("name, own", [
    ("kbest", {}),
    ("nway", {"num_passes": 3, "llr_clip": 5.0, "llr_method": "logsum"}),
    ("fpfsd", {"constellation": "wlan_qam16", "num_tx": 3})])
def test_prior(name, own, tmp_path):
    det = detectors.create(name, backend="cpu", **own)
    launch = launcher(det, tmp_path, matrix_each=True, has_prior=True)
    for snr_db, known in ((15, 3), (5, 1), (30, 100)):
        compare(det, launch, chunk=1, period=1, snr_db=snr_db, known=known)


@pytest.mark.parametrize("own, period, has_prior", [
    ({"k": 256, "constellation": "qam64", "num_tx": 2, "num_rx": 3}, 1, False),
    ({"k": 20, "constellation": "qam256", "num_tx": 8, "num_rx": 8}, 1, True)])
def test_teams_of_kbest(own, period, has_prior, tmp_path):
    """Lists with one key per thread and with several, shorter and longer than the constellation.

    Paths have several words; models are made for all vectors of a warp at a time, or for a few.
    """
    det = detectors.create("kbest", backend="cpu", **own)
    compare(det, launcher(det, tmp_path, matrix_each=period == 1, has_prior=has_prior),
            chunk=period, period=period, n=98, known=3 * has_prior)


@pytest.mark.parametrize("name, points, num_tx, num_rx, method", [
    ("nway", "qam64", 8, 8, "maxlog"), ("fpfsd", "wlan_qam16", 8, 8, "logsum")])
def test_passes_of_many_antennas_and_bits(name, points, num_tx, num_rx, method, tmp_path,
                                          monkeypatch):
    """Candidates' numbers have one to three words, in shared memory and outside it."""
    monkeypatch.setattr(source, "LARGEST_LOCAL_ARENA", 2**13)
    det = detectors.create(name, backend="cpu", num_tx=num_tx, num_rx=num_rx, constellation=points,
                           llr_method=method)
    for has_prior in (False, True):
        folder = tmp_path / str(has_prior)
        folder.mkdir()
        launch = launcher(det, folder, matrix_each=has_prior, has_prior=has_prior)
        period = 1 if has_prior else 14
        for snr_db in (0, 25):
            # Compilers round differently: a value on the border between two points may be sliced to
            # either of them, which leads to another candidate.
            compare(det, launch, chunk=1, period=period, n=70, snr_db=snr_db, known=2 * has_prior,
                    ties=1)


A_TEAM_FITS = """
using namespace mimopack::device;
static_assert(team_fits<asked::fixed_tx, asked::fixed_rx, asked::width,
                        asked::options().team_size>());
"""


@pytest.fixture(scope="module")
def nway_programs(tmp_path_factory):
    """Return (detector, program) of N-way, 4x4 16-QAM, with a-priori LLRs, by llr_method."""
    made = {}
    for method in ("maxlog", "logsum"):
        det = detectors.NWay(backend="cpu", llr_method=method)
        made[method] = det, launcher(det, tmp_path_factory.mktemp(method), has_prior=True)
    return made


@pytest.mark.parametrize("method", ["maxlog", "logsum"])
class TestNumbersOfAnySize:
    """Each LLR is accurate by itself, even if others of its vector are far larger."""

    def test_a_weak_layer_beside_strong_ones(self, nway_programs, method):
        det, launch = nway_programs[method]
        y, h, noise_var, bits = problem(200, 4, 4, "qam16", 20)
        strong = np.array([1000, 1000, 1000, 1], np.float32)    # 60 dB
        x = det.constellation.modulate(bits)
        y, h = (y + np.einsum("nij,nj->ni", h, (strong - 1) * x)).astype(np.complex64), h * strong
        prior = np.random.default_rng(2).normal(0, 1, bits.shape).astype(np.float32)
        llr, _ = detect(det, launch, y, h, noise_var, prior)
        expected = detectors.NWay(backend="reference", llr_method=method).detect(
            y, h, noise_var, prior)[:, 12:]
        own, cpu = (np.max(np.abs(found[:, 12:] - expected))
                    for found in (llr, det.detect(y, h, noise_var, prior)))
        assert own < 4 * cpu + 1e-3

    @pytest.mark.parametrize("certain", [1e2, 1e4, 1e6])
    def test_bits_that_are_known(self, nway_programs, method, certain):
        """The known bits are right, or one of them is wrong."""
        det, launch = nway_programs[method]
        y, h, noise_var, bits = problem(200, 4, 4, "qam16", 6)
        prior = ((2.0 * bits - 1) * certain).astype(np.float32)
        prior[:, [5, 11]] = 0
        prior[100:, 3] *= -1
        llr, _ = detect(det, launch, y, h, noise_var, prior)
        np.testing.assert_allclose(llr[:, [5, 11]],
                                   det.detect(y, h, noise_var, prior)[:, [5, 11]], atol=2e-3)

    @pytest.mark.parametrize("apart, alike", [(1e-3, 0.9), (1e-5, 0.5)])
    def test_candidates_far_better_than_those_before(self, nway_programs, method, apart, alike):
        """A weight too large for a sum occurs in any pass.

        The closer the columns are, the more rounding decides.
        """
        det, launch = nway_programs[method]
        rng = np.random.default_rng(1)
        y, h, _, bits = problem(200, 4, 4, "qam16", 30)
        h[:, :, 1] = h[:, :, 0] + apart * (rng.normal(size=(200, 4))
                                           + 1j * rng.normal(size=(200, 4)))
        for noise_var in (1e-9, 1e-3):
            llr, erased = detect(det, launch, y, h, noise_var, np.zeros(bits.shape, np.float32))
            assert not erased and np.all(np.any(llr, axis=1)) and np.all(np.isfinite(llr))
            close = np.isclose(llr, det.detect(y, h, noise_var), rtol=0.05).all(axis=1)
            assert np.mean(close) > alike

    def test_zeros(self, nway_programs, method):
        det, launch = nway_programs[method]
        y, h = np.zeros((1, 4), np.complex64), np.eye(4, dtype=np.complex64)[None]
        llr, _ = detect(det, launch, y, h, 1.0, np.zeros((1, 16), np.float32))
        np.testing.assert_allclose(np.abs(llr), np.abs(det.detect(y, h, 1.0)), atol=1e-4)


def test_log_sums_at_any_snr(tmp_path):
    """In two of a hundred vectors a candidate has e^80 times the weight of the first."""
    det = detectors.NWay(backend="cpu", llr_method="logsum")
    launch = launcher(det, tmp_path)
    for snr_db in (-10, 0, 30, 50):
        compare(det, launch, chunk=1, period=1, snr_db=snr_db)


# The team of a vector is a part of a warp, a warp, or a block.
@pytest.mark.parametrize("own", [
    {"team_size": 32},
    {"levels": [5, 4, 1], "expansions": [3, 2], "team_size": 16, "num_tx": 3, "num_rx": 4,
     "ordering": "stacked"}])
def test_teams(own, tmp_path):
    """The CPU's solutions and node counts with any distribution, with and without a-priori LLRs.

    A-priori LLRs do not fit beside the largest team.
    """
    calls = [(True, False, "static"), (False, False, "dynamic"), (False, True, "dynamic")]
    for number, (counts, prior, distribution) in enumerate(calls):
        det = detectors.PSD(backend="cpu", distribution=distribution, **own)
        if prior and det.team_size > 64:
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        compare(det, launcher(det, folder, A_TEAM_FITS, matrix_each=False, counts=counts,
                              has_prior=prior),
                chunk=2, period=14, counts=counts, known=3 * prior, n=140)


@pytest.mark.parametrize("name, own, period, snr_db", [
    ("zf", {"num_tx": 12, "num_rx": 24}, 14, 15),
    ("mmse", {"num_tx": 16, "num_rx": 16, "constellation": "wlan_qam64"}, 1, 20),
    ("mmsepic", {"num_tx": 9, "num_rx": 12, "num_iterations": 2}, 14, 12),
    ("ep", {"num_tx": 17, "num_rx": 34, "constellation": "qpsk"}, 14, 5)])
def test_teams_of_large_arrays(name, own, period, snr_db, tmp_path):
    """A thread for each layer; teams of a part of a warp and of a whole one.

    Rounding may decide whether EP updates a Gaussian.
    """
    det = detectors.create(name, backend="cpu", **own)
    prior = det.SUPPORTS_PRIOR and period == 1
    launch = launcher(det, tmp_path, matrix_each=period == 1, has_prior=prior)
    compare(det, launch, chunk=period, period=period, n=70, snr_db=snr_db, known=2 * prior,
            ties=2 * (name == "ep"))


def enough_vectors(det, period):
    """Return a number of vectors. The imitation of a GPU is slow with a warp for each matrix."""
    return 14 if det.num_tx > 16 and period == 1 else 70


def compare_at_two_snrs(det, text, period, has_prior, tmp_path, ties):
    """Compare a program that contains a text with the CPU."""
    launch = launcher(det, tmp_path, text, matrix_each=period == 1, has_prior=has_prior)
    for snr_db in (5, 20):
        compare(det, launch, chunk=period, period=period, n=enough_vectors(det, period),
                snr_db=snr_db, known=2 * has_prior, ties=ties)


@pytest.mark.parametrize("name, num_tx, num_rx, period", [("mmse", 5, 11, 1), ("nway", 9, 18, 14)])
def test_teams_erase_what_is_not_finite(name, num_tx, num_rx, period, tmp_path):
    """Others of the same warp and of the same pass over H stay as they are."""
    det = detectors.create(name, num_tx=num_tx, num_rx=num_rx, backend="cpu")
    y, h, noise_var, _ = problem(24 * period, num_tx, num_rx, "qam16", 20, period)
    h[2, 1, 3], h[7, num_rx - 1, num_tx - 1] = np.nan, np.inf
    y[10 * period, 0], y[15 * period + period // 2, num_rx - 1] = np.nan, -1j * np.inf
    llr, erased = detect(det, launcher(det, tmp_path, matrix_each=period == 1), y, h, noise_var,
                         chunk=period)
    expected = det.detect(y, h, noise_var)
    assert erased == det.erasures == 2 * period + 2
    assert_close(llr, expected, 2e-3)


@pytest.mark.parametrize("own, period, has_prior", [
    ({"num_tx": 9, "num_rx": 9, "k": 8}, 1, True),
    ({"num_tx": 12, "num_rx": 24, "constellation": "wlan_qam64", "k": 20}, 14, False),
    ({"num_tx": 16, "num_rx": 16, "constellation": "qpsk", "k": 64}, 1, False)])
def test_kbest_of_large_arrays(own, period, has_prior, tmp_path):
    """The team that searches also decomposes H."""
    det = detectors.create("kbest", backend="cpu", **own)
    text = "static_assert(mimopack::device::array_team_fits<" \
           f"mimopack::device::asked::width, {det.k}>());"
    compare_at_two_snrs(det, text, period, has_prior, tmp_path, ties=4)


PASSES_BY_TEAMS = """
using namespace mimopack::device;
static_assert(team_fits<asked::width, column_order::rotate>());
"""


@pytest.mark.parametrize("name, own, period", [
    ("nway", {"num_tx": 12, "num_rx": 12, "num_passes": 5}, 1),
    ("fpfsd", {"num_tx": 12, "num_rx": 32, "constellation": "qam256"}, 1),
    ("nway", {"num_tx": 32, "num_rx": 64}, 14)])
def test_passes_by_teams(name, own, period, tmp_path):
    """From parts of a warp to half of one; a thread follows a candidate or two, or none.

    A team leaves matrices with nearly dependent columns to its first thread. Rounding then sends
    some searches elsewhere, on the CPU too.
    """
    det = detectors.create(name, backend="cpu", **own)
    launch = launcher(det, tmp_path, PASSES_BY_TEAMS, matrix_each=period == 1)
    for snr_db in (0, 25):
        compare(det, launch, chunk=period, period=period, n=enough_vectors(det, period),
                snr_db=snr_db, ties=3)
    n = enough_vectors(det, period) * 6 // 5 // period * period
    y, h, noise_var, bits = problem(n, det.num_tx, det.num_rx, det.constellation.name, 15, period)
    h[::3, :, 1] = h[::3, :, 0] + 1e-3 * h[::3, :, 1]
    x = det.constellation.modulate(bits)
    y = (np.einsum("nij,nj->ni", np.repeat(h, period, axis=0), x)
         + np.sqrt(noise_var / 2) * np.random.default_rng(1).standard_normal(
             (*y.shape, 2)).view(complex)[..., 0]).astype(np.complex64)
    llr, erased = detect(det, launch, y, h, noise_var, chunk=period)
    assert erased == 0
    expected = det.detect(y, h, noise_var)
    nearly_dependent = np.arange(n) // period % 3 == 0
    error = np.max(np.abs(llr - expected), axis=1) / np.max(np.abs(expected), axis=1)
    assert np.count_nonzero(error[~nearly_dependent] > 1e-3) <= 1    # on the border of two points
    assert np.mean(error[nearly_dependent] < 2e-2) > 0.5


@pytest.mark.parametrize("name, own, period, has_prior", [
    ("sfsd", {"num_tx": 16, "num_rx": 64, "levels": 1, "constellation": "wlan_qam64"}, 14, False),
    ("sfsd", {"num_tx": 12, "num_rx": 12, "levels": 2, "num_paths": 21}, 1, True),
    ("hfsd", {"num_tx": 10, "num_rx": 20, "levels": 2, "constellation": "wlan_qam16"}, 14, False)])
def test_fixed_spheres_by_teams(name, own, period, has_prior, tmp_path):
    """A thread has a bit of a path or several, or none; the list has a path or several for each."""
    det = detectors.create(name, backend="cpu", **own)
    text = "static_assert(mimopack::device::team_fits<" \
           f"{source.number(name == 'sfsd')}>());"
    compare_at_two_snrs(det, text, period, has_prior, tmp_path, ties=3)


@pytest.mark.parametrize("name, own, period", [
    ("kbest", {"num_tx": 16, "num_rx": 64}, 1),
    ("hfsd", {"num_tx": 9, "num_rx": 64, "levels": 2, "constellation": "qpsk"}, 14),
    ("softsphere", {"num_tx": 4, "num_rx": 32, "constellation": "wlan_qam64"}, 1)])
def test_searches_of_large_arrays(name, own, period, tmp_path):
    """In R where there are far more antennas than layers, otherwise in H."""
    det = detectors.create(name, backend="cpu", **own)
    launch = launcher(det, tmp_path, matrix_each=period == 1, has_prior=period == 1)
    snr_db = 20 if det.num_tx == det.num_rx else 3
    compare(det, launch, chunk=period, period=period, n=70, snr_db=snr_db,
            known=2 * (period == 1), ties=1)


def nearly_dependent_problem(share, period=1, num_rx=10):
    """Return (y, h, noise_var); in each third matrix two columns are nearly dependent."""
    n = 42 * period
    _, h, noise_var, bits = problem(n, 9, num_rx, "qam16", 30, period)
    h[::3, :, 4] = h[::3, :, 2] + share * h[::3, :, 4]
    x = constellation.get("qam16").modulate(bits)
    noise = np.random.default_rng(1).standard_normal((n, num_rx, 2)).view(complex)[..., 0]
    y = (np.einsum("nij,nj->ni", np.repeat(h, period, axis=0), x)
         + np.sqrt(noise_var / 2) * noise).astype(np.complex64)
    return y, h, noise_var


def nearly_dependent(name, tmp_path, share, period=1, num_rx=10):
    """Return (LLRs of the program, the CPU's, the reference's) of such a problem."""
    own = {"num_tx": 9, "num_rx": num_rx}
    det = detectors.create(name, backend="cpu", **own)
    y, h, noise_var = nearly_dependent_problem(share, period, num_rx)
    launch = launcher(det, tmp_path, matrix_each=period == 1)
    llr, erased = detect(det, launch, y, h, noise_var, chunk=period)
    assert erased == 0
    return llr, *(detectors.create(name, backend=backend, **own).detect(y, h, noise_var)
                  for backend in ("cpu", "reference"))


def test_teams_leave_nearly_dependent_columns_to_one_thread(tmp_path):
    """H^H H has no digits left for them."""
    llr, cpu, _ = nearly_dependent("mmse", tmp_path, 3e-4)
    assert_close(llr, cpu, 2e-3)


def test_noise_keeps_digits_of_nearly_dependent_columns(tmp_path):
    """Float has few left for H^H H, but these invert its sum with the noise."""
    llr, _, exact = nearly_dependent("mmsepic", tmp_path, 5e-3)
    assert_close(llr, exact, 2e-4)


def test_teams_expand_the_levels_of_nearly_dependent_columns(tmp_path):
    """Errors of H^H H then change the metrics by as little as they are."""
    llr, _, exact = nearly_dependent("sfsd", tmp_path, 4e-4, 14)
    assert_close(llr, exact)


@pytest.mark.parametrize("name, share, period", [
    ("zf", 7e-3, 14), ("nway", 7e-3, 1)])
def test_tensor_cores_leave_enough_digits(name, share, period, tmp_path):
    """With so many antennas they compute H^H H. Columns that need more go to one thread."""
    llr, _, exact = nearly_dependent(name, tmp_path, share, period, 20)
    there = np.arange(len(llr)) // period % 3 == 0
    assert_close(llr[~there], exact[~there], 2e-4)
    assert_close(llr[there], exact[there], 2e-3)


@pytest.mark.parametrize("name", ["zf", "ep"])
def test_columns_dependent_in_double_precision_are_left_to_one_thread(name, tmp_path):
    """It erases the vectors that the CPU erases, with a detector that needs full rank."""
    det = detectors.create(name, num_tx=9, num_rx=10, backend="cpu")
    y, h, noise_var, _ = problem(42, 9, 10, "qam16", 30)
    h[::3, :, 4] = h[::3, :, 2] + 1e-6 * h[::3, :, 4]
    h[1::6, :, 5] = 0
    llr, erased = detect(det, launcher(det, tmp_path), y, h, noise_var)
    expected = det.detect(y, h, noise_var)
    assert erased == det.erasures == (21 if name == "zf" else 0)
    assert_close(llr, expected, 5e-3)


@pytest.mark.parametrize("name, period", [("zf", 1), ("ep", 1), ("nway", 14)])
def test_teams_repeat_nearly_dependent_columns_in_double_precision(name, period, tmp_path):
    """H multiplies an error of float32 by its condition number: here, little of it is left."""
    llr, _, exact = nearly_dependent(name, tmp_path, 3e-4, period)
    there = np.arange(len(llr)) // period % 3 == 0
    condition = np.repeat(np.linalg.cond(nearly_dependent_problem(3e-4, period)[1]), period)[there]
    assert np.min(condition) > 1e4
    error = np.max(np.abs(llr - exact)[there], axis=1) / np.max(np.abs(exact)[there], axis=1)
    assert np.all(error < 0.1 * np.finfo(np.float32).eps * condition)


@pytest.mark.parametrize("name, dynamic", [("nway", True), ("sd", False)])
def test_distribution(name, dynamic, tmp_path, monkeypatch):
    """Rows go through shared memory or not; searches run in steps or whole."""
    monkeypatch.setattr(detectors.REGISTRY[name], "UNEQUAL_TIME", dynamic)
    det = detectors.create(name, backend="cpu")
    compare(det, launcher(det, tmp_path), chunk=1, period=1)


def compare(det, launch, chunk, period, n=420, snr_db=15, known=0, counts=False, ties=0):
    """Compare with the CPU, for one block and for several.

    known is the standard deviation of the a-priori LLRs, ties the number of vectors that may
    differ.
    """
    for blocks in (1, 3):
        y, h, noise_var, bits = problem(n, det.num_tx, det.num_rx, det.constellation.name, snr_db,
                                        period, seed=blocks)
        h[3] = 0
        if not det.NEEDS_RANK:
            h[4, :, -1] = 0.4 * h[4, :, 0]
        prior = None
        if known:
            prior = np.random.default_rng(blocks).normal(0, known, bits.shape).astype(np.float32)
        nodes = np.zeros((n, det.team_size), np.uint32) if counts else None
        llr, erased = detect(det, launch, y, h, noise_var, prior, blocks, chunk, nodes)
        expected = det.detect(y, h, noise_var, prior)
        if det.name == "kbest":    # either path of a tie is correct
            ties = max(ties, 2)
        differ = np.max(np.abs(llr - expected), axis=1) > 1e-3 * np.max(np.abs(expected), axis=1)
        if np.count_nonzero(differ) <= ties:
            llr[differ] = expected[differ]
        assert_close(llr, expected)
        assert erased == det.erasures == (period if det.NEEDS_RANK else 0)
        if counts:
            differ = (nodes != det.count_nodes(y, h, noise_var, prior)).any(axis=1)
            assert np.count_nonzero(differ) <= n // 50    # nodes equally far
