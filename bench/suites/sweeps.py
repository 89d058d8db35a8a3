# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The suites ``threads``, ``antennas`` and ``batch``: growth of the detectors' rates."""

import numpy as np
from gnuradio.mimopack import _core
from gnuradio.mimopack.apps.bench.data import Setting
from gnuradio.mimopack.apps.bench.detector import Case, DetectorRun
from gnuradio.mimopack.apps.bench.measuring import measure

from .cases import QAM16, QAM64

THREADS_CASES = (
    Case("mmse", {}, QAM16), Case("nway", {"num_passes": 1}, QAM16),
    Case("nway", {"num_passes": 4}, QAM16), Case("nway", {"num_passes": 4}, QAM64),
    Case("sfsd", {}, QAM16), Case("mla", {}, QAM16),
)
ANTENNAS_DETECTORS = ("sfsd", "fpfsd")
ANTENNAS = (2, 4, 6, 8, 10, 12, 14, 16)
BATCH_CASES = (
    Case("mmse", {}, QAM16), Case("nway", {"num_passes": 1}, QAM16),
    Case("nway", {"num_passes": 4}, QAM16),
)
OLDEST = _core.compiled_isas()[-1]
BATCHES = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1_000_000)


def thread_counts(most):
    """Return 1, 2, 4 ... up to ``most``, which is always included."""
    return sorted({1 << i for i in range(most.bit_length())} | {most})


def run_threads(options, store):
    """Measure rates with 1 to ``options.threads`` threads."""
    isa = options.isas[0]
    runs = [(case, count, DetectorRun(case.create(threads=count, isa=isa, backend="cpu"),
                                      store.get(case.setting)))
            for case in THREADS_CASES for count in thread_counts(options.threads)]
    measure([run for *_, run in runs], options)
    rows, alone = [], None
    for case, count, run in runs:
        if count == 1:
            alone = run.rate
        rows.append({"label": case.label, "constellation": case.setting.constellation,
                     "threads": count, "isa": isa, "speedup": run.rate / alone,
                     "of_linear": run.rate / alone / count, "vectors_per_s": run.rate,
                     "vectors": run.units,
                     "mbit_per_s": run.rate * case.setting.bits_per_vector / 1e6})
    return {"results": rows}


class GrowingRun(DetectorRun):
    """Time a detector that may take milliseconds per vector: begin with few vectors."""

    def __init__(self, detector, data):
        super().__init__(detector, data)
        self.least = self.step = 16 * detector.threads


def antennas_cases(options):
    """Return the cases of figures 3 and 4 of 000: SFSD and FPFSD with nt = nr antennas."""
    return [Case(name, {}, Setting(antennas, antennas, constellation))
            for name in ANTENNAS_DETECTORS for constellation in ("qpsk", "qam16", "qam64")
            for antennas in options.antennas or ANTENNAS]


def run_antennas(options, store):
    """Measure SFSD and FPFSD over the number of antennas, as figures 3 and 4 of 000.

    The gain is relative to one thread of the oldest instruction set that is compiled. 000 times
    10000 vectors; a round takes fewer vectors here if they are too slow.
    """
    isa = options.isas[0]
    pairs = [(case, *(GrowingRun(case.create(threads=threads, isa=build, backend="cpu"),
                                 store.get(case.setting))
                      for threads, build in ((options.threads, isa), (1, OLDEST))))
             for case in antennas_cases(options)]
    measure([run for _, *both in pairs for run in both], options)
    return {"results": [
        {"detector": case.detector, "constellation": case.setting.constellation,
         "num_tx": case.setting.num_tx, "threads": options.threads, "isa": isa,
         "vectors": fast.units, "vectors_per_s": fast.rate,
         "mbit_per_s": fast.rate * case.setting.bits_per_vector / 1e6,
         "plain_vectors_per_s": plain.rate, "speedup": fast.rate / plain.rate}
        for case, fast, plain in pairs]}


class CallRun(DetectorRun):
    """Time calls of a given size, one by one."""

    def __init__(self, detector, data, size):
        super().__init__(detector, data)
        self.least = self.most = size

    def round(self):
        self.seconds += [self.time(self.units) for _ in range(self.calls)]


def run_batch(options, store):
    """Measure the time of a call over its number of vectors, with one thread and with several."""
    isa = options.isas[0]
    sizes = [size for size in BATCHES if size <= store.vectors]
    runs = [(case, threads, size,
             CallRun(case.create(threads=threads, isa=isa, backend="cpu"),
                      store.get(case.setting), size))
            for case in BATCH_CASES for threads in sorted({1, options.threads})
            for size in sizes]
    measure([run for *_, run in runs], options)
    rows = []
    for case, threads, size, run in runs:
        seconds, late = np.quantile(run.seconds, (0.5, 0.99))
        rows.append({"label": case.label, "constellation": case.setting.constellation,
                     "threads": threads, "isa": isa, "vectors": size, "calls": len(run.seconds),
                     "seconds": float(seconds), "seconds_99": float(late),
                     "vectors_per_s": size / float(seconds),
                     "mbit_per_s": size / float(seconds) * case.setting.bits_per_vector / 1e6})
    return {"results": rows}
