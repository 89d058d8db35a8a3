#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run every CUDA kernel under the four tools of compute-sanitizer, on small batches.

    scripts/sanitize.py [--tool TOOL ...] [--kernel NAME ...] [--processes N]

The script needs an NVIDIA GPU, compute-sanitizer on the path, and an importable gnuradio.mimopack.
It prints each result, and exits with 1 if a tool reports an error.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from gnuradio.mimopack import detectors
from gnuradio.mimopack.apps.bench.data import simulate

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
PERIOD = 14
VECTORS = PERIOD * 15
SUMMARY = re.compile(r"(?:ERROR SUMMARY: (?=\d+ error)|RACECHECK SUMMARY: (?=\d+ hazard))(\d+)")
# Sizes at which a thread's arrays are too large for local memory.
LARGE = {"zf": {"num_tx": 64, "num_rx": 64}, "mmse": {"num_tx": 64, "num_rx": 64},
         "kbest": {"num_tx": 12, "num_rx": 12, "k": 256}}
# Transmit and receive antennas for which a team of threads has each vector. With twice as many
# receive antennas as layers, tensor cores multiply the matrices.
TEAMS = {name: ((8, 8), (8, 16), (12, 12), (16, 40)) for name in ("zf", "mmse", "mmsepic", "ep")}
TEAMS |= {name: (*TEAMS["zf"], (24, 48)) for name in ("nway", "fpfsd", "kbest", "sfsd", "hfsd")}
# Teams of these take no a-priori LLRs. They follow candidates of several vectors at once, one
# vector's, or a part of them, by their number.
PASSES, FEW_AND_MANY = ("nway", "fpfsd"), ("qpsk", "qam1024")
LIMIT_SECONDS = 300


ROUNDS = PERIOD * 150    # vectors that give the threads of one multiprocessor several rounds
NOISE_VAR = 0.02         # more noise would make searches very slow under the tools
QUIET = 0.0002           # the same for 1024-QAM


def kinds(name):
    """Yield cases that cover every form of a detector's kernel.

    A case is (title, parameters of the detector, vectors, vectors per matrix, extra arguments).
    """
    kind = detectors.REGISTRY[name]
    exact = name in ("omap", "mla", "softsphere", "asd", "sd")
    small = {"num_tx": 2, "num_rx": 3} if exact else {}
    points = {"constellation": "qpsk"} if exact else {}
    base = small | points
    yield "plain", base, VECTORS + 1, 1, ()
    yield "shared matrices", base, VECTORS, PERIOD, ()
    yield "int8", base | {"llr_type": "int8"}, VECTORS, 1, ()
    yield "4x4 64-QAM" if not exact else "4x4 QPSK", points or {"constellation": "qam64"}, 70, 1, ()
    if kind.SUPPORTS_PRIOR:
        yield "prior", base, VECTORS, 1, ("prior",)
    if name in ("nway", "fpfsd"):
        for points in ("qam16", "qam64"):
            for asked in ((), ("prior",)):
                yield ("log-sums", {"constellation": points, "llr_method": "logsum"}, VECTORS, 1,
                       asked)
        for size, points in ((8, "qam16"), (6, "qam256")):    # lists in local and in global memory
            yield (f"{size}x{size}, log-sums", {"num_tx": size, "num_rx": size,
                   "constellation": points, "llr_method": "logsum"}, 70, 1, ("prior",))
    if name in ("nway", "fpfsd", "psd", "softsphere"):    # sizes are not fixed
        for asked in ((), ("prior",)):
            yield ("1024-QAM, 4x4", {"constellation": "qam1024"}
                   | ({"llr_clip": 5.0} if name == "softsphere" else {}), 8, 1, asked)
    if name == "bitflip":
        yield "hard solutions", base, VECTORS, 1, ("hard",)
    if hasattr(kind, "count_nodes"):
        yield "node counts", base, VECTORS, 1, ("nodes",)
    if name == "mla":
        for method in ("table", "plain"):
            yield method, base | {"method": method}, VECTORS, 1, ()
    if name == "psd":
        for size in (8, 32, 64):
            for asked in ((), ("prior",), ("nodes",)):
                yield (f"team of {size}", {"preset": "table5", "team_size": size}, VECTORS, 1,
                       asked)
    if name == "softsphere":
        for points in ("qam16", "qam64"):
            for period in (1, PERIOD):
                yield (f"{points} with clipping", {"constellation": points, "llr_clip": 5.0},
                       VECTORS, period, ())
        for asked in ((), ("prior",)):
            yield "4x4 64-QAM", {"constellation": "qam64"}, 20, 1, asked
        yield "5x5 16-QAM", {"num_tx": 5, "num_rx": 5}, 20, 1, ()
        yield "8x8 QPSK", {"num_tx": 8, "num_rx": 8, "constellation": "qpsk"}, 20, 1, ()
    yield "5x5 QPSK", {"num_tx": 5, "num_rx": 5, "constellation": "qpsk"}, 70, 1, ()
    if name in ("sd", "omap", "mla", "kbest"):
        yield "4x4 16-QAM", {}, 70, 1, ()
    for num_tx, num_rx in TEAMS.get(name, ()):
        for period in (1, PERIOD):
            yield (f"{num_rx}x{num_tx} 16-QAM, {period} vectors per matrix",
                   {"num_tx": num_tx, "num_rx": num_rx}
                   | ({"levels": 1} if name in ("sfsd", "hfsd") and num_tx > 16 else {}),
                   5 * PERIOD, period,
                   ("prior",) if kind.SUPPORTS_PRIOR and name not in PASSES else ())
    for points in FEW_AND_MANY if name in PASSES else ():
        yield (f"20x10 {points}", {"num_tx": 10, "num_rx": 20, "constellation": points}, 2 * PERIOD,
               PERIOD, ())
    if name in LARGE:
        yield "large", LARGE[name] | {"constellation": "qam16"}, 66, 1, ()


def detect_all(name):
    """Run each case with arrays of exactly the right size on the GPU, and with host arrays."""
    import cupy

    cupy.cuda.set_allocator(None)    # no pool: the tools then see an access past an array's end
    for what, parameters, n, period, asked in kinds(name):
        detector = detectors.create(name, backend="cuda", **parameters)
        noise_var = QUIET if what.startswith("1024-QAM") else NOISE_VAR
        y, h, bits = simulate(n, detector.num_tx, detector.num_rx, detector.constellation,
                              noise_var, period)
        y[n // 2, 0] = np.nan    # this vector must be erased
        rng = np.random.default_rng(1)
        there = [cupy.asarray(array) for array in (y, h)]
        if "nodes" in asked:
            detector.count_nodes(y, h, noise_var)
        elif "hard" in asked:
            detector.detect(y, h, noise_var, hard=np.stack([bits, 1 - bits]))
        else:
            prior = prior_there = None
            if "prior" in asked:
                prior = rng.normal(0, 3, bits.shape).astype(np.float32)
                prior_there = cupy.asarray(prior)
            detector.detect(y, h, noise_var, prior)
            detector.detect(*there, cupy.asarray(np.full(n, noise_var, np.float32)),
                            prior_there)
            if detector.erasures != 1:
                raise RuntimeError(f"{what}: {detector.erasures} vectors erased, not 1")
            if what.startswith(("plain", "shared", "log-sums", "team")) or "clipping" in what:
                several_rounds(detector, period, prior is not None)
    print(f"{name}: done")


def several_rounds(detector, period, has_prior):
    """Run with the threads of one multiprocessor, so that each thread takes several vectors."""
    import cupy

    y, h, bits = simulate(ROUNDS, detector.num_tx, detector.num_rx, detector.constellation,
                          NOISE_VAR, period)
    detector.gpus.programs[0]._processors = 1
    detector.detect(cupy.asarray(y), cupy.asarray(h), NOISE_VAR,
                    cupy.zeros(bits.shape, np.float32) if has_prior else None)
    if detector.erasures:
        raise RuntimeError(f"{detector.erasures} vectors erased of several rounds")


def decode_twice(codes, iterations, num_bits, make_decoder):
    """Decode a batch of each code with and without kept messages; one codeword is erased."""
    import cupy

    cupy.cuda.set_allocator(None)
    for code in codes:
        llr = np.random.default_rng(1).normal(-1, 1, (9, num_bits(code))).astype(np.float32)
        llr[4, 0] = np.nan
        for early_stop in (True, False):
            decoder = make_decoder(code, iterations, early_stop=early_stop,
                                   keep_messages=early_stop)
            for _ in range(2):
                decoder.decode(cupy.asarray(llr))
            if decoder.erasures != 1:
                raise RuntimeError(f"{decoder.erasures} codewords erased, not 1")


def decode_ldpc():
    """Run all forms of the LDPC decoder: blocks in registers, list of ones, LLRs in global memory.
    """
    from gnuradio.mimopack.coding import ldpc

    wifi = ldpc.wifi(648, "1/2")
    codes = [wifi, ldpc.wimax(2304, "5/6"), ldpc.nr(1, 384), ldpc.nr(2, 3),
             ldpc.ParityChecks(wifi.num_checks, *wifi.checks()),
             ldpc.ParityChecks(40_000, np.arange(40_000), np.arange(40_000), 65_000)]
    decode_twice(codes, 3, lambda code: code.num_bits, ldpc.LdpcDecoder)
    print("ldpc: done")


def decode_turbo():
    """Run all forms of the turbo decoder: one window, several codewords per block, many windows."""
    from gnuradio.mimopack.coding import turbo

    decode_twice((40, 376, 1056, 6144), 2, lambda size: 3 * size + 12, turbo.TurboDecoder)
    print("turbo: done")


def decode_convolutional():
    """Run the convolutional decoder with less than a window, whole windows, and many windows."""
    from gnuradio.mimopack import coding

    def make_decoder(code, iterations, early_stop, keep_messages):
        return coding.ConvolutionalDecoder(*code, iterations)

    codes = [(3, "1/2"), (58, "2/3"), (1000, "3/4"), (2001, "5/6")]
    decode_twice(codes, 1, lambda code: coding.ConvolutionalEncoder(*code).num_bits, make_decoder)
    print("convolutional: done")


DECODERS = {"convolutional": decode_convolutional, "ldpc": decode_ldpc, "turbo": decode_turbo}


def check(tool, name):
    """Run one kernel under one tool; return (tool, name, error message or None, seconds)."""
    start = time.monotonic()
    command = [sys.executable, __file__, "--run", name]
    if tool:
        command = ["compute-sanitizer", "--tool", tool, "--print-limit", "5",
                   *(["--leak-check", "no"] if tool == "memcheck" else []), *command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return tool, name, f"took longer than {LIMIT_SECONDS} s", LIMIT_SECONDS
    seconds = time.monotonic() - start
    said = done.stdout + done.stderr
    if f"{name}: done" not in said:
        return tool, name, "did not finish: " + said.strip()[-600:], seconds
    if tool:
        found = SUMMARY.findall(said)
        if not found:
            return tool, name, "no summary: " + said.strip()[-600:], seconds
        if any(map(int, found)):
            return tool, name, said.strip()[:1500], seconds
    return tool, name, None, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", action="append", choices=TOOLS)
    parser.add_argument("--kernel", action="append", choices=[*detectors.REGISTRY, *DECODERS])
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--run", help=argparse.SUPPRESS)    # the script runs itself
    arguments = parser.parse_args()
    if arguments.run:
        return DECODERS[arguments.run]() if arguments.run in DECODERS else detect_all(arguments.run)
    if not shutil.which("compute-sanitizer"):
        sys.exit("sanitize: compute-sanitizer is not on the path")
    names = arguments.kernel or [*detectors.REGISTRY, *DECODERS]
    failed = 0
    with tempfile.TemporaryDirectory() as cache, ThreadPoolExecutor(arguments.processes) as pool:
        os.environ["CUPY_CACHE_DIR"] = str(Path(cache))
        # The first run, without a tool, compiles the programs for all others.
        for tools in ([None], arguments.tool or TOOLS):
            pairs = [(tool, name) for tool in tools for name in names]
            for tool, name, why, seconds in pool.map(lambda pair: check(*pair), pairs):
                failed += why is not None
                print(f"{tool or 'no tool'} {name}: {why or 'clean'} ({seconds:.0f} s)",
                      flush=True)
    print("all clean" if not failed else f"{failed} not clean")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
