# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs for a GPU, compiled by g++ with without_gpu.h: they run without one."""

import ctypes
import subprocess
from pathlib import Path

from gnuradio.mimopack.cuda import source

HEADER = Path(__file__).parent / "without_gpu.h"


def compiled(text, path, *more):
    path.with_suffix(".cc").write_text(text)
    options = [option for option in source.OPTIONS if option[:2] in ("-I", "-D", "-s")]
    # -fno-gnu-unique: programs that are loaded at the same time have shared memory of their own.
    subprocess.run(["g++", "-O1", "-w", "-fPIC", "-shared", "-fno-gnu-unique",
                    "-ffp-contract=off", *options, *more, "-include", HEADER,
                    path.with_suffix(".cc"), "-o", path], check=True, timeout=300)
    return ctypes.CDLL(str(path))


def pointer(array):
    return ctypes.c_void_p(0 if array is None else array.ctypes.data)
