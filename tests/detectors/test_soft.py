# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Soft output (``soft=True``) of SD, ASD, PSD, HFSD and ZF-SIC."""

import numpy as np
import pytest
from detector_blocks import make, play
from gnuradio.mimopack import _core, channel, detectors, iterative, sim
from gnuradio.mimopack.reference.exhaustive import candidates
from simulated import assert_close, problem, random_prior

SPHERE = ["sd", "asd", "psd"]
ALL = [*SPHERE, "hfsd", "zfsic"]
SEARCHES = ["sd", "sd:enumeration=natural", "sd:ordering=stacked", "asd", "asd:ordering=stacked",
            "psd", "psd:ordering=stacked"]


def soft(name, num_tx=3, num_rx=4, constellation="qam16", **own):
    return detectors.create(name, num_tx=num_tx, num_rx=num_rx, constellation=constellation,
                            soft=True, **own)


def priors(name, bits):
    """Return the a-priori LLRs to test a detector with."""
    return (None,) if name.startswith("zfsic") else (None, random_prior(bits, 3))


@pytest.mark.quick
@pytest.mark.parametrize("points, num_tx, snr", [
    ("qpsk", 4, 6), ("qam16", 3, 14), ("wlan_qam64", 2, 18), ("bpsk", 3, 4),
    ("qam64,qpsk,bpsk", 3, 15), ("qam16", 1, 8)])
@pytest.mark.parametrize("name", [*SEARCHES, "hfsd", "zfsic", "zfsic:ordering=norm"])
def test_cpu_equals_reference(name, points, num_tx, snr):
    y, h, noise_var, bits = problem(25, num_tx, 4, points.split(",") if "," in points else points,
                                    snr)
    for prior in priors(name, bits):
        expected = soft(name, num_tx, 4, points, backend="reference").detect(
            y, h, noise_var, prior)
        for isa in _core.available_isas():
            llr = soft(name, num_tx, 4, points, isa=isa).detect(y, h, noise_var, prior)
            assert_close(llr, expected)


def most_likely(y, h, noise_var, points, prior, size):
    """Return max-log LLRs of the candidates with the smallest metrics, by trying all."""
    symbols, bits = candidates(detectors.MLA(h.shape[2], h.shape[1], points).constellation,
                               h.shape[2])
    distance = np.sum(np.abs(y[:, None] - symbols @ h.astype(complex).transpose(0, 2, 1))**2, 2)
    metric = distance / noise_var - (0 if prior is None else prior.astype(float) @ bits.T)
    listed = np.argsort(metric, axis=1)[:, :size]
    metric, bits = np.take_along_axis(metric, listed, 1), bits[listed].astype(bool)
    zero, one = (np.min(np.where(bits == value, metric[:, :, None], np.inf), axis=1)
                 for value in (False, True))
    return zero - one


@pytest.mark.parametrize("size", [1, 7, 40])
@pytest.mark.parametrize("name", SEARCHES)
def test_llrs_of_the_most_likely_candidates(name, size):
    """Two candidates of nearly equal metric may change places in few vectors."""
    for points, num_tx, snr in (("qam16", 3, 12), ("qpsk", 5, 6), ("qam64", 2, 16)):
        y, h, noise_var, bits = problem(100, num_tx, num_tx, points, snr)
        for prior in (None, random_prior(bits, 3)):
            known = 0 if prior is None else prior
            for llr_clip in (8.0, 3.0):
                wanted = known + np.clip(
                    most_likely(y, h, noise_var, points, prior, size) - known, -llr_clip, llr_clip)
                llr = soft(name, num_tx, num_tx, points, list_size=size,
                           llr_clip=llr_clip).detect(y, h, noise_var, prior)
                assert np.mean(np.abs(llr - wanted).max(axis=1) > 1e-3) <= 0.02


@pytest.mark.parametrize("name", SEARCHES)
def test_a_list_of_all_candidates_is_exact(name):
    for points, num_tx in (("qam16", 2), ("qpsk", 4)):
        y, h, noise_var, bits = problem(300, num_tx, num_tx, points, 8)
        for prior in (None, random_prior(bits, 3)):
            exact = detectors.SoftSphere(num_tx, num_tx, points, llr_clip=None).detect(
                y, h, noise_var, prior)
            known = 0 if prior is None else prior
            for llr_clip in (1e5, 8.0):
                llr = soft(name, num_tx, num_tx, points, list_size=256,
                           llr_clip=llr_clip).detect(y, h, noise_var, prior)
                assert_close(llr, known + np.clip(exact - known, -llr_clip, llr_clip))


def test_hfsd_with_all_levels_expanded_is_exact():
    y, h, noise_var, bits = problem(200, 2, 3, "qam16", 8)
    for prior in (None, random_prior(bits, 3)):
        exact = detectors.MLA(2, 3).detect(y, h, noise_var, prior)
        assert_close(soft("hfsd", 2, 3, levels=2, llr_clip=1e5).detect(y, h, noise_var, prior),
                     exact)


def test_zfsic_demaps_the_first_layer_like_zero_forcing():
    """The other layers know more, as far as the decisions before them are right."""
    y, h, noise_var, bits = problem(2000, 3, 4, "qam16", 15)
    llr, zf = soft("zfsic", ordering="none", llr_clip=1e5).detect(y, h, noise_var), detectors.ZF(
        3, 4).detect(y, h, noise_var)
    assert_close(llr[:, 8:], zf[:, 8:])
    hard = detectors.ZFSIC(3, 4, ordering="none").detect(y, h, noise_var)
    np.testing.assert_array_equal(np.sign(llr), hard)
    good = np.all((hard > 0) == bits, axis=1)
    assert np.mean(np.abs(llr[good, :8]) > np.abs(zf[good, :8])) > 0.8


@pytest.mark.quick
@pytest.mark.parametrize("name", ALL)
class TestContract:
    def test_decisions_are_those_without_soft(self, name):
        y, h, noise_var, _ = problem(300, 3, 4, "qam16", 12)
        llr = soft(name).detect(y, h, noise_var)
        hard = detectors.create(name, num_tx=3, num_rx=4).detect(y, h, noise_var)
        assert np.all((np.sign(llr) == hard) | (np.abs(llr) < 1e-3))

    def test_limit_is_relative_to_the_prior(self, name):
        y, h, noise_var, bits = problem(200, 3, 4, "qam16", 25)
        for prior in priors(name, bits):
            llr = soft(name, llr_clip=2.0).detect(y, h, noise_var, prior)
            moved = np.abs(llr if prior is None else llr - prior)
            assert np.all(moved < 2 + 1e-4) and np.mean(moved > 2 - 1e-4) > 0.5

    def test_erasures(self, name):
        y, h, noise_var, _ = problem(40, 3, 4, "qam16", 18)
        noise = np.full(len(y), noise_var, np.float32)
        det = soft(name)
        clean = det.detect(y, h, noise)
        y[3, 1], h[8, 0, 0], noise[30] = np.nan, np.inf, -1
        h[21, :, 2] = 2 * h[21, :, 0]
        llr = det.detect(y, h, noise)
        bad = [3, 8, 21, 30]
        assert det.erasures == 4 and not llr[bad].any()
        np.testing.assert_array_equal(np.delete(llr, bad, 0), np.delete(clean, bad, 0))

    @pytest.mark.parametrize("noise_var, size", [(1e-37, 1e-15), (1e37, 1e11), (1e30, 1.0)])
    def test_extreme_noise_stays_finite(self, name, noise_var, size):
        y, h, _, bits = problem(30, 2, 2, "qam16", 18)
        for prior in priors(name, bits):
            det = soft(name, 2, 2, list_size=256) if name in SPHERE else soft(name, 2, 2)
            llr = det.detect(y * np.float32(size), h * np.float32(size), noise_var, prior)
            assert det.erasures == 0 and np.all(np.isfinite(llr))

    def test_int8_threads_and_shared_channels(self, name):
        y, h, noise_var, _ = problem(14 * 9, 3, 4, "qam16", 15, per_channel=14)
        whole = soft(name, threads=1).detect(y, h, noise_var)
        many = soft(name, threads=3).detect(y, np.repeat(h, 14, axis=0), noise_var)
        assert_close(many, whole, 1e-5)
        rounded = soft(name, llr_type="int8").detect(y, h, noise_var)
        assert np.max(np.abs(rounded - 8.0 * whole)) <= 0.501

    def test_block_equals_arrays(self, name):
        y, h, noise_var, _ = problem(77, 2, 3, "qam16", 12, 7)
        expected = soft(name, 2, 3).detect(y, h, noise_var)
        block = make(name, num_tx=2, num_rx=3, soft=True, noise_var=noise_var,
                     symbols_per_channel=7)
        llr, _ = play(block, y, h, 7, step=3)
        np.testing.assert_allclose(llr, expected, rtol=1e-5, atol=1e-4)
        assert block.vectors() == 77 and block.erasures() == 0

    def test_a_decoder_loses_fewer_frames(self, name):
        link = sim.Link(num_tx=2, num_rx=2, constellation="qam16", code="wifi:648:1/2")
        rows = sim.Simulation(link, [name, f"{name}:soft=true"]).run([12], max_frames=128,
                                                                     errors=10**6)
        hard, with_llrs = (row["fer"][0] for row in rows)
        assert hard - with_llrs > 0.2


@pytest.mark.parametrize("name", SPHERE)
def test_a_budget(name):
    """Counts, truncated searches and LLRs are those of the reference; the rest is complete."""
    y, h, noise_var, bits = problem(60, 2, 3, "qam16", 10, seed=3)
    counts = []
    for max_nodes in (1, 24, 60, 150, 400, 2**24):
        for prior in (None, random_prior(bits, 3)):
            cpu, expected = (soft(name, 2, 3, backend=backend, max_nodes=max_nodes)
                             for backend in ("cpu", "reference"))
            nodes, wanted = (det.count_nodes(y, h, noise_var, prior).reshape(60, -1)
                             for det in (cpu, expected))
            llr, known = (det.detect(y, h, noise_var, prior) for det in (cpu, expected))
            same = np.all(nodes == wanted, axis=1)
            assert np.mean(same) > 0.95
            assert_close(llr[same], known[same])
            assert abs(cpu.truncated - expected.truncated) <= np.sum(~same)
        counts.append(cpu.truncated)
    assert counts[0] > 0 == counts[-1]


@pytest.mark.parametrize("name", ["asd", "sd"])
def test_a_list_where_the_store_of_open_nodes_is_full(name):
    y, h, noise_var, _ = problem(6, 5, 5, "qam256", 5, seed=1)
    expected = soft("psd", 5, 5, "qam256").detect(y, h, noise_var)
    assert_close(soft(name, 5, 5, "qam256").detect(y, h, noise_var), expected)


@pytest.mark.parametrize("name", [*SPHERE, "hfsd"])
def test_extrinsic_llrs_and_iterations(name):
    y, h, noise_var, bits = problem(20, 2, 2, "qam16", 10)
    prior = random_prior(bits, 2)
    posterior = soft(name, 2, 2).detect(y, h, noise_var, prior)
    det = soft(name, 2, 2, extrinsic=True)
    np.testing.assert_allclose(det.detect(y, h, noise_var, prior), posterior - prior, atol=1e-4)
    link = sim.Link(num_tx=2, num_rx=2, constellation="qam16", code="wifi:648:1/2")
    row, = sim.Simulation(link, [f"{name}:soft=true,iterations=3"]).run([10], max_frames=128,
                                                                       errors=10**6)
    assert row["fer"][2] < 0.7 * row["fer"][0]


def test_refused_settings():
    for name in SPHERE:
        for size in (0, 513, 2.5):
            with pytest.raises(ValueError, match="list_size: got"):
                soft(name, list_size=size)
    with pytest.raises(ValueError, match="radius: got 'zf' with soft=True"):
        soft("sd", radius="zf")
    for name in ALL:
        with pytest.raises(ValueError, match="soft: got 1, must be True or False"):
            detectors.create(name, soft=1)
        for clip in (0, np.inf, None):
            with pytest.raises(ValueError, match="llr_clip: got"):
                soft(name, llr_clip=clip)
    with pytest.raises(ValueError, match="zfsic takes no a-priori LLRs"):
        soft("zfsic", extrinsic=True)
    with pytest.raises(ValueError, match="hfsd has hard output.*use soft=True"):
        detectors.HFSD(extrinsic=True)
    code = sim.Link(num_tx=4, num_rx=4, code="wifi:648:1/2").coding
    with pytest.raises(ValueError, match="detector: sd has hard output"):
        iterative.IterativeReceiver(detectors.SD(), code.decoder(), iterations=2)
    iterative.IterativeReceiver(soft("sd", 4, 4, extrinsic=True), code.decoder(), iterations=2)


def test_coloured_noise():
    y, h, noise_var, _ = problem(50, 3, 4, "qam16", 15)
    rng = np.random.default_rng(3)
    mix = np.eye(4) + 0.3 * channel.awgn((4, 4), 1.0, rng)
    y, h = ((mix @ values.reshape(50, 4, -1)).reshape(values.shape).astype(np.complex64)
            for values in (y, h))
    cov = (noise_var * mix @ mix.conj().T).astype(np.complex64)[None]
    for name in ALL:
        whitened = soft(name).detect(y, h, noise_cov=cov)
        undone = np.linalg.inv(mix)
        expected = soft(name).detect(*(
            (undone @ values.reshape(50, 4, -1)).reshape(values.shape).astype(np.complex64)
            for values in (y, h)), noise_var)
        assert_close(whitened, expected, 5e-3)
