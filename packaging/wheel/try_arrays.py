# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Try the installed package mimopack where nothing else but NumPy is installed."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import mimopack
import numpy as np
from mimopack import channel, coding, detectors, recording, wifi
from mimopack.cuda import source
from mimopack.wifi import mac

rng = np.random.default_rng(1)
for module in "gnuradio", "click", "cupy", "sigmf", "torch":
    assert importlib.util.find_spec(module) is None, module
assert Path(sys.prefix) in Path(mimopack.__file__).parents
assert not hasattr(mimopack, "wifi_receiver")    # a block

# Detectors, compared with the reference
h = channel.flat_rayleigh(20, 3, 3, rng)
labels = rng.integers(4, size=(20, 3))
for name in detectors.REGISTRY:
    detector, reference = (
        detectors.create(name, num_tx=3, num_rx=3, constellation="qpsk", backend=backend)
        for backend in ("cpu", "reference"))
    y = np.einsum("nij,nj->ni", h, detector.constellation.points[labels])
    y = (y + channel.awgn(y.shape, 0.1, rng)).astype(np.complex64)
    expected = reference.detect(y, h, 0.1)
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(detector.detect(y, h, 0.1), expected, 1e-2, 1e-2, err_msg=name)

# The text of a program for GPUs, and all headers that it includes
texts = [source.program(detectors.MLA(3, 3, "qpsk").plan())]
included = set()
while texts:
    for header in re.findall(r'^#include "(.+)"', texts.pop(), re.MULTILINE):
        if header not in included:
            included.add(header)
            texts.append((source.INCLUDE / header).read_text())
assert source.INCLUDE == Path(mimopack.__file__).parent / "include" and len(included) > 5

# Codes
for name in "wifi:648:1/2", "turbo:512", "conv:500:1/2":
    code = coding.get(name)
    bits = rng.integers(2, size=(10, code.num_info), dtype=np.uint8)
    llr = 8.0 * code.encode(bits) - 4 + rng.normal(0, 8**0.5, (10, code.num_bits))
    assert np.any((llr > 0) != code.encode(bits))
    np.testing.assert_array_equal(code.decoder().decide(llr.astype(np.float32)), bits, name)

# A Wi-Fi frame of two streams
body = bytes.fromhex("0801000002000000000102000000000202000000000300000000") + b"hello"
mpdus = [body + mac.fcs(body)]
_, frame = wifi.Transmitter(num_tx=2).mpdu(lambda length: wifi.HT(mcs=11, length=length), mpdus)
samples = np.pad(0.1 * frame, ((0, 0), (400, 400)))
samples = samples + channel.awgn(samples.shape, 1e-5, rng)
receiver = wifi.Receiver(num_rx=2, sample_rate=20e6)
frames = [*receiver.process(samples.astype(np.complex64)), *receiver.finish()]
assert [mpdu.data for frame in frames for mpdu in frame.mpdus] == mpdus


def refused(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except ImportError as error:
        return str(error)
    raise AssertionError(f"{call} needs nothing else")


# What needs more says what to install.
assert "pip install 'mimopack[cuda]'" in refused(detectors.MMSE, 2, 2, "qpsk", backend="cuda")
assert "pip install sionna-no-rt" in refused(getattr, mimopack, "sionna")
assert "pip install sigmf" in refused(recording.Writer, "recording", 1, 20e6)
assert "blocks need GNU Radio" in refused(importlib.import_module, "mimopack.blocks")
done = subprocess.run([Path(sys.executable).with_name("mimopack")], capture_output=True, text=True)
assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
assert "pip install 'mimopack[cli]'" in done.stderr

print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}: {len(detectors.REGISTRY)} "
      "detectors, codes and a Wi-Fi frame are right")
