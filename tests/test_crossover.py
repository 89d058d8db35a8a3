# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The batch size from which a GPU is faster: when it is measured, and what is stored."""

import json
import math
import threading
import time
from pathlib import Path

import pytest
from gnuradio.mimopack import crossover
from gnuradio.mimopack.crossover import Crossover, crossing, keep, measure, recall
from gnuradio.mimopack.cuda import device

CONFIGURATION = {"work": "decoder", "threads": 2}


@pytest.fixture
def new_process(monkeypatch):
    """Call it to forget what is stored only in memory."""
    return lambda: monkeypatch.setattr(crossover, "_known", {})


@pytest.fixture
def measured(monkeypatch):
    """A GPU that wins from 1000 items on; returns a list of the measured sizes."""
    monkeypatch.setattr(device, "count", lambda: 1)
    monkeypatch.setattr(device, "device_name", lambda number: f"GPU {number}")
    sizes = []
    monkeypatch.setattr(crossover, "measure", lambda problem: (
        sizes.append(problem(64)), [(500, 1.0, 2.0), (1500, 3.0, 2.0)])[1])
    return sizes


def made(devices=(0,), name="decoder"):
    return Crossover(name, devices, lambda threads: {"threads": threads},
                     lambda n, threads: (n, threads))


@pytest.mark.parametrize("rows, least", [
    ([(16, 1.0, 0.5)], 16), ([(16, 0.5, 1.0)], math.inf),
    ([(100, 1.0, 3.0), (200, 5.0, 3.0)], 150),
    ([(100, 1.0, 3.0), (200, 2.0, 3.0)], 300),          # the GPU wins further on
    ([(100, 1.0, 3.0), (200, 2.0, 4.0)], math.inf),     # both times grow equally
    ([(100, 1.0, 3.0), (200, 2.0, 3.95)], math.inf),    # the gain may be chance
    ([(64, 1.0, 3.0), (256, 0.9, 2.0)], math.inf)])
def test_crossing(rows, least):
    assert crossing(rows) == least


class TestChoice:
    def test_small_batches_are_not_worth_a_measurement(self, measured):
        sizes = made()
        assert not sizes.prefers_gpu(15, (1,), many=True) and not sizes.prefers_gpu(4095, (1,))
        assert measured == []

    @pytest.mark.parametrize("ahead", ["large", "slow before", "many"])
    def test_measured_once(self, measured, ahead):
        sizes = made()
        if ahead == "large":
            assert sizes.prefers_gpu(4096, (1,))
        elif ahead == "slow before":
            sizes.took(0.9 * crossover.LONG_SECONDS, (1,))
            assert not sizes.prefers_gpu(1000, (1,)) and measured == []
            sizes.took(1.1 * crossover.LONG_SECONDS, (1,))
        else:
            assert not sizes.prefers_gpu(16, (1,), many=True)
        assert [sizes.prefers_gpu(n, (1,)) for n in (999, 1000)] == [False, True]
        assert measured == [(64, 1)]

    def test_each_case_is_measured(self, measured):
        sizes = made()
        for threads in (1, 2, 1):
            sizes.prefers_gpu(5000, (threads,))
        assert measured == [(64, 1), (64, 2)]

    def test_another_process_finds_it(self, measured, new_process):
        for _ in range(3):
            new_process()
            assert made().prefers_gpu(5000, (1,))
        assert len(measured) == 1
        made(name="receiver").prefers_gpu(5000, (1,))
        assert len(measured) == 2
        kept = [json.loads(path.read_text()) for path in sorted(crossover.folder().iterdir())]
        assert [entry["configuration"]["work"] for entry in kept] == ["decoder", "receiver"]
        assert kept[0]["gpu_from"] == 1000 and kept[0]["configuration"]["gpus"] == ["GPU 0"]

    def test_gpus_that_are_not_there(self, measured):
        assert not made(devices=(0, 1)).prefers_gpu(10**6, (1,)) and measured == []


class TestKept:
    @pytest.mark.parametrize("least", [16, 4000, math.inf])
    def test_values(self, least, new_process):
        assert recall(CONFIGURATION) is None
        keep(CONFIGURATION, least, [(16, 1.0, 2.0)])
        new_process()
        assert recall(CONFIGURATION) == least
        assert recall({**CONFIGURATION, "threads": 3}) is None

    @pytest.mark.parametrize("text", [
        "", "{", "[]", "7", "{}", '{"gpu_from": 5}', b"\xff\xfe", '{"gpu_from": "x"}',
        '{"gpu_from": "5", "configuration": {"work": "decoder", "threads": 2}}',
        '{"gpu_from": -5, "configuration": {"work": "decoder", "threads": 2}}',
        '{"gpu_from": 5, "configuration": {"work": "decoder", "threads": 4}}'])
    def test_what_cannot_be_read_is_measured_again(self, text, new_process):
        keep(CONFIGURATION, 50, [])
        file, = crossover.folder().iterdir()
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        new_process()
        assert recall(CONFIGURATION) is None

    def test_where_nothing_can_be_written_this_process_knows(self, monkeypatch, new_process):
        monkeypatch.setattr(crossover, "folder", lambda: Path("/dev/null/mimopack"))
        keep(CONFIGURATION, 50, [])
        assert recall(CONFIGURATION) == 50
        new_process()
        assert recall(CONFIGURATION) is None

    def test_writers_side_by_side(self, new_process):
        def write(least):
            for _ in range(100):
                keep(CONFIGURATION, least, [(16, 1.0, 2.0)] * 100)

        writers = [threading.Thread(target=write, args=(least,)) for least in (100, 200)]
        keep(CONFIGURATION, 100, [])
        for writer in writers:
            writer.start()
        while any(writer.is_alive() for writer in writers):
            new_process()
            assert recall(CONFIGURATION) in (100, 200)
        assert len(list(crossover.folder().iterdir())) == 1


class TestMeasuring:
    def problem(self, cpu_item, gpu_call, gpu_item=0.0, most=2**30):
        """Return stand-ins that take this number of seconds; they add it to ``self.slept``."""
        self.slept = 0.0

        def sleep(seconds):
            self.slept += seconds
            time.sleep(seconds)

        return lambda n: None if n > most else (
            lambda: sleep(cpu_item * n), lambda: sleep(gpu_call + gpu_item * n))

    def test_it_ends_when_the_gpu_wins(self):
        rows = measure(self.problem(2e-5, 4e-3))
        assert [row[0] for row in rows] == [16, 64, 256] and 64 < crossing(rows) <= 256

    @pytest.mark.parametrize("cpu_item, gpu_item", [(1e-2, 1.6e-2), (1e-3, 2e-3)])
    def test_it_is_short_with_slow_work(self, cpu_item, gpu_item):
        rows = measure(self.problem(cpu_item, 1e-3, gpu_item))
        assert 0 < self.slept < 2.5
        assert rows[-1][0] < 1000 and crossing(rows) == math.inf

    def test_batches_have_a_limit(self, monkeypatch):
        monkeypatch.setattr(crossover, "SECONDS", 60.0)    # no time limit, even on a busy machine
        rows = measure(self.problem(0, 1e-4, most=100))
        assert [row[0] for row in rows] == [16, 64]
