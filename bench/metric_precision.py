#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure how 16-bit metrics would change the LLRs of N-way, by simulation.

    bench/metric_precision.py [--vectors 2000] [--output FILE.json]

The NumPy reference finds the candidates of all passes. Their metrics, in units of the noise, are
rounded just before the comparison that finds the best candidate for each value of each bit:

- float16: the metric itself, times 1/1024 so that it stays in range.
- float16 less SIC: the metric minus that of the first pass's successively cancelled solution. This
  offset takes one more candidate per vector and one more subtraction per candidate.
- int16: fixed point with a step for each vector, (that metric + LIMIT) / 32767. Larger metrics
  saturate, so that LLRs beyond +-LIMIT are wrong; all LLRs are limited to it for this format.

i.i.d. Rayleigh channels, one per vector, no code. Each case is at the SNRs whose bit error rates
are nearest to TARGETS. The mutual information per bit is that of the LLRs with the bits sent.
"""

import argparse
from pathlib import Path

import numpy as np
from gnuradio.mimopack import constellation, detectors, sim
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.reference.nway import candidates
from gnuradio.mimopack.reference.tree import list_llr
from gnuradio.mimopack.text import json_rows

ANTENNAS = (4, 8)
CONSTELLATIONS = ("qpsk", "qam16", "qam64")
TARGETS = (1e-1, 1e-2, 1e-3)
SNRS = range(0, 46)
BLOCKS = 64    # of 16 vectors, to find the SNRs
LIMIT = 32.0
SCALE = 1 / 1024


def as_float16(metric, _):
    return (metric * SCALE).astype(np.float16).astype(float) / SCALE


def less_sic(metric, sic):
    return as_float16(metric - sic, sic)


def as_int16(metric, sic):
    step = (sic + LIMIT) / 32767
    return np.minimum(np.rint(metric / step), 32767) * step


FORMATS = {"float16": (as_float16, np.inf), "float16 less SIC": (less_sic, np.inf),
           "int16": (as_int16, LIMIT)}


def sic_metric(y, h, points, labels, metric):
    """Return the metric of the first pass's candidate with the sliced symbol on top."""
    q, r = np.linalg.qr(h)
    top = np.argmin(np.abs(np.vdot(q[:, -1], y) / r[-1, -1] - points.points))
    return metric[:points.size][labels[:points.size, -1] == top][0]


def error_rates(num, name):
    """Return the bit error rate by SNR."""
    link = sim.Link(num, num, name, code="none:1")
    detector = detectors.NWay(num_tx=num, num_rx=num, constellation=name, backend="cpu")
    rates = {}
    for snr in SNRS:
        given = link.frames(snr, 0, BLOCKS)
        llr = detector.detect(given.y, given.h, given.noise_var)
        rates[snr] = np.mean((llr > 0) != given.words.reshape(llr.shape))
    return rates


def information(llr, bits):
    return 1 - np.mean(np.logaddexp(0, (1.0 - 2.0 * bits) * llr)) / np.log(2)


def case(num, name, snr, vectors):
    """Return a row: the exact LLRs, and for each format how it changes them."""
    points = constellation.get(name)
    given = sim.Link(num, num, name, code="none:1").frames(snr, 0, -(-vectors // 16))
    bits = given.words.reshape(len(given.y), -1)
    exact, rounded = [], {kind: [] for kind in FORMATS}
    for y, h in zip(given.y.astype(complex), given.h.astype(complex), strict=True):
        labels, metric = candidates(y, h, given.noise_var, points, np.zeros(bits.shape[1]), num)
        exact.append(list_llr(labels, metric, points))
        sic = sic_metric(y, h, points, labels, metric)
        for kind, (round_to, _) in FORMATS.items():
            rounded[kind].append(list_llr(labels, round_to(metric, sic), points))
    exact = np.array(exact)
    row = {"antennas": num, "constellation": name, "snr_db": snr, "vectors": len(exact),
           "bit_error_rate": float(np.mean((exact > 0) != bits)),
           "information": information(exact, bits), "formats": {}}
    for kind, (_, limit) in FORMATS.items():
        of, llr = np.clip(exact, -limit, limit), np.clip(rounded[kind], -limit, limit)
        error, size = np.abs(llr - of), np.abs(of)
        within = error <= 0.01 * size
        row["formats"][kind] = {
            "within_1_percent": float(np.mean(within)),
            "largest_llr_not_within": float(np.max(size, where=~within, initial=0)),
            "largest_error": float(np.max(error)),
            "largest_error_of_vectors_largest_llr": float(
                np.max(np.max(error, axis=1) / np.max(size, axis=1))),
            "bit_error_rate": float(np.mean((llr > 0) != bits)),
            "changed_decisions": int(np.count_nonzero((llr > 0) != (of > 0))),
            "information_lost": information(of, bits) - information(llr, bits)}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, default=2000, help="vectors for each case")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    rows = []
    for num in ANTENNAS:
        for name in CONSTELLATIONS:
            rates = error_rates(num, name)
            for target in TARGETS:
                snr = min(rates, key=lambda snr: abs(np.log((rates[snr] + 1e-9) / target)))
                rows.append(row := case(num, name, snr, arguments.vectors))
                print(f"{num}x{num} {name} {snr} dB, BER {row['bit_error_rate']:.2g}:", "; ".join(
                    f"{kind}: {100 * of['within_1_percent']:.2f} % within 1 %, largest error "
                    f"{100 * of['largest_error_of_vectors_largest_llr']:.3f} %, "
                    f"{of['changed_decisions']} decisions, information "
                    f"{of['information_lost']:.1e} lost" for kind, of in row["formats"].items()),
                    flush=True)
    if arguments.output:
        arguments.output.write_text(json_rows({
            "what": "N-way with 16-bit metrics: changes of the LLRs, simulated",
            "machine": describe(), "results": rows}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
