# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SD, ASD and PSD: always the maximum-likelihood solution, and their node counts."""


import numpy as np
import pytest
from gnuradio.mimopack import _core, constellation, detectors
from gnuradio.mimopack.reference.exhaustive import candidates
from simulated import problem, random_prior

SPHERE = ["sd", "asd", "psd"]
SIZES = [("qpsk", 1, 1, 8), ("qpsk", 4, 4, 4), ("qam16", 2, 2, 12), ("qam16", 3, 5, 10),
         ("qam64", 2, 2, 20), ("qam256", 1, 2, 25), ("wlan_qam16", 2, 3, 10)]


def metrics(y, h, noise_var, name, prior=None):
    """Return -ln p(y, s) of all candidates, up to a constant, (n, M^nt), and their bits."""
    symbols, bits = candidates(constellation.get(name), h.shape[2])
    distance = np.sum(np.abs(y[:, None] - symbols @ h.astype(complex).transpose(0, 2, 1)) ** 2, 2)
    return distance / noise_var - (0 if prior is None else prior.astype(float) @ bits.T), bits


def assert_best(llr, y, h, noise_var, name, prior=None):
    """Assert that the decided bits have the smallest metric, to float32 precision."""
    metric, bits = metrics(y, h, noise_var, name, prior)
    weights = 1 << np.arange(bits.shape[1])
    index = bits @ weights
    place = np.argsort(index)[(llr > 0) @ weights]    # index is a permutation
    decided = metric[np.arange(len(y)), place]
    float32 = 4e-6 * (np.sum(np.abs(y) ** 2, 1) + np.sum(np.abs(h) ** 2, (1, 2))) / noise_var
    if prior is not None:
        float32 += 4e-6 * np.abs(prior).sum(axis=1)
    excess = decided - metric.min(axis=1)
    assert np.all(excess <= float32), np.max(excess / float32)
    assert np.mean(excess == 0) > 0.98


def ill_conditioned(n, num_tx, num_rx, name, snr, seed):
    """Return channels; in every other one two columns differ by 0.1 ... 1e-5 of their norm."""
    y, h, noise_var, bits = problem(n, num_tx, num_rx, name, snr, seed=seed)
    if num_tx > 1:
        share = 10 ** np.random.default_rng(seed).uniform(-5, -1, len(h[::2]))[:, None]
        h[::2, :, 1] = (h[::2, :, 0] + share * h[::2, :, 1]).astype(np.complex64)
        points = constellation.get(name)
        noise = y[::2] - np.einsum("nij,nj->ni", h[::2], points.modulate(bits[::2]))
        y[::2] -= noise - np.sqrt(noise_var) * noise / np.linalg.norm(noise, axis=1)[:, None]
    return y, h, noise_var, bits


@pytest.mark.quick
@pytest.mark.parametrize("ordering", ["sorted", "stacked"])
@pytest.mark.parametrize("detector", [*SPHERE, "sd:enumeration=natural,radius=zf"])
def test_exhaustive_search_agrees(detector, ordering):
    for seed, (name, num_tx, num_rx, snr) in enumerate(SIZES):
        y, h, noise_var, bits = ill_conditioned(200, num_tx, num_rx, name, snr, seed)
        det = detectors.create(detector, num_tx=num_tx, num_rx=num_rx, constellation=name,
                               ordering=ordering)
        for known in (None, random_prior(bits)):
            llr = det.detect(y, h, noise_var, known)
            assert det.erasures == 0 and np.all(np.abs(llr) == 1)
            assert_best(llr, y, h, noise_var, name, known)


def random_shape(rng, size, side, largest):
    """Return levels and expansions of a valid parallel search with rounds of limited size."""
    while True:
        count = rng.integers(1, size + 1)
        levels = [*sorted(rng.choice(np.arange(2, size + 1), count - 1, replace=False))[::-1], 1]
        expansions, parents, above = [], 1, size + 1
        for level in levels:
            nodes = parents * side ** int(above - level)
            if nodes > largest:
                break
            parents, above = int(rng.integers(1, min(nodes, 7) + 1)), level
            expansions.append(parents)
        else:
            return [int(level) for level in levels], expansions[:-1]


@pytest.mark.parametrize("name, num_tx, snr", [
    ("qpsk", 4, 6), ("qam16", 2, 12), ("qam16", 3, 14), ("qam64", 2, 20), ("qam256", 1, 25)])
def test_any_levels_and_expansions_find_the_same(name, num_tx, snr):
    rng = np.random.default_rng(3)
    y, h, noise_var, bits = ill_conditioned(120, num_tx, num_tx, name, snr, 7)
    prior = rng.normal(0, 2, bits.shape).astype(np.float32)
    common = {"num_tx": num_tx, "num_rx": num_tx, "constellation": name}
    side = constellation.get(name).square_qam.side
    for shape in range(8):
        levels, expansions = random_shape(rng, 2 * num_tx, side, 4096)
        det = detectors.PSD(**common, levels=levels, expansions=expansions,
                            ordering=("sorted", "stacked")[shape % 2])
        for known in (None, prior):
            assert_best(det.detect(y, h, noise_var, known), y, h, noise_var, name, known)


SEARCHES = [("sd", {}), ("sd", {"radius": "zf"}), ("sd", {"enumeration": "natural"}),
            ("sd", {"enumeration": "natural", "radius": "zf"}), ("asd", {}), ("psd", {}),
            ("psd", {"levels": [3, 1], "expansions": [3], "team_size": 5}),
            ("psd", {"levels": [4, 2, 1], "expansions": [4, 6]})]


@pytest.mark.parametrize("with_prior", [False, True])
@pytest.mark.parametrize("ordering", ["sorted", "stacked"])
@pytest.mark.parametrize("detector, own", SEARCHES)
def test_counts_of_cpu_and_reference_agree(detector, own, ordering, with_prior):
    """Excludes vectors for which float32 rounding decides whether a node is inside."""
    y, h, noise_var, bits = problem(60, 2, 3, "qam16", 12, seed=2)
    known = {"prior": random_prior(bits, 3)} if with_prior else {}
    pair = [detectors.create(detector, num_tx=2, num_rx=3, ordering=ordering, backend=backend,
                             **own) for backend in ("cpu", "reference")]
    nodes, expected = (det.count_nodes(y, h, noise_var, **known) for det in pair)
    assert nodes.dtype == np.uint32 and nodes.shape == expected.shape
    assert np.all(nodes.reshape(60, -1).sum(axis=1) > 0)
    same = np.all(nodes.reshape(60, -1) == expected.reshape(60, -1), axis=1)
    assert np.mean(same) > 0.95


BUDGETS = (1, 9, 24, 60, 150, 2**24)


def first_leaf(detector):
    """Return the number of nodes that a search visits whatever its budget."""
    if detector.name == "psd":
        return sum(detector.evaluations)
    return 2 * detector.num_tx if detector.name == "sd" and detector.radius == "infinite" else 0


@pytest.mark.parametrize("with_prior", [False, True])
@pytest.mark.parametrize("detector, own", SEARCHES)
def test_budget_of_cpu_and_reference_agree(detector, own, with_prior):
    """Decisions, nodes and truncated searches, except where float32 rounding decides."""
    y, h, noise_var, bits = problem(40, 2, 3, "qam16", 10, seed=3)
    known = {"prior": random_prior(bits, 3)} if with_prior else {}
    for max_nodes in BUDGETS:
        cpu, expected = (detectors.create(detector, num_tx=2, num_rx=3, backend=backend,
                                          max_nodes=max_nodes, **own)
                         for backend in ("cpu", "reference"))
        nodes, wanted = (det.count_nodes(y, h, noise_var, **known).reshape(40, -1)
                         for det in (cpu, expected))
        llr, decided = (det.detect(y, h, noise_var, **known) for det in (cpu, expected))
        same = np.all(nodes == wanted, axis=1)
        assert np.mean(same) > 0.95
        np.testing.assert_array_equal(llr[same], decided[same])
        assert abs(cpu.truncated - expected.truncated) <= np.sum(~same)


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("detector, own", SEARCHES)
def test_a_budget_ends_the_longer_searches_only(detector, own, isa):
    """The lanes of a search in lockstep end by their own nodes."""
    n = 300
    y, h, noise_var, _ = problem(n, 2, 2, "qam16", 8, seed=5)
    common = {"num_tx": 2, "num_rx": 2, "isa": isa}
    exact = detectors.create(detector, **common, **own)
    best, full = (exact.detect(y, h, noise_var),
                  exact.count_nodes(y, h, noise_var).reshape(n, -1).sum(axis=1))
    assert exact.truncated == 0
    counts = []
    for max_nodes in BUDGETS:
        det = detectors.create(detector, **common, **own, max_nodes=max_nodes)
        most = max(max_nodes, first_leaf(det))
        llr = det.detect(y, h, noise_var)
        assert det.truncated == np.sum(full > most) and det.erasures == 0
        assert np.all(np.abs(llr) == 1)
        np.testing.assert_array_equal(llr[full <= most], best[full <= most])
        nodes = det.count_nodes(y, h, noise_var).reshape(n, -1).sum(axis=1)
        assert np.all(nodes <= most)
        np.testing.assert_array_equal(nodes[full <= most], full[full <= most])
        counts.append(det.truncated)
    assert counts[0] > 0 == counts[-1]


@pytest.mark.parametrize("detector", SPHERE)
def test_more_budget_fewer_errors(detector):
    y, h, noise_var, bits = problem(3000, 4, 4, "qam16", 16, seed=6)
    errors = []
    for max_nodes in (1, 40, 100, 300, 2000, None):
        det = detectors.create(detector, max_nodes=max_nodes)
        errors.append(np.mean((det.detect(y, h, noise_var) > 0) != bits))
    assert np.all(np.diff(errors) <= 0) and errors[0] > 1.5 * errors[-1]


def test_a_budget_holds_where_a_search_would_take_hours():
    y, h, noise_var, _ = problem(50, 16, 16, "qam16", 5, seed=7)
    y[3] = np.nan
    for detector in SPHERE:
        det = detectors.create(detector, num_tx=16, num_rx=16, max_nodes=1000)
        llr = det.detect(y, h, noise_var)
        assert det.truncated == 49 and det.erasures == 1
        assert not llr[3].any() and np.all(np.abs(np.delete(llr, 3, 0)) == 1)


def test_counts_without_noise():
    """The first leaf is the vector sent, and no other node is inside the radius.

    SD goes straight down and visits one sibling per level, ASD expands one node per level, PSD runs
    one round per stage.
    """
    for name, num_tx in (("qpsk", 2), ("qam16", 3), ("qam64", 4)):
        y, h, _, _ = problem(40, num_tx, num_tx + 2, name, 300, seed=4)
        common = {"num_tx": num_tx, "num_rx": num_tx + 2, "constellation": name}
        side = constellation.get(name).square_qam.side
        assert np.all(detectors.SD(**common).count_nodes(y, h, 0.1) == 4 * num_tx)
        assert np.all(detectors.ASD(**common).count_nodes(y, h, 0.1) == 2 * num_tx * side)
        det = detectors.PSD(**common, team_size=3)
        nodes = det.count_nodes(y, h, 0.1)
        assert np.all(nodes.sum(axis=1) == sum(det.evaluations))
        for thread in range(3):
            assert np.all(nodes[:, thread] == sum(len(range(thread, e, 3))
                                                  for e in det.evaluations))


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("detector", SPHERE)
def test_erased_vectors_visit_nothing(detector, backend):
    y, h, _, bits = problem(12, 2, 2, "qpsk", 10)
    noise_var = np.full(12, 0.1, np.float32)
    prior = np.zeros(bits.shape, np.float32)
    y[1, 0] = np.nan
    h[3, :, 1] = 2j * h[3, :, 0]
    noise_var[5] = -1
    prior[7, 2] = np.inf
    det = detectors.create(detector, num_tx=2, num_rx=2, constellation="qpsk", backend=backend)
    nodes = det.count_nodes(y, h, noise_var, prior).reshape(12, -1).sum(axis=1)
    assert np.flatnonzero(nodes == 0).tolist() == [1, 3, 5, 7]
    with pytest.raises(ValueError, match=r"y: got shape \(12, 1\)"):
        det.count_nodes(y[:, :1].copy(), h, noise_var)


def test_best_first_search_that_outgrows_its_store():
    """Hard cases, 256-QAM with strong noise: the search restarts depth first; both are counted."""
    y, h, noise_var, _ = problem(16, 5, 5, "qam256", 5, seed=1)
    common = {"num_tx": 5, "num_rx": 5, "constellation": "qam256"}
    nodes = detectors.ASD(**common).count_nodes(y, h, noise_var)
    assert np.any(nodes > 2**21) and np.any(nodes < 2**21)
    np.testing.assert_array_equal(detectors.ASD(**common).detect(y, h, noise_var),
                                  detectors.SD(**common).detect(y, h, noise_var))


def test_shapes_of_the_paper():
    """eval of 004 table 2, configurations 1, 2, 4 and 6; table 5, whose rounds fill the threads.

    Configurations 3 and 5 contradict 004's own table 1.
    """
    for num_tx, name, levels, expansions, evaluations in (
            (2, "qpsk", (2, 1), (4,), (8, 8)), (2, "qam16", (2, 1), (4,), (64, 16)),
            (4, "qam16", (6, 4, 1), (4, 2), (64, 64, 128)),
            (4, "qam64", (7, 6, 2, 1), (2, 3, 4), (64, 16, 12288, 32))):
        det = detectors.PSD(num_tx, num_tx, name, levels=levels, expansions=expansions)
        assert det.evaluations == evaluations
    assert detectors.PSD(preset="table5").evaluations == (64, 64, 64)
    large = detectors.PSD(constellation="qam64", preset="table5")
    assert large.evaluations == (64, 256, 256, 128) and large.team_size == 128
