#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare factors and offsets of the LDPC decoder: SNR for a block error rate of 1 %.

    bench/ldpc_algorithms.py [--blocks 2000] [--output FILE.json]

The codes of three standards are simulated over AWGN with BPSK, and over 4x4 i.i.d. Rayleigh
channels with 16-QAM and LLRs from the N-way detector. The decoders make 20 iterations with early
stop, and all use the same LLRs. An offset of 0.5 with LLRs that are twice (or half) as large as
they should be equals an offset of 0.25 (or 1) with correct LLRs; a factor does not depend on the
scale of the LLRs.

The SNR rises in steps until the rate of each algorithm is below 1 %; the result is interpolated
between the last two steps. The SNR is Eb/N0 over AWGN, else the SNR per receive antenna. Ranges are
the 2.5 % and 97.5 % quantiles from redrawing the blocks (bootstrap).
"""

import argparse
from pathlib import Path

import numpy as np
from gnuradio.mimopack import channel, coding, constellation, detectors
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.text import json_rows

# Code, whether over MIMO channels, first SNR in dB, step, share of the blocks
CASES = (("wimax:2304:1/2", False, 1.2, 0.15, 1), ("wimax:2304:5/6", False, 3.0, 0.15, 1),
         ("wifi:648:1/2", False, 1.5, 0.25, 1), ("wifi:1944:3/4", False, 2.2, 0.15, 1),
         ("nr_matched:400:1200", False, 1.0, 0.25, 1),
         ("nr_matched:1000:4000", False, 0.4, 0.15, 1),
         ("nr_matched:1000:2000", False, 1.0, 0.15, 1),
         ("nr_matched:3000:4000", False, 1.8, 0.15, 1),
         ("wimax:2304:1/2", True, 10.0, 0.4, 0.5), ("nr_matched:1000:2000", True, 10.0, 0.4, 0.5))
ALGORITHMS = {f"{algorithm} {value:g}": {"algorithm": algorithm, keyword: value}
              for algorithm, keyword, values in (
                  ("normalized", "factor", (0.7, 0.75, 0.8, 0.85)),
                  ("offset", "offset", (0.25, 0.4, 0.5, 0.6, 1.0))) for value in values}
DEFAULT, LEVEL, DRAWS, ITERATIONS, ANTENNAS = "normalized 0.8", 0.01, 500, 20, 4


def over_awgn(code, words, snr_db, rng):
    noise_var = code.num_bits / code.num_info / 2 * 10 ** (-snr_db / 10)
    y = 2.0 * words - 1 + rng.normal(0, noise_var**0.5, words.shape)
    return (2 * y / noise_var).astype(np.float32)


def over_mimo(code, words, snr_db, rng):
    detector, noise_var = detectors.NWay(), ANTENNAS * 10 ** (-snr_db / 10)
    vectors = -(-words.size // detector.bits_per_vector)
    order = rng.permutation(words.size)    # interleave over all codewords
    bits = np.zeros(vectors * detector.bits_per_vector, np.uint8)
    bits[:words.size] = words.ravel()[order]
    x = constellation.get("qam16").modulate(bits.reshape(vectors, -1))
    h = channel.flat_rayleigh(vectors, ANTENNAS, ANTENNAS, rng)
    y = np.einsum("nij,nj->ni", h, x) + channel.awgn(x.shape, noise_var, rng)
    llr = np.empty(words.size, np.float32)
    llr[order] = detector.detect(y, h, noise_var).ravel()[:words.size]
    return llr.reshape(words.shape)


def measure(name, mimo, first, step, blocks):
    """Return (SNRs, {algorithm: [wrong blocks at each SNR, as a mask]})."""
    code, rng = coding.get(name), np.random.default_rng(1)
    wrong, points = {algorithm: [] for algorithm in ALGORITHMS}, []
    while not points or any(of[-1].mean() >= LEVEL for of in wrong.values()):
        points.append(round(first + step * len(points), 3))
        bits = rng.integers(0, 2, (blocks, code.num_info), np.uint8)
        llr = (over_mimo if mimo else over_awgn)(code, code.encode(bits), points[-1], rng)
        for algorithm, parameters in ALGORITHMS.items():
            decoder = code.decoder(iterations=ITERATIONS, backend="cpu", **parameters)
            decoder.decode(llr)
            wrong[algorithm].append(np.any(decoder.bits != bits, axis=1))
    return points, {algorithm: np.array(of) for algorithm, of in wrong.items()}


def needed(rates, points):
    """Return the SNR in dB at which block error rates first fall below LEVEL, or NaN."""
    if not np.any(rates < LEVEL):
        return np.nan
    below = int(np.argmax(rates < LEVEL))
    low, high = np.maximum(rates[below - 1:below + 1], 1e-5)
    return float(np.interp(-np.log(LEVEL), -np.log([low, high]), points[below - 1:below + 1]))


def compare(points, wrong):
    """Return {algorithm: SNR, its difference from DEFAULT's SNR, range of the difference}."""
    rng, blocks = np.random.default_rng(2), wrong[DEFAULT].shape[1]
    rates = {algorithm: [of.mean(axis=1)] for algorithm, of in wrong.items()}
    for _ in range(DRAWS):
        drawn = rng.integers(0, blocks, blocks)
        for algorithm, of in wrong.items():
            rates[algorithm].append(of[:, drawn].mean(axis=1))
    snr = {algorithm: np.array([needed(one, points) for one in of])
           for algorithm, of in rates.items()}
    return {algorithm: {"snr_db": of[0], "db_more": of[0] - snr[DEFAULT][0],
                        "db_more_95": np.nanquantile((of - snr[DEFAULT])[1:],
                                                     (0.025, 0.975)).tolist()}
            for algorithm, of in snr.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=2000)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    results = []
    for name, mimo, first, step, share in CASES:
        points, wrong = measure(name, mimo, first, step, int(arguments.blocks * share))
        found = compare(points, wrong)
        print(f"{name}{' 4x4 16-QAM' if mimo else ''}: {found[DEFAULT]['snr_db']:.2f} dB; "
              + ", ".join(f"{algorithm} {of['db_more']:+.3f}" for algorithm, of in found.items()),
              flush=True)
        results.append({"code": name, "channel": "4x4 Rayleigh" if mimo else "AWGN",
                        "blocks": len(wrong[DEFAULT][0]), "snrs_db": points, "algorithms": {
                            algorithm: {"bler": wrong[algorithm].mean(axis=1).tolist(), **of}
                            for algorithm, of in found.items()}})
    if arguments.output:
        arguments.output.write_text(json_rows(
            {"what": "algorithms of the LDPC decoder, SNR for a block error rate",
             "machine": describe(), "bler": LEVEL, "iterations": ITERATIONS, "default": DEFAULT,
             "results": results}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
