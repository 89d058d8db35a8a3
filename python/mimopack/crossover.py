# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The batch size from which a GPU is faster than the CPU, for backend "auto".

The size is measured once for each machine and configuration and kept in a file in ``folder()``. To
measure again, delete that folder. A measurement times whole calls with host arrays, transfers
included, at rising sizes until the GPU wins. It takes about one second, plus the time to compile.
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

import numpy as np

from .files import replace_file

# No GPU wins below LEAST_ITEMS. The first batch of LARGE_ITEMS or more starts a measurement. A
# smaller batch starts one only if the CPU took more than LONG_SECONDS for an earlier batch.
LEAST_ITEMS = 16
LARGE_ITEMS = 4096
LONG_SECONDS = 1e-3
SIZES = tuple(4**i for i in range(2, 9))
# A measurement goes on to a larger batch only if it is expected to end within this time.
SECONDS = 1.0
# The GPU is taken to win at no size if, from one size to the next, it saves at most this share of
# the CPU's added time.
LEAST_GAIN = 0.1

_known = {}
_measuring = threading.Lock()    # simultaneous measurements would disturb each other


def folder():
    """Return the folder of the measurements: $XDG_CACHE_HOME/mimopack/calibration.

    Without that variable ~/.cache takes the place of $XDG_CACHE_HOME.
    """
    return (Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
            / "mimopack" / "calibration")


def processor():
    """Return the operating system's name for the CPU."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


class Crossover:
    """The batch sizes from which the GPU wins, one for each case of an object's work.

    A case is a tuple of all settings that may change from call to call and affect the run time,
    such as the number of threads.

    Args:
        name: name of the work; the file name begins with it.
        devices: indices of the GPUs.
        configuration: a function that takes the entries of a case as arguments. It returns a dict
            of everything else that affects the run time; the dict can be written as JSON.
        problem: a function that takes a number of items and the entries of a case as arguments. It
            returns two functions without arguments: the first processes a batch of this size on the
            CPU, the second on the GPU. It returns None if the batch would be too large.
        done: a function without arguments that is called after a measurement to free memory; or
            None.
    """

    def __init__(self, name, devices, configuration, problem, done=None):
        self._name, self._devices = name, tuple(devices)
        self._configuration, self._problem, self._done = configuration, problem, done
        self._least, self._long = {}, set()

    def prefers_gpu(self, n, case=(), many=False):
        """Return whether the GPU is faster for n items.

        If the answer is unknown, the method measures it in three cases: the batch is large, the CPU
        has been slow, or ``many`` is True: the caller expects many such batches. In all other cases
        it returns False.

        Raises:
            Exception: the GPU failed in the measurement; CuPy's own exception.
        """
        if n < LEAST_ITEMS:
            return False
        if case not in self._least:
            if n < LARGE_ITEMS and case not in self._long and not many:
                return False
            self._least[case] = self._find(case)
        return n >= self._least[case]

    def took(self, seconds, case=()):
        """Record the time that the CPU took for a batch."""
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
    """Measure rising batch sizes until the GPU wins.

    Args:
        problem: a function that takes a number of items, as in :class:`Crossover` without the case.

    Returns:
        A list of (items, seconds on the CPU, seconds on the GPU). The GPU can win only in the last
        row.
    """
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
    """Time one call if it is long; otherwise return the median of three calls after the first."""
    times = []
    while len(times) < 4 and (not times or times[0] < SECONDS / 40):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return times[0] if len(times) == 1 else float(np.median(times[1:]))


def crossing(rows):
    """Return the number of items from which the GPU wins.

    rows is the result of :func:`measure`. The time of each processor is extrapolated as a line
    through the last two rows. The lines may cross between the two rows or beyond them. If the GPU
    does not win the last row, the result is infinite when the two times grow at nearly the same
    rate or when the GPU's time grows faster.
    """
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
    """Return the size that ``keep`` stored in this process or an earlier one.

    Returns None if no readable entry exists.
    """
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
    """Return the stored sizes: a list with one element per readable file.

    An element is None if the GPU never wins.
    """
    found = []
    for path in sorted(folder().glob("*.json")):
        with suppress(OSError, RuntimeError, ValueError, TypeError, KeyError):
            found.append(json.loads(path.read_text(encoding="utf-8"))["gpu_from"])
    return found


def keep(configuration, least, rows):
    """Store a size in memory, and also in a file if the folder is writable.

    The file is replaced in one step, so that other processes never read an incomplete file.

    Args:
        configuration: dictionary of all that affects the size; it selects the file.
        least: the size, as returned by :func:`crossing`.
        rows: the result of :func:`measure`.
    """
    with suppress(OSError, RuntimeError, ValueError):
        path = _path(configuration)
        _known[path] = least
        path.parent.mkdir(parents=True, exist_ok=True)
        entry = {"gpu_from": least if least < math.inf else None,
                 "measured": [dict(zip(("items", "cpu_seconds", "gpu_seconds"), row, strict=True))
                              for row in rows],
                 "configuration": configuration}
        with replace_file(path) as file:
            json.dump(entry, file, indent=2)
