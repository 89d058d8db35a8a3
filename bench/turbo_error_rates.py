#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare error rates of the turbo decoder over AWGN with IT++ on the same LLRs.

    bench/turbo_error_rates.py [--blocks 2000] [--output FILE.json]

The link is BPSK with rate 1/3, K = 1024 and, with a tenth of the blocks, K = 6144. Both decoders
make six max-log iterations without early stopping. The extrinsic LLRs are multiplied by 1 and by
0.75, in our decoder also by other factors. A shift is the additional SNR in dB that our decoder
needs for a block error rate of 10 %, relative to IT++; it is interpolated between points. The
script needs g++ and libitpp-dev.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.coding import turbo
from gnuradio.mimopack.text import json_rows
from suites.peers import Program, build_itpp

ITERATIONS, SCALES, OTHER_SCALES = 6, (1.0, 0.75), (0.65, 0.7, 0.8, 0.85)
# K: (factor for the number of blocks, Eb/N0 in dB).
POINTS = {1024: (1.0, (0.2, 0.4, 0.6, 0.8, 1.0)), 6144: (0.1, (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8))}
LEVEL = 0.1


def simulate(size, blocks, ebn0_db, rng):
    """Simulate codewords; return (information bits, LLRs)."""
    bits = rng.integers(0, 2, (blocks, size), np.uint8)
    words = turbo.TurboEncoder(size).encode(bits)
    noise_var = words.shape[1] / size / 2 * 10 ** (-ebn0_db / 10)
    y = 2.0 * words - 1 + rng.normal(0, noise_var**0.5, words.shape)
    return bits, (2 * y / noise_var).astype(np.float32)


class Itpp:
    """IT++'s decoder."""

    def __init__(self, path, folder, size, scale):
        self._program = Program([str(path), "turbo", str(size), str(ITERATIONS), str(scale)])
        self._folder, self._size = Path(folder), size

    def decide(self, llr):
        llr.tofile(self._folder / "llr")
        self._program.ask(f"{self._folder / 'llr'} {self._folder / 'bits'} {len(llr)}")
        return np.fromfile(self._folder / "bits", np.uint8).reshape(-1, self._size)


class Ours:
    def __init__(self, size, scale, precision):
        self._decoder = turbo.TurboDecoder(size, ITERATIONS, backend="cpu", extrinsic_scale=scale,
                                           early_stop=False, precision=precision)
        self._size = size

    def decide(self, llr):
        return self._decoder.decode(llr)[:, :self._size] > 0


def measure(blocks, itpp_path, folder):
    rows = []
    for size, (share, points) in POINTS.items():
        decoders = {("IT++", scale): Itpp(itpp_path, folder, size, scale) for scale in SCALES}
        decoders |= {(precision, scale): Ours(size, scale, precision) for scale in SCALES
                     for precision in ("float32", "int16")}
        decoders |= {("float32", scale): Ours(size, scale, "float32") for scale in OTHER_SCALES}
        rng = np.random.default_rng(size)
        for ebn0_db in points:
            bits, llr = simulate(size, int(blocks * share), ebn0_db, rng)
            decided = {key: decoder.decide(llr) for key, decoder in decoders.items()}
            for (name, scale), own in decided.items():
                wrong = own != bits
                peer = decided.get(("IT++", scale))
                rows.append({
                    "size": size, "ebn0_db": ebn0_db, "decoder": name, "extrinsic_scale": scale,
                    "blocks": len(bits), "bit_errors": int(wrong.sum()),
                    "block_errors": int(wrong.any(axis=1).sum()), "ber": float(wrong.mean()),
                    "bler": float(wrong.any(axis=1).mean()),
                    "blocks_unlike_itpp": (None if peer is None else
                                           int((own != peer).any(axis=1).sum()))})
                print("{size} {ebn0_db:.1f} dB  {decoder:<8} x {extrinsic_scale:<4}  BER {ber:.2e}"
                      "  BLER {bler:.2e}  unlike IT++ {blocks_unlike_itpp}".format(**rows[-1]),
                      flush=True)
    return rows


def needed(rows, size, decoder, scale):
    """Return the Eb/N0 in dB for the block error rate LEVEL, which must lie between two points."""
    own = [row for row in rows if (row["size"], row["decoder"], row["extrinsic_scale"])
           == (size, decoder, scale) and row["bler"] > 0]
    if not own[-1]["bler"] < LEVEL < own[0]["bler"]:
        return float("nan")
    return float(np.interp(-np.log(LEVEL), [-np.log(row["bler"]) for row in own],
                           [row["ebn0_db"] for row in own]))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=2000)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = build_itpp(Path(__file__).parent / "peers", folder, "itpp_codes")
        rows = measure(arguments.blocks, path, folder)
    shifts = [{"size": size, "extrinsic_scale": scale, "decoder": precision,
               "shift_db": needed(rows, size, precision, scale) - needed(rows, size, "IT++", scale)}
              for size in POINTS for scale in SCALES for precision in ("float32", "int16")]
    shifts = [shift for shift in shifts if not np.isnan(shift["shift_db"])]
    for shift in shifts:
        print("{size} x {extrinsic_scale} {decoder}: {shift_db:+.3f} dB".format(**shift))
    if arguments.output:
        arguments.output.write_text(json_rows(
            {"what": "turbo decoder over AWGN, error rates beside IT++'s", "machine": describe(),
             "iterations": ITERATIONS, "algorithm": "max-log", "shift_at_bler": LEVEL,
             "shifts": shifts, "results": rows}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
