#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure what whitening brings the 5G NR receiver if there is interference.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 bench/nr_interference.py [--slots 500]
        [--output FILE.json]
    bench/nr_interference.py --draw FILE.json    # writes docs/images/nr_interference.png

One interferer is received by 8 antennas with 10 dB more power than noise. It sends random QPSK on
all resource elements, also on those with DMRS. Its channel is independent of the user's, and has
the same model: TDL-A with 100 ns or flat Rayleigh fading, constant in a slot, independent between
antennas and slots. The user has 8 PRBs, 16-QAM and two DMRS symbols.

A row counts the lost transport blocks at each SNR (the power of one layer on one antenna over that
of noise, without the interferer), and has the SNR at which a tenth is lost. All SNRs and receivers
have the same blocks, channels, noise and interference. All receivers detect with MMSE:

    true, white         knows the channel, and the power of interference and noise
    true, whitened      knows the channel, and the covariance on each subcarrier
    estimated, white    estimates the channel and this power from the DMRS of the slot
    estimated, whitened PuschReceiver, which whitens with one covariance for the slot
"""

import argparse
import json
from pathlib import Path

import numpy as np
from gnuradio.mimopack import nr
from gnuradio.mimopack.apps import style
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.channel import power_delay_profile
from gnuradio.mimopack.text import json_rows

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "nr_interference.png"
ANTENNAS, INTERFERER_DB, SLOT, SPACING_HZ, PREFIX = 8, 10.0, 3, 30e3, 144 / 2048
INTERFERENCE = 10 ** (INTERFERER_DB / 10)    # its power; that of noise is 1
# name: (layers, profile, SNRs in dB with whitening, SNRs in dB without)
CASES = {
    "1 layer, flat": (1, "flat", range(-3, 7), range(6, 18)),
    "1 layer, TDL-A": (1, "tdl_a", range(-3, 7), range(4, 16)),
    "2 layers, flat": (2, "flat", range(-2, 9), range(8, 22)),
    "2 layers, TDL-A": (2, "tdl_a", range(-2, 9), range(6, 18)),
}


class Case:
    """Slots of a case."""

    def __init__(self, name, slots, seed=1):
        layers, profile, *_ = CASES[name]
        self.config = nr.PuschConfig(
            carrier=nr.Carrier(n_size_grid=8), num_layers=layers, mcs=nr.Mcs(index=14),
            dmrs=nr.Dmrs(additional_position=1))
        rng, transmitter = np.random.default_rng(seed), nr.PuschTransmitter(self.config)
        self.bits = rng.integers(0, 2, (slots, transmitter.tb_size), np.uint8)
        grids = transmitter.grids(self.bits, [SLOT] * slots)
        subcarriers, profile = np.arange(grids.shape[-1]), power_delay_profile(profile, 100e-9)
        waves = np.exp(-2j * np.pi * SPACING_HZ * np.outer(subcarriers, profile.delays))
        gains = rng.normal(size=(slots, len(profile.delays), ANTENNAS, layers + 1, 2)) @ [1, 1j]
        gains *= np.sqrt(profile.powers / 2)[:, None, None]
        h = np.einsum("kd,ndrp->nkrp", waves, gains)    # the last stream is the interferer's
        self.h, of_interferer = h[..., :-1], np.sqrt(INTERFERENCE) * h[..., -1]
        self.sent = np.einsum("nkrp,npsk->nrsk", self.h, grids)
        qpsk = rng.choice([1, -1], (2, slots, *grids.shape[2:]))
        self.noise = np.einsum("nkr,nsk->nrsk", of_interferer, (qpsk[0] + 1j * qpsk[1]) / 2**0.5)
        self.noise += rng.normal(0, 0.5**0.5, (*self.noise.shape, 2)) @ [1, 1j]
        self.factors = np.linalg.cholesky(
            of_interferer[..., None] * of_interferer[..., None, :].conj() + np.eye(ANTENNAS))

    def lost(self, snr_db, estimates, whitens):
        """Return how many transport blocks a receiver loses."""
        amplitude = 10 ** (snr_db / 20)
        y, h = amplitude * self.sent + self.noise, amplitude * self.h
        receiver = nr.PuschReceiver(self.config, ANTENNAS, "mmse", 1, threads=1)
        slots = [SLOT] * len(y)
        if estimates and whitens:
            blocks = receiver.process(y, slots)
        elif estimates:
            blocks = [block for own in y for block in self._as_if_white(receiver, own)]
        else:
            noise_var = 1 + INTERFERENCE
            if whitens:
                y = np.linalg.solve(self.factors, y.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1)
                h, noise_var = np.linalg.solve(self.factors, h), 1.0
            h = np.broadcast_to(h[:, None], (len(y), y.shape[2], *h.shape[1:]))
            blocks = receiver.process(y, slots, h, noise_var)
        return sum(not np.array_equal(block.bits, sent)
                   for block, sent in zip(blocks, self.bits, strict=True))

    def _as_if_white(self, receiver, received):
        """Return the blocks of a slot whose interference counts as white noise."""
        known = receiver.known_symbols(SLOT)
        found = nr.estimate_channel(received, known, np.abs(known).max(axis=0) > 0,
                                    np.zeros(len(known), int), PREFIX)
        return receiver.process(received, [SLOT], found.h,
                                found.noise_var + found.error_var.mean())


def measure(name, slots):
    """Return the rows of a case."""
    case, rows = Case(name, slots), []
    for channel in ("true", "estimated"):
        for whitens, snrs in zip((True, False), CASES[name][2:], strict=True):
            counts = [case.lost(snr, channel == "estimated", whitens) for snr in snrs]
            snr = float(np.interp(-0.1, -np.array(counts) / slots, snrs, np.nan, np.nan))
            rows.append({
                "case": name, "channel": channel, "noise": "whitened" if whitens else "white",
                "snr_db": list(snrs), "blocks": slots, "lost": counts,
                "snr_at_10_percent": None if np.isnan(snr) else round(snr, 2)})
            print(*rows[-1].values(), flush=True)
    return rows


def draw(results, path):
    """Draw the share of lost blocks over SNR, a panel for each case."""
    with style.plt.rc_context(style.STYLE):
        figure, panels = style.plt.subplots(2, 2, figsize=(9, 6.8), sharex=True, sharey=True)
        for axes, name in zip(panels.flat, CASES, strict=True):
            for row in (row for row in results["results"] if row["case"] == name):
                whitens, estimates = row["noise"] == "whitened", row["channel"] == "estimated"
                lost = np.array(row["lost"]) / row["blocks"]
                axes.plot(row["snr_db"], np.where(lost, lost, np.nan),
                          "o-" if estimates else "--", ms=3.5,
                          color=style.BLUE if whitens else style.ORANGE,
                          label=f"{'whitened' if whitens else 'as white noise'}, "
                                f"{row['channel']} channel")
            axes.set(yscale="log", ylim=(2e-3, 1.2), title=name)
        for axes in panels[1]:
            axes.set_xlabel("SNR of a layer on one antenna, dB")
        for axes in panels[:, 0]:
            axes.set_ylabel("lost transport blocks")
        figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="lower center", ncols=2,
                      frameon=False)
        figure.suptitle(f"16-QAM, MMSE, {results['antennas']} antennas, an interferer "
                        f"{results['interferer_db']:g} dB over noise (simulated)", fontsize=10)
        figure.tight_layout(rect=(0, 0.07, 1, 1))
    print(f"written: {style.save(figure, path)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slots", type=int, default=500)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--draw", type=Path, help="results to draw instead of measuring")
    arguments = parser.parse_args()
    if arguments.draw:
        draw(json.loads(arguments.draw.read_text(encoding="utf-8")), PICTURE)
        return
    rows = [row for name in CASES for row in measure(name, arguments.slots)]
    if arguments.output:
        result = {"what": "transport blocks that a PUSCH receiver loses with an interferer",
                  "machine": describe(), "antennas": ANTENNAS, "interferer_db": INTERFERER_DB,
                  "results": rows}
        arguments.output.write_text(json_rows(result) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
