# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Try the command of the installed package mimopack[cli]. Argument: the folder examples."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = Path(sys.executable).with_name("mimopack")
EXAMPLES = Path(sys.argv[1])


def run(*arguments, status=0):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status and "Traceback" not in done.stderr, done.stdout + done.stderr
    return done


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
print("the command decodes a recording, simulates, and finds the installation in order")
