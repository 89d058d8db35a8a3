# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The interpreter's end: threads in C++ code do not end the process by an error."""

import subprocess
import sys

import pytest

# pybind11 releases Python's lock in its own way when it first makes an array.
THREAD = """
import threading
use()
def repeat():
    while True:
        use()
threading.Thread(target=repeat, daemon=True).start()
"""
CASES = {
    "the threads of a receiver that has just been deleted": """
from gnuradio.mimopack import wifi
receiver = wifi.Receiver(2, threads=3)
del receiver
""",
    "a thread that detects": """
import numpy as np
from gnuradio.mimopack import detectors
mmse = detectors.MMSE(2, 2, "qpsk", backend="cpu", threads=1)
y, h = np.ones((1000, 2), np.complex64), np.ones((1000, 2, 2), np.complex64)
def use():
    mmse.detect(y, h, 0.1)
""" + THREAD,
    "a thread that runs tasks of Python": """
from gnuradio.mimopack import _core
from gnuradio.mimopack.wifi.workers import WorkerPool
workers = WorkerPool(2)
def use():
    workers.result(workers.start(_core.python_task(int, "5")))
""" + THREAD,
}


@pytest.mark.parametrize("code", CASES.values(), ids=CASES)
def test_the_end_of_the_interpreter(code, tmp_path):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          timeout=60, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
