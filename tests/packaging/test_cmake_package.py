# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other projects find gr-mimopack with find_package(gnuradio-mimopack)."""

import os
import subprocess
import sys

import pytest
from cmake_runs import cmake, configure
from source_tree import PACKAGES, ROOT

EXAMPLE = ROOT / "examples/detector"

# Arguments: the example's folder, its library
COMPARE = """
import sys
import numpy as np
from gnuradio.mimopack import detectors
sys.path.insert(0, sys.argv[1])
from matched import Matched
detectors.register(Matched, sys.argv[2])
rng = np.random.default_rng(1)
normal = lambda *shape: (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype("c8")
y, h = normal(100, 4), normal(100, 4, 2)
cpu, reference = (Matched(2, 4, "qam16", backend=backend).detect(y, h, 0.1)
                  for backend in ("cpu", "reference"))
assert np.ptp(cpu) > 0
np.testing.assert_allclose(cpu, reference, rtol=1e-3, atol=1e-3)
"""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Prefix with the headers of gr-mimopack and its CMake package."""
    build, prefix = tmp_path_factory.mktemp("build"), tmp_path_factory.mktemp("prefix")
    configure(build, f"-DPYTHON_EXECUTABLE={sys.executable}")
    cmake("--install", build, "--component", "headers", "--prefix", prefix)
    return prefix


def test_a_project_compiles_a_detector_that_the_package_runs(prefix, tmp_path):
    configure(tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror",
              source=EXAMPLE)
    cmake("--build", tmp_path)
    subprocess.run([sys.executable, "-c", COMPARE, EXAMPLE, tmp_path / "libmatched.so"], check=True,
                   timeout=120, env={**os.environ, "PYTHONPATH": str(PACKAGES)})
