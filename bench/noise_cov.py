#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the time of detect() with a covariance of the noise and with its variance.

    bench/noise_cov.py [--backend cpu] [--threads 2] [--rounds 9] [--output FILE.json]

16-QAM. Arrays are where the backend is. Times are medians of the rounds, in which the three calls
take turns: with noise_var, with one noise_cov for all vectors, and with one for each matrix.
"""

import argparse
import time
from pathlib import Path
from statistics import median

import numpy as np
from gnuradio.mimopack import detectors
from gnuradio.mimopack.apps.bench.data import Data, Setting
from gnuradio.mimopack.apps.machine import describe, describe_gpu
from gnuradio.mimopack.text import json_rows

# Detector, layers, receive antennas, vectors per matrix, and matrices on the CPU and on a GPU
CASES = (("nway", 4, 4, 1, 2**14, 2**18), ("mmse", 4, 4, 1, 2**14, 2**18),
         ("mmse", 4, 4, 14, 2**12, 2**15), ("mmse", 16, 64, 14, 2**8, 2**13),
         ("nway", 16, 64, 14, 2**8, 2**13))
DISTINCT = 256    # covariances, which are repeated


def covariances(count, num_rx, noise_var):
    """Return covariances whose mean is that of white noise."""
    rng = np.random.default_rng(1)
    a = rng.standard_normal((DISTINCT, num_rx, 2 * num_rx, 2)) @ [1, 1j]
    some = (noise_var / (4 * num_rx) * a @ a.conj().swapaxes(1, 2)).astype(np.complex64)
    return np.tile(some, (count // DISTINCT, 1, 1))


class Clock:
    """Seconds of a call on the host, or of its work on a GPU.

    Args:
        cupy: the module; None for the host.
    """

    def __init__(self, cupy):
        self._cupy = cupy

    def __call__(self, call):
        if not self._cupy:
            start = time.perf_counter()
            call()
            return time.perf_counter() - start
        start, end = (self._cupy.cuda.Event() for _ in range(2))
        start.record()
        for _ in range(10):
            call()
        end.record()
        end.synchronize()
        return 1e-4 * self._cupy.cuda.get_elapsed_time(start, end)


def compare(name, num_tx, num_rx, per_channel, matrices, settings, cupy):
    """Return a row of results."""
    setting = Setting(num_tx, num_rx, per_channel=per_channel)
    data = Data(setting, matrices * per_channel)
    arrays = data.y, data.h, covariances(matrices, num_rx, setting.noise_var), data.llr
    y, h, each, out = map(cupy.asarray, arrays) if cupy else arrays
    detector = detectors.create(name, num_tx=num_tx, num_rx=num_rx, backend=settings.backend,
                                threads=settings.threads)
    calls = {"noise_var": {"noise_var": setting.noise_var}, "one": {"noise_cov": each[:1]},
             "each": {"noise_cov": each}}
    calls = {key: lambda noise=noise: detector.detect(y, h, out=out, **noise)
             for key, noise in calls.items()}
    clock = Clock(cupy)
    times = {key: [] for key in calls}
    for _ in range(settings.rounds + 1):    # the first one compiles
        for key, call in calls.items():
            times[key].append(clock(call))
    took = {key: median(values[1:]) for key, values in times.items()}
    return {"detector": name, "num_tx": num_tx, "num_rx": num_rx,
            "symbols_per_channel": per_channel, "matrices": matrices,
            **{f"{key}_s": value for key, value in took.items()},
            **{f"{key}_ratio": took[key] / took["noise_var"] for key in ("one", "each")}}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=2, help="of the CPU")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--output", type=Path)
    settings = parser.parse_args()
    cupy = None
    if settings.backend == "cuda":
        import cupy
    results = []
    for *case, on_cpu, on_gpu in CASES:
        results.append(compare(*case, on_gpu if cupy else on_cpu, settings, cupy))
        print(results[-1], flush=True)
    if settings.output:
        machine = describe() | ({"gpu": describe_gpu()} if cupy else {})
        settings.output.write_text(json_rows(
            {"what": "time of detect() with noise_cov and with noise_var", "machine": machine,
             "threads": settings.threads, "rounds": settings.rounds, "results": results}) + "\n",
            encoding="utf-8")


if __name__ == "__main__":
    main()
