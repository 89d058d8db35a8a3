# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A GPU that is lost, busy or shared: no vector is lost."""

import gc
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from detector_blocks import Sink, Source, make, play
from gnuradio import gr
from gnuradio.mimopack import detectors
from simulated import problem

pytestmark = pytest.mark.gpu

N = 10_000


def check(block, data, event=None):
    """Play the vectors, all of which must be right; an event is called after half of them."""
    y, h, noise_var, _ = data
    before = block.vectors()
    llr, _ = play(block, y, h, step=500, event=event and (N // 2, event))
    right(llr, detectors.NWay(backend="cpu").detect(y, h, noise_var))
    assert block.vectors() - before == len(y) and block.erasures() == block.failures() == 0


def right(llr, expected):
    scale = np.max(np.abs(expected), axis=1)
    assert np.count_nonzero(np.max(np.abs(llr - expected), axis=1) > 1e-3 * scale + 1e-6) <= 1


@pytest.fixture
def data():
    return problem(N, 4, 4, "qam16", 18)


def test_no_memory_while_a_block_starts(data, capfd):
    """As if another process had taken the GPU's memory: the next start gets it."""
    import cupy

    pool = cupy.get_default_memory_pool()
    block = make("nway", backend="cuda", noise_var=data[2])
    gc.collect()    # what other tests leave would make room later
    pool.free_all_blocks()
    pool.set_limit(size=max(1, pool.used_bytes()))
    try:
        check(block, data)
    finally:
        pool.set_limit(size=0)
    assert block.last_backend() == "cpu"
    assert "".join(capfd.readouterr()).count("the GPU failed, going on with the CPU") == 1
    check(block, data)
    assert block.last_backend() == "cuda" and "GPU failed" not in "".join(capfd.readouterr())


def test_no_memory_in_mid_stream(data, capfd):
    """The memory is gone when larger batches need more of it."""
    import cupy

    pool, block = cupy.get_default_memory_pool(), make("nway", backend="cuda", noise_var=data[2])
    y, h, noise_var, _ = data
    sources = []

    def grow():
        gc.collect()
        pool.free_all_blocks()
        pool.set_limit(size=max(1, pool.used_bytes()))
        for source in sources:
            source._step = N

    sources += [Source(y, (), 10, (N // 2, grow)), Source(h, (), 10)]
    top, sink = gr.top_block(), Sink(np.float32, 16)
    block._detector.prepare = lambda *_: None    # whose memory would be enough for all batches
    for port, source in enumerate(sources):
        top.connect(source, (block, port))
    top.connect(block, sink)
    try:
        top.run()
    finally:
        pool.set_limit(size=0)
    right(sink.items(), detectors.NWay(backend="cpu").detect(y, h, noise_var))
    assert block.last_backend() == "cpu" and block.vectors() == N
    assert block.erasures() == block.failures() == 0
    said = "".join(capfd.readouterr())
    assert said.count("going on with the CPU") == 1 and "OutOfMemory" in said
    del block._detector.prepare
    check(block, data)
    assert block.last_backend() == "cuda"


class Occupied:
    """Kernels that take all multiprocessors until ``end()``, on a stream of their own."""

    SOURCE = """extern "C" __global__ void __launch_bounds__(1024, 2) occupy(volatile int* goes_on)
        { while (*goes_on) __nanosleep(1000); }"""

    def __init__(self):
        import cupy

        self._memory = cupy.cuda.alloc_pinned_memory(4)
        self._goes_on = np.frombuffer(self._memory, np.int32, 1)
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._kernel = cupy.RawKernel(self.SOURCE, "occupy")
        self._processors = cupy.cuda.Device().attributes["MultiProcessorCount"]
        self._goes_on[0] = 0
        self.begin()    # compiles
        self._stream.synchronize()

    def begin(self):
        self._kernel((2 * self._processors,), (1024,), (np.uintp(self._memory.ptr),),
                     stream=self._stream)

    def hold(self):
        self._goes_on[0] = 1
        self.begin()

    def end(self):
        self._goes_on[0] = 0
        self._stream.synchronize()


@pytest.fixture
def occupied():
    other = Occupied()
    yield other
    other.end()


def test_other_work_holds_the_gpu_up(data, occupied):
    """The GPU is busy with other work for two seconds in mid-stream, and then goes on."""
    times = []

    def hold():
        occupied.hold()
        times.append(time.monotonic())
        timer.start()

    timer = threading.Timer(2, occupied.end)
    block = make("nway", backend="cuda", noise_var=data[2])
    check(block, data, hold)
    assert time.monotonic() - times[0] >= 2
    assert block.last_backend() == "cuda"
    timer.join()


CHILD = """
import sys
from detector_blocks import make
from gnuradio.mimopack import detectors
from simulated import problem
from test_losses import check

data = problem(10_000, 4, 4, "qam16", 18)
block = make("nway", backend="cuda", noise_var=data[2])
if sys.argv[1] == "breaks":
    import cupy
    import numpy as np

    wrong = cupy.RawKernel('extern "C" __global__ void f(int* p) { *p = 1; }', "f")
    wrong.compile()
    event = lambda: wrong((1,), (1,), (np.uintp(64),), stream=cupy.cuda.Stream(non_blocking=True))
for turn in range(5):
    check(block, data, event if turn == 2 and sys.argv[1] != "runs" else None)
print()    # CuPy's complaints may lack an end of line
print("last backend:", block.last_backend(), flush=True)
"""


def child(how):
    folder = os.path.dirname(__file__)
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, how], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([folder, *sys.path])})


def test_two_processes_on_one_gpu():
    """One process loses its context: the CPU goes on, in mid-stream; the other keeps the GPU."""
    hows = "runs", "breaks"
    children = [child(how) for how in hows]
    for how, one in zip(hows, children, strict=True):
        said, _ = one.communicate(timeout=120)
        assert one.returncode == 0, said
        last = "cuda" if how == "runs" else "cpu"
        assert f"last backend: {last}" in said.splitlines(), said
