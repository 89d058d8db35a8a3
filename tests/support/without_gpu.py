# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compile GPU programs with g++ and without_gpu.h, to run them without a GPU."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
from gnuradio.mimopack.cuda import source

HEADER = Path(__file__).parent / "without_gpu.h"
LAUNCH = """
static struct {
    unsigned long long n;
    unsigned chunk, per_matrix;
    const float *y, *h;
    float noise_var;
    const float* prior;
    void* llr;
    unsigned long long* counters;
} call;

static float* scratch;

template <class Kernel>
const char* name_with_type() { return __PRETTY_FUNCTION__; }

extern "C" const char* form() { return name_with_type<mimopack::device::program_kernel>(); }

extern "C" unsigned long long arena_size()
{
    using namespace mimopack::device;
    arena<lane> counting;
    const vector_arrays arrays(counting);
    make_form<program_kernel>(counting);
    constexpr int team = team_threads<program_kernel>(0);
    return team ? (counting.used + team - 1) / team : counting.used;
}

extern "C" void launch(unsigned blocks, unsigned long long n, unsigned chunk, unsigned per_matrix,
                       const float* y, const float* h, float noise_var, const float* prior,
                       void* llr, unsigned long long* counters)
{
    std::vector<float> arenas(static_cast<std::size_t>(blocks) * MIMOPACK_THREADS * MIMOPACK_ARENA);
    scratch = arenas.data();
    call = { n, chunk, per_matrix, y, h, noise_var, prior, llr, counters };
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        turns::run(MIMOPACK_THREADS, [] {
            detect(call.n, call.n / call.chunk, call.chunk, call.per_matrix, call.y, call.h,
                   nullptr, call.noise_var, call.prior, call.llr, 1.0f, nullptr, scratch,
                   call.counters);
        });
}
"""


def compiled(text, path, *more):
    path.with_suffix(".cc").write_text(text)
    options = [option for option in source.OPTIONS if option[:2] in ("-I", "-D", "-s")]
    # -fno-gnu-unique gives each program loaded at the same time its own shared memory.
    subprocess.run(["g++", "-O1", "-w", "-fPIC", "-shared", "-fno-gnu-unique",
                    "-ffp-contract=off", *options, *more, "-include", HEADER,
                    path.with_suffix(".cc"), "-o", path], check=True, timeout=300)
    return ctypes.CDLL(str(path))


def pointer(array):
    return ctypes.c_void_p(0 if array is None else array.ctypes.data)


def launcher(det, folder, form="", arena=2048, **call):
    """Compile a detector's program and return its launch().

    ``form`` is the name of the kernel that the program must choose, ``arena`` the number of floats
    in a thread's arena, and ``call`` the arguments of ``source.program``.
    """
    program = compiled(source.program(det.plan(), arena, **call) + LAUNCH, folder / "program.so")
    program.form.restype = ctypes.c_char_p
    assert form in program.form().decode() and program.arena_size() <= arena
    return program.launch


def detect(det, launch, y, h, noise_var, prior=None, blocks=1, chunk=1):
    """Run the program; return (LLRs, number of erased vectors)."""
    n, matrices = len(y), len(h)
    llr, counters = np.full((n, det.bits_per_vector), np.nan, np.float32), np.zeros(2, np.uint64)
    launch(blocks, ctypes.c_ulonglong(n), chunk, n // matrices // chunk, pointer(y), pointer(h),
           ctypes.c_float(noise_var), pointer(prior), pointer(llr), pointer(counters))
    return llr, counters[0]
