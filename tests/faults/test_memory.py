# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory that the system refuses, in C++ and in NumPy: MemoryError, and the process goes on."""

import os
import subprocess
import sys

import pytest

DETECT = """
import resource, sys
import numpy as np
from gnuradio.mimopack import detectors
from simulated import problem

name, extra = sys.argv[1], int(sys.argv[2])
det = detectors.create(name, backend="cpu", threads=1)
y, h, noise_var, _ = problem(100_000, 4, 4, "qam16", 18, 100)
expected = det.detect(y[:1000], h[:10], noise_var)
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + extra * 2**10
resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
try:
    fresh = detectors.create(name, backend="cpu", threads=1)
    fresh.detect(y, h, noise_var)
    said = "whole"
except MemoryError:
    said = "refused"
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert np.array_equal(det.detect(y[:1000], h[:10], noise_var), expected)
print(said)
"""


@pytest.mark.parametrize("name", ["mmse", "nway", "kbest", "psd"])
def test_detectors(name):
    said = set()
    for extra in (0, 64, 256, 1024, 4096, 2**14, 2**20):    # KiB
        done = subprocess.run(
            [sys.executable, "-c", DETECT, name, str(extra)], capture_output=True, text=True,
            timeout=120, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        assert done.returncode == 0, done.stderr
        said.add(done.stdout.strip())
    assert said == {"refused", "whole"}
