# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated error rates match theory, are reproducible and resumable. Seeds are fixed."""

from math import comb, erfc, sqrt

import numpy as np
import pytest
from gnuradio.mimopack import detectors, iterative, sim
from gnuradio.mimopack.coding import RandomInterleaver, ldpc
from gnuradio.mimopack.sim.receivers import Receiver

LDPC = "wifi:648:1/2"


def q(x):
    return erfc(x / sqrt(2)) / 2


def rayleigh_mrc(bit_snr, branches):
    """Return the bit error rate of QPSK with maximum ratio combining over Rayleigh fading.

    bit_snr is the mean Eb/N0 of a branch (Proakis, Digital Communications, 4th ed., eq. 14.4-15).
    """
    mu = sqrt(bit_snr / (1 + bit_snr))
    return ((1 - mu) / 2) ** branches * sum(
        comb(branches - 1 + k, k) * ((1 + mu) / 2) ** k for k in range(branches))


def qam16(snr):
    """Return the exact bit error rate of 16-QAM with Gray labels over AWGN."""
    a = sqrt(snr / 5)
    return (3 * q(a) + 2 * q(3 * a) - q(5 * a)) / 4


class TestTheory:
    @pytest.mark.parametrize("link, at_db, expected", [
        ({"num_rx": 4, "constellation": "qpsk"}, 3, rayleigh_mrc(10**0.3 / 2, 4)),
        ({"num_rx": 1, "constellation": "qpsk", "channel": "block", "code": "none:1"}, 12,
         rayleigh_mrc(10**1.2 / 2, 1)),
        ({"num_rx": 1, "constellation": "qam16", "channel": "awgn"}, 14, qam16(10**1.4)),
        ({"num_tx": 3, "num_rx": 3, "constellation": "qpsk", "channel": "awgn",
          "snr_kind": "ebn0"}, 6, q(sqrt(2 * 10**0.6)))])
    def test_uncoded_bits(self, link, at_db, expected):
        link = sim.Link(**{"num_tx": 1, "code": "none:200", **link})
        row, = sim.Simulation(link, ["mmse"]).run(
            [at_db], 10**6, 20_000 if link.code == "none:1" else 4000)
        low, high = row["ber_95"][0]
        assert abs(row["ber"][0] - expected) < (high - low) / 2 / 1.96 * 3.29
        assert high - low < 0.2 * expected
        assert row["ber_before_decoding"] == row["ber"][0]

    def test_snr_is_that_of_the_samples(self):
        """The SNR is the ratio of the powers of H x and the noise at each receive antenna."""
        for channel in ("rayleigh", "block", "tdl_b", "awgn", "block:rho_rx=0.9:length=3"):
            link = sim.Link(3, 4, code=LDPC, channel=channel)
            frames = link.frames(7.0, 0, 8)
            x = link.points.modulate(link.layout.spread(frames.words))
            h = np.repeat(frames.h, len(x) // len(frames.h), axis=0)
            clean = np.einsum("nij,nj->ni", h, x)
            noise = frames.y - clean
            assert frames.noise_var == pytest.approx(3 / 10**0.7)
            assert np.mean(np.abs(noise) ** 2) == pytest.approx(frames.noise_var, rel=0.03)
            assert np.mean(np.abs(clean) ** 2) == pytest.approx(3, rel=0.15)


class TestInterferer:
    @pytest.mark.parametrize("channel", ["rayleigh", "block:length=3"])
    def test_covariance_is_that_of_the_samples(self, channel):
        """In a basis of the interferer's channel, noise and interference have this power."""
        link = sim.Link(2, 3, "qpsk", "none:90", channel, interferer=10)
        frames = link.frames(7.0, 0, 8)
        period = len(frames.y) // len(frames.h)
        x = link.points.modulate(link.layout.spread(frames.words))
        noise = frames.y - np.einsum("nij,nj->ni", frames.h.repeat(period, axis=0), x)
        noise_var = link.noise_var(7.0)
        powers, basis = np.linalg.eigh(frames.noise_cov)
        seen = np.einsum("nij,ni->nj", basis.conj().repeat(period, axis=0), noise)
        seen = np.mean(np.abs(seen) ** 2 / powers.repeat(period, axis=0), axis=0)
        assert seen == pytest.approx(1, rel=0.06)
        assert powers[:, :2] == pytest.approx(noise_var, rel=1e-3)
        assert np.mean(powers[:, 2]) == pytest.approx(noise_var * (1 + 3 * 10), rel=0.06)
        assert np.mean(np.abs(noise) ** 2) == pytest.approx(frames.noise_var, rel=0.06)
        assert frames.noise_var == pytest.approx(11 * noise_var)
        plain = sim.Link(2, 3, "qpsk", "none:90", channel).frames(7.0, 0, 8)
        np.testing.assert_array_equal(plain.h, frames.h)
        assert plain.noise_cov is None

    @pytest.mark.parametrize("code, errors", [("none", "bit_errors"), (LDPC, "frame_errors")])
    def test_a_known_covariance_gains(self, code, errors):
        link = sim.Link(2, 4, "qam16", code, "block:length=5", interferer=10)
        detectors = ["mmse", "mmse:covariance=none", "nway", "nway:covariance=none"]
        rows = sim.Simulation(link, detectors).run([8], 10**6, 64)
        known, unknown, *others = (np.sum(row["counts"][errors]) for row in rows)
        assert 3 * known < unknown and 3 * others[0] < others[1]
        assert [row["detector"] for row in rows] == detectors

    def test_without_an_interferer(self):
        with pytest.raises(ValueError, match="covariance: got none without an interferer"):
            sim.Simulation(sim.Link(), ["mmse:covariance=none"])
        with pytest.raises(ValueError, match="covariance: got 'some', allowed are known, none"):
            sim.Simulation(sim.Link(interferer=3), ["mmse:covariance=some"])


LINK = sim.Link(2, 2, "qam16", LDPC)
DETECTORS = ["mmse", "mmsepic:iterations=3"]


class TestSimulation:
    def test_counts_by_hand(self):
        """The counts of a block equal those of a detector and decoder called directly."""
        frames = LINK.frames(9.0, 5)
        counts = Receiver(LINK, "mmsepic:iterations=3").count(frames)
        code = ldpc.wifi(648, "1/2")
        received = iterative.IterativeReceiver(
            detectors.MMSEPIC(2, 2, extrinsic=True), ldpc.LdpcDecoder(code),
            RandomInterleaver(648, 1), 3).receive(frames.y, frames.h, frames.noise_var, True)
        np.testing.assert_array_equal(
            counts.bits, np.sum(received.history[..., :324] != frames.bits, axis=2))
        assert counts.bits[0].any() and len(set(map(tuple, counts.bits))) > 1
        np.testing.assert_array_equal(
            counts.detected, np.sum((received.detected > 0) != frames.words, axis=1))

    def test_list_bits(self):
        frames = LINK.frames(10.0, 0, 4)
        found = [Receiver(LINK, f"nway:list_bits={q}").count(frames).found.sum() for q in (0, 3)]
        assert 0 < found[0] < found[1]

    def test_threads_batches_and_company_do_not_matter(self):
        expected = sim.Simulation(LINK, DETECTORS, threads=1, batch=16).run([9, 11], 30, 320)
        assert {row["complete"] for row in expected} == {True}
        other = sim.Simulation(LINK, DETECTORS, threads=3, batch=48)
        assert other.run([11, 9], 30, 320) == expected
        alone = sim.Simulation(LINK, DETECTORS[1:]).run([9, 11], 30, 320)
        assert alone == [row for row in expected if row["detector"] == DETECTORS[1]]

    def test_all_see_the_same_frames(self):
        rows = sim.Simulation(LINK, ["mla", "softsphere", "zf"]).run([11], 10**6, 128)
        mla, sphere, zf = (row["counts"]["detected_bit_errors"] for row in rows)
        assert mla == sphere and zf[0] > mla[0] > 0

    def test_blocks_and_points_differ(self):
        first, again, other, elsewhere, seeded = (
            LINK.frames(9, 0), LINK.frames(9.0, 0), LINK.frames(9, 1), LINK.frames(9.001, 0),
            sim.Link(2, 2, "qam16", LDPC, seed=2).frames(9, 0))
        np.testing.assert_array_equal(first.y, again.y)
        np.testing.assert_array_equal(LINK.frames(9, 0, 2).y,
                                      np.concatenate([first.y, other.y]))
        for frames in (other, elsewhere, seeded):
            assert np.mean(frames.bits != first.bits) == pytest.approx(0.5, abs=0.05)

    def test_early_stop(self):
        """Without early stop, each frame gets all passes."""
        rows = [sim.Simulation(LINK, DETECTORS[1:], early_stop=stop).run([10], 10**6, 64)[0]
                for stop in (True, False)]
        assert 1 < rows[0]["mean_passes"] < rows[1]["mean_passes"] == 3
        assert rows[0]["fer"][0] == rows[1]["fer"][0]

    def test_stops(self):
        """A point ends with the block that reaches errors, or at max_frames.

        SNRs above one without errors are skipped.
        """
        rows = sim.Simulation(LINK, DETECTORS).run([8, 10, 25, 26], 20, 100)
        assert [row["at_db"] for row in rows] == [8, 10, 25] * 2
        for row in rows:
            wrong = row["counts"]["frame_errors"][-1]
            if row["at_db"] == 25:
                assert wrong == 0 and row["frames"] == 112
            elif row["frames"] < 112:
                assert 20 <= wrong < 36
        assert rows[0]["frames"] == 32

    def test_resuming_equals_one_run(self, tmp_path):
        whole = sim.Simulation(LINK, DETECTORS).run([9, 11], 40, 400)
        path = tmp_path / "out.json"
        sim.Simulation(LINK, DETECTORS[:1], output=path).run([9], 40, 400)
        sim.Simulation(LINK, DETECTORS, output=path, batch=16).run([11], 5, 32)
        unfinished = sim.Simulation(LINK, DETECTORS, output=path).run([9, 11], 40, 400, 1e-9)
        assert [row["complete"] for row in unfinished] == [True, False, False]
        assert sim.Simulation(LINK, DETECTORS, output=path).run([9, 11], 40, 400) == whole

    def test_other_parameters_are_refused(self, tmp_path):
        path = tmp_path / "out.json"
        sim.Simulation(LINK, ["mmse"], output=path).run([20], 1, 16)
        with pytest.raises(ValueError, match="other parameters: decoder_iterations = 20 there, "
                                             "10 here; seed = 1 there, 2 here. Give the same"):
            sim.Simulation(sim.Link(2, 2, "qam16", LDPC, seed=2), ["mmse"],
                           decoder_iterations=10, output=path)

    @pytest.mark.parametrize("detector, arguments, message", [
        ("mmse", {"iterations": 2}, "mmse takes no a-priori LLRs; use iterations=1"),
        ("kbest:q=2", {}, "'kbest:q=2': kbest has no parameter 'q', allowed are k, llr_clip, "
                          "iterations, feedback_scale, list_bits, covariance, device, isa"),
        ("nwai", {}, "detector: got 'nwai', allowed are zf, mmse"),
        ("nway", {"backend": "gpu"}, "backend: got 'gpu'"),
        ("nway:list_bits=11", {}, "list_bits: got 11, allowed are 0 to 10"),
        ("nway", {"batch": 0}, "batch: got 0"),
        ("nway", {"feedback_scale": float("nan")}, "feedback_scale: got nan, must be")])
    def test_refusals(self, detector, arguments, message):
        with pytest.raises(ValueError) as caught:
            sim.Simulation(LINK, [detector], **arguments)
        assert message in str(caught.value)

    def test_more_refusals(self):
        with pytest.raises(ValueError, match="detectors: got none"):
            sim.Simulation(LINK, [])
        with pytest.raises(ValueError, match="iterations: got 2 without a code, must be 1"):
            sim.Simulation(sim.Link(), ["nway"], iterations=2)
        with pytest.raises(ValueError, match="list_bits: got 2 without a code, must be 0"):
            sim.Simulation(sim.Link(), ["nway:list_bits=2"])
        simulation = sim.Simulation(sim.Link(), ["mmse"])
        for arguments, message in ((([1], 0), "errors: got 0"), (([1], 1, 0), "max_frames: got 0"),
                                   (([1000],), "snr: got 1000.0, allowed are -100 to 200")):
            with pytest.raises(ValueError, match=message):
                simulation.run(*arguments)

    @pytest.mark.parametrize("arguments, message", [
        ({"num_tx": 0}, "num_tx: got 0"), ({"num_rx": 3}, "num_rx: got 3, allowed are 4 to 256"),
        ({"interleaver": "s"}, "interleaver: got 's', allowed are random, none"),
        ({"seed": -1}, "seed: got -1"), ({"interferer": 300}, "interferer: got 300.0, allowed")])
    def test_bad_links(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            sim.Link(**arguments)


@pytest.mark.gpu
@pytest.mark.parametrize("detector", ["mmsepic:iterations=3", "bitflip:iterations=2", "nway"])
def test_a_gpu_counts_as_the_cpu_does(detector):
    """The rates agree, except for frames that rounding decides."""
    link = sim.Link(4, 4, "qam16", "wimax:576:1/2")
    rows = [sim.Simulation(link, [detector], backend=backend).run([11], 10**6, 512)[0]
            for backend in ("cpu", "cuda")]
    assert rows[0]["ber_before_decoding"] == pytest.approx(rows[1]["ber_before_decoding"], rel=1e-2)
    assert rows[0]["fer"] == pytest.approx(rows[1]["fer"], abs=0.03)
