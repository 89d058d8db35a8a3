#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure what the soft sphere detector's parameter llr_clip costs and saves, by simulation.

    bench/llr_clipping.py [--seconds 300] [--output FILE.json]

The cost is a loss in SNR. 4x4 i.i.d. Rayleigh channels, one per vector; LDPC and turbo codes. All
limits are applied to the exact LLRs of the same frames, so that differences between limits have a
far smaller uncertainty than the error rates. The loss in dB is the difference in the logarithm of
the frame error rate over the slope of its logarithm, both at two SNRs at which a tenth of the
frames is lost, and fewer.

What it saves is nodes: those that the NumPy reference visits for each vector, by SNR. All limits
search the same vectors.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from gnuradio.mimopack import constellation, detectors, sim
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.reference.softsphere import search
from gnuradio.mimopack.text import json_rows

LIMITS = (4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 30.0)
# Constellation, code, SNRs per receive antenna in dB.
LINKS = (("qam64", "wifi:1944:1/2", (17.4, 17.8)), ("qam64", "wifi:1944:5/6", (23.2, 23.6)),
         ("qam64", "turbo:1024", (12.9, 13.3)), ("qam256", "wifi:1944:1/2", (22.4, 22.8)),
         ("qam256", "wifi:1944:5/6", (29.4, 29.7)), ("qam256", "turbo:1024", (17.0, 17.5)))
# From an SNR on at which the reference searches a vector in seconds
SEARCHES = (("qam64", (10, 15, 20, 25, 30, 40)), ("qam256", (25, 30, 40)))
BLOCKS = 4    # of 16 frames, in a call


def link_rows(seconds):
    """Yield a row for each link and SNR: wrong frames without a limit and with each."""
    share = seconds / sum(len(snrs) for *_, snrs in LINKS)
    for points, code, snrs in LINKS:
        link = sim.Link(constellation=points, code=code)
        detector = detectors.SoftSphere(constellation=points, llr_clip=None, backend="cpu")
        decoder = link.coding.decoder(iterations=20, backend="cpu")
        for snr in snrs:
            wrong, frames, end = np.zeros(len(LIMITS) + 1, int), 0, time.monotonic() + share
            while time.monotonic() < end:
                given = link.frames(snr, frames // 16, BLOCKS)
                exact = detector.detect(given.y, given.h, given.noise_var)
                for i, limit in enumerate((np.inf, *LIMITS)):
                    decoder.decode(link.layout.gather(np.clip(exact, -limit, limit)))
                    wrong[i] += np.count_nonzero(np.any(decoder.bits != given.bits, axis=1))
                frames += len(given.bits)
            yield {"constellation": points, "code": code, "at_db": snr, "frames": frames,
                   "wrong": int(wrong[0]),
                   "wrong_by_limit": dict(zip(map(str, LIMITS), wrong[1:].tolist(), strict=True))}


def losses(rows):
    """Return the loss in dB of each limit, by link."""
    found = []
    for points, code, _ in LINKS:
        low, high = (row for row in rows if (row["constellation"], row["code"]) == (points, code))
        slope = (np.log(low["wrong"] / low["frames"]) - np.log(high["wrong"] / high["frames"])
                 ) / (high["at_db"] - low["at_db"])
        loss = {limit: round(float(np.mean([
            np.log(row["wrong_by_limit"][limit] / row["wrong"]) for row in (low, high)])
            / slope), 4) for limit in map(str, LIMITS)}
        found.append({"constellation": points, "code": code, "loss_db": loss})
    return found


def search_rows(seconds):
    """Yield a row for each SNR and limit: nodes that the reference visits."""
    share = seconds / sum(len(snrs) for _, snrs in SEARCHES)
    limits = (None, *LIMITS)
    for points, snrs in SEARCHES:
        for snr in snrs:
            given = sim.Link(constellation=points, code="none:1").frames(snr, 0, 16)
            y, h, of = given.y.astype(complex), given.h.astype(complex), constellation.get(points)
            nodes, end = [], time.monotonic() + share
            for one, matrix in zip(y, h, strict=True):
                if time.monotonic() > end:
                    break
                nodes.append([search(one, matrix, given.noise_var, of, llr_clip=limit)[1]
                              for limit in limits])
            for limit, found in zip(limits, np.transpose(nodes), strict=True):
                yield {"constellation": points, "at_db": snr, "llr_clip": limit,
                       "vectors": len(found), "mean_nodes": round(float(np.mean(found)), 1),
                       "most_nodes": int(np.max(found))}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300,
                        help="approximate time, half of it for error rates")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    found = {"what": "Soft sphere detector, 4x4: loss and search by llr_clip, simulated",
             "machine": describe(), "seconds": arguments.seconds}
    rows = []
    for row in link_rows(arguments.seconds / 2):
        rows.append(row)
        print("{constellation} {code} {at_db} dB: {wrong} of {frames} frames wrong, with limits "
              "{wrong_by_limit}".format(**row), flush=True)
    found |= {"losses": losses(rows), "links": rows}
    for loss in found["losses"]:
        print("{constellation} {code}: loss {loss_db} dB".format(**loss), flush=True)
    rows = found["searches"] = []
    for row in search_rows(arguments.seconds / 2):
        rows.append(row)
        print("{constellation} {at_db} dB, llr_clip {llr_clip}: {mean_nodes} nodes, "
              "most {most_nodes}, of {vectors} vectors".format(**row), flush=True)
    if arguments.output:
        arguments.output.write_text(json_rows(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
