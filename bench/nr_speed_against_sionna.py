#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the speed of our PUSCH receiver with Sionna's, on the same slots and the same GPU.

    bench/nr_speed_against_sionna.py [--case NAME] [--k 64] [--batch 1,20]
        [--their-batch 1,4] [--output FILE.json]

The slots are those of nr_real_time.py, all with the same number, because Sionna's receiver has one.
Grids begin in pinned host memory; the time of a call ends with the transport blocks on the host.
Sionna has K-best, a least-squares estimate with linear interpolation, and the true noise power;
ours has N-way, and estimates the noise. Sionna's receiver runs as it is, and then with
torch.compile, which takes minutes. The program needs Sionna, PyTorch with CUDA, and CuPy.
"""

import argparse
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from gnuradio.mimopack import nr
from gnuradio.mimopack.apps.machine import describe, describe_gpu
from gnuradio.mimopack.text import json_rows
from nr_real_time import CASES, simulate
from sionna.phy import config
from sionna.phy.mimo import StreamManagement
from sionna.phy.nr import (
    CarrierConfig,
    PUSCHConfig,
    PUSCHDMRSConfig,
    PUSCHReceiver,
    PUSCHTransmitter,
    TBConfig,
)
from sionna.phy.ofdm import KBestDetector

# The slots' number; the calls in which programs are compiled and ours learns the delay profile and
# records its CUDA graph
SLOT, WARM_UP = 3, 8


def ours(case, backend):
    """Return a function of pinned grids that returns bits on the host."""
    receiver = nr.PuschReceiver(case.config(), case.antennas, "nway", 1, backend)

    def decode(grids):
        return [block.bits for block in receiver.process(grids, [SLOT] * len(grids))]

    return decode


def theirs(case, k, device, compiled):
    """Return the same with Sionna's receiver; k of K-best, 0 for LMMSE."""
    config.device = device
    sent = PUSCHTransmitter([PUSCHConfig(
        CarrierConfig(n_cell_id=0, n_size_grid=case.prbs, subcarrier_spacing=30, slot_number=SLOT),
        PUSCHDMRSConfig(additional_position=1, dmrs_port_set=list(range(case.layers))),
        TBConfig(mcs_index=case.mcs, mcs_table=case.table, n_id=0), num_layers=case.layers,
        num_antenna_ports=case.layers, n_rnti=1)], return_bits=False)
    streams = StreamManagement(np.ones((1, 1), bool), case.layers)
    detector = k and KBestDetector("bit", case.layers, k, sent.resource_grid, streams, "qam",
                                   sent._num_bits_per_symbol)
    receiver = PUSCHReceiver(sent, mimo_detector=detector or None)
    if compiled:
        receiver = torch.compile(receiver)
    noise_var = torch.tensor(10 ** (-case.snr_db / 10), dtype=torch.float32, device=device)

    def decode(grids):
        there = torch.from_numpy(grids).to(device, non_blocking=True)[:, None]
        with torch.no_grad():
            return receiver(there, noise_var)[:, 0].to(torch.uint8).cpu().numpy()

    return decode


def measure(decode, grids, bits, batch, rounds):
    """Return a row: slots per second, ms of a call (median, 99th percentile), lost blocks."""
    calls, lost = [], 0
    for _ in range(WARM_UP):
        decode(grids[:batch])
    for number in range(rounds):
        for first in range(0, len(grids), batch):
            begin = time.perf_counter()
            found = decode(grids[first:first + batch])
            calls.append(time.perf_counter() - begin)
            if number == 0:
                lost += sum(not np.array_equal(*pair) for pair in zip(
                    found, bits[first:first + batch], strict=True))
    return {"batch": batch, "slots_per_s": round(batch / float(np.median(calls)), 1),
            "call_ms": [round(1e3 * float(np.percentile(calls, share)), 3) for share in (50, 99)],
            "lost": lost, "of": len(grids)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", default="100 MHz, 4 layers, 8 antennas, 64-QAM", choices=CASES)
    parser.add_argument("--k", type=int, default=64)
    parser.add_argument("--batch", default="1,20", help="slots of a call")
    parser.add_argument("--their-batch", default="1,4", help="the same for Sionna")
    parser.add_argument("--slots", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--backend", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--output", type=Path)
    settings = parser.parse_args()
    case, on_gpu = CASES[settings.case], settings.backend == "cuda"
    _, bits, received = simulate(case, settings.slots, number=SLOT)
    grids = torch.from_numpy(received)
    grids = (grids.pin_memory() if on_gpu else grids).numpy()
    device, rows = "cuda:0" if on_gpu else "cpu", []
    for name, decode, batches in (
            ("ours, nway", ours(case, settings.backend), settings.batch),
            (f"Sionna, K-best, k={settings.k}",
             theirs(case, settings.k, device, compiled=False), settings.their_batch),
            (f"Sionna, K-best, k={settings.k}, compiled",
             theirs(case, settings.k, device, compiled=True), settings.their_batch)):
        for batch in map(int, batches.split(",")):
            rows.append({"case": settings.case, "receiver": name,
                         **measure(decode, grids, bits, batch, settings.rounds)})
            print(*rows[-1].items(), flush=True)
            if settings.output:
                settings.output.write_text(json_rows(
                    {"what": "slots per second of PUSCH receivers on the same slots",
                     "machine": describe(), "gpu": describe_gpu() if on_gpu else None,
                     "sionna": version("sionna-no-rt"), "torch": torch.__version__,
                     "results": rows}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
