#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare block error rates of our PUSCH receiver with Sionna's, on the same simulated slots.

    bench/nr_receiver.py [--slots 50] [--cases NAME ...] [--output FILE.json]

Our transmitter makes the slots; the channel is TDL-A or flat Rayleigh fading, constant in a slot.
A row counts the lost transport blocks at each SNR (the power of one layer on one antenna over that
of noise), and has the SNR at which a tenth of the blocks are lost. The program needs an environment
with Sionna and PyTorch, such as that of scripts/test.sh --sionna.
"""

import argparse
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from gnuradio.mimopack import nr
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.channel import power_delay_profile
from gnuradio.mimopack.text import json_rows
from sionna.phy import mimo
from sionna.phy.mimo import StreamManagement
from sionna.phy.nr import (
    CarrierConfig,
    PUSCHConfig,
    PUSCHDMRSConfig,
    PUSCHReceiver,
    PUSCHTransmitter,
    TBConfig,
)
from sionna.phy.ofdm import OFDMDetector

SLOT, SPACING = 3, 30
DMRS = nr.Dmrs(additional_position=1)
# name: (layers or users, whether they are users, MCS index, antennas, profile, SNRs in dB)
CASES = {
    "4 layers, 16-QAM, 4 antennas, flat": (4, False, 15, 4, "flat", (6, 8, 10, 12)),
    "4 layers, 16-QAM, 4 antennas, TDL-A": (4, False, 14, 4, "tdl_a", (6, 8, 10, 12)),
    "2 users, 64-QAM, 4 antennas, TDL-A": (2, True, 20, 4, "tdl_a", (6.5, 8, 9.5, 11)),
}
# name: (whether the detector is EP in place of LMMSE, whether it gets the true channel). K-best
# takes too long on a CPU.
THEIRS = {
    "Sionna, true channel, LMMSE": (False, True),
    "Sionna, true channel, EP": (True, True),
    "Sionna, estimated channel, LMMSE": (False, False),
    "Sionna, estimated channel, EP": (True, False),
}
# name: (detector, passes, whether it gets the true channel)
OURS = {
    "true channel, mmse": ("mmse", 1, True),
    "true channel, ep": ("ep", 1, True),
    "true channel, auto": ("auto", 1, True),
    "estimated channel, mmse": ("mmse", 1, False),
    "estimated channel, auto, 1 pass": ("auto", 1, False),
    "estimated channel, auto, 4 passes": ("auto", 4, False),
}


class Case:
    """Slots of a case, and receivers for them."""

    def __init__(self, name, prbs=8):
        count, users, mcs, self.antennas, self.profile, self.snrs = CASES[name]
        carrier = nr.Carrier(n_cell_id=17, subcarrier_spacing_khz=SPACING, n_size_grid=prbs)
        ports = [(port,) for port in range(count)] if users else [tuple(range(count))]
        self.configs = [nr.PuschConfig(
            carrier=carrier, n_rnti=1000 + user, num_layers=len(own), dmrs_ports=own, dmrs=DMRS,
            mcs=nr.Mcs(index=mcs)) for user, own in enumerate(ports)]
        self.transmitters = [nr.PuschTransmitter(config) for config in self.configs]
        self.layers = count
        their_configs = [PUSCHConfig(
            CarrierConfig(n_cell_id=17, n_size_grid=prbs, subcarrier_spacing=SPACING,
                          slot_number=SLOT),
            PUSCHDMRSConfig(additional_position=1, dmrs_port_set=list(own)),
            TBConfig(mcs_index=mcs, n_id=17), num_layers=len(own), num_antenna_ports=len(own),
            n_rnti=1000 + user) for user, own in enumerate(ports)]
        self._theirs = PUSCHTransmitter(their_configs, return_bits=False)

    def slots(self, count, snr_db, seed):
        """Return (received grids, channels, bits of each user, noise_var)."""
        rng = np.random.default_rng(seed)
        bits = [rng.integers(0, 2, (count, each.tb_size), np.uint8) for each in self.transmitters]
        grids = np.concatenate([each.grids(own, [SLOT] * count) for each, own in zip(
            self.transmitters, bits, strict=True)], axis=1)
        profile = power_delay_profile(self.profile, 100e-9)
        gains = (rng.normal(size=(count, len(profile.delays), self.antennas, self.layers, 2))
                 @ [1, 1j] * np.sqrt(profile.powers / 2)[:, None, None])
        subcarriers = np.arange(grids.shape[-1])
        waves = np.exp(-2e3j * np.pi * SPACING * np.outer(subcarriers, profile.delays))
        h = np.einsum("kd,ndrp->nkrp", waves, gains)
        noise_var = 10 ** (-snr_db / 10)
        y = np.einsum("nkrp,npsk->nrsk", h, grids)
        y += rng.normal(0, np.sqrt(noise_var / 2), (*y.shape, 2)) @ [1, 1j]
        h = np.broadcast_to(h[:, None], (count, grids.shape[2], *h.shape[1:]))
        return y.astype(np.complex64), h.astype(np.complex64), bits, noise_var

    def our_losses(self, slots, detector, iterations, true):
        """Return how many transport blocks our receiver loses."""
        y, h, bits, noise_var = slots
        receiver = nr.PuschReceiver(self.configs, self.antennas, detector, iterations)
        known = {"channel": h, "noise_var": noise_var} if true else {}
        blocks = receiver.process(y, [SLOT] * len(y), **known)
        return sum(not np.array_equal(block.bits, bits[block.user][index // len(bits)])
                   for index, block in enumerate(blocks))

    def their_losses(self, slots, propagates, true, batch=10):
        """Return how many transport blocks Sionna's receiver loses."""
        y, h, bits, noise_var = slots
        users = len(self.configs)
        inside = None
        if propagates:
            streams = StreamManagement(np.ones((1, users), bool), self.layers // users)
            detector = mimo.EPDetector("bit", self.configs[0].modulation_order)
            inside = OFDMDetector(detector, "bit", self._theirs.resource_grid, streams)
        receiver = PUSCHReceiver(self._theirs, mimo_detector=inside,
                                 channel_estimator="perfect" if true else None)
        lost = 0
        for first in range(0, len(y), batch):
            part = slice(first, first + batch)
            arguments = [torch.tensor(y[part, None]), torch.tensor(noise_var, dtype=torch.float32)]
            if true:    # (batch, 1, antennas, users, ports, symbols, subcarriers)
                turned = h[part].transpose(0, 3, 4, 1, 2)
                arguments.append(torch.tensor(turned.reshape(
                    len(turned), 1, self.antennas, users, -1, *turned.shape[3:])))
            found = receiver(*arguments).numpy().astype(np.uint8)
            sent = np.stack([own[part] for own in bits], axis=1)
            lost += int((found != sent).any(axis=2).sum())
        return lost


def snr_at(share, snrs, rates):
    """Return the SNR at which a share of blocks is lost, by interpolation; None outside."""
    for (low, high), (more, fewer) in zip(zip(snrs, snrs[1:], strict=False),
                                          zip(rates, rates[1:], strict=False), strict=True):
        if more >= share > fewer:
            fewer = max(fewer, 1e-3)
            return low + (high - low) * np.log(more / share) / np.log(more / fewer)
    return None


def measure(name, count):
    """Return the rows of a case."""
    case = Case(name)
    total = count * len(case.configs)
    lost = {receiver: [] for receiver in (*THEIRS, *OURS)}
    for seed, snr_db in enumerate(case.snrs):
        slots = case.slots(count, snr_db, seed)
        for receiver, settings in THEIRS.items():
            lost[receiver].append(case.their_losses(slots, *settings))
        for receiver, settings in OURS.items():
            lost[receiver].append(case.our_losses(slots, *settings))
    rows = []
    for receiver, counts in lost.items():
        snr = snr_at(0.1, case.snrs, [each / total for each in counts])
        rows.append({"case": name, "receiver": receiver, "snr_db": case.snrs, "blocks": total,
                     "lost": counts, "snr_at_10_percent": None if snr is None else round(snr, 2)})
        print(f"{name:36} {receiver:38} {counts} of {total}  {rows[-1]['snr_at_10_percent']} dB",
              flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--slots", type=int, default=50)
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--output", type=Path)
    settings = parser.parse_args()
    torch.set_num_threads(2)
    rows = [row for name in settings.cases for row in measure(name, settings.slots)]
    if settings.output:
        settings.output.write_text(json_rows(
            {"what": "block errors of PUSCH receivers, simulated", "machine": describe(),
             "sionna": version("sionna-no-rt"), "results": rows}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
