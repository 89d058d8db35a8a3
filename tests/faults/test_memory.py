# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each allocation in C++ fails once in turn: MemoryError, and the object that was made works on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from gnuradio.mimopack import detectors

SOURCE = Path(__file__).parents[1] / "support/failing_new.cc"
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
    path = tmp_path_factory.mktemp("library") / "failing_new.so"
    subprocess.run(["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-o", path, SOURCE],
                   check=True)
    return path


@pytest.mark.parametrize("name, threads", [
    *((name, 1) for name in CASES),
    *((name, 2) for name in CASES if name in ("mmse", "nway", "receiver") or ":" in name)])
def test_each_allocation_fails_in_turn(name, threads, library):
    make, use = CASES[name]
    done = subprocess.run(
        [sys.executable, "-c", RUN, make, use, str(threads)], capture_output=True,
        text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "LD_PRELOAD": str(library)})
    assert done.returncode == 0, done.stdout + done.stderr
    failures, refused = map(int, done.stdout.split())
    assert failures > 3 and refused > 3
