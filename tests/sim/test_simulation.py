# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated error rates: against theory, reproducible, resumable; the command. Seeds are
fixed."""

import json
from math import comb, erfc, sqrt

import numpy as np
import pytest
from click.testing import CliRunner
from gnuradio.mimopack import detectors, iterative, sim
from gnuradio.mimopack.apps import curves
from gnuradio.mimopack.apps.sim import sim_command
from gnuradio.mimopack.channel import power_delay_profile
from gnuradio.mimopack.coding import RandomInterleaver, ldpc
from gnuradio.mimopack.sim import tally as tallies
from gnuradio.mimopack.sim.channels import make_channel
from gnuradio.mimopack.sim.codes import make_code
from gnuradio.mimopack.sim.contender import Contender

LDPC = "wifi:648:1/2"


def q(x):
    return erfc(x / sqrt(2)) / 2


def rayleigh_mrc(bit_snr, branches):
    """Bit error rate of QPSK with maximum ratio combining (Proakis, Digital Communications, 4th
    ed., eq. 14.4-15); bit_snr: mean Eb/N0 of a branch."""
    mu = sqrt(bit_snr / (1 + bit_snr))
    return ((1 - mu) / 2) ** branches * sum(
        comb(branches - 1 + k, k) * ((1 + mu) / 2) ** k for k in range(branches))


def qam16(snr):
    """Bit error rate of 16-QAM with Gray labels over AWGN, exact."""
    a = sqrt(snr / 5)
    return (3 * q(a) + 2 * q(3 * a) - q(5 * a)) / 4


class TestTheory:
    @pytest.mark.parametrize("link, at_db, expected", [
        ({"num_rx": 1, "constellation": "qpsk"}, 10, rayleigh_mrc(10 / 2, 1)),
        ({"num_rx": 4, "constellation": "qpsk"}, 3, rayleigh_mrc(10**0.3 / 2, 4)),
        ({"num_rx": 1, "constellation": "qpsk", "channel": "block", "code": "none:1"}, 12,
         rayleigh_mrc(10**1.2 / 2, 1)),
        ({"num_rx": 1, "constellation": "qpsk", "channel": "awgn"}, 8, q(sqrt(10**0.8))),
        ({"num_rx": 1, "constellation": "qam16", "channel": "awgn"}, 14, qam16(10**1.4)),
        ({"num_rx": 1, "constellation": "qam16", "channel": "awgn", "snr_kind": "ebn0"}, 8,
         qam16(4 * 10**0.8)),
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
        """Power of H x over that of the noise, at each receive antenna."""
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

    def test_energy_per_information_bit(self):
        """Rate 1/2 and 16-QAM: 2 information bits for the energy that an antenna sends, which two
        antennas receive each."""
        link = sim.Link(2, 2, code=LDPC, snr_kind="ebn0")
        assert 2 / link.noise_var(3.0) == pytest.approx(2 * 10**0.3)
        assert link.ebn0_over_snr == pytest.approx(10 * np.log10(2 / (8 * 0.5)))


class TestChannels:
    def draw(self, text, frames=400, vectors=60, num_rx=2, num_tx=2):
        return make_channel(text)(frames, vectors, num_rx, num_tx, np.random.default_rng(1))

    def test_block_fading(self):
        assert self.draw("rayleigh").shape == (24000, 2, 2)
        assert self.draw("block").shape == self.draw("block:length=99").shape == (400, 2, 2)
        assert self.draw("block:length=20").shape == (1200, 2, 2)
        uneven = self.draw("block:length=25").reshape(400, 60, 2, 2)
        assert np.all(uneven[:, :25] == uneven[:, :1])
        assert np.all(uneven[:, 50:] == uneven[:, 50:51])
        assert np.all(uneven[:, 0] != uneven[:, 25]) and np.all(uneven[:, 25] != uneven[:, 50])

    def test_correlation(self):
        h = self.draw("rayleigh:rho_tx=0.8")
        assert np.mean(h[:, 0, 0] * h[:, 0, 1].conj()) == pytest.approx(0.8, abs=0.03)
        assert abs(np.mean(h[:, 0, 0] * h[:, 1, 0].conj())) < 0.03

    def test_delay_line(self):
        """The mean over realisations of H(f) conj(H(f + d)) is the profile's Fourier transform."""
        h = self.draw("tdl_c,delay_spread_ns=80", 3000, 53).reshape(3000, 53, 4)
        np.testing.assert_array_equal(h[:, 0], h[:, 52])
        paths = power_delay_profile("tdl_c", 80e-9)
        expected = paths.powers @ np.exp(2j * np.pi * 6 * 312.5e3 * paths.delays)
        assert np.mean(h[:, 0] * h[:, 6].conj()) == pytest.approx(expected, abs=0.04)
        assert np.mean(np.abs(h) ** 2) == pytest.approx(1, rel=0.05)

    @pytest.mark.parametrize("text", ["rician", "rayleigh:rho_tx=1.5", "rayleigh:rho=0.5",
                                      "block:3", "block:length=0", "tdl_a:delay_spread_ns=x",
                                      "awgn:rho_tx=0", "rayleigh:rho_tx=0.5:rho_tx=0.5"])
    def test_refusals(self, text):
        with pytest.raises(ValueError, match="channel: got .* allowed are rayleigh, block"):
            sim.Link(channel=text)


class TestCodes:
    @pytest.mark.parametrize("text, num_info, rate", [
        ("wimax:576:3/4A", 432, 3 / 4), (LDPC, 324, 1 / 2), ("nr:2:20", 200, 1 / 5),
        ("nr:1:16,factor=0.7", 352, 1 / 3), ("nr_matched:100:240:4:2", 100, 5 / 12),
        ("none:7", 112, 1), ("turbo:40", 40, 40 / 132), ("conv:60:3/4:margin=5", 60, 60 / 88)])
    def test_sizes(self, text, num_info, rate):
        code = make_code(text, 16)
        assert code.num_info == num_info and code.rate == pytest.approx(rate)

    @pytest.mark.parametrize("text", [LDPC, "nr:2:9:factor=0.7", "wimax:672:5/6",
                                      "turbo:512:extrinsic_scale=0.7",
                                      "nr_matched:300:640:4,algorithm=offset",
                                      "conv:100:1/2", "conv:100:3/4:algorithm=viterbi"])
    def test_no_errors_at_high_snr(self, text):
        """With punctured bits and padded vectors."""
        link = sim.Link(3, 4, "qam64", text)
        row, = sim.Simulation(link, ["nway:iterations=2"]).run([30], max_frames=64)
        assert row["fer"] == [0, 0] and row["mean_passes"] == 1 and row["frames"] == 64
        assert row["ber_before_decoding"] < 0.02

    def test_alist_file(self, tmp_path):
        path = tmp_path / "code.alist"
        ldpc.write_alist(ldpc.wifi(648, "2/3"), path)
        code = make_code(f"{path}:algorithm=offset", 16)
        assert (code.num_info, code.num_bits) == (432, 648)
        assert code.make_decoder(7, 1).algorithm == "offset"

    @pytest.mark.parametrize("text", ["ldpc", "wimax:2304", "wimax:x:1/2", "wimax:2304:7/8",
                                      "none:0", "none:1:2", "/nowhere", "nr:1:1", "turbo:41",
                                      "turbo", "conv:100", "conv:100:1/3", "conv:100:1/2:factor=1",
                                      "wifi:648:1/2:speed=3", "wifi:648:1/2:factor=-1"])
    def test_refusals(self, text):
        with pytest.raises(ValueError, match="code: got .* allowed are none"):
            sim.Link(code=text)


class TestStatistics:
    def test_wilson(self):
        """Figures of R. G. Newcombe, Statistics in Medicine 17, 1998, table I, method 3."""
        for errors, n, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605),
                                     (0, 20, 0, 0.1611), (1, 29, 0.0061, 0.1718)):
            assert sim.wilson(errors, n) == pytest.approx([low, high], abs=5e-5)
        assert sim.wilson(0, 0) == [0, 1] and sim.wilson(20, 20)[1] == 1

    def test_sums(self):
        rng = np.random.default_rng(1)
        bits = rng.integers(0, 4, (2, 48)) * rng.integers(0, 2, (2, 48))
        ones = np.ones(48, int)
        counts = tallies.Counts(bits, 2 * bits[0], bits[1] == 3, ones, 3 * ones)
        tally = sim.Tally(2)
        for at in range(0, 48, 16):
            tally.add(counts.part(slice(at, at + 16)))
            tally = sim.Tally(2, json.loads(json.dumps(tally.state())))
        rates = tally.rates(100, 200)
        assert tally.blocks == 3 and tally.frames == 48
        assert tally.state()["undetected"] == np.count_nonzero(bits[1] == 3)
        for i in range(2):
            assert rates["ber"][i] == pytest.approx(bits[i].mean() / 100)
            half = 1.96 * bits[i].std(ddof=1) / sqrt(48) / 100
            assert rates["ber_95"][i][1] - rates["ber"][i] == pytest.approx(half, rel=1e-4)
            assert rates["fer"][i] == np.mean(bits[i] > 0)
        assert rates["ber_before_decoding"] == pytest.approx(2 * bits[0].mean() / 200)
        assert rates["mean_decoder_iterations"] == 3

    def test_without_an_error(self):
        none = np.zeros((1, 64), int)
        tally = sim.Tally(1)
        tally.add(tallies.Counts(none, none[0], none[0] == 0, none[0], none[0]))
        assert tally.rates(10, 10)["ber_95"] == [[0, sim.wilson(0, 64)[1]]]


LINK = sim.Link(2, 2, "qam16", LDPC)
DETECTORS = ["mmse", "mmsepic:iterations=3"]


class TestSimulation:
    def test_counts_by_hand(self):
        """One block, detected and decoded with the parts."""
        frames = LINK.frames(9.0, 5)
        counts = Contender(LINK, "mmsepic:iterations=3").count(frames)
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
        found = [Contender(LINK, f"nway:list_bits={q}").count(frames).found.sum() for q in (0, 3)]
        assert 0 < found[0] < found[1]

    def test_threads_batches_and_company_do_not_matter(self):
        expected = sim.Simulation(LINK, DETECTORS, threads=1, batch=16).run([9, 11], 30, 320)
        assert {row["complete"] for row in expected} == {True}
        for more in ({"threads": 2, "batch": 48}, {"threads": 3, "batch": 320}):
            assert sim.Simulation(LINK, DETECTORS, **more).run([11, 9], 30, 320) == expected
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
        """Without it each frame sees all passes."""
        rows = [sim.Simulation(LINK, DETECTORS[1:], early_stop=stop).run([10], 10**6, 64)[0]
                for stop in (True, False)]
        assert 1 < rows[0]["mean_passes"] < rows[1]["mean_passes"] == 3
        assert rows[0]["fer"][0] == rows[1]["fer"][0]

    def test_stops(self):
        """At the first block that brings enough wrong frames, or after so many frames; above an
        SNR without any, nothing."""
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
        parts = sim.Simulation(LINK, DETECTORS, output=path).run([9, 11], 40, 400)
        assert parts == whole
        kept = json.loads(path.read_text())
        assert kept["data"] == "simulated" and kept["results"] == json.loads(json.dumps(whole))

    def test_other_parameters_are_refused(self, tmp_path):
        path = tmp_path / "out.json"
        sim.Simulation(LINK, ["mmse"], output=path).run([20], 1, 16)
        with pytest.raises(ValueError, match="other parameters: decoder_iterations = 20 there and "
                                             "10 here; seed = 1 there and 2 here. Give it"):
            sim.Simulation(sim.Link(2, 2, "qam16", LDPC, seed=2), ["mmse"],
                           decoder_iterations=10, output=path)
        path.write_text("[1]")
        with pytest.raises(ValueError, match="holds no results of mimopack sim"):
            sim.Simulation(LINK, ["mmse"], output=path)

    @pytest.mark.parametrize("detector, arguments, message", [
        ("mmse", {"iterations": 2}, "mmse takes no a-priori LLRs; allowed are iterations=1"),
        ("mmse:iterations=2", {}, "mmse takes no a-priori LLRs"),
        ("nway:passes=2", {}, "'nway:passes=2': passes: NWay has no such parameter"),
        ("nway:2", {}, "got 'nway:2', where '2' is no key=value"),
        ("nwai", {}, "detector: got 'nwai', allowed are zf, mmse"),
        ("nway:num_passes=7", {}, "num_passes: got 7, allowed are 1 to 2"),
        ("nway", {"backend": "gpu"}, "backend: got 'gpu'"),
        ("nway:list_bits=11", {}, "list_bits: got 11, allowed are 0 to 10"),
        ("nway", {"threads": -1}, "threads: got -1"), ("nway", {"batch": 0}, "batch: got 0"),
        ("nway", {"decoder_iterations": 0}, "iterations: got 0, allowed")])
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
                                   ((["x"],), "snr: got 'x', must be a number"),
                                   (([1000],), "snr: got 1000.0, allowed are -100 to 200")):
            with pytest.raises(ValueError, match=message):
                simulation.run(*arguments)

    @pytest.mark.parametrize("arguments, message", [
        ({"num_tx": 0}, "num_tx: got 0"), ({"num_rx": 3}, "num_rx: got 3, allowed are 4 to 256"),
        ({"constellation": "qam"}, "constellation: got 'qam'"),
        ({"interleaver": "s"}, "interleaver: got 's', allowed are random, none"),
        ({"snr_kind": "dB"}, "snr_kind: got 'dB'"), ({"seed": -1}, "seed: got -1")])
    def test_bad_links(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            sim.Link(**arguments)


class TestCommand:
    def run(self, *arguments, code=0):
        result = CliRunner().invoke(sim_command, [*map(str, arguments)])
        assert result.exit_code == code, result.output
        return result.output

    def test_table_files_and_going_on(self, tmp_path):
        output, plot = tmp_path / "out.json", tmp_path / "out.png"
        arguments = ("-d", "mmse", "-d", "mmsepic:iterations=2", "--num-tx", 2, "--num-rx", 2,
                     "--code", LDPC, "--ebn0", "4:10:3", "--errors", 10, "--output", output)
        text = self.run(*arguments, "--max-frames", 16)
        assert "simulated: 2x2 qam16, code wifi:648:1/2" in text and "dB of Eb/N0" in text
        assert "simulating" in text
        text = self.run(*arguments, "--max-frames", 64, "--plot", plot, "--quiet")
        assert "simulating" not in text
        assert plot.read_bytes().startswith(b"\x89PNG")
        kept = json.loads(output.read_text())
        assert len(kept["runs"]) == 2 and kept["parameters"]["snr_kind"] == "ebn0"
        assert {"processor", "commit", "command"} <= kept["runs"][1]["machine"].keys()
        for row in kept["results"]:
            assert f"{row['detector']:<20} {row['at_db']:>7g} {row['frames']:>8}" in text
        assert "not complete" in self.run(*arguments, "--max-frames", 10**6, "--errors", 10**6,
                                          "--seconds", 1e-6)

    @pytest.mark.parametrize("arguments, message", [
        (("-d", "mmse"), "give either --snr or --ebn0"),
        (("-d", "mmse", "--snr", "1", "--ebn0", "1"), "give either --snr or --ebn0"),
        (("-d", "mmse", "--snr", "1:2"), "'1:2' is neither FIRST:LAST:STEP nor numbers"),
        (("-d", "mmse", "--snr", "1:2:0"), "is neither FIRST:LAST:STEP"),
        (("-d", "mmse", "--snr", "10:8:1"), "is neither FIRST:LAST:STEP"),
        (("--snr", "1"), "Missing option"),
        (("-d", "mmse", "--snr", "1", "--code", "x"), "code: got 'x'"),
        (("-d", "mmse", "--snr", "1", "--iterations", 2), "without a code, must be 1")])
    def test_refusals(self, arguments, message):
        result = CliRunner().invoke(sim_command, [*map(str, arguments)])
        assert result.exit_code != 0 and message in result.output


@pytest.mark.gpu
@pytest.mark.parametrize("detector", ["mmsepic:iterations=3", "bitflip:iterations=2", "nway"])
def test_a_gpu_counts_as_the_cpu_does(detector):
    """But for frames that rounding decides."""
    link = sim.Link(4, 4, "qam16", "wimax:576:1/2")
    rows = [sim.Simulation(link, [detector], backend=backend).run([11], 10**6, 512)[0]
            for backend in ("cpu", "cuda")]
    assert rows[0]["ber_before_decoding"] == pytest.approx(rows[1]["ber_before_decoding"], rel=1e-2)
    assert rows[0]["fer"] == pytest.approx(rows[1]["fer"], abs=0.03)


def test_axes_end_below_what_is_drawn(tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(curves.plt, "close", figures.append)
    rates = {0: 1.0, 1: 2e-3, 2: 0.0}
    rows = [{"detector": "mmse", "at_db": at, "ber_before_decoding": 0.1,
             "ber_before_decoding_95": [0.05, 0.2],
             **{name: [rate] for name in ("fer", "ber")},
             **{f"{name}_95": [[rate / 2, min(1.0, 2 * rate)]] for name in ("fer", "ber")}}
            for at, rate in rates.items()]
    parameters = {"code": "turbo:40", "num_tx": 1, "num_rx": 1, "constellation": "qpsk",
                  "channel": "awgn", "snr_kind": "snr"}
    curves.draw(rows, parameters, tmp_path / "out.png")
    for axis in figures[0].axes:
        assert axis.get_yscale() == "log"
        np.testing.assert_allclose(axis.get_ylim(), (1e-3, 1.2))
