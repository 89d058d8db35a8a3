# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The SoapySDR driver of soapy/ in flowgraphs.

If the driver was not built, pytest skips every test file that imports this one.
"""

import os
import time

import numpy as np
import pytest
from source_tree import PACKAGES, ROOT

_FOLDERS = [PACKAGES.parent / "soapy/modules", ROOT / "build/soapy/modules"]
MODULES = os.environ.get("MIMOPACK_SOAPY_MODULES") or next(
    (str(folder) for folder in _FOLDERS if list(folder.glob("*.so"))), None)
if MODULES is None:
    pytest.skip("the SoapySDR driver was not built: it needs libsoapysdr-dev and "
                "nlohmann-json3-dev when CMake runs", allow_module_level=True)
# SoapySDR reads this variable when the first device is made.
os.environ["SOAPY_SDR_PLUGIN_PATH"] = MODULES
soapy = pytest.importorskip("gnuradio.soapy")
SoapySDR = pytest.importorskip("SoapySDR", reason="needs python3-soapysdr")

RATE = 1e6
LENGTH = 60000


def ramp(channels, length=LENGTH):
    """Return samples with their index as real part and the channel as imaginary part."""
    return np.arange(length) + 1j * np.arange(channels)[:, None]


def run(flowgraph, done, seconds=10):
    """Run until done() is true or the time is over; no flowgraph may hang a test."""
    end = time.monotonic() + seconds
    flowgraph.start()
    while not done() and time.monotonic() < end:
        time.sleep(0.01)
    flowgraph.stop()
    flowgraph.wait()
