# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks whose threads the system refuses."""

import os
import subprocess
import sys

import pytest

# While a flowgraph runs, a block gets threads=16, and the system has room for a few more threads.
SCRIPT = """
import resource, sys
from pathlib import Path
import numpy as np
from gnuradio import gr, mimopack
from detector_blocks import Sink, Source
name, rng = sys.argv[1], np.random.default_rng(1)
def normal(*shape):
    return rng.normal(size=(*shape, 2)).astype(np.float32).view(np.complex64)[..., 0]
code = "wimax:576:1/2"
own, inputs, outputs = {
    "mmse_detector": ({}, [normal(100000, 4), normal(100000, 16)], [(np.float32, 16)]),
    "fec_decoder": ({"code": code},
                    [rng.normal(size=(4000, 576)).astype(np.float32)], [(np.uint8, 288)]),
    "iterative_receiver": ({"code": code}, [normal(600, 36 * 4), normal(600, 36 * 16)],
                           [(np.uint8, 288), (np.uint8, 1), (np.int32, 1)])}[name]
_, hard = resource.getrlimit(resource.RLIMIT_AS)
def limit():
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (40 << 20), hard))
    block.set_threads(16)
def run(event):
    global block
    block = getattr(mimopack, name)(threads=1, backend="cpu", **own)
    graph = gr.top_block()
    sources = [Source(items, event=None if port else event) for port, items in enumerate(inputs)]
    sinks = [Sink(*output) for output in outputs]
    for port, source in enumerate(sources):
        graph.connect(source, (block, port))
    for port, sink in enumerate(sinks):
        graph.connect((block, port), sink)
    graph.run()
    return sinks[0].items()
expected = run(None)
got = run((len(inputs[0]) // 2, limit))
print(np.array_equal(got, expected), block.threads(), block.refused_settings(), block.failures())
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
"""


@pytest.mark.parametrize("name", ["mmse_detector", "fec_decoder", "iterative_receiver"])
def test_threads_that_the_system_refuses_lose_nothing(name):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, name], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MALLOC_ARENA_MAX": "1"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "True 1 1 0", done.stdout
    said = done.stdout + done.stderr
    assert said.count("threads: the system refused to start ") == 1
    assert said.count("Going on with threads = 1") == 1
