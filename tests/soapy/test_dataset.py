# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The SoapySDR driver plays a dataset that is cut."""

import os
import subprocess
import sys

import pytest
from gnuradio.mimopack import recording
from soapy_driver import RATE, SoapySDR, ramp

FAILED = SoapySDR.SOAPY_SDR_STREAM_ERROR
CHANNELS, SAMPLE_BYTES = 4, 32

# Read as the steps say, and print what each read returns. Samples are those of ramp().
PROGRAM = """
import os, sys
import numpy as np, SoapySDR

arguments, data, length, *steps = sys.argv[1:]
device = SoapySDR.Device(f"driver=mimopack,speed=0,{arguments}")
stream = device.setupStream(SoapySDR.SOAPY_SDR_RX, SoapySDR.SOAPY_SDR_CF32, [0, 1, 2, 3])
assert device.activateStream(stream) == 0
total = 0
for step in steps:
    verb, value = step.split("=")
    if verb == "cut":
        os.truncate(data, int(value))
    elif verb == "activate":
        print(device.activateStream(stream), flush=True)
    else:
        samples = np.full((4, int(value)), -1, np.complex64)
        code = device.readStream(stream, list(samples), int(value), 0, 1_000_000).ret
        index = np.arange(total, total + max(0, code)) % int(length)
        assert np.array_equal(samples[:, :max(0, code)], index + 1j * np.arange(4)[:, None])
        total += len(index)
        print(code, flush=True)
device.closeStream(stream)
"""


class Playing:
    """The driver plays a recording in a process of its own, which a fault may end."""

    def __init__(self, folder, *steps, length=60000, repeat=0):
        path = recording.write(folder / "air", ramp(CHANNELS, length), RATE)
        self.data = path.with_suffix(".sigmf-data")
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, f"recording={path},repeat={repeat}", self.data,
             str(length), *steps], capture_output=True, text=True, timeout=60,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        self.codes = [int(code) for code in done.stdout.splitlines()]
        # SoapySDR colours its log.
        self.errors = [line.split("mimopack: ")[1].removesuffix("\x1b[0m")
                       for line in done.stderr.splitlines() if "mimopack: " in line]


@pytest.mark.parametrize("steps, codes, found", [
    (["read=1000", "cut=48000", "read=1000"], [1000, FAILED], 48000),
    # The error stays, and is logged once.
    (["cut=0", "read=100", "read=100", "activate=0"], [FAILED] * 3, 0),
])
def test_a_dataset_that_is_cut_ends_the_stream(tmp_path, steps, codes, found):
    played = Playing(tmp_path, *steps)
    assert played.codes == codes
    assert played.errors == [
        f"recording: {played.data} was cut: expected {60000 * SAMPLE_BYTES} bytes, as when it was "
        f"opened, found {found}"]
