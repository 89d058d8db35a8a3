#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rates of detector blocks in a flowgraph, beside the same block with a detector that does nothing.

    bench/flowgraph.py [--items N] [--threads 1,2] [--rounds 5] [--output FILE.json]

4x4 16-QAM, one channel matrix per vector (and T = 14), sources and sinks of GNU Radio with their
default buffers. Cases take turns; each figure is the median of the rounds.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import detectors
from gnuradio.mimopack.apps.bench import simulate
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.constellation import get

CASES = [("no-op", "zf", {}, 1), ("zf", "zf", {}, 1), ("mmse", "mmse", {}, 1),
         ("nway N=1", "nway", {"num_passes": 1}, 1), ("nway N=4", "nway", {"num_passes": 4}, 1),
         ("no-op T=14", "zf", {}, 14), ("nway N=1 T=14", "nway", {"num_passes": 1}, 14)]


def run(name, detector, parameters, period, threads, vectors, noise_var, data):
    """One flowgraph to its end: (vectors per second, mean batch)."""
    y, h, _ = data
    block = getattr(mimopack, f"{detector}_detector")(
        noise_var=noise_var, symbols_per_channel=period, threads=threads, **parameters)
    detect, batches = block._detector.detect, []

    def counted(y, *arguments, **keywords):
        batches.append(len(y))
        return None if name.startswith("no-op") else detect(y, *arguments, **keywords)

    block._detector.detect = counted
    tb = gr.top_block()
    items = vectors // period
    sources = [blocks.vector_source_c(y.ravel().tolist(), True, 4 * period),
               blocks.vector_source_c(h[:len(y) // period].ravel().tolist(), True, 16)]
    heads = [blocks.head(gr.sizeof_gr_complex * width, items) for width in (4 * period, 16)]
    sink = blocks.null_sink(gr.sizeof_float * 16 * period)
    for port in range(2):
        tb.connect(sources[port], heads[port], (block, port))
    tb.connect(block, sink)
    start = time.perf_counter()
    tb.run()
    elapsed = time.perf_counter() - start
    assert block.vectors() == items * period
    return items * period / elapsed, float(np.mean(batches))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=5_000_000, help="vectors per run")
    parser.add_argument("--threads", default="1,2", help="thread counts, 0 for all cores")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    threads = [int(count) for count in arguments.threads.split(",")]
    noise_var = 0.04
    data = simulate(14 * 2000, 4, 4, get("qam16"), noise_var, 1)
    figures = {}
    for _ in range(arguments.rounds):
        for name, detector, parameters, period in CASES:
            for count in threads if not name.startswith("no-op") else [1]:
                figures.setdefault((name, count), []).append(
                    run(name, detector, parameters, period, count, arguments.items, noise_var,
                        data))
    results = []
    for (name, count), runs in figures.items():
        rate, batch = np.median(np.array(runs), axis=0)
        results.append({"case": name, "threads": count, "vectors_per_s": rate,
                        "mean_batch": batch})
        print(f"{name:<16}{count:>3} threads {rate / 1e6:8.2f} Mvec/s  mean batch {batch:8.0f}")
    if arguments.output:
        arguments.output.write_text(json.dumps(
            {"what": "detector blocks in a flowgraph", "machine": describe(),
             "detectors": list(detectors.REGISTRY), "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
