# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A compiler, or an editor, can parse each of the detectors' CUDA headers by itself."""

import re
import subprocess

import pytest
from gnuradio.mimopack import detectors
from gnuradio.mimopack.cuda import source
from source_tree import ROOT
from without_gpu import HEADER

HEADERS = [path.relative_to(source.INCLUDE) for pattern in ("cuda/*.h", "detectors/*/cuda*.h")
           for path in sorted(source.INCLUDE.glob(pattern))] + [ROOT / "examples/detector/cuda.h"]


def parse(text, folder):
    path = folder / "program.cc"
    path.write_text(text)
    return subprocess.run(["g++", "-std=c++17", "-fsyntax-only", "-w", f"-I{source.INCLUDE}",
                           "-include", HEADER, path], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("header", HEADERS, ids=str)
def test_each_header_parses_by_itself(header, tmp_path):
    done = parse(f'#include "{header}"\n', tmp_path)
    assert done.returncode == 0, done.stderr


def test_an_unknown_name_is_noticed(tmp_path):
    text = '#include "cuda/program.h"\nint n = mimopack::device::program::unknown;\n'
    done = parse(text, tmp_path)
    assert done.returncode and "unknown" in done.stderr


def test_programs_define_what_the_example_does():
    def names(text):
        declared = re.findall(r"constexpr (?:\w+) ([^;{]*= [^;]*);", text)
        constants = {found for line in declared for found in re.findall(r"(\w+)(?:\[\])? =", line)}
        return constants | set(re.findall(r"#define (MIMOPACK_\w+)", text))

    example = names((source.INCLUDE / "cuda/program.h").read_text())
    program = names(source.program(detectors.create("psd", backend="cpu").plan(), arena=64))
    assert program - {"MIMOPACK_PROGRAM", "MIMOPACK_MAKE"} == example
