# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Let NumPy have no memory for an array that mimopack's Python or C++ code makes."""

import ctypes
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

try:
    from numpy._core import _multiarray_umath as _numpy
except ImportError:    # before NumPy 2
    from numpy.core import _multiarray_umath as _numpy

# Place of PyDataMem_GetHandler among the functions of NumPy's C interface.
_GET_HANDLER = 305


def build(source, library):
    """Compile a file of this folder to a shared library; return its path."""
    subprocess.run(["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-o", library,
                    Path(__file__).with_name(source)], check=True)
    return library


@lru_cache
def _library():
    """Return the compiled failing_arrays.cc, installed in NumPy."""
    with tempfile.TemporaryDirectory() as folder:
        # Called with Python's lock, as NumPy's own functions are.
        made = ctypes.PyDLL(str(build("failing_arrays.cc", Path(folder) / "failing_arrays.so")))
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    interface = ctypes.cast(pointer(_numpy._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    handler = ctypes.PYFUNCTYPE(ctypes.py_object)(interface[_GET_HANDLER])()
    assert _numpy.get_handler_name() == "default_allocator" and _numpy.get_handler_version() == 1
    made.install(ctypes.c_void_p(pointer(handler, b"mem_handler")))
    return made


def _caller():
    """Return the name of the module, other than NumPy's, whose code makes an array."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.partition(".")[0] != "numpy":
            return name
        frame = frame.f_back
    return ""


class _Question:
    """Say whether the next allocation of Python code fails."""

    def __init__(self):
        self.fault = None

    def __call__(self):
        fault = self.fault
        return fault is not None and _caller().startswith("gnuradio.mimopack") and fault.fails()


_QUESTION = _Question()


def watch_arrays(patch, fault, _folder):
    """Let arrays have no memory whose data take more than 16 bytes."""
    _library().ask(ctypes.py_object(_QUESTION))
    patch.setattr(_QUESTION, "fault", fault)
