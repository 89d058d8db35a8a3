#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the gain and cost of list decoding: simulated frame error rates without and with it.

    bench/list_decoding.py [--errors 100] [--max-frames 100000] [--output FILE.json]

LDPC codes are simulated as in `mimopack sim`: 4x4 16-QAM, i.i.d. Rayleigh, 20 decoder iterations
per pass. Lists of 2, 4 and 6 bits are compared with other uses of the time: more decoder
iterations, or more passes. LTE's turbo code is simulated over white Gaussian noise, with 8
iterations and a CRC of 24 bits that selects the codeword. All receivers receive the same frames.

The cost is processor time on batches of 1024 frames; the receivers take turns, and the shortest of
three rounds counts. "undetected" counts wrong codewords that pass as found. Gains are in dB at
frame error rates that both receivers reach (interpolated in the logarithm).
"""

import argparse
import time
from itertools import chain
from pathlib import Path

import numpy as np
from gnuradio.mimopack import coding, sim
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.sim.link import BLOCK
from gnuradio.mimopack.sim.receivers import Receiver
from gnuradio.mimopack.text import json_rows

LIST_BITS = (2, 4, 6)
ONE_PASS = ("nway", *(f"nway:list_bits={q}" for q in LIST_BITS))
FOUR_PASSES = ("mmsepic:iterations=4", "mmsepic:iterations=16",
               *(f"mmsepic:iterations=4,list_bits={q}" for q in LIST_BITS),
               "mmsepic:iterations=16,list_bits=4")
# Code, receivers (the first without a list), SNRs in dB.
CASES = (("wimax:576:1/2", ONE_PASS, (12.5, 13.0, 13.5, 14.0)),
         ("wimax:2304:1/2", ONE_PASS, (12.0, 12.25, 12.5)),
         ("wimax:576:1/2", FOUR_PASSES, (12.0, 12.5, 13.0)),
         ("wimax:2304:1/2", FOUR_PASSES, (11.25, 11.5, 11.75)),
         ("wifi:648:1/2", ONE_PASS, (12.5, 13.0, 13.5)),
         ("wifi:648:1/2", FOUR_PASSES, (12.0, 12.5, 13.0)))
# To compare with a list of 4 bits: its maximum number of iterations.
MORE_ITERATIONS = 620
# Information bits with the CRC, Eb/N0 in dB.
TURBO = ((256, (0.5, 1.0, 1.5)), (1024, (0.3, 0.6, 0.9)))
RATES = (0.1, 0.01, 0.001)
BATCH = 1024


def link_cases(arguments):
    for code, receivers, snrs in CASES:
        link = sim.Link(code=code)
        yield from link_case(code, link, receivers, snrs, arguments)
        if receivers is ONE_PASS:
            yield from link_case(code, sim.Link(code=f"{code}:iterations={MORE_ITERATIONS}"),
                                 receivers[:1], snrs, arguments, link)


def link_case(code, link, receivers, snrs, arguments, first=None):
    """Return rows of receivers; costs are relative to the receiver of the link ``first``."""
    rows = sim.Simulation(link, receivers).run(snrs, arguments.errors, arguments.max_frames)
    for snr in sorted({row["at_db"] for row in rows}):
        here = [row for row in rows if row["at_db"] == snr]
        receivers_here = [Receiver(link, row["detector"], threads=1) for row in here]
        if first:
            receivers_here.insert(0, Receiver(first, receivers[0], threads=1))
        costs = processor_time(
            [receiver.count for receiver in receivers_here],
            [link.frames(snr, at, BATCH // BLOCK) for at in (0, BATCH // BLOCK)])
        for row, cost in zip(here, costs[bool(first):], strict=True):
            yield {"code": code, "receiver": row["detector"] + link.code[len(code):],
                   "at_db": snr, "frames": row["frames"],
                   "wrong": row["counts"]["frame_errors"][-1],
                   "undetected": row["counts"]["undetected"], "fer": row["fer"][-1],
                   "fer_95": row["fer_95"][-1], "cost": round(cost / costs[0], 3)}


def processor_time(functions, batches):
    """Return the seconds that each function takes for all batches."""
    seconds = np.empty((3, len(batches), len(functions)))
    for at in np.ndindex(seconds.shape):
        start = time.process_time()
        functions[at[2]](batches[at[1]])
        seconds[at] = time.process_time() - start
    return seconds.min(axis=0).sum(axis=0)


def turbo_cases(arguments):
    crc = coding.Crc("24A")
    for size, ebn0s in TURBO:
        code, rng = coding.get(f"turbo:{size}"), np.random.default_rng(size)
        for ebn0 in ebn0s:
            decoders = [coding.ListDecoder(code.decoder(iterations=8, threads=1, backend="cpu"), q,
                                           lambda bits: crc.check(bits)[1])
                        for q in (0, *LIST_BITS)]
            wrong, undetected, seconds = (np.zeros(len(decoders)) for _ in range(3))
            frames = 0
            while wrong.min() < arguments.errors and frames < arguments.max_frames:
                bits = crc.attach(rng.integers(0, 2, (BATCH, size - 24), np.uint8))
                words = code.encode(bits)
                noise_var = code.num_bits / size / 2 * 10 ** (-ebn0 / 10)
                y = 2.0 * words - 1 + rng.normal(0, np.sqrt(noise_var), words.shape)
                llr = (2 * y / noise_var).astype(np.float32)
                for i, decoder in enumerate(decoders):
                    start = time.process_time()
                    decoder.decode(llr)
                    seconds[i] += time.process_time() - start
                    errors = np.any(decoder.bits != bits, axis=1)
                    wrong[i] += errors.sum()
                    undetected[i] += np.count_nonzero(errors & decoder.found)
                frames += BATCH
            for i, decoder in enumerate(decoders):
                yield {"code": f"turbo:{size}", "receiver": f"list_bits={decoder.list_bits}",
                       "at_db": ebn0, "frames": frames, "wrong": int(wrong[i]),
                       "undetected": int(undetected[i]), "fer": wrong[i] / frames,
                       "fer_95": sim.wilson(int(wrong[i]), frames),
                       "cost": round(seconds[i] / seconds[0], 3)}


def needed_db(rows, rate):
    """Return the SNR in dB at which the frame error rate falls to rate, or None."""
    curve = [(row["at_db"], np.log(row["fer"])) for row in rows if row["wrong"]]
    for (low, above), (high, below) in zip(curve[:-1], curve[1:], strict=True):
        if above >= np.log(rate) > below:
            return low + (high - low) * (above - np.log(rate)) / (above - below)
    return None


def gains(rows):
    """Return the gain in dB of each receiver over the first one of its kind."""
    found, first = [], {}
    for code, receiver in dict.fromkeys((row["code"], row["receiver"]) for row in rows):
        curve = [row for row in rows if (row["code"], row["receiver"]) == (code, receiver)]
        needs = {rate: needed_db(curve, rate) for rate in RATES}
        base = first.setdefault((code, receiver.partition(":")[0].partition("=")[0]), needs)
        found.append({"code": code, "receiver": receiver, "gain_db": {
            str(rate): round(base[rate] - needs[rate], 3) for rate in RATES
            if None not in (base[rate], needs[rate])}})
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errors", type=int, default=100, help="frame errors that end a point")
    parser.add_argument("--max-frames", type=int, default=100_000, help="frames that end a point")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    machine, rows = describe(), []
    for row in chain(turbo_cases(arguments), link_cases(arguments)):
        rows.append(row)
        print("{code} {receiver} {at_db} dB: {wrong} of {frames} frames wrong, {undetected} of "
              "them undetected, cost {cost}".format(**row), flush=True)
        if arguments.output:
            arguments.output.write_text(json_rows(
                {"what": "List decoding: error rates, simulated, and cost", "machine": machine,
                 "errors": arguments.errors, "max_frames": arguments.max_frames,
                 "gains": gains(rows), "results": rows}) + "\n", encoding="utf-8")
    for gain in gains(rows):
        print("{code} {receiver} gains {gain_db} dB".format(**gain))


if __name__ == "__main__":
    main()
