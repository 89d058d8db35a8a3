# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The interpreter's end: the threads of a receiver do not end the process by an error."""

import subprocess
import sys

import pytest

CASES = {
    "the threads of a receiver that has just been deleted": """
from gnuradio.mimopack import wifi
receiver = wifi.Receiver(2, threads=3)
del receiver
""",
    "the threads of a receiver in use": """
import numpy as np
from gnuradio.mimopack import wifi
receiver = wifi.Receiver(2, threads=3)
receiver.process(np.zeros((2, 100_000), np.complex64), wait=False)
""",
}


@pytest.mark.parametrize("code", CASES.values(), ids=CASES)
def test_the_end_of_the_interpreter(code, tmp_path):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          timeout=60, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
