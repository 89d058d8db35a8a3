# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A receiver whose detectors get fewer threads than there are cores."""

import os
import subprocess
import sys

from source_tree import ROOT

SCRIPT = """
import resource, sys
from pathlib import Path
import numpy as np
from gnuradio.mimopack import wifi
from gnuradio.mimopack.wifi import decoder
decoder._SHARED_WORK = 0    # detectors use all cores for each batch
x = np.fromfile(sys.argv[1], np.int16).astype(np.float32).view(np.complex64)
x = np.ascontiguousarray(x.reshape(-1, 4).T) / 2**15
receiver = wifi.Receiver(4, detector="mmse", threads=1, backend="cpu", sample_rate=20e6)
pages = int(Path("/proc/self/statm").read_text().split()[0])
_, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (70 << 20), hard))
frames = [*receiver.process(x), *receiver.finish()]
print(len(frames), sum(len(frame.mpdus) for frame in frames))
"""


def test_detectors_go_on_if_the_system_refuses_threads():
    """There are 16 cores by OMP_NUM_THREADS, and room for a few stacks of 8 MiB."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, ROOT / "examples/recordings/wifi_4x4_ht.sigmf-data"],
        capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "16",
             "MALLOC_ARENA_MAX": "1"})
    assert done.stdout.split() == ["80", "80"], done.stderr
    assert done.stderr.count("RuntimeWarning: threads: the system refused to start ") == 1
