#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time GPU forms of detectors against the form that would take their place.

    bench/forms.py [--processes 12] > forms.json

A change edits a copy of the headers so that a form is not chosen. Each change has a process of its
own, which compiles its programs together with the others and then times them alone on the GPU.
Channels are i.i.d. Rayleigh, and times are medians over five rounds of calls, by CUDA events.
"""

import argparse
import fcntl
import json
import re
import shutil
import statistics
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path

# change: (header, pattern, text in its place, cases); a case is (detector, receive antennas,
# layers, constellation, vectors per matrix, parameters).
Q, S, Z = "qam16", "qam64", "qpsk"
CHANGES = {
    "tensor cores": ("cuda/team_gram.h", r"constexpr bool uses_tiles = .*?;",
                     "constexpr bool uses_tiles = false;", [
        ("mmse", 16, 8, Q, 1, {}), ("mmse", 64, 16, Q, 1, {}), ("mmse", 64, 16, Q, 14, {}),
        ("zf", 64, 16, Q, 14, {}), ("mmse", 128, 16, Q, 14, {}), ("mmse", 256, 32, Q, 1, {}),
        ("mmse", 256, 32, Q, 14, {}), ("nway", 64, 16, Q, 1, {}), ("kbest", 64, 16, Q, 1, {}),
        ("sfsd", 64, 16, Q, 1, {"levels": 1})]),
    "rows through shared memory": ("cuda/staged_rows.h", r"(bool used =\n)", r"\1 false &&", [
        ("zf", 2, 2, Z, 1, {}), ("zf", 4, 4, Q, 1, {}), ("mmse", 4, 4, Q, 1, {}),
        ("mmse", 4, 4, S, 1, {}), ("mmse", 8, 8, Q, 1, {}), ("hfsd", 4, 4, Q, 1, {}),
        ("nway", 4, 4, Q, 1, {"num_passes": 1}), ("nway", 2, 2, Z, 1, {}),
        ("kbest", 4, 4, Q, 1, {})]),
    "K-best's queue": ("detectors/kbest/cuda.h", r"if constexpr \(queue_fits<.*?>\(\)\)",
                       "if constexpr (false)", [
        ("kbest", 4, 4, Q, 1, {}), ("kbest", 4, 4, S, 1, {}), ("kbest", 2, 2, Q, 1, {"k": 8}),
        ("kbest", 4, 4, Q, 14, {})]),
    "fixed spheres in registers": ("detectors/fsd/cuda.h", r"if constexpr \(usual && fits_regis",
                                   "if constexpr (false && fits_regis", [
        (name, size, size, points, 1, {}) for name in ("hfsd", "sfsd")
        for size, points in ((2, Q), (4, Q), (4, S))]),
    "refilled searches": ("cuda/detect.h", r"program::dynamic && has_steps", "false && has_steps", [
        ("sd", 4, 4, Z, 1, {}), ("sd", 4, 4, Q, 1, {}), ("softsphere", 4, 4, Q, 1, {}),
        ("softsphere", 3, 3, S, 1, {})]),
    "spheres in shared memory": ("detectors/sphere/cuda_search.h",
                                 r"return shared_sphere<NT, NR, WIDTH>::shared_bytes.*?;",
                                 "return false;", [
        ("sd", 4, 4, Z, 1, {}), ("sd", 4, 4, Q, 1, {}), ("sd", 2, 2, S, 1, {})]),
    "K-best's teams for arrays": ("detectors/kbest/cuda.h",
                                  r"constexpr \(array_team_fits<.*?>\(\)\)", "constexpr (false)", [
        ("kbest", 5, 5, Q, 1, {}), ("kbest", 8, 8, Q, 1, {}), ("kbest", 8, 8, S, 1, {})]),
    "N-way's teams": ("detectors/nway/cuda.h", r"if constexpr \(fits_team &&",
                      "if constexpr (false &&", [("nway", 12, 12, Q, 1, {})]),
    "fixed spheres by teams": ("detectors/fsd/cuda.h", r"constexpr \(team_fits<SOFT>\(\)\)",
                               "constexpr (false)", [
        ("hfsd", 8, 8, Q, 1, {}), ("sfsd", 6, 6, Q, 1, {"levels": 1})]),
    "MLA of two layers by N-way": ("detectors/exhaustive/cuda.h",
                                   r"constexpr \(register_sizes_to\(4, 2\)\)",
                                   "constexpr (false)", [
        ("mla", 2, 2, Z, 1, {}), ("mla", 2, 2, Q, 1, {}), ("mla", 2, 2, S, 1, {})]),
    "prefetch": ("cuda/by_teams.h", r"            prefetch\(all.*?;", "", [
        ("mmse", 16, 16, Q, 1, {}), ("mmse", 64, 16, Q, 1, {}), ("zf", 12, 12, Q, 14, {})])}
SNR_DB = {Z: 10, Q: 20, S: 25}


def problem(num_rx, num_tx, points, period, n):
    """Return (y, h, noise_var) on the GPU."""
    import cupy
    from gnuradio.mimopack import constellation

    rng = cupy.random.RandomState(1)
    normal = lambda *shape: ((rng.standard_normal(shape, cupy.float32)    # noqa: E731
                              + 1j * rng.standard_normal(shape, cupy.float32)) / 2**0.5)
    noise_var = num_tx * 10 ** (-SNR_DB[points] / 10)
    h = normal(n // period, num_rx, num_tx)
    values = cupy.asarray(constellation.get(points).points.astype("complex64"))
    x = values[rng.randint(0, len(values), (n // period, num_tx, period))]
    y = cupy.matmul(h, x).transpose(0, 2, 1).reshape(n, num_rx)
    y = y + noise_var**0.5 * normal(n, num_rx)
    return (cupy.ascontiguousarray(y.astype("complex64")),
            cupy.ascontiguousarray(h.astype("complex64")), noise_var)


def timed(detector, arguments):
    """Return the seconds of a call."""
    import cupy

    out, seconds, calls = detector.detect(*arguments), [], 1
    for _ in range(6):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        for _ in range(calls):
            detector.detect(*arguments, out=out)
        end.record()
        end.synchronize()
        seconds.append(1e-3 * cupy.cuda.get_elapsed_time(begin, end) / calls)
        calls = max(1, min(200, int(0.03 / seconds[-1])))
    return statistics.median(seconds[1:])


def run(name, changed, lock):
    """Return rows for the cases of a change, with the change or without it."""
    from gnuradio.mimopack import detectors
    from gnuradio.mimopack.cuda import source

    header, pattern, text, cases = CHANGES[name]
    if changed:
        folder = Path(tempfile.mkdtemp()) / "include"
        shutil.copytree(source.INCLUDE, folder)
        before = (folder / header).read_text()
        after, count = re.subn(pattern, text, before, flags=re.DOTALL)
        assert count == 1, (name, count)
        (folder / header).write_text(after)
        source.OPTIONS = (*source.OPTIONS[:-1], f"-I{folder}")
        source.INCLUDE = folder
    made = []
    for detector, num_rx, num_tx, points, period, own in cases:
        det = detectors.create(detector, num_tx=num_tx, num_rx=num_rx, constellation=points,
                               backend="cuda", **own)
        det.detect(*problem(num_rx, num_tx, points, period, 28))    # compiles
        made.append(det)
    rows = []
    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)    # one process at a time on the GPU
        for (detector, num_rx, num_tx, points, period, own), det in zip(cases, made, strict=True):
            n = 14 * (min(2**18, 2**27 // (num_rx * num_tx)) // 14)
            arguments = problem(num_rx, num_tx, points, period, n)
            rows.append({"form": name, "changed": changed, "detector": detector, "own": own,
                         "size": f"{num_rx}x{num_tx}", "constellation": points, "T": period,
                         "vectors": n, "seconds": timed(det, arguments)})
    return rows


def main():
    """Run all changes, and print the gain of each form."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=12)
    processes = parser.parse_args().processes
    lock = tempfile.mktemp()
    with get_context("spawn").Pool(processes, maxtasksperchild=1) as pool:
        jobs = {(name, changed): pool.apply_async(run, (name, changed, lock))
                for name in CHANGES for changed in (True, False)}
        for name in CHANGES:
            try:
                pairs = zip(*(jobs[name, changed].get(240) for changed in (True, False)),
                            strict=True)
            except Exception as error:    # the other changes go on
                print(f"{name}: {error!r}", file=sys.stderr)
                continue
            for without, with_form in pairs:
                with_form["gain"] = without["seconds"] / with_form["seconds"]
                print(json.dumps(with_form), flush=True)
                print("{form:28} {detector:10} {size:7} {constellation:6} T={T:<2} {own} gain "
                      "{gain:.2f}".format(**with_form), file=sys.stderr)


if __name__ == "__main__":
    main()
