#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the LLRs of the hard detectors (soft=True) with other detectors before an LDPC decoder.

    bench/soft_lists.py [--frames 2000] [--rounds 9] [--output FILE.json]

A row has the SNR per receive antenna at which a tenth of the frames is wrong, and the CPU time for
a vector at the SNR that softsphere needs. Frames are simulated in steps of half a dB, each point up
to 300 wrong ones; the SNR is read between two points. All detectors receive the same frames. Times
are medians of the rounds, in which the detectors take turns on one thread.
"""

import argparse
import math
import time
from pathlib import Path
from statistics import median

from gnuradio.mimopack import detectors, sim
from gnuradio.mimopack.apps.bench.data import Data, Setting
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.text import json_rows

# Layers, constellation, the first SNR and the vectors of a round
CASES = ((4, "qam16", 10.5, 2**13), (4, "qam64", 16.0, 2**12), (8, "qam16", 10.5, 2**10))
CODE = "wifi:1944:1/2"
DETECTORS = ("softsphere", "nway", "sfsd", "kbest:k=32", "mmse", "sd:soft=true", "asd:soft=true",
             "psd:soft=true,list_size=8", "psd:soft=true", "psd:soft=true,list_size=128",
             "hfsd:soft=true", "zfsic:soft=true", "psd", "hfsd", "zfsic")
TARGET = 0.1


def snr_at_target(num_tx, constellation, detector, snr, frames):
    """Return the SNR at which the frame error rate is TARGET."""
    link = sim.Link(num_tx=num_tx, num_rx=num_tx, constellation=constellation, code=CODE)
    before = None
    while True:
        row, = sim.Simulation(link, [detector]).run([snr], errors=300, max_frames=frames)
        rate = math.log(max(row["fer"][0], 0.1 / frames))
        if rate <= math.log(TARGET):
            share = 0 if before is None else (math.log(TARGET) - rate) / (before - rate)
            return snr - 0.5 * share
        before, snr = rate, snr + 0.5


def times(num_tx, constellation, snr, vectors, rounds):
    """Return the CPU time of each detector for a vector, in microseconds."""
    data = Data(Setting(num_tx, num_tx, constellation, snr), vectors)
    made = {name: detectors.create(name, num_tx=num_tx, num_rx=num_tx,
                                   constellation=constellation, threads=1) for name in DETECTORS}
    took = {name: [] for name in DETECTORS}
    for _ in range(rounds):
        for name, detector in made.items():
            start = time.process_time()
            detector.detect(data.y, data.h, data.setting.noise_var, out=data.llr)
            took[name].append(time.process_time() - start)
    return {name: 1e6 * median(values) / vectors for name, values in took.items()}


def measure(frames, rounds):
    for num_tx, constellation, first, vectors in CASES:
        snrs = {name: snr_at_target(num_tx, constellation, name, first, frames)
                for name in DETECTORS}
        took = times(num_tx, constellation, snrs["softsphere"], vectors, rounds)
        for name in DETECTORS:
            row = {"detector": name, "num_tx": num_tx, "constellation": constellation,
                   "snr_db": round(snrs[name], 3), "us_per_vector": float(f"{took[name]:.3g}")}
            print(row, flush=True)
            yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=2000, help="most frames of a point")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    results = {"what": f"SNR at which {TARGET:.0%} of the frames are wrong, and CPU time",
               "machine": describe(), "code": CODE, "frames": arguments.frames,
               "results": list(measure(arguments.frames, arguments.rounds))}
    if arguments.output:
        arguments.output.write_text(json_rows(results) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
