#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Count the nodes that the sphere detectors visit, by SNR: figure 10 of 004.

    bench/node_counts.py [--vectors 4000] [--snr 5,10,15] [--output FILE.json]

The cases are 2x2 and 4x4 antennas with QPSK, 16-QAM and 64-QAM over i.i.d. Rayleigh channels, one
per vector. The SNR is per receive antenna, noise_var = nt / SNR. The script counts the nodes that
one thread evaluates: all nodes for SD (infinite radius) and ASD, the mean over the tt threads for
PSD. The levels, expansions and threads of PSD are those of table 5. Levels are in the order of 004
eq. 3, real below imaginary parts, and SD visits children in the order of Algorithm 1. SD is also
counted as it is by default: Schnorr-Euchner enumeration, and sorted levels.
"""

import argparse
from pathlib import Path

import numpy as np
from gnuradio.mimopack import detectors
from gnuradio.mimopack.apps.bench.data import Data, Setting
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.text import json_rows

ANTENNAS, CONSTELLATIONS = (2, 4), ("qpsk", "qam16", "qam64")
SEARCHES = {"SD": ("sd", {"ordering": "stacked", "enumeration": "natural"}),
            "ASD": ("asd", {"ordering": "stacked"}),
            "PSD": ("psd", {"ordering": "stacked", "preset": "table5"}),
            "SD, default": ("sd", {})}


def count(label, data):
    """Count the nodes of one search at one setting; return a row of the result."""
    setting = data.setting
    name, own = SEARCHES[label]
    detector = detectors.create(name, num_tx=setting.num_tx, num_rx=setting.num_rx,
                                constellation=setting.constellation, **own)
    nodes = detector.count_nodes(data.y, data.h, setting.noise_var).reshape(data.vectors, -1)
    total = nodes.sum(axis=1, dtype=np.int64)
    threads = nodes.shape[1]
    return {"search": label, "num_tx": setting.num_tx, "constellation": setting.constellation,
            "snr_db": setting.snr_db, "threads": threads, "vectors": data.vectors,
            "nodes": float(total.mean()), "nodes_per_thread": float(total.mean() / threads),
            "nodes_per_thread_std_error": float(total.std() / threads / np.sqrt(len(total))),
            "nodes_busiest_thread": float(nodes.max(axis=1).mean()),
            "nodes_largest_vector": int(total.max())}


def measure(vectors, snrs):
    rows = []
    for num_tx in ANTENNAS:
        for constellation in CONSTELLATIONS:
            for snr in snrs:
                data = Data(Setting(num_tx, num_tx, constellation, snr), vectors)
                rows += [count(label, data) for label in SEARCHES]
                print(f"{num_tx}x{num_tx} {constellation:<6} {snr:5.1f} dB  " + "  ".join(
                    f"{row['search']} {row['nodes_per_thread']:.4g}"
                    for row in rows[-len(SEARCHES):]), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, default=4000)
    parser.add_argument("--snr", default="5,10,15,20,25,30", help="SNRs in dB, separated by commas")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    results = {"machine": describe(), "model": "i.i.d. Rayleigh, one channel per vector",
               "results": measure(arguments.vectors,
                                  [float(snr) for snr in arguments.snr.split(",")])}
    if arguments.output:
        arguments.output.write_text(json_rows(results) + "\n")
        print(f"written: {arguments.output}")


if __name__ == "__main__":
    main()
