#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the speed of the iterative receiver with several detectors.

    bench/iterative_rates.py [--backend cuda] [--threads 1] [--output FILE.json]

The link is 4x4 16-QAM over i.i.d. Rayleigh channels with the LDPC code (2304, 1152) of IEEE
802.16e, and at most four passes of 20 iterations. With "all", every codeword takes all passes and
iterations; with "found", a codeword ends when its checks hold. With cuda, the arrays are on the
GPU.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from gnuradio.mimopack import coding, detectors, sim
from gnuradio.mimopack.apps.bench.measuring import Run, take_turns
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.iterative import IterativeReceiver
from gnuradio.mimopack.text import json_rows

CODE, SNR, PASSES, ITERATIONS = "wimax:2304:1/2", 10.5, 4, 20
DETECTORS = [("omap", {}), ("softsphere", {"llr_clip": 8.0}), ("ep", {}),
             ("mmsepic", {"num_iterations": 2}), ("nway", {"llr_method": "logsum"}),
             ("nway", {"llr_clip": 8.0}), ("fpfsd", {"llr_method": "logsum"}),
             ("kbest", {"k": 32}), ("psd", {"soft": True})]
MOST_CODEWORDS = 8192


def make_receiver(name, parameters, link, leave, backend, threads):
    detector = detectors.create(name, backend=backend, extrinsic=True, threads=threads,
                                **parameters)
    decoder = coding.get(CODE).decoder(iterations=ITERATIONS, early_stop=leave, threads=threads,
                                       backend="auto" if backend == "cuda" else "cpu")
    return IterativeReceiver(detector, decoder, link.permutation, PASSES, early_stop=leave)


class ReceiverRun(Run):
    """Time a receiver; a unit of work is a codeword."""

    most = MOST_CODEWORDS

    def __init__(self, receiver, frames, backend):
        self.receiver, self.noise_var = receiver, frames.noise_var
        self.vectors = receiver.layout.vectors
        self.least = 4096 if backend == "cuda" else 16
        copies = self.most // len(frames.bits)
        self.y, self.h, self.bits = (np.tile(array, (copies, *(1,) * (array.ndim - 1)))
                                     for array in (frames.y, frames.h, frames.bits))
        self._wait = lambda: None
        if backend == "cuda":
            import cupy

            self.y, self.h, self.bits = map(cupy.asarray, (self.y, self.h, self.bits))
            self._wait = cupy.cuda.Device().synchronize

    def time(self, n):
        vectors = n * self.vectors
        start = time.perf_counter()
        self.received = self.receiver.receive(self.y[:vectors], self.h[:vectors], self.noise_var)
        self._wait()
        return time.perf_counter() - start

    def row(self):
        wrong = (self.received.bits != self.bits[:len(self.received.bits)]).any(axis=1)
        return {"codewords": self.units, "calls": self.calls,
                "seconds": float(np.median(self.seconds)), "codewords_per_s": self.rate,
                "mbit_per_s": self.rate * self.bits.shape[1] / 1e6,
                "fer": float(wrong.mean()), "mean_passes": float(self.received.iterations.mean())}


def measure(options):
    link = sim.Link(code=CODE)
    frames = link.frames(SNR, 0, 32)
    runs = {(name, leave, number): ReceiverRun(
                make_receiver(name, parameters, link, leave, options.backend, options.threads),
                frames, options.backend)
            for number, (name, parameters) in enumerate(DETECTORS) for leave in (False, True)}
    take_turns(runs.values(), options.seconds, options.rounds)
    base = {leave: run.rate for (name, leave, _), run in runs.items() if name == "omap"}
    return [{"detector": name, **DETECTORS[number][1], "codewords_leave": "found" if leave
             else "all", **run.row(), "times_omap": run.rate / base[leave]}
            for (name, leave, number), run in runs.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads; 0 for all cores")
    parser.add_argument("--seconds", type=float, default=4.0, help="time for each figure")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    rows = measure(options)
    for row in rows:
        print(*(f"{value:.4g}" if isinstance(value, float) else value for value in row.values()))
    if options.output:
        options.output.write_text(json_rows(
            {"what": "codewords that the iterative receiver detects and decodes",
             "data": "simulated, see the script", "machine": describe(),
             "parameters": {"code": CODE, "snr_db": SNR, "passes": PASSES,
                            "decoder_iterations": ITERATIONS, "backend": options.backend,
                            "threads": options.threads}, "detectors": rows}) + "\n",
            encoding="utf-8")


if __name__ == "__main__":
    main()
