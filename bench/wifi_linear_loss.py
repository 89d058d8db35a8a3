#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the predictions of ``wifi.linear_loss`` with simulated frames.

Frames of 500 bytes pass through known multipath channels. Each channel is static. The script
searches for the SNR at which N-way, MMSE and zero forcing reach a bit error rate of 10^-4, and for
the SNR at which N-way loses one frame in ten. Bits and noise are the same at all SNRs. "thresholds"
has the mutual information per coded bit at which N-way and MMSE lose one frame in ten, next to the
threshold of ``linear_loss``.
"""

import argparse
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
from gnuradio.mimopack import constellation, detectors, wifi
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.text import json_rows
from gnuradio.mimopack.wifi.data_field import DataField
from gnuradio.mimopack.wifi.linear_loss import information, linear_loss, threshold

# MCS and code of the format, antennas, correlation of neighbouring antennas on both sides.
CASES = [(9, "bcc", 2, 0.5), (11, "bcc", 2, 0.0), (11, "bcc", 2, 0.7), (13, "bcc", 2, 0.3),
         (14, "bcc", 2, 0.3), (15, "bcc", 3, 0.0), (15, "bcc", 2, 0.5), (19, "bcc", 3, 0.7),
         (27, "bcc", 4, 0.0), (27, "bcc", 4, 0.7), (29, "bcc", 4, 0.0), (31, "bcc", 4, 0.5),
         (9, "ldpc", 2, 0.5), (13, "ldpc", 2, 0.6), (14, "ldpc", 2, 0.3), (27, "ldpc", 4, 0.7),
         (15, "ldpc", 2, 0.5)]
BIT_ERRORS, FRAME_ERRORS = 1e-4, 0.1


def multipath(num_rx, num_tx, correlation, seed):
    """Return four Rayleigh taps (4, num_rx, num_tx); the power falls by 1 / 1.5 nepers per tap."""
    rng = np.random.default_rng(seed)
    profile = np.exp(-np.arange(4) / 1.5)
    shape = (4, num_rx, num_tx)
    taps = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2)
    rows, columns = (np.linalg.cholesky(correlation ** np.abs(np.subtract.outer(
        np.arange(n), np.arange(n)))) for n in (num_rx, num_tx))
    return rows @ (taps * np.sqrt(profile / profile.sum())[:, None, None]) @ columns.T


class Link:
    """Coded frames over known channels: bits, data field, detector, decoder."""

    def __init__(self, frame_format, taps, frames=150):
        f = self.format = frame_format
        k = f.plan.used
        h = np.einsum("kt,trs->krs", np.exp(-2j * np.pi / 64 * np.outer(k, np.arange(len(taps)))),
                      taps)
        self.state = wifi.ChannelState(k, h.astype(np.complex64), np.ones(taps.shape[1]))
        self._h = self.state.matrices[f.plan.data_index]
        self._field, rng = DataField(f), np.random.default_rng(5)
        self._bits = rng.integers(0, 2, (frames, f.num_scrambled), np.uint8)
        coded = np.take(self._field.code(self._bits), self._field.source, axis=2)
        points = constellation.get(f.constellation)
        x = points.modulate(coded.reshape(-1, f.num_streams * points.bits_per_symbol))
        x = x.reshape(frames, f.num_symbols, -1, f.num_streams)
        self._clean = np.einsum("krs,ntks->kntr", self._h, x)
        noise = rng.standard_normal((*self._clean.shape, 2))
        self._noise = noise.view(complex)[..., 0] / np.sqrt(2)

    def errors(self, name, snr_db):
        """Return the (bit, frame) error rates."""
        f, noise_var = self.format, 10 ** (-snr_db / 10)
        y = (self._clean + np.sqrt(noise_var) * self._noise).astype(np.complex64)
        k, n, t, rows = y.shape
        llr = detector(name, f.num_streams, rows, f.constellation).detect(
            y.reshape(-1, rows), self._h, noise_var)
        llr = llr.reshape(k, n, t, -1).transpose(1, 2, 0, 3).reshape(n, t, -1)
        found = np.stack([one.scrambled for one in self._field.decode(np.ascontiguousarray(llr))])
        end = f.tail_position if f.coding == "bcc" else f.num_scrambled
        wrong = found[:, :end] != self._bits[:, :end]
        return wrong.mean(), wrong.any(axis=1).mean()

    def needed_db(self, name, rate, kind=0):
        """Return the SNR at which the bit (kind 0) or frame (kind 1) error rate is ``rate``."""
        low, high = -10.0, 70.0
        while high - low > 0.1:
            middle = (low + high) / 2
            low, high = ((middle, high) if self.errors(name, middle)[kind] > rate
                         else (low, middle))
        return (low + high) / 2


@cache
def detector(name, num_tx, num_rx, points):
    return detectors.create(name, num_tx=num_tx, num_rx=num_rx, constellation=points,
                            backend="cpu", threads=1)


def measure(case, seed, frames):
    """Return results for a channel: measurements, predictions and thresholds."""
    mcs, coding, num_rx, correlation = case
    f = wifi.HT(mcs, 500, coding=coding)
    link = Link(f, multipath(num_rx, f.num_streams, correlation, seed), frames)
    strong, mmse, zf = (link.needed_db(name, BIT_ERRORS) for name in ("nway", "mmse", "zf"))
    lost = {name: link.needed_db(name, FRAME_ERRORS, kind=1) for name in ("nway", "mmse")}
    found = linear_loss(f, link.state)
    return {"mcs": mcs, "coding": coding, "code_rate": f.code_rate, "antennas": num_rx,
            "correlation": correlation, "seed": seed,
            "measured": {"mmse_db": mmse - strong, "zf_db": zf - strong,
                         "needed_db": strong, "needed_for_frames_db": lost["nway"]},
            "linear_loss": {"mmse_db": found.mmse_db, "zf_db": found.zf_db,
                            "needed_db": -found.margin_db},
            "thresholds": [information(f, link.state, name, lost[name]) for name in lost]}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--channels", type=int, default=3, help="channels per case")
    parser.add_argument("--frames", type=int, default=150, help="frames at each SNR")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    results = []
    for case in CASES:
        for seed in range(arguments.channels):
            results.append(measure(case, seed, arguments.frames))
            measured, found = results[-1]["measured"], results[-1]["linear_loss"]
            print("MCS {:2} {:4} {} antennas, correlation {}:".format(*case), "; ".join(
                f"{name} {found[name]:.2f} (measured {measured[name]:.2f})" for name in found),
                flush=True)
    summary = {}
    for name, other in (("mmse_db", "mmse_db"), ("zf_db", "zf_db"), ("needed_db", "needed_db"),
                        ("needed_db", "needed_for_frames_db")):
        errors = np.array([one["linear_loss"][name] - one["measured"][other] for one in results])
        summary[other] = {"mean": round(float(errors.mean()), 3),
                          "rms": round(float(np.sqrt(np.mean(errors**2))), 3),
                          "largest": round(float(np.abs(errors).max()), 3)}
        print(f"{other}: error {summary[other]}")
    codes = defaultdict(list)
    for one in results:
        codes[one["coding"], one["code_rate"]] += one["thresholds"]
    thresholds = [{"coding": coding, "code_rate": rate, "taken": threshold(coding, rate),
                   "mean": round(float(np.mean(values)), 4),
                   "deviation": round(float(np.std(values)), 4), "values": len(values)}
                  for (coding, rate), values in sorted(codes.items())]
    for one in thresholds:
        print(one)
    if arguments.output:
        arguments.output.write_text(json_rows(
            {"what": "linear_loss beside simulated frames: errors in dB", "machine": describe(),
             "frames": arguments.frames, "bytes": 500, "bit_error_rate": BIT_ERRORS,
             "frame_error_rate": FRAME_ERRORS, "off_by": summary, "thresholds": thresholds,
             "results": results}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
