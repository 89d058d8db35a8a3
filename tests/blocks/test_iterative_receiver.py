# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The iterative receiver's blocks in flowgraphs: as the arrays, nothing lost, counts, controls, a
GPU that fails; transmitter, channel and meter around it."""

import re
from functools import cache

import fake_cuda
import numpy as np
import pmt
import pytest
import stand_in
from detector_blocks import Sink, Source, run_through
from flowgraphs import Messages, block, run, save
from gnuradio import gr, mimopack
from gnuradio.mimopack import (
    channel,
    coding,
    constellation,
    detectors,
    iterative,
)
from simulated import coloured

CODE = "wifi:648:1/2"
LINK = {"num_tx": 2, "num_rx": 2, "constellation": "qam16"}
VECTORS = 81    # of a codeword


@cache
def received(n, snr_db=9.0, code=CODE, per_channel=1):
    """(bits, y, h, noise_var) of n codewords over i.i.d. Rayleigh; simulated."""
    rng = np.random.default_rng(5)
    code = coding.get(code)
    layout = iterative.CodewordLayout(code.num_bits, 8, coding.RandomInterleaver(code.num_bits, 1))
    bits = rng.integers(0, 2, (n, code.num_info), np.uint8)
    x = constellation.get("qam16").modulate(layout.spread(code.encode(bits)))
    noise_var = 2 * 10 ** (-snr_db / 10)
    h = channel.flat_rayleigh(len(x) // per_channel, 2, 2, rng)
    y = np.einsum("kij,ktj->kti", h, x.reshape(len(h), -1, 2)).reshape(-1, 2)
    return bits, y + channel.awgn(y.shape, noise_var, rng), h, noise_var


def expected(y, h, noise_var, code=CODE, detector="mmsepic", noise_cov=None, **parameters):
    code = coding.get(code)
    receiver = iterative.IterativeReceiver(
        detectors.create(detector, **LINK, extrinsic=True), code.decoder(),
        coding.RandomInterleaver(code.num_bits, 1), **parameters)
    return receiver.receive(y, h, noise_var, keep_history=True, noise_cov=noise_cov)


def outputs(result):
    """What the block's four outputs should be."""
    n = len(result.bits)
    return (result.bits, result.found[:, None], result.iterations[:, None],
            result.history.transpose(1, 0, 2).reshape(n, -1))


def play(tested, n, y, h, tags=(), step=None):
    """Sinks of all outputs of n codewords."""
    return run_through(tested, y.reshape(n, -1), h.reshape(n, -1), tags=tags, step=step)


def limited(tested, most):
    """A block that takes no more items a call."""
    tested.set_min_noutput_items(1)
    tested.set_max_noutput_items(most)
    return tested


class TestReceiver:
    @pytest.mark.quick
    @pytest.mark.parametrize("code, detector, per_channel, snr_db", [
        (CODE, "mmsepic", 1, 9.5), (CODE, "bitflip", 27, 9.5), (CODE, "nway", VECTORS, 9.5),
        ("turbo:208", "mmsepic", 1, 6), ("nr_matched:300:648:4", "mmsepic", 3, 9.5),
        ("conv:240:1/2", "nway", 1, 12)])
    def test_same_as_arrays(self, code, detector, per_channel, snr_db):
        _, y, h, noise_var = received(60, snr_db, code, per_channel)
        wanted = expected(y, h, noise_var, code, detector, iterations=3)
        tested = mimopack.iterative_receiver(
            **LINK, code=code, detector=detector, iterations=3, noise_var=noise_var,
            symbols_per_channel=per_channel, history_output=True)
        sinks = play(tested, 60, y, h, [(3, "frame", 7), (59, "end", 1)], 7)
        for sink, values in zip(sinks, outputs(wanted), strict=True):
            np.testing.assert_array_equal(sink.items(), values)
            assert sink.tags == [(3, "frame", 7), (59, "end", 1)]
        assert 1 < tested.mean_iterations() < 3
        assert tested.mean_iterations() == pytest.approx(wanted.iterations.mean())
        assert tested.undecoded() == 60 - wanted.found.sum()
        assert tested.codewords() == 60 and tested.erasures() == tested.failures() == 0

    def test_tag_of_the_noise(self):
        """From its codeword on; one that is no noise power erases."""
        _, y, h, noise_var = received(40)
        noise = np.full(40 * VECTORS, noise_var, np.float32)
        noise[10 * VECTORS:] = 3 * noise_var
        noise[30 * VECTORS:] = np.nan
        wanted = expected(y, h, noise, iterations=4)
        tested = mimopack.iterative_receiver(**LINK, code=CODE, noise_var=noise_var,
                                             history_output=True)
        tags = [(10, "noise_var", 3 * noise_var), (30, "noise_var", "loud")]
        for sink, values in zip(play(tested, 40, y, h, tags, 6), outputs(wanted), strict=True):
            np.testing.assert_array_equal(sink.items(), values)
        assert tested.erasures() == 10 and tested.erased_vectors() == 10 * VECTORS
        assert not np.array_equal(wanted.history[0, 10:30],
                                  expected(y, h, noise_var, iterations=1).history[0, 10:30])

    @pytest.mark.parametrize("per_channel", [1, 27])
    def test_covariance_of_the_noise(self, per_channel):
        """From the codeword of its tag on; one that is not positive definite erases."""
        _, y, h, noise_var = received(40, 25.0, per_channel=per_channel)
        y, noise_cov = coloured(y, noise_var)
        matrices = np.repeat([noise_cov, 3 * noise_cov, 0 * noise_cov], [20, 10, 10], axis=0)
        wanted = expected(y, h, None, iterations=4,
                          noise_cov=matrices.repeat(VECTORS // per_channel, axis=0))
        tested = mimopack.iterative_receiver(**LINK, code=CODE, noise_cov=noise_cov,
                                             history_output=True, symbols_per_channel=per_channel)
        tags = [(20, "noise_cov", 3 * noise_cov), (30, "noise_cov", 0 * noise_cov)]
        for sink, values in zip(play(tested, 40, y, h, tags, 6), outputs(wanted), strict=True):
            np.testing.assert_array_equal(sink.items(), values)
        assert tested.erasures() == 10 and tested.erased_vectors() == 10 * VECTORS
        assert wanted.found[:20].sum() > 15 and not wanted.found[30:].any()

    def test_counts_and_status(self, capfd):
        bits, y, h, noise_var = received(50, 25.0)
        y, h = y.copy(), h.copy()
        y[3 * VECTORS] = np.nan                                  # one of its vectors
        y[7 * VECTORS:8 * VECTORS] = np.inf                      # all of them
        h[9 * VECTORS:10 * VECTORS] = np.nan
        y[20 * VECTORS:21 * VECTORS] = y[30 * VECTORS:31 * VECTORS]    # another channel's
        tested = mimopack.iterative_receiver(**LINK, code=CODE, noise_var=noise_var)
        tb, messages = gr.top_block(), Messages()
        sources = [Source(values.reshape(50, -1), (), 10) for values in (y, h)]
        for port, source in enumerate(sources):
            tb.connect(source, (tested, port))
        sinks = [Sink(np.uint8, 324), Sink(np.uint8, 1), Sink(np.int32, 1)]
        for port, sink in enumerate(sinks):
            tb.connect((tested, port), sink)
        tb.msg_connect(tested, "status", messages, "in")
        tb.run()
        decided, found, passes = (sink.items() for sink in sinks)
        bad = np.isin(np.arange(50), [7, 9, 20])
        np.testing.assert_array_equal(found[:, 0], ~bad)
        np.testing.assert_array_equal(decided[~bad], bits[~bad])
        assert not decided[[7, 9]].any() and decided[20].any() and np.all(passes[bad] == 4)
        assert (tested.undecoded(), tested.erasures(), tested.failures()) == (1, 2, 0)
        assert tested.erased_vectors() == 1 + 2 * VECTORS
        status = messages.values()[0]
        assert status.keys() == {"codewords", "undecoded", "erasures", "failures",
                                 "mean_iterations", "refused_settings", "erased_vectors"}
        assert re.search(r"2 of \d+ codewords erased", "".join(capfd.readouterr()))

    @pytest.mark.parametrize("backend", ["cuda", "auto"])
    def test_a_gpu_that_fails_is_replaced_by_the_cpu(self, monkeypatch, capfd, backend):
        """It fails in the third pass of the second call. Arrays go there once a call."""
        _, y, h, noise_var = received(60)
        wanted = expected(y, h, noise_var, iterations=3, early_stop=False)
        fake_cuda.let_gpu_win(monkeypatch)
        batches = stand_in.install(monkeypatch, fails_at=6)
        sent = stand_in.receive_on_cpu(monkeypatch, iterative.sharing)
        tested = mimopack.iterative_receiver(**LINK, code=CODE, backend=backend, early_stop=False,
                                             history_output=True)
        tested.set_noise_var(noise_var)
        tested.set_iterations(3)
        tested.set_threads(1)
        sinks = play(limited(tested, 20), 60, y, h)
        for sink, values in zip(sinks[:3], outputs(wanted), strict=False):
            np.testing.assert_array_equal(sink.items(), values)
        history = sinks[3].items().reshape(60, 4, -1)
        np.testing.assert_array_equal(history[:, :3].reshape(60, -1), outputs(wanted)[3])
        np.testing.assert_array_equal(history[:, 3], history[:, 2])
        assert len(batches) == 6 and len(sent) == 4 and tested.last_backend() == "cpu"
        assert (tested.noise_var(), tested.iterations(), tested.threads()) == (noise_var, 3, 1)
        assert tested.codewords() == 60 and tested.erasures() == tested.failures() == 0
        said = "".join(capfd.readouterr())
        assert said.count("going on with the CPU") == 1 and "off the bus" in said

    @pytest.mark.parametrize("message, settings", [
        ({"iterations": 3, "noise_var": 0.5, "threads": 2}, (3, 0.5, 2)),
        (("iterations", 2.0), (2, 0.1, 1)),
        ({"noise_var": 0.5, "iterations": 5}, (4, 0.5, 1)),    # history has room for four
        ({"noise_var": 0.5, "iterations": 1.5}, (4, 0.5, 1))])
    def test_control(self, message, settings):
        tested = mimopack.iterative_receiver(**LINK, code=CODE, threads=1, history_output=True)
        tested._on_control(pmt.cons(*map(pmt.to_pmt, message)) if isinstance(message, tuple)
                           else pmt.to_pmt(message))
        assert (tested.iterations(), tested.noise_var(), tested.threads()) == settings

    def test_feedback_cannot_be_switched_on_for_a_detector_without(self):
        tested = mimopack.iterative_receiver(**LINK, code=CODE, detector="zf", iterations=1)
        with pytest.raises(ValueError, match="zf takes no a-priori LLRs"):
            tested.set_iterations(2)
        assert tested.iterations() == 1

    @pytest.mark.parametrize("parameters, message", [
        ({"code": "wifi"}, "code: got 'wifi', must be wifi:N:RATE"),
        ({"detector": "nearest"}, "detector: got 'nearest', allowed are zf"),
        ({"detector": "mmse"}, "detector: mmse takes no a-priori LLRs"),
        ({"decoder_iterations": 0}, "iterations: got 0, allowed are 1"),
        ({"iterations": 0}, "iterations: got 0, allowed are 1"),
        ({"interleaver_seed": -1}, "seed: got -1"), ({"noise_var": 0}, "noise_var: got 0"),
        ({"symbols_per_channel": 2}, "symbols_per_channel: got 2, must divide the 81 vectors"),
        ({"history_output": 1}, "history_output: got 1, must be True or False"),
        ({"backend": "fpga"}, "backend: got 'fpga', allowed are auto, cpu, cuda, reference"),
        ({"threads": -1}, "threads: got -1")])
    def test_bad_parameters(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            mimopack.iterative_receiver(**{**LINK, "code": CODE, **parameters})


@pytest.mark.quick
class TestTransmitterAndChannel:
    @pytest.mark.parametrize("seed", [None, 3])
    def test_modulator_is_as_the_arrays(self, seed):
        bits = np.random.default_rng(1).integers(0, 2, (500, 324), np.uint8)
        tested = mimopack.codeword_modulator(CODE, 3, "qpsk", seed)
        sink, = run_through(tested, bits | 0xA0, tags=[(123, "frame", 7)], step=37)
        layout = iterative.CodewordLayout(648, 6, seed and coding.RandomInterleaver(648, seed))
        x = constellation.get("qpsk").modulate(layout.spread(coding.get(CODE).encode(bits)))
        assert tested.vectors() == 108
        np.testing.assert_array_equal(sink.items(), x.reshape(500, -1))
        assert sink.tags == [(123, "frame", 7)]

    def through(self, x, step=None, **parameters):
        """(y, h, tags on y) of vectors (items, vectors, 2)."""
        tested = mimopack.rayleigh_channel(2, 3, x.shape[1], seed=5, **parameters)
        sinks = run_through(tested, x.reshape(len(x), -1), step=step)
        y, h = (sink.items() for sink in sinks)
        return y.reshape(-1, 3), h.reshape(-1, 3, 2), sinks[0].tags

    def test_channel(self):
        """Its noise has the power that its tag says, its matrices are CN(0, 1), and the scheduler
        has no influence."""
        period = 4
        x = channel.awgn((400, 12, 2), 1.0, np.random.default_rng(1))
        y, h, tags = self.through(x, symbols_per_channel=period, snr_db=7.0)
        noise = y - np.einsum("nij,nj->ni", h.repeat(period, axis=0), x.reshape(-1, 2))
        (item, key, noise_var), = tags
        assert (item, key) == (0, "noise_var") and noise_var == pytest.approx(2 / 10**0.7)
        assert np.mean(np.abs(noise) ** 2) == pytest.approx(noise_var, rel=0.05)
        assert len(h) == 4800 // period
        assert np.mean(np.abs(h) ** 2) == pytest.approx(1, rel=0.12)
        assert abs(np.mean(h[1:] * h[:-1].conj())) < 0.1
        for other, values in zip(self.through(x, 7, symbols_per_channel=period, snr_db=7.0),
                                 (y, h), strict=False):
            np.testing.assert_allclose(other, values, atol=1e-5)

    def test_interferer(self):
        """The tag is the covariance of noise and interference; the matrices stay the same."""
        x = channel.awgn((400, 12, 2), 1.0, np.random.default_rng(1))
        y, h, tags = self.through(x, snr_db=7.0, interferer_db=20.0)
        noise = y - np.einsum("nij,nj->ni", h, x.reshape(-1, 2))
        (item, key, noise_cov), = tags
        assert (item, key) == (0, "noise_cov")
        noise_cov = noise_cov.reshape(3, 3)
        measured = noise.T @ noise.conj() / len(noise)
        np.testing.assert_allclose(measured, noise_cov, atol=0.05 * noise_cov.real.max())
        assert np.linalg.eigvalsh(noise_cov)[:2] == pytest.approx(2 / 10**0.7, rel=1e-3)
        np.testing.assert_array_equal(self.through(x, snr_db=7.0)[1], h)

    @pytest.mark.parametrize("make, message", [
        (lambda: mimopack.codeword_modulator(num_tx=0), "num_tx: got 0"),
        (lambda: mimopack.codeword_modulator("x"), "code: got 'x'"),
        (lambda: mimopack.rayleigh_channel(vectors=5, symbols_per_channel=2),
         "symbols_per_channel: got 2, must divide the 5 vectors"),
        (lambda: mimopack.rayleigh_channel(snr_db=300), "snr_db: got 300.0, allowed are -100 to"),
        (lambda: mimopack.rayleigh_channel(interferer_db="loud"), "interferer_db: got 'loud'"),
        (lambda: mimopack.ber_meter(passes=0), "passes: got 0"),
        (lambda: mimopack.ber_meter(average=0), "average: got 0")])
    def test_bad_parameters(self, make, message):
        with pytest.raises(ValueError, match=message):
            make()


@pytest.mark.quick
def test_meter():
    rng = np.random.default_rng(1)
    sent = rng.integers(0, 2, (47, 30), np.uint8)
    wrong = rng.random((47, 3, 30)) < np.array([0.3, 0.1, 0])[:, None]
    tested = mimopack.ber_meter(30, 3, 5)
    history = sent[:, None] ^ wrong
    sink, = run_through(tested, sent | 0xF0, history.reshape(47, -1), step=7)
    np.testing.assert_allclose(sink.items(), wrong[:45].reshape(9, 5, 3, 30).mean(axis=(1, 3)),
                               rtol=1e-6)
    rates = wrong[:45].mean(axis=(0, 2))
    np.testing.assert_allclose(tested.ber(), rates)
    assert tested.codewords() == 45 and tested.text() == (
        f"1350 bits, bit error rate {rates[0]:.2g}, {rates[1]:.2g}, 0")


@pytest.mark.gpu
class TestOnAGpu:
    """High SNR: rounding of LLRs decides few passes, and seldom whether a codeword is found."""

    @pytest.fixture(autouse=True)
    def module(self):
        pytest.importorskip("cupy")

    @pytest.mark.parametrize("code, detector, per_channel, early_stop", [
        (CODE, "bitflip", 27, True), ("turbo:208", "nway", 1, False),
        ("nr_matched:300:648:4", "mmsepic", 3, False), ("conv:240:1/2", "nway", 1, True)])
    def test_receiver(self, code, detector, per_channel, early_stop):
        bits, y, h, noise_var = received(300, 20.0, code, per_channel)
        y = y.copy()
        y[5] = np.nan
        made = [mimopack.iterative_receiver(
            **LINK, code=code, detector=detector, noise_var=noise_var, backend=backend,
            symbols_per_channel=per_channel, history_output=True, iterations=3,
            early_stop=early_stop) for backend in ("cpu", "cuda")]
        results = [[sink.items() for sink in play(tested, 300, y, h, step=100)]
                   for tested in made]
        np.testing.assert_array_equal(results[0][0], bits)
        for on_cpu, on_gpu in zip(*results, strict=True):
            assert np.mean(np.any(on_cpu != on_gpu, axis=1)) < 0.02
        found = results[1][1][:, 0] == 1
        np.testing.assert_array_equal(results[1][0][found], bits[found])
        for tested in made:
            assert tested.codewords() == 300 and tested.erased_vectors() >= 1
            assert tested.failures() == tested.erasures() == 0
        assert made[1].last_backend() == "cuda"


class TestCompanion:
    def test_flowgraph(self, companion, tmp_path):
        flow = [block("source", "blocks_null_source", type="byte", vlen="324"),
                block("head", "blocks_head", type="byte", vlen="324", num_items="200"),
                block("snr", "variable", value="20"),
                block("modulator", "mimopack_codeword_modulator", code=CODE, num_tx="2"),
                block("channel", "mimopack_rayleigh_channel", num_tx="2", num_rx="2",
                      snr_db="snr", vectors="81", symbols_per_channel="27"),
                block("receiver", "mimopack_iterative_receiver", num_tx="2", num_rx="2",
                      code=CODE, detector="nway", detector_options="{'num_passes': 2}",
                      iterations="2", noise_var="2*10**(-snr/10)", symbols_per_channel="27",
                      history_output="True"),
                block("meter", "mimopack_ber_meter", num_bits="324", passes="2", average="10"),
                block("rates", "blocks_file_sink", type="float", vlen="2",
                      file=str(tmp_path / "rates")),
                block("bits", "blocks_file_sink", type="byte", vlen="324",
                      file=str(tmp_path / "bits")),
                block("found", "blocks_null_sink", type="byte", vlen="1"),
                block("passes", "blocks_null_sink", type="int", vlen="1")]
        connections = [["source", "0", "head", "0"], ["head", "0", "modulator", "0"],
                       ["modulator", "0", "channel", "0"], ["channel", "0", "receiver", "0"],
                       ["channel", "1", "receiver", "1"], ["receiver", "0", "bits", "0"],
                       ["receiver", "1", "found", "0"], ["receiver", "2", "passes", "0"],
                       ["head", "0", "meter", "0"], ["receiver", "3", "meter", "1"],
                       ["meter", "0", "rates", "0"]]
        script = companion.compiled(save(tmp_path, flow, connections), tmp_path)
        text = script.read_text()
        for call in ("self.receiver.control.set_noise_var(", "self.channel.control.set_snr_db("):
            assert call in text
        run(script, tmp_path)
        assert (tmp_path / "bits").read_bytes() == bytes(200 * 324)
        np.testing.assert_array_equal(np.fromfile(tmp_path / "rates", "f4"), np.zeros(40))

    def test_refusals(self, companion, tmp_path):
        wrong = [("iterative_receiver", {"detector_options": "{'passes': 2}"},
                  "**detector_options"),
                 ("iterative_receiver", {"noise_var": "-1.0"}, "noise_var > 0"),
                 ("rayleigh_channel", {"vectors": "5", "symbols_per_channel": "2"},
                  "vectors % symbols_per_channel == 0"), ("ber_meter", {"passes": "0"}, "passes")]
        flow = [block(f"wrong_{index}", f"mimopack_{name}", **parameters)
                for index, (name, parameters, _) in enumerate(wrong)]
        refusals = companion.refusals(save(tmp_path, flow, []), tmp_path)
        assert [said for *_, said in wrong if said not in refusals] == []

