#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the memory of a flowgraph that receives simulated Wi-Fi for a long time.

    bench/wifi_soak.py [--samples 1e9] [--antennas 1] [--output FILE.json]

Two frames (non-HT and HT) and 0.8 million samples of noise repeat. The resident memory is measured
every five seconds. It must not grow, and no frame may be lost.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.text import json_rows
from gnuradio.mimopack.wifi import HT, NonHT, Transmitter, mac
from memory import resident_mib

GAP = 400_000
LEVEL, SNR_DB = 0.1, 30.0


def stream(antennas):
    """Return complex64 (antennas, n) with two frames."""
    rng = np.random.default_rng(1)
    parts = [np.zeros(GAP)]
    for frame_format in (NonHT(24, 336), HT(3, 336)):
        body = rng.bytes(frame_format.length - mac.FCS)
        parts += [Transmitter().frame(frame_format, body + mac.fcs(body))[0], np.zeros(GAP)]
    clean = np.concatenate(parts)
    noise = rng.standard_normal((2, antennas, clean.size)) * 10 ** (-SNR_DB / 20) / np.sqrt(2)
    return (LEVEL * (clean + noise[0] + 1j * noise[1])).astype(np.complex64)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=float, default=1e9)
    parser.add_argument("--antennas", type=int, default=1)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    total = int(arguments.samples)
    samples = stream(arguments.antennas)
    top = gr.top_block()
    receiver = mimopack.wifi_receiver(num_rx=arguments.antennas)
    sources = [blocks.vector_source_c(row.tolist(), True) for row in samples]
    heads = [blocks.head(gr.sizeof_gr_complex, total) for _ in sources]
    for port, (source, head) in enumerate(zip(sources, heads, strict=True)):
        top.connect(source, head, (receiver, port))
    start, rows = time.perf_counter(), []
    top.start()
    while not rows or rows[-1]["samples"] < total:
        time.sleep(5)
        counts = receiver.counts()
        rows.append({"seconds": round(time.perf_counter() - start, 1),
                     "samples": counts["samples"], "frames": counts["frames"],
                     "decoded": counts["decoded"], "resident_mib": resident_mib()})
        print(rows[-1], flush=True)
    top.wait()
    counts = receiver.counts()
    sent = 2 * (total // samples.shape[1])
    print(f"{counts['decoded']} frames decoded, at least {sent} sent, "
          f"{receiver.failures()} failures")
    if arguments.output:
        arguments.output.write_text(json_rows(
            {"what": "memory of a flowgraph with the Wi-Fi receiver; simulated",
             "machine": describe(), "antennas": arguments.antennas, "frames_sent_at_least": sent,
             "counts": counts, "failures": receiver.failures(), "results": rows}) + "\n",
            encoding="utf-8")


if __name__ == "__main__":
    main()
