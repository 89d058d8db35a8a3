#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Count what the Wi-Fi receiver reports in signals without frames, simulated.

    bench/wifi_false_alarms.py [--samples 1e9] [--processes 2] [--output FILE.json]

The signals are noise, tones, two tones, a chirp, pulses, square-wave amplitude modulation, a single
carrier with QPSK, 802.11b's Barker chips, OFDM with another numerology (LTE's, 15 kHz), an endless
short training field, and 802.11 OFDM symbols without a preamble. Each signal except noise is
received at 20 dB above the noise. Its parameters are random and change every 2^20 samples.
--samples is the number of samples of one antenna, for all signals together.

For each signal the result has the number of samples, of false long training fields ("preambles"),
of reported frames, and of MPDUs with a correct frame check sequence.
"""

import argparse
from collections import Counter
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.text import json_rows
from gnuradio.mimopack.wifi import Receiver, training

PIECE = 1 << 20
AMPLITUDE = 10.0    # 20 dB over the noise


def noise(_rng, n):
    return np.zeros(n)


def tone(rng, n):
    return np.exp(2j * np.pi * rng.uniform(-0.5, 0.5) * np.arange(n))


def two_tones(rng, n):
    return (tone(rng, n) + tone(rng, n)) / np.sqrt(2)


def chirp(rng, n):
    rate = rng.uniform(-1, 1) * 10 ** rng.uniform(-8, -4)
    return np.exp(2j * np.pi * (rng.uniform(-0.5, 0.5) * np.arange(n) + rate * np.arange(n)**2.0))


def pulses(rng, n):
    period = int(rng.integers(8, 4000))
    on = max(1, int(period * rng.uniform(0.01, 0.5)))
    return (np.arange(n) % period < on) * np.exp(2j * np.pi * rng.uniform(-0.5, 0.5)
                                                 * np.arange(n))


def amplitude_modulation(rng, n):
    return tone(rng, n) * np.sign(np.sin(2 * np.pi * 10**rng.uniform(-5, -1.3) * np.arange(n)))


def single_carrier(rng, n):
    rate = int(rng.integers(1, 24))
    points = rng.integers(0, 4, n // rate + 1)
    return np.repeat(np.exp(0.5j * np.pi * points + 0.25j * np.pi), rate)[:n]


def barker(rng, n):
    chips = np.array([1, -1, 1, 1, -1, 1, 1, 1, -1, -1, -1])
    bits = np.cumsum(rng.integers(0, 2, n // 20 + 2)) % 2 * 2 - 1
    index = (np.arange(n) * 11 / 20).astype(int)
    return bits[index // 11] * chips[index % 11].astype(complex)


def lte(rng, n):
    size, guard = 1333, 94    # 15 kHz at 20 MS/s
    count = n // (size + guard) + 1
    carriers = np.zeros((count, size), complex)
    carriers[:, 1:601] = np.exp(0.5j * np.pi * rng.integers(0, 4, (count, 600)))
    carriers[:, -600:] = np.exp(0.5j * np.pi * rng.integers(0, 4, (count, 600)))
    symbols = np.fft.ifft(carriers, axis=1) * size / np.sqrt(1200)
    return np.concatenate([symbols[:, -guard:], symbols], axis=1).ravel()[:n]


def endless_short_training(rng, n):
    period = np.fft.ifft(np.fft.ifftshift(training.short_training(20)))
    return np.resize(period * 64 / np.sqrt(12), n) * tone(rng, n) ** 0.005


def symbols_only(rng, n):
    count = n // 80 + 1
    carriers = np.zeros((count, 64), complex)
    used = np.r_[1:27, 38:64]
    carriers[:, used] = np.exp(0.5j * np.pi * rng.integers(0, 4, (count, 52)))
    symbols = np.fft.ifft(carriers, axis=1) * 64 / np.sqrt(52)
    return np.concatenate([symbols[:, -16:], symbols], axis=1).ravel()[:n]


SIGNALS = (tone, two_tones, chirp, pulses, amplitude_modulation, single_carrier, barker, lte,
           endless_short_training, symbols_only)
# Name: (signal, antennas, sample rate, weight); noise gets the most samples.
CASES = {"noise, 1 antenna": (noise, 1, 20e6, 5), "noise, 2 antennas": (noise, 2, 20e6, 5),
         "noise, 4 antennas": (noise, 4, 20e6, 5), "noise, 40 MS/s": (noise, 1, 40e6, 5)}
CASES |= {signal.__name__.replace("_", " "): (signal, 1 + index % 2, 20e6, 2)
          for index, signal in enumerate(SIGNALS)}


def measure(task):
    """Return the counts for one task: (case, seed, samples)."""
    name, seed, samples = task
    signal, antennas, rate, _ = CASES[name]
    rng = np.random.default_rng([seed, len(name)])
    receiver = Receiver(antennas, rate)
    frames = []
    for _ in range(max(1, samples // PIECE)):
        clean = AMPLITUDE * signal(rng, PIECE)
        phases = np.exp(2j * np.pi * rng.random((antennas, 1)))
        received = rng.standard_normal((antennas, 2 * PIECE), np.float32).view(np.complex64)
        received = received * np.float32(np.sqrt(0.5)) + (phases * clean).astype(np.complex64)
        frames += receiver.process(received)
    frames += receiver.finish()
    count = receiver.counts
    return name, Counter(samples=count["samples"], preambles=count["preambles"],
                         frames=len(frames), fcs_ok=count["mpdus_ok"],
                         **Counter(f"as {frame.format.name}" if frame.format else frame.problem
                                   for frame in frames))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=float, default=1e9,
                        help="samples of all signals together")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    parts = sum(weight for *_, weight in CASES.values())
    part = PIECE * 16
    tasks = [(name, seed, part) for name, (*_, weight) in CASES.items()
             for seed in range(int(np.ceil(arguments.samples * weight / parts / part)))]
    totals = {name: Counter() for name in CASES}
    with Pool(arguments.processes) as pool:
        for name, counts in pool.imap_unordered(measure, tasks):
            totals[name] += counts
    everything = sum(totals.values(), Counter())
    for name, counts in {**totals, "all": everything}.items():
        print(f"{name:<24}", dict(counts))
    if arguments.output:
        arguments.output.write_text(json_rows(
            {"what": "reports of the Wi-Fi receiver where there are no frames; simulated",
             "machine": describe(), "results": totals, "all": everything}) + "\n",
            encoding="utf-8")


if __name__ == "__main__":
    main()
