# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""scripts/nightly.sh with a stand-in for Python that notes the commands."""

import shutil
import subprocess
import sys

import pytest
from source_tree import ROOT

STEPS = ["properties", "address", "thread", "fuzz", "loops", "detectors", "receiver", "restarts",
         "live"]
PYTHON = """#!/bin/sh
echo "$*" >> commands
case "$*" in
    *wifi_loops.py*) echo a fault; exit 1 ;;
    *restarts*) exit 124 ;;
esac
"""


@pytest.fixture
def nightly(tmp_path):
    """Function that runs the script in a folder of its own."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/nightly.sh", tmp_path / "scripts")
    (tmp_path / "scripts/setup.sh").write_text("")
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/python").write_text(PYTHON)
    (tmp_path / ".venv/bin/python").chmod(0o755)

    def run(*steps):
        done = subprocess.run(["bash", tmp_path / "scripts/nightly.sh", *steps],
                              capture_output=True, text=True, timeout=60)
        commands = tmp_path / "commands"
        return done, commands.read_text().splitlines() if commands.exists() else []

    return run


def test_all_steps_run_after_those_that_found_a_fault(nightly):
    done, commands = nightly()
    assert done.returncode == 1 and len(commands) == len(STEPS)
    assert done.stdout.splitlines() == [
        *(f"nightly: {step}" for step in STEPS[:5]), "a fault",
        *(f"nightly: {step}" for step in STEPS[5:8]), "nightly: restarts did not end in time",
        "nightly: live", "nightly: look at build/nightly for loops restarts"]


def test_some_steps(nightly):
    done, commands = nightly("fuzz", "live")
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "nightly: no fault"
    assert [command.split()[0] for command in commands] == ["scripts/fuzz.py", "bench/soak.py"]


def test_an_unknown_step_is_refused(nightly):
    done, commands = nightly("fuzz", "soak")
    assert (done.returncode, commands) == (2, [])
    assert done.stderr == f"nightly: no step 'soak', allowed are {' '.join(STEPS)}\n"


def test_the_scripts_know_their_options(nightly):
    for command in nightly()[1]:
        script, *arguments = command.split()
        if script == "-m":
            continue
        told = subprocess.run([sys.executable, ROOT / script, *arguments, "--help"],
                              capture_output=True, text=True, timeout=120)
        assert told.returncode == 0, told.stderr
        assert all(one in told.stdout for one in arguments if one.startswith("--"))
