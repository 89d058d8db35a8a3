#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare error rates of the LDPC decoder over AWGN with IT++ on the same LLRs.

    bench/ldpc_error_rates.py [--blocks 1500] [--output FILE.json]

The modulation is BPSK. The codes are (2304, 1152) of IEEE 802.16e and, with twice the blocks,
(648, 324) of 802.11n. Decoders end when all checks hold, or after the maximum number of iterations.
IT++ uses a flooding schedule: all checks use the messages of the previous iteration. Our schedule
is layered, which is known to need about half the iterations. Our decoder is therefore compared with
IT++ after the same number of iterations and after half as many. Sum-product runs on the reference
backend (float64), min-sum on the CPU (float32). IT++ computes in integers, with steps of 1/4096 and
a table.

A shift is the additional SNR in dB that our decoder needs for a block error rate, relative to IT++.
It is interpolated between points. Ranges are the 2.5 % and 97.5 % quantiles from redrawing the
blocks (bootstrap). The script needs g++ and libitpp-dev.
"""

import argparse
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.coding import ldpc
from gnuradio.mimopack.text import json_rows
from suites.peers import Program, build_itpp

# Code: (factor for the number of blocks, Eb/N0 in dB).
CASES = {"wimax:2304:1/2": (1, (1.25, 1.4, 1.55, 1.7, 1.85)),
         "wifi:648:1/2": (2, (1.5, 1.8, 2.1, 2.4, 2.7))}
OURS = {"sum-product": {"algorithm": "sum-product", "backend": "reference"},
        "min-sum": {"algorithm": "normalized", "factor": 1.0, "backend": "cpu"},
        "normalized 0.75": {"algorithm": "normalized", "factor": 0.75, "backend": "cpu"},
        "normalized 0.8": {"algorithm": "normalized", "factor": 0.8, "backend": "cpu"},
        "offset 0.5": {"algorithm": "offset", "offset": 0.5, "backend": "cpu"}}
OUR_ITERATIONS = (10, 20, 25, 50)
ITPP = (("sum-product", 20), ("sum-product", 50), ("min-sum", 50))
# Pairs of our decoder and IT++'s: (algorithm, iterations).
PAIRS = ((("sum-product", 10), ITPP[0]), (("sum-product", 20), ITPP[0]),
         (("sum-product", 25), ITPP[1]), (("sum-product", 50), ITPP[1]),
         (("min-sum", 25), ITPP[2]), (("min-sum", 50), ITPP[2]),
         *(((name, 50), ITPP[1]) for name in OURS if name[-1].isdigit()))
LEVELS, DRAWS, LOWEST = (0.1, 0.01), 1000, 0.004


def simulate(code, blocks, ebn0_db, rng):
    """Simulate codewords; return (codewords, LLRs)."""
    encoder = ldpc.LdpcEncoder(code)
    words = encoder.encode(rng.integers(0, 2, (blocks, encoder.num_info), np.uint8))
    noise_var = encoder.num_bits / encoder.num_info / 2 * 10 ** (-ebn0_db / 10)
    y = 2.0 * words - 1 + rng.normal(0, noise_var**0.5, words.shape)
    return words, (2 * y / noise_var).astype(np.float32)


class Itpp:
    """IT++'s decoder, which counts the wrong information bits of each block."""

    def __init__(self, path, folder, alist, algorithm, iterations):
        self._key = "IT++", algorithm, iterations
        self._program = Program([str(path), "ldpc", str(alist), str(iterations), algorithm])
        self._decisions = Path(folder) / f"{algorithm}-{iterations}"

    def count(self, path, words, num_info):
        self._program.ask(f"{path} {self._decisions} {len(words)}")
        decided = np.fromfile(self._decisions, np.uint8).reshape(words.shape)
        return {self._key: (decided != words)[:, :num_info].sum(axis=1)}


class Ours:
    """Our decoder, which counts the wrong bits after each of OUR_ITERATIONS.

    It continues from the messages of the previous iterations.
    """

    def __init__(self, code, name):
        self._name = name
        self._decoder = ldpc.LdpcDecoder(code, keep_messages=True, threads=1, **OURS[name])

    def count(self, path, words, num_info):
        llr = np.fromfile(path, np.float32).reshape(words.shape)
        found, done = {}, 0
        self._decoder.reset()
        for most in OUR_ITERATIONS:
            self._decoder.iterations, done = most - done, most
            wrong = (self._decoder.decode(llr) > 0) != words
            found["ours", self._name, most] = wrong[:, :num_info].sum(axis=1)
        return found


def measure(name, blocks, points, itpp_path, folder):
    """Return {(program, algorithm, iterations): [wrong bits of each block, at each point]}.

    A decoder with fewer wrong blocks than LOWEST gets no further points.
    """
    code, rng, curves = ldpc.get(name), np.random.default_rng(1), {}
    alist, path = folder / "alist", folder / "llr"
    ldpc.write_alist(code, alist)
    left = [Itpp(itpp_path, folder, alist, *key) for key in ITPP]
    left += [Ours(code, own) for own in OURS]
    for ebn0_db in points:
        words, llr = simulate(code, blocks, ebn0_db, rng)
        llr.tofile(path)
        with ThreadPoolExecutor(2) as pool:
            counted = [pool.submit(one.count, path, words, code.num_info) for one in left]
        counted = [one.result() for one in counted]
        for count in counted:
            for key, wrong in count.items():
                curves.setdefault(key, []).append(wrong)
                print(f"{name} {ebn0_db:.2f} dB  {' '.join(map(str, key)):<24}  BER "
                      f"{wrong.mean() / code.num_info:.2e}  BLER {np.mean(wrong > 0):.2e}",
                      flush=True)
        left = [one for one, count in zip(left, counted, strict=True)
                if any(np.mean(wrong > 0) >= LOWEST for wrong in count.values())]
    return curves


def needed(rates, points, level):
    """Return the Eb/N0 in dB at which block error rates fall to level, or NaN."""
    known = np.flatnonzero(rates)
    rates, points = rates[known], np.asarray(points)[known]
    if not len(rates) or not rates[-1] < level <= rates[0]:
        return np.nan
    return np.interp(-np.log(level), -np.log(rates), points)


def shifts(curves, points, rng):
    """Return rows for PAIRS and LEVELS; both decoders of a pair use the same redrawn blocks."""
    for ours, theirs in PAIRS:
        both = [np.array(curves[key]) > 0 for key in (("ours", *ours), ("IT++", *theirs))]
        blocks = both[0].shape[1]
        draws = [[np.mean(of, axis=1) for of in both]]
        for _ in range(DRAWS):
            drawn = rng.integers(0, blocks, blocks)
            draws.append([of[:, drawn].mean(axis=1) for of in both])
        for level in LEVELS:
            shift = np.array([needed(own, points[:len(own)], level)
                              - needed(peer, points[:len(peer)], level) for own, peer in draws])
            if not np.isnan(shift[0]):
                low, high = np.nanquantile(shift[1:], (0.025, 0.975))
                yield {"ours": ours[0], "iterations": ours[1], "itpp": theirs[0],
                       "itpp_iterations": theirs[1], "bler": level, "shift_db": shift[0],
                       "shift_db_95": [low, high]}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=1500)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    found, rows = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = build_itpp(Path(__file__).parent / "peers", folder, "itpp_codes")
        for name, (share, points) in CASES.items():
            blocks = arguments.blocks * share
            curves = measure(name, blocks, points, path, Path(folder))
            num_info = ldpc.get(name).num_info
            rows += [{"code": name, "decoder": whose, "algorithm": algorithm,
                      "iterations": iterations, "ebn0_db": ebn0_db, "blocks": blocks,
                      "bit_errors": int(wrong.sum()), "block_errors": int((wrong > 0).sum()),
                      "ber": wrong.mean() / num_info, "bler": np.mean(wrong > 0)}
                     for (whose, algorithm, iterations), curve in curves.items()
                     for ebn0_db, wrong in zip(points, curve, strict=False)]
            found += [{"code": name} | row
                      for row in shifts(curves, points, np.random.default_rng(2))]
    for row in found:
        print("{code} BLER {bler}: {ours} {iterations} - IT++ {itpp} {itpp_iterations}: "
              "{shift_db:+.3f} dB, {shift_db_95[0]:+.3f} to {shift_db_95[1]:+.3f}".format(**row))
    if arguments.output:
        arguments.output.write_text(json_rows(
            {"what": "LDPC decoder over AWGN, error rates beside IT++'s", "machine": describe(),
             "shifts": found, "results": rows}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
