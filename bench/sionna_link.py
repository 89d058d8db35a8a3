#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exchange the detector in Sionna's PUSCH link by one of ours, and compare times and block errors.

    taskset -c 0,1 bench/sionna_link.py [--device cpu] [--threads 2] [--antennas 16 4]
        [--methods lmmse ep kbest64] [--modes eager compiled graph] [--batch 2] [--batches 10]
        [--output FILE.json]

The link is that of Sionna's tutorial "5G NR PUSCH": four transmitters with one layer each, 16-QAM
of rate 0.54, 16 resource blocks, estimated channels. The channel is Rayleigh fading. Both detectors
get the same received signals. Times are seconds for a batch of slots, and medians of the rounds, in
which Sionna's detector and ours take turns: of the detector alone, of the receiver from received
signals to bits, and of the source (transmitter and channel).

Modes: "eager" is Sionna as it is. "compiled" has torch.compile around the detector. "graph", on a
GPU, replays the detector and the receiver from CUDA graphs. The program needs an environment with
Sionna and PyTorch, such as that of scripts/test.sh --sionna.
"""

import argparse
import time
from importlib.metadata import version
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np
import torch
from gnuradio.mimopack import sionna as fast
from gnuradio.mimopack.apps.machine import describe, describe_gpu
from gnuradio.mimopack.text import json_rows
from sionna.phy import config, mimo
from sionna.phy.channel import OFDMChannel, RayleighBlockFading
from sionna.phy.mimo import StreamManagement
from sionna.phy.nr import PUSCHConfig, PUSCHReceiver, PUSCHTransmitter
from sionna.phy.ofdm import OFDMDetector

LAYERS, BITS = 4, 4
QAM = {"constellation_type": "qam", "num_bits_per_symbol": BITS}
METHODS = {
    "lmmse": ("LinearDetector", ("lmmse", "bit", "maxlog"), QAM),
    "ep": ("EPDetector", ("bit", BITS), {}),
    "kbest16": ("KBestDetector", ("bit", LAYERS, 16), QAM),
    "kbest64": ("KBestDetector", ("bit", LAYERS, 64), QAM)}
# Noise variance at which some blocks are lost, by the number of receive antennas.
NOISE = {4: 0.05, 16: 0.7}


def detectors(method, device, threads=0):
    """Return Sionna's detector and ours."""
    name, positional, named = METHODS[method]
    return (getattr(mimo, name)(*positional, **named, device=device),
            getattr(fast, name)(*positional, **named, device=device, threads=threads))


class Link:
    """Sionna's PUSCH link with four single-layer transmitters.

    Args:
        antennas: number of receive antennas.
        device: "cpu" or "cuda:0".
        resource_blocks: size of the grid.
    """

    def __init__(self, antennas, device="cpu", resource_blocks=16):
        first = PUSCHConfig()
        first.carrier.subcarrier_spacing = 30
        first.carrier.n_size_grid = resource_blocks
        first.num_antenna_ports = first.num_layers = 1
        first.dmrs.additional_position = 1
        first.dmrs.num_cdm_groups_without_data = 2
        first.tb.mcs_table, first.tb.mcs_index = 1, 14
        users = []
        for port in range(LAYERS):
            users.append(first.clone())
            users[-1].dmrs.dmrs_port_set = [port]
        self.antennas, self.device = antennas, device
        self.transmitter = PUSCHTransmitter(users, device=device)
        grid = self.transmitter.resource_grid
        self._channel = OFDMChannel(
            RayleighBlockFading(1, antennas, LAYERS, 1, device=device), grid, device=device)
        self._grid = grid, StreamManagement(np.ones((1, LAYERS), bool), 1)

    def receiver(self, detector):
        """Return Sionna's receiver with a detector."""
        inside = OFDMDetector(detector, "bit", *self._grid, device=self.device)
        return PUSCHReceiver(self.transmitter, mimo_detector=inside, return_tb_crc_status=True,
                             device=self.device)

    def source(self, batch, noise_var):
        """Return (y, noise_var, sent bits) of a batch of slots."""
        x, bits = self.transmitter(batch)
        noise_var = torch.tensor(noise_var, device=self.device)
        return self._channel(x, noise_var), noise_var, bits

    def vectors(self, y, noise_var):
        """Return (y, h, s) that the detector gets."""
        seen = []

        def spy(*arguments):
            seen.append(arguments)
            return torch.zeros(*arguments[0].shape[:-1], LAYERS, BITS, device=self.device)

        self.receiver(spy)(y, noise_var)
        return seen[0]


def errors(receiver, y, noise_var, bits):
    """Return the number of blocks with a wrong bit."""
    return int((receiver(y, noise_var)[0] != bits).any(-1).sum())


def in_mode(mode, function, arguments):
    """Return a function without arguments that calls another one in a mode."""
    for _ in range(1 if mode == "eager" else 3):    # compiles, and fills caches
        function(*arguments)
    if mode != "graph":
        return lambda: function(*arguments)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function(*arguments)
    return graph.replay


def seconds(call, device):
    if device != "cpu":
        torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def compare(link, method, mode, settings):
    """Return a row of results. What a mode cannot do has an error in place of its time."""
    noise_var, pair = NOISE[link.antennas], detectors(
        method, link.device, settings.threads)
    if mode == "compiled":
        pair = [torch.compile(detector) for detector in pair]
    y, no, _ = link.source(settings.batch, noise_var)
    vectors = link.vectors(y, no)
    receivers = [link.receiver(detector) for detector in pair]
    row = {"antennas": link.antennas, "method": method, "mode": mode,
           "vectors": vectors[0].shape[:-1].numel()}
    calls = {"source": lambda: link.source(settings.batch, noise_var)}
    for who, detector, receiver in zip(("sionna", "ours"), pair, receivers, strict=True):
        for what, function, arguments in (("detector", detector, vectors),
                                          ("receiver", receiver, (y, no))):
            try:
                calls[f"{who}_{what}"] = in_mode(mode, function, arguments)
            except RuntimeError as error:
                row[f"{who}_{what}_error"] = str(error).splitlines()[0]
    times = {name: [] for name in calls}
    for _ in range(settings.rounds):
        for name, call in calls.items():
            times[name].append(seconds(call, link.device))
    took = {name: median(values) for name, values in times.items()}
    row |= {f"{name}_s": value for name, value in took.items()}
    if len(took) == 5:
        before, after = (took["source"] + took[f"{who}_receiver"] for who in ("sionna", "ours"))
        row |= {"sionna_share_of_link": took["sionna_detector"] / before,
                "detector_speedup": took["sionna_detector"] / took["ours_detector"],
                "receiver_speedup": took["sionna_receiver"] / took["ours_receiver"],
                "link_speedup": before / after}
    lost = [0, 0]
    for _ in range(settings.batches):
        batch = link.source(settings.batch, noise_var)
        for place, receiver in enumerate(receivers):
            lost[place] += errors(receiver, *batch)
    return row | {"blocks": settings.batches * settings.batch * LAYERS,
                  "sionna_blocks_lost": lost[0], "ours_blocks_lost": lost[1]}


def write(settings, results):
    """Write the results so far."""
    if not settings.output:
        return
    machine = describe() | ({"gpu": describe_gpu()} if settings.device != "cpu" else {})
    settings.output.write_text(json_rows(
        {"what": "Sionna's PUSCH link, 4 layers, 16-QAM, with Sionna's detectors and ours",
         "machine": machine, "threads": settings.threads, "batch": settings.batch,
         "rounds": settings.rounds, "sionna": version("sionna-no-rt"),
         "torch": torch.__version__, "noise_var": NOISE, "results": results}) + "\n",
        encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--antennas", type=int, nargs="+", choices=list(NOISE), default=[16, 4])
    parser.add_argument("--methods", nargs="+", choices=list(METHODS),
                        default=["lmmse", "ep", "kbest64"])
    parser.add_argument("--modes", nargs="+", choices=["eager", "compiled", "graph"],
                        default=["eager"])
    parser.add_argument("--batch", type=int, default=2, help="slots that are processed together")
    parser.add_argument("--batches", type=int, default=10, help="batches for block errors")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path)
    settings = parser.parse_args()
    torch.set_num_threads(settings.threads)
    device, results = "cuda:0" if settings.device == "cuda" else "cpu", []
    with torch.no_grad():
        links = [Link(antennas, device) for antennas in settings.antennas]
        for method, link, mode in product(settings.methods, links, settings.modes):
            config.seed = 1
            torch.compiler.reset()
            results.append(compare(link, method, mode, settings))
            print(results[-1], flush=True)
            write(settings, results)


if __name__ == "__main__":
    main()
