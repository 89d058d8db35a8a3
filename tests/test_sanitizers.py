# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sanitizers see errors in arenas and shared loops, which scripts/sanitize_cpu.py relies on."""

import os
import shutil
import subprocess

import pytest
from source_tree import ROOT

ARENA = """
#define MIMOPACK_ISA test
#include "common/storage.h"
#include <cstdlib>
using namespace mimopack::test;
int main(int, char** words)
{
    arena<double> counting;
    counting.take(3);
    counting.take(5);
    arena<double> space{ static_cast<double*>(std::malloc(counting.used * sizeof(double))), 0 };
    volatile double* first = space.take(3);
    volatile double* second = space.take(5);
    for (int i = 0; i < 3; ++i)
        first[i] = 1;
    for (int i = 0; i < 5; ++i)
        second[i] = 1;
    const int past = std::atoi(words[1]);
    if (past)
        (past < 5 ? first : second)[past] = 2;
    std::free(space.memory);
}
"""

LOOP = """
#include <cstdio>
#include <cstdlib>
#include <omp.h>
int main(int, char** words)
{
    const bool race = std::atoi(words[1]);
    long squares[100], sum = 0, others = 0, shared = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum, others)
    {
#pragma omp for schedule(dynamic, 7)
        for (int i = 0; i < 100; ++i)
            squares[i] = i * i;
#pragma omp for schedule(dynamic, 1)
        for (unsigned long i = 0; i < 100; ++i) {
            sum += squares[99 - i];
            if (race)
                shared += i;
        }
        others += omp_get_num_threads() + 10 * omp_get_thread_num();
    }
    std::printf("%ld %ld\\n", sum, others);
    return shared < 0;
}
"""


@pytest.fixture
def program(tmp_path):
    """Compile a program, and return a function that runs it."""
    def compiled(text, *options):
        source = tmp_path / "program.cc"
        source.write_text(text)
        subprocess.run(["g++", "-std=c++17", "-g1", "-DMIMOPACK_SANITIZE", f"-I{ROOT / 'lib'}",
                        *options, source, "-o", tmp_path / "program"], check=True)

        def run(argument, *before):
            return subprocess.run([*before, tmp_path / "program", str(argument)],
                                  capture_output=True, text=True,
                                  env={**os.environ, "LD_PRELOAD": ""})
        return run
    return compiled


def test_address_sanitizer_sees_the_end_of_each_piece_of_an_arena(program):
    run = program(ARENA, "-fsanitize=address")
    assert run(0).returncode == 0
    for past in (3, 5):
        done = run(past)
        assert done.returncode != 0
        assert "use-after-poison" in done.stderr


def test_thread_sanitizer_sees_shared_loops_and_only_their_races(program):
    run = program(LOOP, "-fopenmp", "-fsanitize=thread", ROOT / "lib/cpu/openmp.cc")
    fixed = [shutil.which("setarch"), "-R"]    # see scripts/sanitize_cpu.py
    done = run(0, *fixed)
    assert (done.returncode, done.stdout, done.stderr) == (0, "328350 39\n", "")
    assert "data race" in run(1, *fixed).stderr
