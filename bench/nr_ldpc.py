#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare error rates of our decoder for 5G NR's LDPC code with Sionna's.

    bench/nr_ldpc.py [--frames 500] [--sionna-python PYTHON] [--output FILE.json]

Our encoder and rate matching (with the interleaver for 16-QAM) feed a simulated BPSK link with
white Gaussian noise. Both decoders use the same LLRs, and make 20 layered iterations in float32
without early stopping. "offset" is the offset min-sum algorithm (0.5) in both. Our "normalized"
algorithm (0.8) and Sionna's exact "boxplus-phi" are also measured. The last lines give the
additional SNR in dB that our decoder needs (interpolated at frame error rates that both reach).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.coding import ldpc
from gnuradio.mimopack.text import json_rows

ROOT = Path(__file__).resolve().parent.parent
DEPTH, ITERATIONS = 4, 20
# Information bits, coded bits, Eb/N0 in dB.
CASES = ((500, 1000, (0.8, 1.2, 1.6)), (3000, 4000, (2.0, 2.2, 2.4)))
PAIRS = (("offset", "offset-minsum"), ("normalized", "boxplus-phi"))
RATES = (0.5, 0.3, 0.1, 0.03)


class Sionna:
    """Run peers/sionna_ldpc.py in Sionna's Python."""

    def __init__(self, python, threads=2):
        self._process = subprocess.Popen(
            [python, "-W", "ignore", ROOT / "bench/peers/sionna_ldpc.py", str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.versions = self._answer()

    def decode(self, path, cn_update):
        request = {"path": str(path), "cn_update": cn_update, "iterations": ITERATIONS}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        self._answer()
        return np.load(path.with_suffix(".npy"))

    def close(self):
        self._process.stdin.close()
        self._process.wait()

    def _answer(self):
        line = self._process.stdout.readline()
        if not line:
            sys.exit("Sionna's process ended without a reply")
        return json.loads(line)


def errors(decided, bits):
    wrong = decided != bits
    return {"frame_errors": int(wrong.any(axis=1).sum()), "bit_errors": int(wrong.sum())}


def measure(k, e, ebn0_db, frames, sionna, folder):
    """Decode frames at one Eb/N0; return {decoder: errors}."""
    rng = np.random.default_rng(k + round(100 * ebn0_db))
    matching = ldpc.NrRateMatching(k, e, bits_per_symbol=DEPTH)
    bits = rng.integers(0, 2, (frames, k), np.uint8)
    sent = matching.match(ldpc.LdpcEncoder(matching.code).encode(matching.with_filler(bits)))
    noise_var = e / k / 2 * 10 ** (-ebn0_db / 10)
    y = 2.0 * sent - 1 + rng.normal(0, np.sqrt(noise_var), sent.shape)
    llr = (2 * y / noise_var).astype(np.float32)
    np.savez(folder / "llr.npz", llr=llr, info_bits=k, bits_per_symbol=DEPTH)
    found = {}
    for ours, theirs in PAIRS:
        decoder = ldpc.LdpcDecoder(matching.code, ITERATIONS, ours, early_stop=False,
                                   backend="cpu")
        found[ours] = errors(decoder.decode(matching.recover(llr))[:, :k] > 0, bits)
        found[f"sionna {theirs}"] = errors(sionna.decode(folder / "llr.npz", theirs), bits)
    return found


def needed_db(points, decoder, rate):
    """Return the Eb/N0 at which the frame error rate falls to rate, or None.

    The interpolation is linear in the logarithm of the rate.
    """
    curve = [(p["ebn0_db"], np.log(p[decoder]["frame_errors"] / p["frames"])) for p in points
             if p[decoder]["frame_errors"]]
    for (low, above), (high, below) in zip(curve[:-1], curve[1:], strict=True):
        if above >= np.log(rate) > below:
            return low + (high - low) * (above - np.log(rate)) / (above - below)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=500, help="per point")
    parser.add_argument("--sionna-python", default=ROOT / ".venv-sionna/bin/python")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    sionna, results = Sionna(arguments.sionna_python), []
    with tempfile.TemporaryDirectory() as folder:
        for k, e, ebn0s in CASES:
            points = []
            for ebn0 in ebn0s:
                found = measure(k, e, ebn0, arguments.frames, sionna, Path(folder))
                points.append({"ebn0_db": ebn0, "frames": arguments.frames, **found})
                print(f"({e}, {k}) {ebn0} dB: frame errors of {arguments.frames} " + ", ".join(
                    f"{name} {count['frame_errors']}" for name, count in found.items()), flush=True)
            more = {}
            for ours, theirs in PAIRS:
                needs = [(rate, *(needed_db(points, name, rate)
                                  for name in (ours, f"sionna {theirs}"))) for rate in RATES]
                more[f"{ours} - {theirs}"] = {
                    str(rate): round(own - other, 3) for rate, own, other in needs
                    if own is not None and other is not None}
            print(f"({e}, {k}) dB more at frame error rates: {more}", flush=True)
            results.append({"info_bits": k, "coded_bits": e, "points": points, "db_more": more})
    sionna.close()
    if arguments.output:
        arguments.output.write_text(json_rows(
            {"what": "Error rates of 5G NR's LDPC code, ours and Sionna's", "machine": describe(),
             "peer": sionna.versions, "iterations": ITERATIONS, "bits_per_symbol": DEPTH,
             "results": results}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
