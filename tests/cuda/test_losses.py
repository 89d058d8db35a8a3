# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A GPU that is lost, busy or shared: no vector is lost, and it comes back when asked."""

import os
import subprocess
import sys

import numpy as np
import pytest
from detector_blocks import make, play
from gnuradio.mimopack import detectors
from simulated import problem

pytestmark = pytest.mark.gpu

N = 10_000


def check(block, data):
    """Play the vectors, all of which must be right."""
    y, h, noise_var, _ = data
    before = block.vectors()
    llr, _ = play(block, y, h, step=500)
    expected = detectors.NWay(backend="cpu").detect(y, h, noise_var)
    scale = np.max(np.abs(expected), axis=1)
    assert np.count_nonzero(np.max(np.abs(llr - expected), axis=1) > 1e-3 * scale + 1e-6) <= 1
    assert block.vectors() - before == len(y) and block.erasures() == block.failures() == 0


@pytest.fixture
def data():
    return problem(N, 4, 4, "qam16", 18)


def test_no_memory_while_a_block_starts(data, capfd):
    """As if another process had taken the GPU's memory: the next start gets it."""
    import cupy

    pool = cupy.get_default_memory_pool()
    block = make("nway", backend="cuda", noise_var=data[2])
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


def test_other_work_holds_the_gpu_up(data):
    """Kernels of one second each are queued on another stream while the block runs."""
    import cupy

    spin = cupy.RawKernel("""extern "C" __global__ void spin(long long cycles)
        { for (long long start = clock64(); clock64() - start < cycles;); }""", "spin")
    block, stream = make("nway", backend="cuda", noise_var=data[2]), cupy.cuda.Stream(True)
    blocks = 64 * cupy.cuda.Device().attributes["MultiProcessorCount"]
    for _ in range(3):
        spin((blocks,), (256,), (np.int64(10**8),), stream=stream)
    check(block, data)
    assert block.last_backend() == "cuda"
    stream.synchronize()


CHILD = """
import sys
from detector_blocks import make
from simulated import problem
from test_losses import check

data = problem(10_000, 4, 4, "qam16", 18)
block = make("nway", backend="cuda", noise_var=data[2])
for turn in range(5):
    check(block, data)
    if sys.argv[1] == "breaks" and turn == 1:
        import cupy
        cupy.RawKernel('extern "C" __global__ void f(int* p) { *p = 1; }', "f")(
            (1,), (1,), (__import__("numpy").uintp(64),))
print()    # CuPy's complaints may lack an end of line
print("last backend:", block.last_backend())
"""


def child(how):
    folder = os.path.dirname(__file__)
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, how], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([folder, *sys.path])})


@pytest.mark.parametrize("hows", [("runs", "runs"), ("runs", "breaks")])
def test_two_processes_on_one_gpu(hows):
    """The one whose context is destroyed goes on with the CPU, the other one with the GPU."""
    children = [child(how) for how in hows]
    for how, one in zip(hows, children, strict=True):
        said, _ = one.communicate(timeout=120)
        assert one.returncode == 0, said
        last = "cpu" if how == "breaks" else "cuda"
        assert f"last backend: {last}" in said.splitlines(), said
