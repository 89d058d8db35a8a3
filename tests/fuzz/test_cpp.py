# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every C++ fuzz target over its corpus: with libFuzzer, or without a fuzzer where that is missing.

scripts/fuzz.py searches further.
"""

import functools
import os
import shutil
import subprocess
from pathlib import Path

import fuzz
import pytest
from source_tree import DATA, ROOT

REPLAY = ROOT / "tests/fuzz/cpp/replay.cc"


@functools.cache
def fuzzer():
    """Return the path of clang++ if it has libFuzzer, or None."""
    compiler = shutil.which("clang++")
    told = compiler and subprocess.run([compiler, "--print-runtime-dir"], capture_output=True,
                                       text=True).stdout.strip()
    return compiler if told and list(Path(told).glob("*clang_rt.fuzzer*.a")) else None


def run(command):
    done = subprocess.run(command, env=os.environ | fuzz.NATIVE_ENVIRONMENT, capture_output=True,
                          text=True, errors="replace")
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.parametrize("name", fuzz.LIBRARY)
def test_contract_holds(name, tmp_path):
    inputs = sorted((DATA / "fuzz" / name).iterdir())
    assert inputs
    program, new = tmp_path / "program", tmp_path / "new"
    if fuzzer():
        run(fuzz.compilation(name, fuzzer(), program, "-O1", "-fsanitize=fuzzer", *fuzz.SANITIZERS))
        new.mkdir()
        run([program, "-runs=2000", "-seed=1", f"-max_len={fuzz.NATIVE_MAX_LEN}",
             f"-artifact_prefix={tmp_path}/", new, DATA / "fuzz" / name])
    elif name == "messages.cc":    # g++ takes 20 s to compile it, and needs another library
        run(fuzz.compilation(name, "g++", program, "-fsyntax-only"))
    else:
        run(fuzz.compilation(name, "g++", program, "-O0", *fuzz.SANITIZERS, REPLAY))
        run([program, *inputs])
