# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Let each allocation of this project's C++ code fail once in turn while a block plays.

A program for a process that has started with failing_new.cc in LD_PRELOAD. Arguments: the name of
a case of trial.py, and a folder. The last line that it prints says how many calls failed, and for
how many of them the log names the error.
"""

import ctypes
import functools
import gc
import logging
import sys
from contextlib import contextmanager
from pathlib import Path

from faults import each_fault
from trial import Trial

_MEMORY = ctypes.CDLL(None)


@contextmanager
def _injected(fault):
    # GNU Radio needs memory to delete a block, and without it ends the process.
    gc.disable()
    _MEMORY.fail_at(fault.at)
    try:
        yield
    finally:
        fault.happened = bool(_MEMORY.has_failed())
        _MEMORY.fail_at(0)
        gc.enable()


def main(name, folder):
    logging.disable()
    trial = Trial(name, Path(folder))
    _MEMORY.count_ours()
    caches = [one for one in gc.get_objects() if isinstance(one, functools._lru_cache_wrapper)
              and one.__module__.startswith("gnuradio.mimopack")]
    named = 0

    def run(fault):
        nonlocal named
        for cache in caches:
            cache.cache_clear()
        named += trial.run(lambda block: _injected(fault))

    print(each_fault(run), named)


if __name__ == "__main__":
    main(*sys.argv[1:])
