# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The size of a batch from which a GPU is faster than the CPU, for backend "auto".

It is measured once for each machine and configuration, and kept in a file in ``folder()``; delete
that to have all measured anew. Measured are whole calls with arrays of the host, transfers
included, at rising sizes until the GPU wins. This takes about a second beside compiling.
"""

import hashlib
import json
import math
import os
import platform
import threading
import time
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np

# No GPU wins below the first. A batch of the second is worth a measurement at once, a smaller one
# after the CPU took so long for another.
LEAST_ITEMS = 16
LARGE_ITEMS = 4096
LONG_SECONDS = 1e-3
SIZES = tuple(4**i for i in range(2, 9))
# A measurement goes on to a larger batch only where it ends within about this time.
SECONDS = 1.0
# Where the GPU gains less than this share of the CPU's time from more items, it never wins.
LEAST_GAIN = 0.1

_known = {}
_measuring = threading.Lock()    # blocks of a flowgraph would disturb each other


def folder():
    """Where measurements are kept: mimopack/calibration in $XDG_CACHE_HOME or ~/.cache."""
    return (Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
            / "mimopack" / "calibration")


def processor():
    """What the system calls the CPU."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


class Crossover:
    """The sizes for one object, one for each case of its work.

    A case is a tuple of what changes from call to call and the times depend on, such as threads.

    Args:
        name: of the work, which the file's name begins with.
        devices: numbers of the GPUs.
        configuration: called with the parts of a case, returns a dict of all else that the times
            depend on, for JSON.
        problem: called with a number of items and the parts of a case, returns two functions
            without arguments that work on such a batch, by the CPU and by the GPU; or None where
            it would be too large.
        done: called without arguments after a measurement, to give memory back; or None.
    """

    def __init__(self, name, devices, configuration, problem, done=None):
        self._name, self._devices = name, tuple(devices)
        self._configuration, self._problem, self._done = configuration, problem, done
        self._least, self._long = {}, set()

    def prefers_gpu(self, n, case=(), many=False):
        """Return whether the GPU is faster with n items. Measures where that is not known and
        matters, as it does where many such batches will come. Raises what a GPU that fails does."""
        if n < LEAST_ITEMS:
            return False
        if case not in self._least:
            if n < LARGE_ITEMS and case not in self._long and not many:
                return False
            self._least[case] = self._find(case)
        return n >= self._least[case]

    def took(self, seconds, case=()):
        """Learn how long the CPU took for a batch."""
        if seconds > LONG_SECONDS:
            self._long.add(case)

    def _find(self, case):
        from . import __version__
        from .cuda import device

        if not all(number < device.count() for number in self._devices):
            return math.inf
        with _measuring:
            configuration = {
                "mimopack": __version__, "processor": processor(), "work": self._name,
                "gpus": [device.device_name(number) for number in self._devices],
                **self._configuration(*case)}
            least = recall(configuration)
            if least is None:
                rows = measure(lambda n: self._problem(n, *case))
                if self._done:
                    self._done()
                least = crossing(rows)
                keep(configuration, least, rows)
        return least


def measure(problem):
    """Return [(items, seconds of the CPU, seconds of the GPU)] of rising batches, of which the GPU
    wins none but the last."""
    rows = []
    for size in SIZES:
        functions = problem(size)
        if functions is None:
            break
        if not rows:
            functions[1]()    # compiles
            end = time.perf_counter() + SECONDS
        begin = time.perf_counter()
        cpu, gpu = map(_seconds, functions)
        rows.append((size, cpu, gpu))
        now = time.perf_counter()
        if gpu < cpu or now + SIZES[1] / SIZES[0] * (now - begin) > end:
            break
    return rows


def _seconds(function):
    """Time a call: a long one, or the median of three after a short one."""
    times = []
    while len(times) < 4 and (not times or times[0] < SECONDS / 40):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return times[0] if len(times) == 1 else float(np.median(times[1:]))


def crossing(rows):
    """Return the items from which the GPU wins, by a line through the last two of ``measure``:
    between them, or beyond, where the CPU's time grows enough faster than the GPU's; else
    infinite."""
    n, cpu, gpu = rows[-1]
    if len(rows) == 1:
        return n if gpu < cpu else math.inf
    m, cpu_before, gpu_before = rows[-2]
    more = (cpu - cpu_before) - (gpu - gpu_before)
    if gpu >= cpu and more <= LEAST_GAIN * (cpu - cpu_before) or cpu <= cpu_before:
        return math.inf if gpu >= cpu else n
    return max(LEAST_ITEMS, math.ceil(n - (cpu - gpu) * (n - m) / more))


def _path(configuration):
    digest = hashlib.sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()
    return folder() / f"{configuration['work']}-{digest[:16]}.json"


def recall(configuration):
    """Return what ``keep`` was given, in this process or an earlier one; None where there is
    nothing that can be read."""
    with suppress(OSError, RuntimeError, ValueError, TypeError, KeyError):
        path = _path(configuration)
        if path not in _known:
            entry = json.loads(path.read_text(encoding="utf-8"))
            least = math.inf if entry["gpu_from"] is None else entry["gpu_from"]
            if entry["configuration"] != configuration or not least >= 1:
                return None
            _known[path] = least
        return _known[path]


def kept():
    """Return [items from which the GPU wins, or None] of all files that can be read."""
    found = []
    for path in sorted(folder().glob("*.json")):
        with suppress(OSError, ValueError, TypeError, KeyError):
            found.append(json.loads(path.read_text(encoding="utf-8"))["gpu_from"])
    return found


def keep(configuration, least, rows):
    """Keep a size for this process, and for later ones where the folder can be written; whoever
    reads meanwhile finds all of it or nothing."""
    with suppress(OSError, RuntimeError):
        path = _path(configuration)
        _known[path] = least
        path.parent.mkdir(parents=True, exist_ok=True)
        entry = {"gpu_from": least if least < math.inf else None,
                 "measured": [dict(zip(("items", "cpu_seconds", "gpu_seconds"), row, strict=True))
                              for row in rows],
                 "configuration": configuration}
        with NamedTemporaryFile("w", dir=path.parent, suffix=".new", delete=False,
                                encoding="utf-8") as file:
            json.dump(entry, file, indent=2)
        try:
            os.replace(file.name, path)
        except OSError:
            os.unlink(file.name)
