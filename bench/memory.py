# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure this process: its memory, and its open files."""

import ctypes
import gc
import os
from pathlib import Path

_FIELDS = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
           "fordblks", "keepcost")


class _Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS]


def allocated_bytes():
    """Return the bytes that malloc has handed out, in C, C++ and NumPy, and not got back.

    Unlike the resident memory, this is without the memory that the C library keeps for later calls
    after the program has freed it. Python's small objects are not counted.
    """
    mallinfo2 = ctypes.CDLL(None).mallinfo2    # of glibc 2.33
    mallinfo2.restype = _Mallinfo
    gc.collect()
    told = mallinfo2()
    return told.uordblks + told.hblkhd


def resident_mib():
    """Return the resident memory in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


def state():
    """Return a dictionary of the process's resident memory, allocated memory and open files."""
    return {"resident_mib": resident_mib(), "allocated_mib": round(allocated_bytes() / 2**20, 1),
            "descriptors": len(os.listdir("/proc/self/fd"))}
