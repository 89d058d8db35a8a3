# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators of the CPU's lane types with each instruction set, against plain C++."""

import platform
import subprocess

import pytest
from gnuradio.mimopack import _core
from source_tree import ROOT

X86 = {"baseline": [], "avx2": ["-mavx2", "-mfma"],
       "avx512": [f"-mavx512{part}" for part in ("f", "dq", "bw", "vl")] + ["-mfma"],
       "plain": ["-U__SSE2__"]}    # other processors' section of cpu/instructions.h
OPTIONS = X86 if platform.machine() == "x86_64" else {_core.isa(): []}


@pytest.mark.parametrize("isa", OPTIONS)
def test_operators(isa, tmp_path):
    subprocess.run(
        ["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-maybe-uninitialized",
         "-Wno-uninitialized", "-fno-math-errno", "-fno-trapping-math", f"-DMIMOPACK_ISA={isa}",
         *OPTIONS[isa], f"-I{ROOT}/lib", ROOT / "tests/cpu/lanes.cc", "-o", tmp_path / "lanes"],
        check=True, timeout=300)
    flags = open("/proc/cpuinfo", encoding="ascii").read().split()
    needed = {"avx2": "avx2", "avx512": "avx512bw"}.get(isa)
    if needed and needed not in flags:
        pytest.skip(f"this processor lacks {isa}")
    done = subprocess.run([tmp_path / "lanes"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stdout, done.stdout
