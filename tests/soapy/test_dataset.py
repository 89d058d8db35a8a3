# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The SoapySDR driver plays a dataset that is cut, or that it cannot read."""

import errno
import os
import subprocess
import sys

import pytest
from array_memory import build
from gnuradio.mimopack import recording
from soapy_driver import RATE, SoapySDR, ramp

FAILED = SoapySDR.SOAPY_SDR_STREAM_ERROR
CHANNELS, SAMPLE_BYTES = 4, 32

# Read as the steps say, and print what each read returns. Samples are those of ramp().
PROGRAM = """
import ctypes, os, sys
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
    elif verb == "fail":
        ctypes.CDLL(None).fail_preads(int(value))
    elif verb == "activate":
        print(device.activateStream(stream), flush=True)
    else:
        samples = np.full((4, int(value)), -1, np.complex64)
        code = device.readStream(stream, list(samples), int(value), 0, 1_000_000).ret
        index = np.arange(total, total + max(0, code)) % int(length)
        assert np.array_equal(samples[:, :max(0, code)], index + 1j * np.arange(4)[:, None])
        total += len(index)
        print(code, flush=True)
preads = getattr(ctypes.CDLL(None), "preads", None)
print("preads", preads() if preads else 0)
device.closeStream(stream)
"""


class Playing:
    """The driver plays a recording in a process of its own, which a fault may end."""

    def __init__(self, folder, *steps, length=60000, repeat=0, library=None):
        path = recording.write(folder / "air", ramp(CHANNELS, length), RATE)
        self.data = path.with_suffix(".sigmf-data")
        # A sanitizer's library may be there already.
        preload = ":".join(filter(None, [os.environ.get("LD_PRELOAD"), library]))
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, f"recording={path},repeat={repeat}", self.data,
             str(length), *steps], capture_output=True, text=True, timeout=60,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "LD_PRELOAD": preload})
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        *codes, calls = done.stdout.splitlines()
        self.codes, self.preads = [int(code) for code in codes], int(calls.split()[1])
        # SoapySDR colours its log.
        self.errors = [line.split("mimopack: ")[1].removesuffix("\x1b[0m")
                       for line in done.stderr.splitlines() if "mimopack: " in line]


@pytest.mark.parametrize("steps, codes, found", [
    # Between opening and the first read.
    (["cut=0", "read=100"], [FAILED], 0),
    (["cut=4096", "read=1000"], [FAILED], 4096),
    # While it plays: at the next sample, within the next read, and behind it.
    (["read=1000", "cut=32000", "read=1000"], [1000, FAILED], 32000),
    (["read=1000", "cut=48000", "read=1000"], [1000, FAILED], 48000),
    (["read=1000", "cut=64000", "read=1000", "read=1000"], [1000, 1000, FAILED], 64000),
    # The error stays, and is logged once.
    (["cut=0", "read=100", "read=100", "activate=0"], [FAILED] * 3, 0),
])
def test_a_dataset_that_is_cut_ends_the_stream(tmp_path, steps, codes, found):
    played = Playing(tmp_path, *steps)
    assert played.codes == codes
    assert played.errors == [
        f"recording: {played.data} was cut: expected {60000 * SAMPLE_BYTES} bytes, as when it was "
        f"opened, found {found}"]


@pytest.mark.parametrize("length", [1, 7, 1000, 3000])
def test_a_repeating_dataset_that_is_cut_ends_the_stream(tmp_path, length):
    size = length * SAMPLE_BYTES
    played = Playing(tmp_path, "read=7000", "read=500", f"cut={size // 3}", "read=7000",
                     length=length, repeat=1)
    assert played.codes == [7000, 500, FAILED]
    error, = played.errors
    assert f"expected {size} bytes, as when it was opened, found {size // 3}" in error


@pytest.fixture(scope="module")
def short_pread(tmp_path_factory):
    return str(build("short_pread.cc", tmp_path_factory.mktemp("library") / "short_pread.so"))


def test_short_and_interrupted_reads_lose_no_samples(tmp_path, short_pread):
    played = Playing(tmp_path, "read=1000", "read=16000", "read=333", library=short_pread)
    assert played.codes == [1000, 16000, 333] and played.errors == []
    assert played.preads >= 17333 * SAMPLE_BYTES // 1000


def test_a_dataset_that_cannot_be_read_ends_the_stream(tmp_path, short_pread):
    played = Playing(tmp_path, "read=1000", f"fail={errno.EIO}", "read=1000",
                     library=short_pread)
    assert played.codes == [1000, FAILED]
    assert played.errors == [
        f"recording: {played.data}: Input/output error at byte {1000 * SAMPLE_BYTES}"]
