# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""backend="auto": which measurements it makes and stores, and which backend it chooses."""

import json
import warnings
from types import SimpleNamespace

import fake_cuda
import numpy as np
import pytest
from detector_blocks import make, play
from fake_cuda import Fake
from gnuradio.mimopack import crossover, detectors
from gnuradio.mimopack.cuda import device, transfer
from gnuradio.mimopack.detectors import calibration
from simulated import problem


@pytest.fixture
def new_process(monkeypatch):
    """Call it to forget what is stored only in memory."""
    return lambda: monkeypatch.setattr(crossover, "_known", {})


@pytest.fixture
def measured(monkeypatch):
    """Two GPUs that win from 1000 vectors on; returns a list of the measured cases."""
    fake_cuda.install(monkeypatch, 2)
    cases, find = [], crossover.Crossover._find

    def noted(self, case):
        before = len(sizes)
        found = find(self, case)
        if len(sizes) > before:
            cases.append((self._name, *case[:3]))
        return found

    sizes = []
    monkeypatch.setattr(crossover.Crossover, "_find", noted)
    monkeypatch.setattr(crossover, "measure", lambda problem: (
        sizes.append(problem), [(500, 1.0, 2.0), (1500, 3.0, 2.0)])[1])
    return cases


class TestMeasuring:
    def test_batches_have_a_limit(self):
        det = detectors.ZF(32, 64, backend="cpu")
        engines = SimpleNamespace(on_host=lambda call: call, on_gpus=lambda call: call)
        problem = calibration.crossover(det, engines)._problem
        case = calibration.case(det, 1)
        sizes = [n for n in crossover.SIZES if problem(n, *case)]
        assert 16 in sizes and crossover.SIZES[-1] not in sizes
        assert max(sizes) * 32 * 64 * 8 <= calibration.LARGEST_BYTES

    @pytest.mark.parametrize("name", list(detectors.REGISTRY))
    @pytest.mark.parametrize("n, period", [(16, 1), (2800, 7)])
    def test_problems_are_those_of_the_detector(self, name, n, period):
        det = detectors.create(name, num_tx=2, num_rx=3, constellation="qpsk", backend="cpu")
        call = calibration.problem(det, n, period, det.SUPPORTS_PRIOR,
                                   2 if name == "bitflip" else 0)
        assert det._engines.on_host(call) == 0
        y, h, noise_var = call[:3]
        assert y.shape == (n, 3) and h.shape == (n // period, 3, 2)
        rest = y.reshape(-1, period, 3) - np.einsum(
            "mij,mtj->mti", h, detectors.PSD(2, 3, "qpsk", backend="cpu").constellation.modulate(
                (detectors.PSD(2, 3, "qpsk", backend="cpu").detect(y, h, float(noise_var[0])) > 0)
                .astype(np.uint8)).reshape(-1, period, 2))
        assert np.mean(np.abs(rest)**2) < 2 * noise_var[0]


class TestChoice:
    def test_by_the_batch_and_kept(self, measured, new_process):
        y, h, noise_var, _ = problem(5000, 4, 4, "qam16", 18)
        expected = detectors.NWay(backend="cpu").detect(y, h, noise_var)
        for _ in range(2):
            det = detectors.NWay(device=[0, 1])
            for n, backend in ((10, "cpu"), (5000, "cuda"), (999, "cpu"), (1000, "cuda")):
                np.testing.assert_array_equal(det.detect(y[:n], h[:n], noise_var), expected[:n])
                assert det.last_backend == backend
            new_process()    # measured only once
        assert measured == [("nway", 1, False, 0)]
        assert det.backend == "auto" and det.isa

    def test_each_configuration_by_itself(self, measured):
        y, h, noise_var, bits = problem(14 * 400, 4, 4, "qam16", 18, 14)
        prior = np.zeros(bits.shape, np.float32)
        matrices = np.repeat(h, 14, axis=0)
        one = detectors.NWay()
        one.detect(y, h, noise_var)
        one.detect(y, h, noise_var, prior)
        one.detect(y, matrices, noise_var)
        one.threads = 1
        one.detect(y, h, noise_var)
        for other in ({"device": 1}, {"num_passes": 2}, {"llr_type": "int8"}, {}):
            detectors.NWay(**other).detect(y, h, noise_var)
        assert measured[:3] == [("nway", 8, False, 0), ("nway", 8, True, 0),
                                ("nway", 1, False, 0)]
        # GPU 1 has another name; the case without parameters equals the first one
        assert len(measured) == 3 + 1 + 3

    def test_small_batches_do_not_look_for_a_gpu(self, measured, monkeypatch):
        monkeypatch.setattr(device, "count", lambda: pytest.fail("looked for GPUs"))
        monkeypatch.setattr(crossover, "LONG_SECONDS", 1e9)
        y, h, noise_var, _ = problem(4000, 4, 4, "qam16", 18)
        det = detectors.NWay()
        for n in (1, 15, 16, 1000, 4000):
            det.detect(y[:n], h[:n], noise_var)

    def test_small_batches_that_take_long_do(self, measured, monkeypatch):
        monkeypatch.setattr(crossover, "LONG_SECONDS", 0)
        y, h, noise_var, _ = problem(1200, 4, 4, "qam16", 18)
        det = detectors.NWay()
        det.detect(y[:15], h[:15], noise_var)
        det.detect(y[:15], h[:15], noise_var)
        assert measured == []
        det.detect(y, h, noise_var)
        assert det.last_backend == "cuda" and len(measured) == 1

    @pytest.mark.parametrize("n, backend", [(999, "cpu"), (1000, "cuda")])
    def test_prepared_for_a_stream_of_them(self, n, backend, measured):
        y, h, noise_var, _ = problem(n, 4, 4, "qam16", 18)
        det = detectors.NWay()
        det.prepare(n)
        assert measured == [("nway", 1, False, 0)] and det.last_backend is None
        assert bool(Fake.log) == (backend == "cuda")
        det.detect(y, h, noise_var)
        assert det.last_backend == backend and len(measured) == 1

    @pytest.mark.parametrize("parameters", [{}, {"device": 3}, {"device": [0, 7]}])
    def test_without_such_a_gpu_it_is_the_cpu(self, parameters, monkeypatch):
        if parameters:
            fake_cuda.install(monkeypatch, 2)
        y, h, noise_var, _ = problem(5000, 4, 4, "qam16", 18)
        det = detectors.NWay(**parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            det.detect(y, h, noise_var)
        assert det.last_backend == "cpu" and not crossover.folder().exists()

    def test_nodes_are_counted_on_the_cpu(self, measured):
        y, h, noise_var, _ = problem(5000, 4, 4, "qpsk", 18)
        det = detectors.PSD(constellation="qpsk")
        det.count_nodes(y, h, noise_var)
        assert det.last_backend == "cpu" and measured == []
        det.detect(y, h, noise_var)
        assert det.last_backend == "cuda"

    @pytest.mark.parametrize("launches", [0, 3])
    def test_a_gpu_that_fails_is_said_once(self, launches, measured):
        y, h, noise_var, _ = problem(5000, 4, 4, "qam16", 18)
        expected = detectors.NWay(backend="cpu").detect(y, h, noise_var)
        det = detectors.NWay()
        Fake.launches_left = launches
        with pytest.warns(RuntimeWarning, match="the GPU failed, going on with the CPU.*illegal"):
            for _ in range(launches + 1):
                np.testing.assert_array_equal(det.detect(y, h, noise_var), expected)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(det.detect(y, h, noise_var), expected)
            Fake.launches_left = -1
            assert det.gpus    # made again, because GPU arrays are still processed there
            np.testing.assert_array_equal(det.detect(y, h, noise_var), expected)
        assert det.last_backend == "cpu"

    def test_bursts_of_any_length_are_few_configurations(self, measured):
        det = detectors.NWay()
        for n in (5000, 5001, 6000, 70_000):
            y, h, noise_var, _ = problem(n, 4, 4, "qam16", 18, n)
            det.detect(y, h, noise_var)
        assert measured == [("nway", 64, False, 0)]

    def test_a_gpu_that_fails_while_it_is_measured(self, monkeypatch, new_process):
        fake_cuda.install(monkeypatch)
        Fake.launches_left = 2
        y, h, noise_var, _ = problem(5000, 4, 4, "qam16", 18)
        det = detectors.NWay()
        with pytest.warns(RuntimeWarning, match="the GPU failed"):
            det.detect(y, h, noise_var)
        assert det.last_backend == "cpu" and not crossover.folder().exists()

    @pytest.mark.parametrize("pins", [False, True])
    def test_measured_in_earnest(self, pins, monkeypatch, new_process):
        fake_cuda.install(monkeypatch)
        staged, copy = [], transfer.copy
        monkeypatch.setattr(transfer, "LEAST_PINNED_BYTES", 0)
        monkeypatch.setattr(transfer, "copy", lambda to, source, threads: (
            staged.append(len(source)), copy(to, source, threads)))
        y, h, noise_var, _ = problem(5000, 4, 4, "qam16", 18)
        det = detectors.NWay()
        det.pins_buffers = pins
        det.prepare(5000)
        one = 4 * 8 + 16 * 8 + 16 * 4    # bytes of one vector, which prepare tries last
        assert sum(staged) in (0, one) if pins else sum(staged) > 10 * one
        np.testing.assert_array_equal(det.detect(y, h, noise_var),
                                      detectors.NWay(backend="cpu").detect(y, h, noise_var))
        file, = crossover.folder().iterdir()
        kept = json.loads(file.read_text())
        assert kept["measured"] and kept["configuration"]["gpus"] == ["Fake 0"]
        assert kept["configuration"]["pinned"] == pins


class TestBlock:
    @pytest.mark.parametrize("backend", ["auto", "cuda"])
    @pytest.mark.parametrize("period, measured_period", [(1, 1), (14, 8)])
    @pytest.mark.parametrize("gpus", [0, [0, 1]])
    def test_on_gpus(self, backend, period, measured_period, gpus, measured, monkeypatch):
        monkeypatch.setattr(crossover, "crossing", lambda rows: 100)
        y, h, noise_var, _ = problem(14 * 300, 4, 4, "qam16", 18, period)
        block = make("nway", backend=backend, device=gpus, noise_var=noise_var,
                     symbols_per_channel=period)
        llr, _ = play(block, y, h, period)
        np.testing.assert_array_equal(llr, detectors.NWay(backend="cpu").detect(y, h, noise_var))
        assert block.erasures() == block.failures() == 0 and block.vectors() == len(y)
        assert measured == [("nway", measured_period, False, 0)] * (backend == "auto")
        assert any(what == "launch" for what, _ in Fake.log)

    def test_stop_and_start_again(self, measured, monkeypatch):
        monkeypatch.setattr(crossover, "crossing", lambda rows: 16)
        y, h, noise_var, _ = problem(5000, 4, 4, "qam16", 18)
        expected = detectors.NWay(backend="cpu").detect(y, h, noise_var)
        block = make("nway", noise_var=noise_var)
        for repeat in range(1, 4):
            llr, _ = play(block, y, h)
            np.testing.assert_array_equal(llr, expected)
            assert [what for what, _ in Fake.log[-4:]] == ["free", *["unpin"] * 3]
            assert block.vectors() == 5000 * repeat
        assert len(measured) == 1

    @pytest.mark.parametrize("launches", [0, 1, 2, 5])
    def test_a_gpu_that_fails_loses_no_vector(self, launches, measured, monkeypatch, capfd):
        monkeypatch.setattr(crossover, "crossing", lambda rows: 16)
        Fake.launches_left = launches
        y, h, noise_var, _ = problem(3001, 4, 4, "qam16", 18)
        block = make("nway", noise_var=noise_var, device=[1, 0], threads=1)
        llr, _ = play(block, y, h, step=100)
        np.testing.assert_array_equal(llr, detectors.NWay(backend="cpu").detect(y, h, noise_var))
        assert block.vectors() == 3001 and block.erasures() == block.failures() == 0
        said = "".join(capfd.readouterr())
        assert said.count("the GPU failed, going on with the CPU") == 1 and "illegal" in said


def test_an_empty_batch_that_takes_long(monkeypatch):
    """As happens on a busy machine."""
    monkeypatch.setattr(crossover, "LONG_SECONDS", 0)
    det = detectors.ZF(backend="auto")
    assert det.detect(np.zeros((0, 4), np.complex64), np.zeros((0, 4, 4), np.complex64),
                      0.1).shape == (0, 16)
