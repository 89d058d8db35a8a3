#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the speed of the 5G NR PUSCH receiver, grids to transport blocks, against real time.

    OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS=1 bench/nr_real_time.py [--case NAME]
        [--threads 1,2] [--receivers 1,4] [--batch 1,20] [--slots 200] [--rounds 5]
        [--backend cuda] [--output FILE.json]

Each slot has its own channel: TDL-A of TR 38.901 (100 ns, without movement), independent between
antennas, 30 kHz subcarrier spacing, DMRS type 1 on two symbols. A call has --batch slots, 0.5 ms
each. A round is --slots slots, counted by wall clock after a first round, in which decoders and
tables are made and the delay profile is learned. Combinations take turns; a figure is the median of
the rounds. The block error rate counts all slots of a round. Several --receivers share the calls of
a round, each with --threads threads and called from a thread of its own.

The result's "cpu_ms" is the time of all threads for a slot, "stages_ms" the wall-clock time of each
stage for a slot in its receiver, "call_ms" the median and the 99th percentile of the time of a
call, from grids to all of its transport blocks. With --backend cuda, grids begin in pinned host
memory, and the stage "graph" is all of a call that a CUDA graph decodes; "by_graph" is the share of
such calls.
"""

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gnuradio.mimopack import nr
from gnuradio.mimopack.apps.machine import describe, describe_gpu
from gnuradio.mimopack.cuda.device import pinned_empty
from gnuradio.mimopack.text import json_rows

SLOT_S, SPREAD_S, SPACING_HZ = 0.5e-3, 100e-9, 30e3
# TDL-A: delays over the delay spread, powers in dB (TR 38.901 table 7.7.2-1)
DELAYS = np.array([
    0.0000, 0.3819, 0.4025, 0.5868, 0.4610, 0.5375, 0.6708, 0.5750, 0.7618, 1.5375, 1.8978, 2.2242,
    2.1718, 2.4942, 2.5119, 3.0582, 4.0810, 4.4579, 4.5695, 4.7966, 5.0066, 5.3043, 9.6586])
POWERS_DB = np.array([
    -13.4, 0.0, -2.2, -4.0, -6.0, -8.2, -9.9, -10.5, -7.5, -15.9, -6.6, -16.7, -12.4, -15.2, -10.8,
    -11.3, -12.7, -16.2, -18.3, -18.9, -16.6, -19.9, -29.7])


@dataclass(frozen=True)
class Case:
    """A load: PRBs, layers, receive antennas, MCS table and index, SNR per antenna and layer."""

    prbs: int
    layers: int
    antennas: int
    table: int
    mcs: int
    snr_db: float

    def config(self):
        return nr.PuschConfig(
            carrier=nr.Carrier(n_size_grid=self.prbs), num_layers=self.layers,
            mcs=nr.Mcs(table=self.table, index=self.mcs), dmrs=nr.Dmrs(additional_position=1))


CASES = {
    "20 MHz, 2 layers, 4 antennas, 64-QAM": Case(51, 2, 4, 1, 20, 9.5),
    "20 MHz, 4 layers, 4 antennas, 64-QAM": Case(51, 4, 4, 1, 20, 15.0),
    "100 MHz, 4 layers, 8 antennas, 64-QAM": Case(273, 4, 8, 1, 20, 13.0),
    "100 MHz, 4 layers, 8 antennas, 256-QAM": Case(273, 4, 8, 2, 20, 20.0),
}
DETECTORS = ("mmse", "nway", "auto")


def simulate(case, slots, seed=1, number=None):
    """Return (slot numbers in the frame, transport blocks, received grids complex64).

    ``number`` is that of all slots; None for 0, 1, 2, ...
    """
    rng, config = np.random.default_rng(seed), case.config()
    transmitter = nr.PuschTransmitter(config)
    numbers = np.arange(slots) % 20 if number is None else np.full(slots, number)
    bits = rng.integers(0, 2, (slots, transmitter.tb_size), np.uint8)
    powers = 10 ** (POWERS_DB / 10)
    amplitudes = np.sqrt(powers / powers.sum() / 2)
    waves = np.exp(-2j * np.pi * SPACING_HZ * SPREAD_S * np.outer(
        np.arange(12 * case.prbs), DELAYS))
    received = np.empty((slots, case.antennas, 14, 12 * case.prbs), np.complex64)
    for slot in range(slots):
        grid = transmitter.grids(bits[slot:slot + 1], numbers[slot:slot + 1])[0]
        gains = rng.normal(size=(2, len(DELAYS), case.antennas, case.layers))
        gains = amplitudes[:, None, None] * (gains[0] + 1j * gains[1])
        h = np.einsum("kd,drp->krp", waves, gains)
        noise = rng.normal(size=(2, *received.shape[1:])) * 10 ** (-case.snr_db / 20) / 2**0.5
        received[slot] = np.einsum("krp,plk->rlk", h, grid) + noise[0] + 1j * noise[1]
    return numbers, bits, received


class Station:
    """Receivers that share the slots of a load, each called from a thread of its own."""

    def __init__(self, receivers, batch):
        self.receivers, self._batch = receivers, batch
        self._pool = ThreadPoolExecutor(len(receivers))

    def measure(self, load):
        """Return (s, CPU s, [(s, seconds by stage, number of wrong blocks) of each call]).

        The first is the longest time that a receiver took for its calls.
        """
        begin, turns = time.process_time(), range(len(self.receivers))
        calls = list(self._pool.map(self._receive, [load] * len(turns), turns))
        spent = max(sum(call[0] for call in own) for own in calls)
        return spent, time.process_time() - begin, sum(calls, [])

    def _receive(self, load, turn):
        """Compare the blocks of a call with the sent ones between calls, and do not keep them."""
        (numbers, bits, grids), receiver, calls = load, self.receivers[turn], []
        for first in range(turn * self._batch, len(grids), len(self.receivers) * self._batch):
            part, begin = slice(first, first + self._batch), time.perf_counter()
            blocks, wrong = receiver.process(grids[part], numbers[part]), 0
            spent = time.perf_counter() - begin
            for block, sent in zip(blocks, bits[part], strict=True):
                wrong += not block.crc_ok
                if block.crc_ok and not np.array_equal(block.bits, sent):
                    raise RuntimeError(f"slot {block.slot}: CRC correct, bits wrong")
            calls.append((spent, receiver.seconds, wrong))
            del blocks
        return calls


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default="20 MHz", help="loads whose name contains this")
    parser.add_argument("--detectors", default=",".join(DETECTORS))
    parser.add_argument("--iterations", default="1", help="passes of detection and decoding")
    parser.add_argument("--threads", default="1,2", help="numbers of threads of a receiver")
    parser.add_argument("--receivers", default="1", help="numbers of receivers")
    parser.add_argument("--batch", default="20", help="numbers of slots per call")
    parser.add_argument("--slots", type=int, default=200, help="slots of a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    on_gpu = arguments.backend == "cuda"
    rows = []
    for name in (name for name in CASES if arguments.case in name):
        case = CASES[name]
        numbers, bits, grids = load = simulate(case, arguments.slots)
        if on_gpu:
            pinned = pinned_empty(grids.shape, grids.dtype)
            pinned[...] = grids
            load = numbers, bits, pinned
        choices = [(detector, int(iterations), int(threads), int(count), int(batch))
                   for detector in arguments.detectors.split(",")
                   for iterations in arguments.iterations.split(",")
                   for threads in arguments.threads.split(",")
                   for count in arguments.receivers.split(",")
                   for batch in arguments.batch.split(",")]
        stations = [Station([nr.PuschReceiver(
            case.config(), case.antennas, *choice[:2], arguments.backend, choice[2])
            for _ in range(choice[3])], choice[4]) for choice in choices]
        for station in stations:
            station.measure(load)
        runs = [[station.measure(load) for station in stations] for _ in range(arguments.rounds)]
        for choice, station, own in zip(choices, stations, zip(*runs, strict=True), strict=True):
            wall, cpu = np.median([one[:2] for one in own], axis=0) / arguments.slots
            seconds, stages, _ = zip(*sum((one[2] for one in own), []), strict=True)
            names = dict.fromkeys(stage for each in stages for stage in each)
            rows.append({
                "case": name, "snr_db": case.snr_db,
                "detector": station.receivers[0].detector_name,
                **dict(zip(("iterations", "threads", "receivers", "batch"), choice[1:],
                           strict=True)),
                "backend": arguments.backend, "times_real_time": round(SLOT_S / wall, 3),
                "slots_per_s": round(1 / wall, 1),
                "cpu_ms": round(1e3 * cpu, 3), "stages_ms": {
                    stage: round(1e3 * float(np.median([sum(
                        call[1].get(stage, 0.0) for call in one[2]) for one in own]))
                        / arguments.slots, 3) for stage in names},
                "call_ms": [round(1e3 * float(np.percentile(seconds, share)), 3)
                            for share in (50, 99)],
                **({"by_graph": round(float(np.mean(["graph" in each for each in stages])), 3)}
                   if on_gpu else {}),
                "block_error_rate": sum(call[2] for call in own[0][2]) / arguments.slots})
            print(", ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    if arguments.output:
        result = {"what": "5G NR PUSCH receiver, grids to transport blocks, times real time",
                  "machine": describe(), "gpu": describe_gpu() if on_gpu else None,
                  "slots": arguments.slots, "rounds": arguments.rounds,
                  "results": rows}
        arguments.output.write_text(json_rows(result) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
