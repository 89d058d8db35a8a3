#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the speed of the Wi-Fi receiver on the loads used for other GNU Radio receivers.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 bench/wifi_peers.py [--load NAME] [--samples 20e6]
        [--rounds 3] [--threads 2] [--output FILE.json]

A flowgraph reads one file per antenna with GNU Radio's file_source, from start to end, and sends
the PDUs to message_debug. MPDUs have 1500 bytes. Frames use all modulation and coding schemes in
turn. They follow each other at 16 us, or less often, at 10 % airtime. The SNR is 35 dB. The channel
is well-conditioned and has two paths. Rates are samples per second and antenna, and medians of the
rounds.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import wifi as loads
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.text import json_rows
from gnuradio.mimopack.wifi import HT, VHT, NonHT, Transmitter, mac

RATE = 20e6
BYTES = 1500
SNR_DB = 35.0
# Load: (antennas, formats, length of the gap after a frame in frame durations; None means 16 us).
NON_HT = [lambda n, rate=rate: NonHT(rate, n) for rate in (6, 9, 12, 18, 24, 36, 48, 54)]
HT_2 = [lambda n, mcs=mcs: HT(mcs, n) for mcs in range(8, 16)]
VHT_2 = [lambda n, mcs=mcs: VHT.of_length(mcs, n, 2, 20) for mcs in range(9)]
LOADS = {
    "non-HT, 16 us apart": (1, NON_HT, None),
    "non-HT, 10 % airtime": (1, NON_HT, 9),
    "HT MCS 8-15, 16 us apart": (2, HT_2, None),
    "HT MCS 8-15, 10 % airtime": (2, HT_2, 9),
    "VHT MCS 0-8, two streams, 16 us apart": (2, VHT_2, None),
}


def simulate(antennas, formats, gap, least, seed=1):
    """Return (samples (antennas, n), number of frames); n is at least ``least``."""
    rng = np.random.default_rng(seed)
    transmitter = Transmitter(antennas)
    channel = np.fft.fft(np.eye(antennas))
    silence = np.zeros((antennas, int(loads.GAP * RATE)))
    parts, length, frames = [silence], silence.shape[1], 0
    while length < least:
        data = rng.bytes(BYTES - mac.FCS)
        _, sent = transmitter.mpdu(formats[frames % len(formats)], [data + mac.fcs(data)])
        direct = channel @ sent
        late = np.pad(direct, ((0, 0), (2, 0)))[:, :direct.shape[1]]
        behind = silence if gap is None else np.zeros((antennas, gap * sent.shape[1]))
        parts += [0.95 * direct + 0.3j * late, behind]
        length += sent.shape[1] + behind.shape[1]
        frames += 1
    stream = np.concatenate(parts, axis=1)
    stream *= np.exp(2j * np.pi * loads.CFO / RATE * np.arange(length))
    noise = rng.standard_normal((2, *stream.shape), np.float32)
    stream += np.sqrt(10 ** (-SNR_DB / 10) / 2) * (noise[0] + 1j * noise[1])
    return stream.astype(np.complex64), frames


def run(files, threads):
    """Return (seconds, CPU seconds, PDUs) of a flowgraph."""
    top = gr.top_block()
    receiver = mimopack.wifi_receiver(len(files), RATE, backend="cpu", threads=threads)
    pdus = blocks.message_debug()
    for port, file in enumerate(files):
        top.connect(blocks.file_source(gr.sizeof_gr_complex, str(file)), (receiver, port))
    top.msg_connect(receiver, "out", pdus, "store")
    begun, cpu = time.perf_counter(), _cpu_seconds()
    top.run()
    return time.perf_counter() - begun, _cpu_seconds() - cpu, pdus.num_messages()


def _cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", default="", help="loads whose name contains this")
    parser.add_argument("--samples", type=float, default=20e6,
                        help="minimum number of samples per antenna")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    results = []
    for name in [name for name in LOADS if arguments.load in name]:
        antennas = LOADS[name][0]
        with tempfile.TemporaryDirectory() as folder:
            samples, frames = simulate(*LOADS[name], arguments.samples)
            files = [Path(folder) / f"{port}.cfile" for port in range(antennas)]
            for row, file in zip(samples, files, strict=True):
                row.tofile(file)
            count = samples.shape[1]
            del samples
            runs = [run(files, arguments.threads) for _ in range(arguments.rounds + 1)][1:]
        wall, cpu, decoded = (float(np.median(values)) for values in zip(*runs, strict=True))
        results.append({
            "load": name, "antennas": antennas, "samples": count,
            "samples_per_s": count / wall, "times_real_time": count / wall / RATE,
            "cpu_us_per_sample": cpu / count * 1e6, "frames": frames, "decoded": int(decoded)})
        print(f"{name:<40} {count / wall / 1e6:6.1f} MS/s, {cpu / count * 1e6:.3f} us of CPU per "
              f"sample, {int(decoded)} of {frames} decoded", flush=True)
    if arguments.output:
        arguments.output.write_text(json_rows(
            {"what": "Wi-Fi receiver on simulated loads, from files in a flowgraph",
             "machine": describe(), "threads": arguments.threads, "rounds": arguments.rounds,
             "payload_bytes": BYTES, "snr_db": SNR_DB, "gap_s": loads.GAP,
             "results": results}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
