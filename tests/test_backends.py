# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The meaning of "auto", "cpu", "cuda" and "reference" for host arrays, and GPU failures."""

import warnings

import fake_cuda
import numpy as np
import pytest
from detector_blocks import make, play
from fake_cuda import Fake, GpuError
from gnuradio.mimopack import detectors
from gnuradio.mimopack.backends import BackendChoice
from gnuradio.mimopack.cuda import device
from simulated import problem


class Work(BackendChoice):
    """An object whose GPU may fail."""

    def __init__(self, backend, **keywords):
        self.error = None
        self._set_backend(backend, **keywords)

    def on_gpu(self):
        if self.error:
            raise self.error
        return "by the GPU"

    def work(self):
        return self._run(lambda: "by the CPU", self.on_gpu)

    def prepare(self):
        return self._prepare(lambda: (lambda: None, self.on_gpu))


@pytest.fixture(autouse=True)
def a_gpu(monkeypatch):
    monkeypatch.setattr(device, "count", lambda: 1)


@pytest.mark.parametrize("backend, result, last", [
    ("cpu", "by the CPU", "cpu"), ("reference", "by the CPU", "reference"),
    ("cuda", "by the GPU", "cuda"), ("auto", "by the CPU", "cpu")])
def test_host_arrays(backend, result, last):
    work = Work(backend)
    assert work.last_backend is None and work.work() == result and work.last_backend == last


def test_gpu_arrays_stay_there_and_other_backends_are_refused():
    array = type("ndarray", (), {"__module__": "cupy"})()
    assert Work("auto")._is_on_gpu(array) and not Work("cpu")._is_on_gpu(array)
    with pytest.raises(ValueError, match="backend: got 'gpu', allowed are auto, cpu, cuda, re"):
        Work("gpu")
    with pytest.raises(ValueError, match="backend: got 'reference', allowed are auto, cpu$"):
        Work("reference", allowed=("auto", "cpu"))


@pytest.mark.parametrize("wins", [True, False])
def test_auto_takes_the_faster_one(wins, monkeypatch):
    fake_cuda.let_gpu_win(monkeypatch, wins)
    work = Work("auto")
    assert f"backend auto: {'cuda' if wins else 'cpu'}; a batch takes" in work.prepare()
    assert work.work() == ("by the GPU" if wins else "by the CPU")
    assert Work("cuda").prepare() is Work("cpu").prepare() is None


class TestFailure:
    @pytest.fixture(autouse=True)
    def gpu_wins(self, monkeypatch):
        fake_cuda.let_gpu_win(monkeypatch)

    def test_auto_warns_once_and_the_cpu_goes_on(self):
        work = Work("auto")
        work.prepare()
        work.error = GpuError("off the bus")
        with pytest.warns(RuntimeWarning, match="going on with the CPU.*off the bus"):
            assert work.work() == "by the CPU"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert work.work() == "by the CPU" and work.last_backend == "cpu"

    def test_cuda_raises(self):
        work = Work("cuda")
        work.error = GpuError("off the bus")
        for _ in range(2):    # the GPU may work again
            with pytest.raises(GpuError, match="off the bus"):
                work.work()
        work.error = None
        assert work.work() == "by the GPU"

    @pytest.mark.parametrize("backend", ["auto", "cuda"])
    def test_a_report_takes_the_place_of_both_and_prepare_asks_again(self, backend):
        work, reports = Work(backend), []
        work.on_gpu_failure = reports.append
        work.prepare()
        work.error = GpuError("off the bus")
        assert [work.work() for _ in range(3)] == 3 * ["by the CPU"] and len(reports) == 1
        work.prepare()
        assert work.work() == "by the CPU" and len(reports) == 2
        work.error = None
        work.prepare()
        assert work.work() == "by the GPU" and len(reports) == 2

    @pytest.mark.parametrize("error", [TypeError("ours"), RuntimeError("ours"), ValueError("ours")])
    def test_other_errors_are_no_gpu_failures(self, error):
        work = Work("cuda")
        work.error, work.on_gpu_failure = error, pytest.fail
        for call in (work.work, work.prepare):
            with pytest.raises(type(error), match="ours"):
                call()


@pytest.mark.parametrize("period, gpus", [(1, 0), (14, [0, 1])])
def test_a_block_chooses_in_start_and_logs_it(period, gpus, monkeypatch, capfd):
    fake_cuda.install(monkeypatch, 2)
    fake_cuda.let_gpu_win(monkeypatch)
    y, h, noise_var, _ = problem(14 * 300, 4, 4, "qam16", 18, period)
    block = make("nway", device=gpus, noise_var=noise_var, symbols_per_channel=period)
    expected = detectors.NWay(backend="cpu").detect(y, h, noise_var)
    for repeat in (1, 2):
        np.testing.assert_array_equal(play(block, y, h, period)[0], expected)
        assert block.last_backend() == "cuda" and block.vectors() == len(y) * repeat
        assert "backend auto: cuda; a batch takes" in "".join(capfd.readouterr())
    assert block.erasures() == block.failures() == 0
    assert any(what == "launch" for what, _ in Fake.log)


def test_auto_with_a_gpu_that_this_machine_lacks(monkeypatch, capfd):
    fake_cuda.install(monkeypatch, 1)
    y, h, noise_var, _ = problem(300, 4, 4, "qam16", 18)
    block = make("nway", device=1, noise_var=noise_var)
    play(block, y, h)
    assert block.last_backend() == "cpu" and block.erasures() == 0
    assert "device: got 1, allowed are 0 to 0" in "".join(capfd.readouterr())
