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
extern "C" void launch_{kernel}(unsigned blocks, void** arguments)
{{
    turns::launch({kernel}, blocks, MIMOPACK_THREADS, arguments);
}}
"""
FORM = """
template <class Kernel>
const char* name_with_type() { return __PRETTY_FUNCTION__; }

extern "C" const char* form() { return name_with_type<mimopack::device::program_kernel>(); }

extern "C" unsigned long long arena_size()
{
    return mimopack::device::arena_floats<mimopack::device::program_kernel>();
}

extern "C" void second_launch_bytes(unsigned long long* to)
{
    mimopack::device::second_launch_bytes<mimopack::device::program_kernel>(to);
}
"""


def compiled(text, folder, *more, kernels=("decode",)):
    """Compile a program, with functions for ``run``; ``more`` are options of the compiler."""
    path = folder / "program.so"
    path.with_suffix(".cc").write_text(text + "".join(
        LAUNCH.format(kernel=kernel) for kernel in kernels))
    options = [option for option in source.OPTIONS if option[:2] in ("-I", "-D", "-s")]
    # -fno-gnu-unique gives each program loaded at the same time its own shared memory.
    subprocess.run(["g++", "-O1", "-w", "-std=c++17", "-fPIC", "-shared", "-fno-gnu-unique",
                    "-ffp-contract=off", *options, *more, "-include", HEADER,
                    path.with_suffix(".cc"), "-o", path], check=True, timeout=300)
    return ctypes.CDLL(str(path))


def run(kernel, blocks, *arguments):
    """Run ``launch_NAME`` of a program; arguments are arrays, None, and scalars of NumPy."""
    values = [np.array(np.uint64(0) if value is None else
                       np.uint64(value.ctypes.data) if value.ndim else value)
              for value in arguments]
    kernel(blocks, (ctypes.c_void_p * len(values))(*(value.ctypes.data for value in values)))


def launcher(det, folder, form="", arena=2048, options=(), plan=(), **call):
    """Compile a detector's program and return it, for ``detect``.

    ``form`` is the name of the kernel that the program must choose, ``arena`` the number of floats
    in a thread's arena, ``options`` are the compiler's, ``plan`` changes the detector's plan, and
    ``call`` the arguments of ``source.program``.
    """
    plan = det.plan() | dict(plan)
    program = compiled(source.program(plan, arena, **call) + FORM, folder, *options,
                       kernels=("detect", "detect_second"))
    program.form.restype = ctypes.c_char_p
    assert form in program.form().decode() and program.arena_size() <= arena
    program.threads = plan["gpu_threads"]
    program.floats = program.threads * arena    # of a block
    return program


def detect(det, program, y, h, noise_var, prior=None, blocks=1, chunk=1, noise_cov=None):
    """Run the program; return (LLRs, number of erased vectors).

    Sets the program's ``truncated``, and numbers of the second launch: ``later``, its vectors, and
    ``given``, how often a warp gave work to another one.
    """
    n, matrices = len(y), len(h)
    llr, counts = np.full((n, det.bits_per_vector), np.nan, np.float32), np.zeros((2, 1), np.uint64)
    scratch = np.empty(blocks * program.floats, np.float32)
    sizes = np.zeros(2, np.uint64)
    program.second_launch_bytes(ctypes.c_void_p(sizes.ctypes.data))
    header, place = map(int, sizes)
    later = np.full(header + 8 * n + 16 + blocks * program.threads // 32 * place, 0xA5, np.uint8)
    later[:header] = 0
    for kernel in (program.launch_detect, *([program.launch_detect_second] if header else [])):
        run(kernel, blocks, np.uint64(n), np.uint64(n // chunk), np.uint32(chunk),
            np.uint32(n // matrices // chunk), y, h, None, np.float32(noise_var), noise_cov, prior,
            llr, np.float32(1), None, scratch, *counts, later)
    program.truncated = counts[1, 0]
    program.later, program.given = later[:20].view(np.uint32)[[0, 4]] if header else (0, 0)
    return llr, counts[0, 0]
