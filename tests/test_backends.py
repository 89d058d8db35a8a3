# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The meaning of "auto", "cpu", "cuda" and "reference" for host arrays, and GPU failures."""

import warnings
from types import SimpleNamespace

import pytest
from gnuradio.mimopack.backends import BACKENDS, Placement


class Crossover:
    """Imitates a known crossover: a GPU that wins from a given number of items on."""

    def __init__(self, least):
        self.least, self.asked, self.slow = least, [], []

    def prefers_gpu(self, n, case, many):
        self.asked.append((n, case, many))
        return n >= self.least

    def took(self, seconds, case):
        self.slow.append(case)


def work(placement, n, case=()):
    return placement.run(n, lambda: "by the CPU", lambda: "by the GPU", case)


def failing():
    raise RuntimeError("the GPU has fallen off the bus")


class TestChoice:
    @pytest.mark.parametrize("backend, result, last", [
        ("cpu", "by the CPU", "cpu"), ("reference", "by the CPU", "reference"),
        ("cuda", "by the GPU", "cuda"), ("auto", "by the CPU", "cpu")])
    def test_without_a_crossover(self, backend, result, last):
        placement = Placement(backend)
        assert placement.last is None
        assert work(placement, 10**6) == result and placement.last == last

    def test_auto_takes_the_faster_one(self):
        placement = Placement("auto", Crossover(100))
        assert [work(placement, n, ("case",)) for n in (99, 100)] == ["by the CPU", "by the GPU"]
        assert placement.crossover.asked == [(99, ("case",), False), (100, ("case",), False)]
        assert placement.crossover.slow == [("case",)]    # only CPU times are recorded

    @pytest.mark.parametrize("backend", [b for b in BACKENDS if b != "auto"])
    def test_others_do_not_ask(self, backend):
        crossover = Crossover(0)
        work(Placement(backend, crossover), 5)
        assert crossover.asked == crossover.slow == []

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_arrays_of_a_gpu_stay_there(self, backend):
        array = type("ndarray", (), {"__module__": "cupy"})()
        assert Placement(backend).is_on_gpu(array) == (backend in ("auto", "cuda"))
        assert not Placement(backend).is_on_gpu(SimpleNamespace())

    def test_other_backends_are_refused(self):
        with pytest.raises(ValueError, match="backend: got 'gpu', allowed are auto, cpu, cuda, re"):
            Placement("gpu")
        with pytest.raises(ValueError, match="backend: got 'reference', allowed are auto, cpu$"):
            Placement("reference", allowed=("auto", "cpu"))

    @pytest.mark.parametrize("backend, n, started", [
        ("cuda", 1, True), ("cpu", 500, False), ("auto", 99, False), ("auto", 100, True)])
    def test_prepare(self, backend, n, started):
        calls, placement = [], Placement(backend, Crossover(100))
        placement.prepare(n, lambda: calls.append(1), ("case",))
        assert calls == [1] * started and placement.last is None
        if placement.crossover:
            assert placement.crossover.asked == [(n, ("case",), True)]


class TestFailure:
    def fail(self, placement, n=100):
        return placement.run(n, lambda: "by the CPU", failing)

    def test_auto_warns_once_and_the_cpu_goes_on(self):
        placement = Placement("auto", Crossover(100))
        with pytest.warns(RuntimeWarning, match="going on with the CPU.*off the bus") as caught:
            assert self.fail(placement) == "by the CPU"
        assert caught[0].filename == __file__    # the calling line, outside the package
        assert placement.last == "cpu" and placement.gpu_is_lost
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert self.fail(placement) == "by the CPU"

    def test_cuda_raises(self):
        placement = Placement("cuda")
        for _ in range(2):    # the GPU may work again
            with pytest.raises(RuntimeError, match="off the bus"):
                self.fail(placement)
        assert not placement.gpu_is_lost and work(placement, 1) == "by the GPU"

    @pytest.mark.parametrize("backend", ["auto", "cuda"])
    def test_a_report_takes_the_place_of_both(self, backend):
        reports, placement = [], Placement(backend, Crossover(100))
        placement.on_failure = reports.append
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert [self.fail(placement) for _ in range(3)] == 3 * ["by the CPU"]
        error, = reports
        assert "off the bus" in str(error)

    def test_a_failure_of_the_cpu_is_raised(self):
        placement = Placement("cuda")
        placement.on_failure = lambda error: None
        with pytest.raises(RuntimeError, match="off the bus"):
            placement.run(1, failing, failing)

    def test_while_preparing(self):
        reports, placement = [], Placement("cuda")
        placement.on_failure = reports.append
        placement.prepare(5, failing)
        assert len(reports) == 1 and work(placement, 5) == "by the CPU"

    @pytest.mark.parametrize("backend", ["auto", "cuda"])
    def test_the_gpu_comes_back_when_it_is_asked_for(self, backend):
        reports, placement = [], Placement(backend, Crossover(100))
        placement.on_failure = reports.append
        self.fail(placement)
        assert work(placement, 100) == "by the CPU" and placement.gpu_is_lost
        placement.prepare(100, failing)
        assert work(placement, 100) == "by the CPU" and len(reports) == 2
        placement.prepare(100, lambda: None)
        assert work(placement, 100) == "by the GPU" and not placement.gpu_is_lost
        assert len(reports) == 2
