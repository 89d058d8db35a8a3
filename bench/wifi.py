#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the speed of the Wi-Fi receiver on arrays, in total and per stage, on one core.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 bench/wifi.py [--case NAME]... [--frames 100]
        [--rounds 5] [--piece 262144] [--output FILE.json]

The loads are frames with 16 us of noise between them, and noise alone. The number of receive
antennas is the number of streams. The channel is well-conditioned and has two paths. The SNR is
high enough for every frame to decode. The receiver has its default options and gets pieces of
--piece samples. Without the two variables, threads that wait for work count as CPU time.

Rates are samples per second and antenna, by the CPU time of the process. Real time is the sample
rate. The rate of a stage is the number of all samples over the CPU time of the stage. Cases take
turns in each round. Each figure is the median of the rounds.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gnuradio.mimopack import wifi
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.text import json_rows
from gnuradio.mimopack.wifi import HT, VHT, NonHT, Receiver, Transmitter, mac

GAP = 16e-6
CFO = 40e3
STAGES = ("synchronisation", "demodulation", "detection", "decoding", "reporting")


@dataclass(frozen=True)
class Case:
    """A load: format_of maps a PSDU length to a format; None means noise alone.

    A function may name a format that an older build lacks, as long as its case is not run.
    """

    format_of: object
    antennas: int
    payload: int = 0
    sample_rate: float = 20e6
    snr_db: float = 40.0


CASES = {
    "noise, 1 antenna": Case(None, 1),
    "noise, 2 antennas": Case(None, 2),
    "noise, 4 antennas": Case(None, 4),
    "non-HT 54": Case(lambda n: NonHT(54, n), 1, 4000),
    "HT MCS 15": Case(lambda n: HT(15, n), 2, 4000),
    "HT MCS 27": Case(lambda n: HT(27, n), 4, 4000),
    "HT MCS 27, 500 bytes": Case(lambda n: HT(27, n), 4, 500),
    "HT MCS 31": Case(lambda n: HT(31, n), 4, 4000),
    "VHT MCS 9, 80 MHz": Case(lambda n: VHT.of_length(9, n, 1, 80), 1, 4000, 80e6),
    "HE MCS 9, BCC": Case(lambda n: wifi.HE.of_length(9, n), 1, 4000),
    "HE MCS 11, LDPC": Case(lambda n: wifi.HE.of_length(11, n, coding="ldpc"), 1, 4000),
    "HE MCS 9, 2 streams, LDPC": Case(
        lambda n: wifi.HE.of_length(9, n, 2, coding="ldpc"), 2, 4000),
    "HE MCS 9, 80 MHz, 2 streams": Case(
        lambda n: wifi.HE.of_length(9, n, 2, coding="ldpc", bandwidth_mhz=80), 2, 11_000, 80e6),
    "HE MCS 9, 80 MHz, 4 streams": Case(
        lambda n: wifi.HE.of_length(9, n, 4, coding="ldpc", bandwidth_mhz=80), 4, 11_000, 80e6),
}


def simulate(case, frames, seed=1, gap_s=GAP):
    """Return received samples (antennas, n): frames with gaps around them, or noise alone.

    Noise alone has as many samples as the same number of frames of 4000 bytes at 54 Mbit/s.
    """
    rng = np.random.default_rng(seed)
    gap = np.zeros((case.antennas, int(gap_s * case.sample_rate)))
    parts = [gap]
    if case.format_of:
        transmitter = Transmitter(case.antennas, case.sample_rate)
        # A Fourier matrix keeps streams orthogonal, with mean power 1 at each antenna.
        channel = np.fft.fft(np.eye(case.antennas))
        for _ in range(frames):
            data = rng.bytes(case.payload - mac.FCS)
            _, sent = transmitter.mpdu(case.format_of, [data + mac.fcs(data)])
            delay = int(100e-9 * case.sample_rate)
            direct = channel @ sent
            late = np.pad(direct, ((0, 0), (delay, 0)))[:, :direct.shape[1]]
            parts += [0.95 * direct + 0.3j * late, gap]
    else:
        parts.append(np.zeros((case.antennas, frames * 12_000)))
    stream = np.concatenate(parts, axis=1)
    stream = stream * np.exp(2j * np.pi * CFO / case.sample_rate * np.arange(stream.shape[1]))
    deviation = np.sqrt(10 ** (-case.snr_db / 10) / 2)
    stream += deviation * rng.standard_normal(stream.shape)
    stream += 1j * deviation * rng.standard_normal(stream.shape)
    return stream.astype(np.complex64)


def measure(case, samples, piece):
    """Return CPU seconds, wall-clock seconds, CPU seconds per stage and decoded frames of a run."""
    receiver = Receiver(case.antennas, case.sample_rate, clock=time.process_time)
    cpu, wall = time.process_time(), time.perf_counter()
    for begin in range(0, samples.shape[1], piece):
        receiver.process(samples[:, begin:begin + piece])
    receiver.finish()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return cpu, wall, receiver.seconds, receiver.counts["decoded"]


def summary(case, samples, frames, runs):
    """Return a dictionary of medians over runs."""
    length = samples.shape[1]

    def rate(seconds):
        median = float(np.median(seconds))
        return length / median if median else None

    sent = frames if case.format_of else 0
    decoded = [run[3] for run in runs]
    if min(decoded) < sent:
        raise RuntimeError(f"decoded {min(decoded)} of {sent} frames")
    cpu = float(np.median([run[0] for run in runs]))
    return {
        "antennas": case.antennas, "payload_bytes": case.payload or None,
        "sample_rate": case.sample_rate, "samples": length, "frames": sent,
        "samples_per_s": length / cpu, "times_real_time": length / cpu / case.sample_rate,
        "samples_per_s_wall_clock": rate([run[1] for run in runs]),
        "cpu_s_per_frame": cpu / sent if sent else None,
        "stages_samples_per_s": {stage: rate([run[2][stage] for run in runs])
                                 for stage in STAGES}}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", metavar="NAME",
                        help="cases whose name contains this; several add up")
    parser.add_argument("--frames", type=int, default=100, help="frames in the samples of a case")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--piece", type=int, default=1 << 18, help="samples per call")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    cases = {name: case for name, case in CASES.items()
             if any(part in name for part in arguments.case or [""])}
    if not cases:
        parser.error(f"--case: got {arguments.case}, there are {', '.join(CASES)}")
    samples = {name: simulate(case, arguments.frames) for name, case in cases.items()}
    runs = {name: [] for name in cases}
    for turn in range(arguments.rounds + 1):
        for name, case in cases.items():
            run = measure(case, samples[name], arguments.piece)
            if turn:    # the first round makes decoders and tables
                runs[name].append(run)
    results = []
    for name, case in cases.items():
        row = summary(case, samples[name], arguments.frames, runs[name])
        results.append({"case": name, **row})
        stages = row["stages_samples_per_s"]
        print(f"{name:<22} {row['samples_per_s'] / 1e6:7.2f} MS/s, "
              f"{row['times_real_time']:6.3f} x real time; "
              + ", ".join(f"{stage} {value / 1e6:.1f}" for stage, value in stages.items()
                          if value and case.format_of), flush=True)
    if arguments.output:
        arguments.output.write_text(json_rows(
            {"what": "Wi-Fi receiver on arrays, samples per second of CPU time",
             "machine": describe(),
             "detector": Receiver().detector, "piece": arguments.piece, "gap_s": GAP,
             "rounds": arguments.rounds, "results": results}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
