# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Try the installed package mimopack where GNU Radio is missing. Argument: the folder examples."""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import mimopack
import numpy as np
from mimopack import channel, detectors

COMMAND = Path(sys.executable).with_name("mimopack")
EXAMPLES = Path(sys.argv[1])


def run(*arguments, status=0):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status and "Traceback" not in done.stderr, done.stdout + done.stderr
    return done


assert importlib.util.find_spec("gnuradio") is None
assert Path(sys.prefix) in Path(mimopack.__file__).parents
assert not hasattr(mimopack, "wifi_receiver")

rng = np.random.default_rng(1)
h = channel.flat_rayleigh(500, 3, 3, rng)
for name in detectors.REGISTRY:
    detector = detectors.create(name, num_tx=3, num_rx=3, constellation="qpsk")
    labels = rng.integers(4, size=(500, 3))
    y = np.einsum("nij,nj->ni", h, detector.constellation.points[labels])
    y += channel.awgn(y.shape, 1e-4, rng)
    bits = detector.detect(y.astype(np.complex64), h, 1e-4) > 0
    wrong = np.mean(bits != (labels[..., None] >> [1, 0] & 1).reshape(500, 6))
    assert wrong < 0.02, (name, wrong)

demo = EXAMPLES / "recordings/wifi_4x4_ht"
golden = json.loads(demo.with_name(f"{demo.name}.golden.json").read_text())["detectors"]["mla"]
with tempfile.TemporaryDirectory() as folder:
    run("wifi", demo, "--detector", "mla", "--json", f"{folder}/frames.json")
    frames = json.loads(Path(folder, "frames.json").read_text())
whole = "".join("01"[frame["complete"]] for frame in frames)
assert whole == golden["fcs_ok"], whole
run("sim", "--num-tx", 2, "--num-rx", 2, "--snr", 12, "--code", "wifi:648:1/2", "--errors", 1,
    "-d", "mla", "-q")
run("play", demo, status=2)
report = json.loads(run("doctor", "--json").stdout)
assert report["ok"] and all(one["status"] == "ok" for one in report["findings"]), report
print(f"mimopack {mimopack.__version__} works with NumPy {np.__version__}: "
      f"{len(detectors.REGISTRY)} detectors, simulator, recordings")
