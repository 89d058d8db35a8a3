# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The suite ``gpu-searches``: tree searches on a GPU, on all threads of the CPU, and Sionna."""

import time

import numpy as np
from gnuradio.mimopack.apps.bench.data import Setting
from gnuradio.mimopack.apps.bench.detector import Case, detector_row
from gnuradio.mimopack.apps.bench.measuring import measure

from . import peers
from .cases import QAM16_8X8, shared
from .failures import attempt, missing_row, runs_of
from .on_gpu import DeviceRun, DeviceStore
from .sweeps import GrowingRun

QAM16_6X6, QPSK_12X12 = Setting(6, 6), Setting(12, 12, "qpsk")
NOISY_8X8, QAM16_16X16 = Setting(8, 8, "qam16", 14.0), Setting(16, 16, "qam16", 22.0)
BUDGET, SOFT = {"max_nodes": 4000}, {"soft": True}
CASES = (
    Case("psd", {}, QAM16_6X6), Case("psd", {}, QPSK_12X12),
    Case("psd", {}, Setting(12, 12, "qpsk", 12.0)),
    *(Case(name, own, QAM16_8X8) for name in ("psd", "sd", "asd") for own in ({}, BUDGET)),
    Case("psd", {}, shared(QAM16_8X8)), Case("psd", {}, Setting(8, 8, "qam64", 25.0)),
    *(Case("psd", own, setting) for setting in (NOISY_8X8, QAM16_16X16) for own in ({}, BUDGET)),
    Case("psd", SOFT, NOISY_8X8), Case("psd", SOFT, QAM16_8X8),
    Case("softsphere", {}, QAM16_6X6), Case("softsphere", {}, QPSK_12X12),
    *(Case("softsphere", own, QAM16_8X8) for own in ({}, BUDGET)),
    Case("softsphere", {}, shared(QAM16_8X8)),
    *(Case("softsphere", own, setting) for setting in (Setting(8, 8, "qam16", 12.0), NOISY_8X8)
      for own in ({}, BUDGET)),
    Case("softsphere", {"llr_clip": None}, QAM16_6X6), Case("kbest", {"k": 64}, QAM16_8X8),
)
# A vector's latency is the time of a call with so many vectors, on the GPU, from the call to its
# end. Each call takes other vectors. There are fewer calls where they take longer.
LATENCY_VECTORS, LATENCY_CALLS, LATENCY_SECONDS = 1024, 1000, 2.0
COMPARED = 4096    # most vectors that the CPU detects too
COMPARED_SECONDS = 2.0


def run(options, store):
    """Measure rates with all vectors in a call, latencies, and the CPU's rates."""
    there, runs, missing = DeviceStore(store, options.vectors), [], []
    with peers.start_on_gpu(options.peers, options.sionna_python, store, (QAM16_8X8,),
                            ("kbest64",)) as (peer_runs, peers_missing):
        for case in CASES:
            gpu = DeviceRun(case.create(backend="cuda"), there.get(case.setting))
            gpu.least = gpu.most    # all vectors in one call
            cpu = GrowingRun(case.create(backend="cpu", threads=options.threads),
                             store.get(case.setting))
            cpu.step = cpu.least = cpu.least * cpu.period
            runs.append((case, gpu, cpu))
        peers.prepared(peer_runs)
        measure([*runs_of(runs), *peer_runs], options)
        peer_rows = peers.peer_rows(peer_runs, peers_missing)
    rows = []
    for case, gpu, cpu in runs:
        row, why = attempt(lambda case=case, gpu=gpu, cpu=cpu: _row(case, gpu, cpu), gpu, cpu)
        if row:
            rows.append(row)
        else:
            missing.append(missing_row(case, why))
    return {"results": rows, "missing": missing, "peers": peer_rows,
            "peers_missing": peers_missing}


def _row(case, gpu, cpu):
    gpu.queue(gpu.units)
    truncated = int(gpu.detector.truncated)
    return (detector_row(case, gpu)
            | {"snr_db": case.setting.snr_db, "truncated": truncated,
               "cpu_threads": cpu.detector.threads, "cpu_vectors": cpu.units,
               "cpu_vectors_per_s": cpu.rate, "speedup": gpu.rate / cpu.rate}
            | _latency(gpu) | _differences(case, gpu, cpu))


def _latency(run):
    """Return the median and the 99.9th percentile of a vector's latency."""
    data, period = run.data, run.period
    n = LATENCY_VECTORS - LATENCY_VECTORS % period
    starts, seconds = range(0, data.vectors - n + 1, n), []
    for i in range(LATENCY_CALLS):
        if sum(seconds) > LATENCY_SECONDS:
            break
        first = starts[i % len(starts)]
        of_call = slice(first, first + n)
        start = time.perf_counter()
        run.detector.detect(data.y[of_call], data.h[first // period:(first + n) // period],
                            data.setting.noise_var, out=data.llr[of_call])
        _ = run.detector.erasures    # waits for the end of the call
        seconds.append(time.perf_counter() - start)
    middle, late = map(float, np.quantile(seconds, (0.5, 0.999)))
    return {"latency_vectors": n, "latency_calls": len(seconds), "latency_s": middle,
            "latency_999_s": late}


def _differences(case, gpu, cpu):
    """Return the number of vectors with a LLR that differs by more than rounding.

    With a budget the two visit other nodes, so only complete searches are compared.
    """
    if "max_nodes" in case.parameters:
        return {}
    n = min(COMPARED, cpu.data.vectors, max(cpu.least, int(cpu.rate * COMPARED_SECONDS)))
    n -= n % cpu.period
    data = cpu.data
    expected = cpu.detector.detect(data.y[:n], data.h[:n // cpu.period], data.setting.noise_var)
    apart = np.abs(gpu.data.llr[:n].get() - expected).max(axis=1)
    differ = int(np.count_nonzero(apart > 1e-3 * np.abs(expected).max()))
    return {"cpu_compared": n, "cpu_differs": differ}
