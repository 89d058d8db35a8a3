# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Register detectors from outside gr-mimopack, with kernels in C++ and CUDA.

docs/architecture.md explains how to write a detector, and examples/detector contains one.
"""

import subprocess
from pathlib import Path

from .. import _core
from ..cuda.source import INCLUDE


def register(detector, module=None):
    """Add a detector to ``REGISTRY``, where blocks and the Wi-Fi receiver find it.

    Args:
        detector: a subclass of ``Detector`` with a unique name. Its ``FOLDER`` contains kernel.h
            and, for GPUs, cuda.h.
        module: path of the shared library that :func:`compile_module` made from the detector's
            cpu.cc; None for a detector without backend "cpu".

    Returns:
        detector

    Raises:
        ValueError: detector is not a subclass of ``Detector`` with a name, the name is taken, or
            module is not a library made by :func:`compile_module`.
    """
    from . import REGISTRY
    from .base import Detector

    if not (isinstance(detector, type) and issubclass(detector, Detector) and detector.name):
        raise ValueError(f"detector: got {detector!r}, must be a subclass of Detector with a name")
    if detector.name in REGISTRY:
        raise ValueError(f"detector: got the name {detector.name!r}, which is taken")
    if module is not None:
        _core.load_module(str(Path(module).resolve()))
    REGISTRY[detector.name] = detector
    return detector


def compile_module(folder, library, compiler="g++"):
    """Compile the cpu.cc of a detector's folder for this machine.

    Args:
        folder: the folder, which contains kernel.h and cpu.cc.
        library: path of the shared library to write.
        compiler: a C++17 compiler with OpenMP.

    Raises:
        subprocess.CalledProcessError: cpu.cc does not compile; the compiler prints why.
        FileNotFoundError: the compiler is not installed.
    """
    folder = Path(folder).resolve()
    subprocess.run(
        [compiler, "-std=c++17", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math",
         "-fopenmp", "-fPIC", "-shared", "-fvisibility=hidden", "-DMIMOPACK_ISA=outside",
         f"-I{INCLUDE}", f"-I{folder}", folder / "cpu.cc", "-o", library], check=True)
