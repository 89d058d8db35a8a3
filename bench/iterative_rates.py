#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the rates of the iterative receiver with several detectors and ways to share its work.

    bench/iterative_rates.py [--backend cuda] [--output FILE.json]

The link is 4x4 16-QAM over i.i.d. Rayleigh channels with the LDPC code (2304, 1152) of IEEE
802.16e, and at most four passes of 20 iterations. With "all", every codeword takes all passes and
iterations; with "found", a codeword ends when its checks hold.

On the CPU, the script then measures batches of several sizes on all threads: with the threads of
detector and decoder, and with a receiver for each thread. With cuda, the arrays are on the GPU. The
script then also measures small batches without and with CUDA graphs, receivers on two streams and
on two GPUs (also from host arrays), and the GPU and the CPU sharing a batch in proportion to their
rates.
"""

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from gnuradio.mimopack import coding, detectors, sim
from gnuradio.mimopack.apps.bench.measuring import Run, take_turns
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.iterative import IterativeReceiver, SharedReceiver
from gnuradio.mimopack.text import json_rows

CODE, SNR, PASSES, ITERATIONS = "wimax:2304:1/2", 10.5, 4, 20
DETECTORS = [("omap", {}), ("softsphere", {"llr_clip": 8.0}), ("ep", {}),
             ("mmsepic", {"num_iterations": 2}), ("nway", {"llr_method": "logsum"}),
             ("nway", {"llr_clip": 8.0})]
SHARED = "nway", {"llr_method": "logsum"}
BATCHES = 1, 4, 16, 64, 256, 512


def make_receiver(name, own, link, leave, backend, threads=0, device=0, graphs=True):
    detector = detectors.create(name, backend=backend, extrinsic=True, threads=threads,
                                device=device, **own)
    decoder = coding.get(CODE).decoder(
        iterations=ITERATIONS, early_stop=leave, threads=threads, device=device,
        backend="auto" if backend == "cuda" else "cpu")
    return IterativeReceiver(detector, decoder, link.permutation, PASSES, early_stop=leave,
                             graphs=graphs)


class ReceiverRun(Run):
    """Time a receiver on host arrays; a unit of work is a codeword."""

    least = 16

    def __init__(self, receiver, frames, most):
        self.receiver, self.noise_var = receiver, frames.noise_var
        self.vectors = receiver.layout.vectors
        copies = -(-most // len(frames.bits))
        self.y, self.h = (np.tile(array, (copies, *(1,) * (array.ndim - 1)))
                          for array in (frames.y, frames.h))
        self.bits = np.tile(frames.bits, (copies, 1))
        self.most = most

    def receive(self, n):
        at = slice(n * self.vectors)
        return self.receiver.receive(self.y[at], self.h[at], self.noise_var)

    def time(self, n):
        start = time.perf_counter()
        self.received = self.receive(n)
        self.wait()
        return time.perf_counter() - start

    def wait(self):
        pass

    def row(self, **beyond):
        wrong = (self.received.bits != self.bits[:len(self.received.bits)]).any(axis=1)
        return {**beyond, "codewords": self.units, "calls": self.calls,
                "seconds": float(np.median(self.seconds)), "codewords_per_s": self.rate,
                "mbit_per_s": self.rate * self.bits.shape[1] / 1e6,
                "fer": float(wrong.mean()), "mean_passes": float(self.received.iterations.mean())}


class AtOnceRun(ReceiverRun):
    """Time receivers that share a host batch, on all CPU threads or on GPUs."""

    def __init__(self, make, frames, most, devices=None):
        self.shared = SharedReceiver(make, devices)
        self.least = most if devices else self.least
        super().__init__(self.shared.receiver, frames, most)

    def receive(self, n):
        at = slice(n * self.vectors)
        return self.shared.receive(self.y[at], self.h[at], self.noise_var)


class GpuRun(ReceiverRun):
    """Time a receiver on a separate stream of a GPU, on device arrays."""

    least = 4096

    def __init__(self, receiver, frames, most, device=0):
        super().__init__(receiver, frames, most)
        import cupy

        self.cupy, self.device = cupy, cupy.cuda.Device(device)
        with self.device:
            self.stream = cupy.cuda.Stream(non_blocking=True)
            self.y, self.h = cupy.asarray(self.y), cupy.asarray(self.h)
            self.bits = cupy.asarray(self.bits)

    def receive(self, n):
        with self.device, self.stream:
            return super().receive(n)

    def wait(self):
        self.stream.synchronize()

    def row(self, **beyond):
        with self.device:
            return super().row(**beyond)


class SharedRun(Run):
    """Time runs that process shares of a batch at the same time, each in its own thread.

    The batch is so large that the largest share equals the batch of that run alone.
    """

    def __init__(self, runs, shares):
        self.runs, self.shares = runs, np.array(shares) / sum(shares)
        self.least = int(min(run.units / share for run, share in zip(runs, self.shares,
                                                                    strict=True)))
        self.most = int(min(run.most / share for run, share in zip(runs, self.shares,
                                                                  strict=True)))
        self._pool = ThreadPoolExecutor(len(runs))

    def time(self, n):
        parts = np.diff(np.round(n * np.cumsum([0, *self.shares])).astype(int))
        start = time.perf_counter()
        for done in [self._pool.submit(run.time, part)
                     for run, part in zip(self.runs, parts, strict=True) if part]:
            done.result()
        return time.perf_counter() - start

    def row(self, **beyond):
        return {**beyond, "codewords": self.units, "calls": self.calls,
                "shares": self.shares.tolist(), "seconds": float(np.median(self.seconds)),
                "codewords_per_s": self.rate}


def measure(options):
    link = sim.Link(code=CODE)
    frames = link.frames(SNR, 0, 32)
    gpu = options.backend == "cuda"
    cases = []
    for name, own in DETECTORS:
        for leave in (False, True):
            receiver = make_receiver(name, own, link, leave, options.backend, options.threads)
            run = GpuRun(receiver, frames, 8192) if gpu else ReceiverRun(receiver, frames, 8192)
            cases.append((run, {"detector": name, **own, "codewords_leave": "found" if leave
                                else "all"}))
    runs = [run for run, _ in cases]
    take_turns(runs, options.seconds, options.rounds)
    results = {"detectors": [run.row(**what) for run, what in cases]}
    base = {row["codewords_leave"]: row["codewords_per_s"] for row in results["detectors"]
            if row["detector"] == "omap"}
    for row in results["detectors"]:
        row["times_omap"] = row["codewords_per_s"] / base[row["codewords_leave"]]
    del cases, runs
    return results | (ways_to_share(options, link, frames) if gpu
                      else {"sharing": threads_to_share(options, link, frames)})


def threads_to_share(options, link, frames):
    cases = []
    for name, own in DETECTORS[1:]:
        def make(name=name, own=own):
            return make_receiver(name, own, link, False, "cpu")

        for n in BATCHES:
            for run, way in ((ReceiverRun(make(), frames, n), "threads of detector and decoder"),
                             (AtOnceRun(make, frames, n), "a receiver for each thread")):
                run.least = n
                cases.append((run, {"detector": name, **own, "way": way}))
    take_turns([run for run, _ in cases], options.seconds / 4, options.rounds)
    return [run.row(**what) for run, what in cases]


def ways_to_share(options, link, frames):
    import cupy

    name, own = SHARED

    def receiver(backend="cuda", device=0, graphs=True):
        return make_receiver(name, own, link, False, backend, device=device, graphs=graphs)

    def rows(cases):
        take_turns([run for run, _ in cases], options.seconds, options.rounds)
        return [run.row(**what) for run, what in cases]

    whole = GpuRun(receiver(), frames, 8192)
    found = {}
    two = [GpuRun(receiver(), frames, 4096) for _ in range(2)]
    cpu = ReceiverRun(receiver("cpu"), frames, 2048)
    take_turns([whole, cpu, *two], options.seconds, options.rounds)
    found["sharing"] = rows([
        (whole, {"way": "one GPU"}), (cpu, {"way": "CPU, all threads"}),
        (SharedRun(two, [1, 1]), {"way": "two streams of the GPU"}),
        (SharedRun([whole, cpu], [whole.rate, cpu.rate]), {"way": "GPU and CPU together"})])
    gpus = list(range(cupy.cuda.runtime.getDeviceCount()))
    found["sharing"] += rows([
        (AtOnceRun(lambda device: receiver(device=device), frames, 8192 * count, gpus[:count]),
         {"way": f"{count} GPU{'s' * (count > 1)}, arrays of the host"})
        for count in {1, min(2, len(gpus))}])
    if len(gpus) > 1:
        pair = [GpuRun(receiver(device=device), frames, 8192, device) for device in range(2)]
        take_turns(pair, options.seconds, options.rounds)
        found["devices"] = rows([
            (pair[0], {"way": "one GPU"}), (SharedRun(pair, [1, 1]), {"way": "two GPUs"})])
    found["batches"] = []
    for way, graphs in (("calls", False), ("graph", True)):
        runs = [GpuRun(receiver(graphs=graphs), frames, n) for n in BATCHES]
        for run, n in zip(runs, BATCHES, strict=True):
            run.least = n
        found["batches"] += rows([(run, {"way": way}) for run in runs])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads; 0 for all cores")
    parser.add_argument("--seconds", type=float, default=4.0, help="time for each figure")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    found = {"what": "codewords that the iterative receiver detects and decodes",
             "data": "simulated, see the script", "machine": describe(),
             "parameters": {"code": CODE, "snr_db": SNR, "passes": PASSES,
                            "decoder_iterations": ITERATIONS, "backend": options.backend,
                            "threads": options.threads}, **measure(options)}
    text = json_rows(found)
    if options.output:
        options.output.write_text(text + "\n", encoding="utf-8")
    for part in ("detectors", "sharing", "devices", "batches"):
        for row in found.get(part, ()):
            print(*(f"{value:.4g}" if isinstance(value, float) else value
                    for value in row.values()))


if __name__ == "__main__":
    main()
