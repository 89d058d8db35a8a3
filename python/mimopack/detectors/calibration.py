# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""backend="auto": the batch size from which GPUs are faster than the CPU, measured and kept.

Measured are whole calls on arrays of the host, transfers included, at rising sizes until the GPU
wins; once for each machine and configuration, which takes about a second beside compiling. The
vectors are drawn at random, at an SNR that the constellation is used at, since the time of a tree
search depends on it: a caller's first batch may be anything, noise before a signal too, and
what is kept holds for all that follow.

A file for each configuration, in ``folder()``; delete it to have all measured anew.
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

from .. import channel
from ..cuda import source
from .call import Call

# No GPU wins below the first; from the second on a batch is worth a measurement at once, and
# between them after one for which the CPU took so long.
LEAST_VECTORS = 16
LARGE_VECTORS = 4096
LONG_SECONDS = 1e-3
SIZES = tuple(4**i for i in range(2, 9))
# Of a measurement, about: it goes on to a larger batch only where that fits.
SECONDS = 1.0
LARGEST_BYTES = 2**26
DISTINCT_VECTORS = 1024
# Where the GPU gains less than this share of the CPU's time from more vectors, it never wins.
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


class Calibration:
    """The choice for one detector.

    Args:
        detector: it; its ``threads`` may change.
        cpu: its backend there, with ``detect(call)``.
        gpus: called without arguments, its ``cuda.Gpus``.
    """

    def __init__(self, detector, cpu, gpus):
        self._detector, self._cpu, self._gpus = detector, cpu, gpus
        self._least = {}
        self._long = set()

    def prefers_gpu(self, n, per_channel, has_prior=False, num_hard=0, many=False):
        """Whether the GPUs are faster with n vectors, per_channel for a matrix; measures where that
        is not known and matters, as it does where many such batches will come. Raises what a GPU
        that fails does."""
        if n < LEAST_VECTORS:
            return False
        case = self._case(per_channel, has_prior, num_hard)
        if case not in self._least:
            if n < LARGE_VECTORS and case not in self._long and not many:
                return False
            self._least[case] = self._find(*case[:3])
        return n >= self._least[case]

    def took(self, seconds, per_channel, has_prior=False, num_hard=0):
        """What the CPU took for a batch."""
        if seconds > LONG_SECONDS:
            self._long.add(self._case(per_channel, has_prior, num_hard))

    def _case(self, per_channel, has_prior, num_hard):
        """What a measurement is for, of what may change from call to call."""
        return (_period(per_channel), has_prior, num_hard, self._detector.threads,
                self._detector.pins_buffers)

    def _find(self, *case):
        from ..cuda import device

        if not all(number < device.count() for number in self._detector.devices):
            return math.inf
        configuration = _describe(self._detector, *case)
        with _measuring:
            least = recall(configuration)
            if least is None:
                rows = measure(self._detector, self._cpu, self._gpus(), *case)
                self._gpus().release()
                least = crossing(rows)
                keep(configuration, least, rows)
        return least


def _period(per_channel):
    """Vectors per matrix that are measured in place of so many: the power of two below, at most
    64, where the decomposition hardly counts. Bursts of any length are then few configurations."""
    return 1 << min(6, max(1, per_channel).bit_length() - 1)    # an empty batch has none


def _describe(detector, per_channel, has_prior, num_hard):
    """All that the measurement depends on."""
    from .. import __version__, _core
    from ..cuda import device

    program = source.program(detector.plan(), 0, has_prior, per_channel == 1,
                             detector.llr_dtype == np.int8, num_hard)
    return {"mimopack": __version__, "processor": processor(), "isa": detector.isa,
            "threads": detector.threads or _core.max_threads(),
            "gpus": [device.device_name(number) for number in detector.devices],
            "detector": detector.name, "num_tx": detector.num_tx, "num_rx": detector.num_rx,
            "constellation": detector.constellation.name, "llr_type": detector.llr_dtype.name,
            "pinned": detector.pins_buffers,
            "vectors_per_matrix": per_channel, "prior": has_prior, "hard_solutions": num_hard,
            "program": hashlib.sha256(program.encode()).hexdigest()[:16]}


def problem(detector, n, per_channel, has_prior=False, num_hard=0):
    """A :class:`Call`: i.i.d. Rayleigh channels, at an SNR at which the
    detector makes few errors, more for more layers, where a tree search has less to hold on to."""
    rng = np.random.default_rng(1)
    nt, bits = detector.num_tx, detector.constellation.bits_per_symbol
    snr_db = 12 + 3 * bits + max(0, nt - 4)
    noise_var = nt * 10 ** (-snr_db / 10)
    matrices = -(-min(n, DISTINCT_VECTORS) // per_channel)
    h = channel.flat_rayleigh(matrices, detector.num_rx, nt, rng)
    x = rng.choice(detector.constellation.points, (matrices, per_channel, nt))
    y = np.einsum("mij,mtj->mti", h, x)
    y = (y + channel.awgn(y.shape, noise_var, rng)).astype(np.complex64)
    y = np.resize(y, (n, detector.num_rx))
    h = np.resize(h, (n // per_channel, *h.shape[1:]))
    width = detector.bits_per_vector
    prior = rng.normal(0, 3, (n, width)).astype(np.float32) if has_prior else None
    hard = rng.integers(0, 2, (num_hard, n, width), np.uint8) if num_hard else None
    return Call(y, h, np.array([noise_var], np.float32), prior,
                np.empty((n, width), detector.llr_dtype), detector.llr_scale, detector.threads,
                hard)


def measure(detector, cpu, gpus, per_channel, has_prior=False, num_hard=0):
    """[(vectors, seconds of the CPU, seconds of the GPUs)] of rising batches, of which the GPUs win
    none but the last."""
    rows = []
    for size in SIZES:
        period = min(per_channel, size)
        call = problem(detector, size // period * period, period, has_prior, num_hard)
        if rows and sum(array.nbytes for array in (call.y, call.h, call.out)) > LARGEST_BYTES:
            break
        if detector.pins_buffers:
            call = call._replace(**{name: gpus.in_pinned_memory(array)
                                    for name, array in call._asdict().items()
                                    if isinstance(array, np.ndarray) and name != "hard"})
        if not rows:
            gpus.detect(call)    # compiles
            end = time.perf_counter() + SECONDS
        begin = time.perf_counter()
        seconds = [_seconds(backend.detect, call) for backend in (cpu, gpus)]
        rows.append((call.n, *seconds))
        now = time.perf_counter()
        if seconds[1] < seconds[0] or now + SIZES[1] / SIZES[0] * (now - begin) > end:
            break
    return rows


def _seconds(detect, call):
    """Of a call: a long one, or the median of three after a short one."""
    times = []
    while len(times) < 4 and (not times or times[0] < SECONDS / 40):
        start = time.perf_counter()
        detect(call)
        times.append(time.perf_counter() - start)
    return times[0] if len(times) == 1 else float(np.median(times[1:]))


def crossing(rows):
    """Vectors from which the GPUs win, by a line through the last two of ``measure``: between them,
    or beyond, where the CPU's time grows enough faster than theirs; else infinite."""
    n, cpu, gpu = rows[-1]
    if len(rows) == 1:
        return n if gpu < cpu else math.inf
    m, cpu_before, gpu_before = rows[-2]
    more = (cpu - cpu_before) - (gpu - gpu_before)
    if gpu >= cpu and more <= LEAST_GAIN * (cpu - cpu_before) or cpu <= cpu_before:
        return math.inf if gpu >= cpu else n
    return max(LEAST_VECTORS, math.ceil(n - (cpu - gpu) * (n - m) / more))


def _path(configuration):
    digest = hashlib.sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()
    return folder() / f"{configuration['detector']}-{digest[:16]}.json"


def recall(configuration):
    """What ``keep`` was given, in this process or an earlier one; None where there is nothing that
    can be read."""
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
    """[(detector, vectors from which its GPUs win, or None)] of all files that can be read."""
    found = []
    for path in sorted(folder().glob("*.json")):
        with suppress(OSError, ValueError, TypeError, KeyError):
            entry = json.loads(path.read_text(encoding="utf-8"))
            found.append((entry["configuration"]["detector"], entry["gpu_from"]))
    return found


def keep(configuration, least, rows):
    """For this process, and for later ones where the folder can be written; whoever reads
    meanwhile finds all of it or nothing."""
    with suppress(OSError, RuntimeError):
        path = _path(configuration)
        _known[path] = least
        path.parent.mkdir(parents=True, exist_ok=True)
        entry = {"gpu_from": least if least < math.inf else None,
                 "measured": [dict(zip(("vectors", "cpu_seconds", "gpu_seconds"), row,
                                       strict=True)) for row in rows],
                 "configuration": configuration}
        with NamedTemporaryFile("w", dir=path.parent, suffix=".new", delete=False,
                                encoding="utf-8") as file:
            json.dump(entry, file, indent=2)
        try:
            os.replace(file.name, path)
        except OSError:
            os.unlink(file.name)
