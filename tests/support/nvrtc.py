# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compile with NVIDIA's NVRTC from the package nvidia-cuda-nvrtc, which needs no GPU."""

import ctypes
import re
import site
import sys
from functools import cache
from pathlib import Path


@cache
def library():
    folders = [*site.getsitepackages(), site.getusersitepackages(), *sys.path]
    for folder in folders:
        for path in sorted(Path(folder).glob("nvidia/*/lib/libnvrtc.so.*")):
            return ctypes.CDLL(str(path))
    raise FileNotFoundError("libnvrtc.so: pip install nvidia-cuda-nvrtc")


class Program:
    """A compiled program.

    ``error`` is None or the compiler's log. ``registers``, ``stack`` and ``spills`` (bytes) are
    dictionaries by kernel. ``ptx`` is the text in NVIDIA's assembly language, or None.
    """

    def __init__(self, source, architecture, options):
        nvrtc, program = library(), ctypes.c_void_p()
        if nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"program.cu", 0,
                                    None, None):
            raise RuntimeError("nvrtcCreateProgram failed")
        flags = [f"-arch={architecture}", "-Xptxas=-v", *options]
        status = nvrtc.nvrtcCompileProgram(
            program, len(flags), (ctypes.c_char_p * len(flags))(*map(str.encode, flags)))
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        self.ptx = None if status else self._ptx(nvrtc, program)
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
        text = log.value.decode()
        self.error = text if status else None
        self.registers, self.stack, self.spills = {}, {}, {}
        for name, stack, spilled, registers in re.findall(
                r"Compiling entry function '(\w+)' .*?Function properties for \1\n[^\n]*?"
                r"(\d+) bytes stack frame, (\d+) bytes spill.*?Used (\d+) registers", text,
                re.DOTALL):
            self.stack[name], self.spills[name] = int(stack), int(spilled)
            self.registers[name] = int(registers)

    @staticmethod
    def _ptx(nvrtc, program):
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(max(1, size.value))
        nvrtc.nvrtcGetPTX(program, text)
        return text.value.decode()
