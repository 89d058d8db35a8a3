#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare our PUSCH receiver with Sionna's, block by block: same detector, true channel.

    bench/nr_true_channel.py [--slots 300] [--cases NAME ...] [--output FILE.json]

Both get the same grids, channels and noise power. The same slots come at each SNR (the power of one
layer on one antenna over that of noise), with the same noise, only weaker. Each subcarrier fades by
itself (Rayleigh) and stays constant in a slot, so that the block error rate falls steeply.

Both LDPC decoders run up to 40 iterations: Sionna's TBDecoder otherwise as it is by default (belief
propagation with "boxplus-phi", messages up to 20), ours as the receiver has it. Detectors are as
they are by default. Their LLRs are max-log; those of K-best are limited to 20 by Sionna, and to 8
by us.

A row counts the blocks that we lose, that Sionna loses, and that both lose, at each SNR. The
difference is that of the SNRs at which a tenth of the blocks are lost, ours minus Sionna's. The
range contains 95 % of the differences if slots are drawn from these at random (bootstrap). Both
are null if a rate of one tenth lies outside the SNRs. The program needs an environment with Sionna
and PyTorch, such as that of scripts/test.sh --sionna.
"""

import argparse
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from gnuradio.mimopack import nr
from gnuradio.mimopack.apps.machine import describe
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
    TBDecoder,
    TBEncoder,
)
from sionna.phy.ofdm import OFDMDetector

SLOT, SPACING, PRBS, RNTI, CELL = 3, 30, 4, 1000, 17
DECODER_ITERATIONS = 40
# name: (layers, antennas, MCS index, {detector: SNRs in dB})
CASES = {
    "2 layers, 16-QAM, 2 antennas": (2, 2, 13, {
        "mmse": (6.4, 6.7, 7.0, 7.3, 7.6), "kbest:k=16": (6.3, 6.6, 6.9, 7.2, 7.5, 7.8, 8.1),
        "ep": (6.2, 6.5, 6.8, 7.1, 7.4)}),
    "4 layers, 64-QAM, 4 antennas": (4, 4, 20, {
        "mmse": (12.6, 12.9, 13.2, 13.5), "kbest:k=16": (12.9, 13.3, 13.7, 14.1, 14.5, 14.9),
        "ep": (11.5, 11.8, 12.1, 12.4)}),
}
DRAWS = 1000


class Case:
    """Slots of a case, and both receivers for them."""

    def __init__(self, name):
        self.layers, self.antennas, mcs, self.snrs = CASES[name]
        self.config = nr.PuschConfig(
            carrier=nr.Carrier(n_cell_id=CELL, subcarrier_spacing_khz=SPACING, n_size_grid=PRBS),
            n_rnti=RNTI, num_layers=self.layers, dmrs=nr.Dmrs(additional_position=1),
            mcs=nr.Mcs(index=mcs))
        self._theirs = PUSCHTransmitter(PUSCHConfig(
            CarrierConfig(n_cell_id=CELL, n_size_grid=PRBS, subcarrier_spacing=SPACING,
                          slot_number=SLOT),
            PUSCHDMRSConfig(additional_position=1, dmrs_port_set=list(range(self.layers))),
            TBConfig(mcs_index=mcs, n_id=CELL), num_layers=self.layers,
            num_antenna_ports=self.layers, n_rnti=RNTI), return_bits=False)
        word = nr.codeword(self.config)
        self._decoder = TBDecoder(TBEncoder(
            word.tb_size, word.num_coded_bits, word.target_coderate, word.modulation_order,
            self.layers, RNTI, CELL), DECODER_ITERATIONS)
        self._modulation_order = word.modulation_order

    def slots(self, count, seed=1):
        """Return (grids without noise, noise of power 1, channels, bits)."""
        rng = np.random.default_rng(seed)
        transmitter = nr.PuschTransmitter(self.config)
        bits = rng.integers(0, 2, (count, transmitter.tb_size), np.uint8)
        grids = transmitter.grids(bits, [SLOT] * count)
        h = rng.normal(0, np.sqrt(0.5), (
            count, grids.shape[-1], self.antennas, self.layers, 2)) @ [1, 1j]
        y = np.einsum("nkrp,npsk->nrsk", h, grids)
        noise = rng.normal(0, np.sqrt(0.5), (*y.shape, 2)) @ [1, 1j]
        h = np.broadcast_to(h[:, None], (count, grids.shape[2], *h.shape[1:]))
        return y, noise, h.astype(np.complex64), bits

    def our_bits(self, y, h, noise_var, detector):
        """Return the transport blocks that our receiver decodes."""
        receiver = nr.PuschReceiver(self.config, self.antennas, detector, iterations=1)
        blocks = receiver.process(y, [SLOT] * len(y), channel=h, noise_var=noise_var)
        return np.stack([block.bits for block in blocks])

    def their_bits(self, y, h, noise_var, detector, batch=20):
        """Return the transport blocks that Sionna's receiver decodes."""
        modulation, inside = self._modulation_order, None
        if detector != "mmse":    # Sionna's default
            if detector == "ep":
                inside = mimo.EPDetector("bit", modulation)
            else:
                inside = mimo.KBestDetector("bit", self.layers, int(detector.split("=")[1]), "qam",
                                            modulation)
            inside = OFDMDetector(inside, "bit", self._theirs.resource_grid,
                                  StreamManagement(np.ones((1, 1), bool), self.layers))
        receiver = PUSCHReceiver(self._theirs, channel_estimator="perfect", mimo_detector=inside,
                                 tb_decoder=self._decoder)
        found = []
        for first in range(0, len(y), batch):
            part = slice(first, first + batch)
            # (batch, 1, antennas, 1, layers, symbols, subcarriers)
            channel = h[part].transpose(0, 3, 4, 1, 2)[:, None, :, None]
            found.append(receiver(
                torch.tensor(y[part, None]), torch.tensor(noise_var, dtype=torch.float32),
                torch.tensor(channel)).numpy()[:, 0])
        return np.concatenate(found).astype(np.uint8)


def snr_at(share, snrs, rates):
    """Return the SNR at which a share of blocks is lost, by interpolation; NaN outside."""
    for low, high, more, fewer in zip(snrs, snrs[1:], rates, rates[1:], strict=False):
        if more >= share > fewer:
            fewer = max(fewer, 1e-3)
            return low + (high - low) * np.log(more / share) / np.log(more / fewer)
    return np.nan


def difference(snrs, ours, theirs):
    """Return our SNR minus Sionna's at which a tenth is lost, from (SNRs, slots) lost blocks."""
    return snr_at(0.1, snrs, ours.mean(axis=1)) - snr_at(0.1, snrs, theirs.mean(axis=1))


def measure(name, count):
    """Return the rows of a case."""
    case, rows = Case(name), []
    clean, noise, h, bits = case.slots(count)
    for detector, snrs in case.snrs.items():
        lost = np.empty((2, len(snrs), count), bool)
        for index, snr in enumerate(snrs):
            noise_var = 10 ** (-snr / 10)
            y = (clean + np.sqrt(noise_var) * noise).astype(np.complex64)
            for receiver, decode in enumerate((case.our_bits, case.their_bits)):
                lost[receiver, index] = np.any(decode(y, h, noise_var, detector) != bits, axis=1)
        ours, theirs = lost
        draws = np.random.default_rng(2).integers(0, count, (DRAWS, count))
        drawn = [difference(snrs, ours[:, draw], theirs[:, draw]) for draw in draws]
        between = np.percentile(drawn, (2.5, 97.5)).round(3).tolist()
        inside = np.isfinite(drawn).all()
        rows.append({
            "case": name, "detector": detector, "snr_db": snrs, "blocks": count,
            "lost_by_us": ours.sum(axis=1).tolist(), "lost_by_sionna": theirs.sum(axis=1).tolist(),
            "lost_by_both": (ours & theirs).sum(axis=1).tolist(),
            "difference_db": round(float(difference(snrs, ours, theirs)), 3) if inside else None,
            "range_db": between if inside else None})
        print(rows[-1], flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--slots", type=int, default=300)
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--output", type=Path)
    settings = parser.parse_args()
    rows = [row for name in settings.cases for row in measure(name, settings.slots)]
    if settings.output:
        settings.output.write_text(json_rows(
            {"what": "block errors of PUSCH receivers with the true channel, simulated",
             "machine": describe(), "sionna": version("sionna-no-rt"), "results": rows}) + "\n",
            encoding="utf-8")


if __name__ == "__main__":
    main()
