# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each allocation in C++ fails once in turn.

An object raises MemoryError and works on as before. A block that plays in a flowgraph counts what
it has lost, and goes on.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from array_memory import build
from gnuradio.mimopack import detectors
from trial import ALL

SUPPORT = Path(__file__).parents[1] / "support"
# wifi_levels and wifi_meter stand for the displays, which take messages in the same way.
BLOCKS = [name for name in ALL if name in ("nway_detector", "psd_detector", "mmse_detector")
          or not name.endswith(("_detector", "_view", "_airtime", "_symbols", "_loss"))]
# {name: (code that makes an object, code that uses it)}, in the process below.
CASES = {
    **{name: (f"detectors.create('{name}', backend='cpu', threads=threads, num_tx=2, num_rx=2, "
              "constellation='qam16')", "made.detect(y, h, noise_var)")
       for name in detectors.names()},
    **{name: (f"coding.get('{name}').decoder(backend='cpu', threads=threads)",
              f"made.decode(llr['{name}'])")
       for name in ("wifi:648:1/2", "turbo:104", "conv:100:3/4", "conv:100:3/4:algorithm=viterbi")},
    "receiver": ("wifi.Receiver(2, detector='mmse', backend='cpu', threads=threads)",
                 "received(made)"),
    "arrivals": ("_runtime.arrivals()", "made.take()"),
    "sample_queue": ("_runtime.SampleQueue(2, 1000, 100, True)", "made.waiting"),
    "sample_sink": ("_runtime.sample_sink('sink', _runtime.SampleQueue(2, 1000, 100, True), 0, 1, "
                    "'control', len, len)", "made.name()")}
RUN = """
import ctypes, functools, gc, logging, sys
import numpy as np
from gnuradio.mimopack import _runtime, coding, detectors, wifi
from simulated import problem
from wifi_air import FRAMES, air

make, use, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
logging.disable()
memory = ctypes.CDLL(None)
y, h, noise_var, _ = problem(300, 2, 2, "qam16", 18, 3)
rng = np.random.default_rng(1)
llr = {name: rng.standard_normal((40, size)).astype(np.float32) for name, size in
       {"wifi:648:1/2": 648, "turbo:104": 324, "conv:100:3/4": 142,
        "conv:100:3/4:algorithm=viterbi": 142}.items() if name in use}

samples, sent = air(FRAMES[2:3], 2)

def received(receiver):
    receiver.restart()
    found = [frame for part in np.array_split(samples, 4, axis=1)
             for frame in receiver.process(part)] + receiver.finish()
    assert not receiver.counts["failures"]
    assert [frame.psdu for frame in found] == [frame.psdu for frame in sent]
    return [frame.start for frame in found]

expected, made = None, eval(make)
expected = eval(use)
caches = [one for one in gc.get_objects() if isinstance(one, functools._lru_cache_wrapper)
          and one.__module__.startswith("gnuradio.mimopack")]
call = failures = refused = 0
while True:
    call += 1 + call // 50
    made = None
    for cache in caches:
        cache.cache_clear()
    memory.fail_at(call)
    try:
        made = eval(make)
        assert np.array_equal(eval(use), expected)    # some allocations may fail without harm
    except MemoryError:
        refused += 1
    failed = memory.has_failed()
    memory.fail_at(0)
    if not failed:
        break
    failures += 1
    made = made or eval(make)
    assert np.array_equal(eval(use), expected)
print(failures, refused)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build("failing_new.cc", tmp_path_factory.mktemp("library") / "failing_new.so")


def run(library, *arguments):
    """Run Python with every allocation of C++ going through the library; return two numbers."""
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=180,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "LD_PRELOAD": str(library)})
    assert done.returncode == 0, done.stdout + done.stderr
    return map(int, done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("name, threads", [
    *((name, 1) for name in CASES),
    *((name, 2) for name in CASES if name in ("mmse", "nway", "receiver") or ":" in name)])
def test_each_allocation_fails_in_turn(name, threads, library):
    failures, refused = run(library, "-c", RUN, *CASES[name], str(threads))
    assert failures > 3 and refused > 3


@pytest.mark.parametrize("name", BLOCKS)
def test_each_allocation_fails_in_a_flowgraph(name, library, tmp_path):
    failures, named = run(library, SUPPORT / "memory_trial.py", name, tmp_path)
    assert failures >= 3 and named > 0
