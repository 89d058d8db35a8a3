# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Register detectors from outside gr-mimopack, in Python or with kernels in C++ and CUDA.

docs/own-detector.md shows a detector in Python. docs/architecture.md explains how to write one with
kernels, and examples/detector contains one.
"""

import subprocess
from pathlib import Path

from .. import _core
from ..cuda.source import INCLUDE


def register(detector, module=None):
    """Add a detector to ``REGISTRY``: everything that takes a detector's name then takes this one.

    A class in Python that is defined again, as in a notebook, replaces the earlier one.

    Args:
        detector: a class with a unique name, one of:

            - a class in Python, made as ``detector(num_tx, num_rx, constellation)``, where
              ``constellation.get`` accepts the last argument. Further arguments need defaults, and
              become parameters. Its method ``detect(y, h, noise_var)`` gets a batch in NumPy
              arrays: y (n, nr) and h (n/T, nr, nt) complex64, noise_var (n,) float32. It returns
              (n, nt*m) LLRs, as ``Detector.detect`` does. If the method has an argument ``prior``,
              it gets (n, nt*m) a-priori LLRs or None, and must include them in the result. It need
              not care for NaN, Inf and matrices of deficient rank: these never reach it, and
              vectors for which it returns NaN or Inf are erased.
            - a subclass of ``Detector``. Its ``FOLDER`` contains kernel.h and, for GPUs, cuda.h.
        module: path of the shared library that :func:`compile_module` made from the detector's
            cpu.cc; None for a detector without backend "cpu".

    Returns:
        detector, so that ``register`` is also a decorator.

    Raises:
        ValueError: detector is none of these, the name is taken, or module is not a library made by
            :func:`compile_module`.
    """
    from . import REGISTRY
    from .choosing import adapted

    if not isinstance(detector, type):
        raise ValueError(f"detector: got {detector!r}, must be a class")
    kind = adapted(detector)
    before = dict(REGISTRY).get(kind.name)    # without a look at the plug-ins
    if before is not None and not _again(before, kind):
        raise ValueError(f"detector: got the name {kind.name!r}, which is taken")
    if module is not None:
        _core.load_module(str(Path(module).resolve()))
    REGISTRY[kind.name] = kind
    return detector


def _again(before, kind):
    """Return whether two classes are the same one in Python, defined twice."""
    return before.IN_PYTHON and kind.IN_PYTHON and (
        (before.__module__, before.__qualname__) == (kind.__module__, kind.__qualname__))


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
