#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Send random Wi-Fi frames through random channels, and check that each good MPDU was sent.

    bench/wifi_loops.py [--frames 20000] [--seconds 3600] [--jobs 1] [--output FILE.json]

Each run adds a piece to the file, and continues with frames that no earlier run has sent. Set
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 if --jobs is above 1.

Frames have random formats: non-HT, HT and VHT of all MCSs, one to four streams, 5 to 80 MHz, STBC,
LDPC, short guard intervals, greenfield preambles, A-MPDUs and frames without data. They go through
random channels, each with its own carrier offset and SNR, and some overlap the frame before. About
half of them cannot be decoded. The receiver's settings are random too. The counts are:

    frames     frames sent
    reported   frames that the receiver reports
    decoded    frames that were sent and of which all MPDUs arrive
    mpdus      MPDUs sent
    mpdus_ok   MPDUs that arrive with a correct frame check sequence
    wrong      those among them that were not sent
    repeated   MPDUs that arrive more often than they were sent
    failures   exceptions in the receiver

The exit status is 1 if "wrong", "repeated" or "failures" is not 0.
"""

import argparse
import sys
from collections import Counter
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from gnuradio.mimopack.wifi import HT, VHT, NonHT, Receiver, Transmitter, mac
from gnuradio.mimopack.wifi.formats.non_ht import RATES
from pieces import RESULTS, continued

WHAT = "Wi-Fi frames through transmitter, simulated channel and receiver"
SCENE = 12    # frames in a stream
SAMPLE_RATES, WEIGHTS = (20e6, 40e6, 80e6, 10e6, 5e6), (0.7, 0.12, 0.06, 0.06, 0.06)
FAULTS = ("wrong", "repeated", "failures")


def chance(rng, probability):
    return bool(rng.random() < probability)


def random_format(rng, megahertz):
    """Return a function from the length of a PSDU to a format, which may be one that is refused."""
    bandwidth = int(rng.choice([b for b in (20, 40, 80) if b <= max(20, megahertz)]))
    kind = "non-ht" if megahertz < 20 else rng.choice(["non-ht", "ht", "vht"], p=[0.2, 0.4, 0.4])
    if kind == "non-ht":
        rate = int(rng.choice(list(RATES)))
        return lambda n: NonHT(rate, n, bandwidth)
    coding = "ldpc" if chance(rng, 0.4) else "bcc"
    common = {"bandwidth_mhz": bandwidth, "short_gi": chance(rng, 0.4), "coding": coding}
    if kind == "ht":
        mcs = 32 if bandwidth == 40 and chance(rng, 0.05) else int(rng.integers(32))
        common |= {"stbc": int(rng.choice([0, 0, 1, 2])), "aggregated": chance(rng, 0.5),
                   "greenfield": chance(rng, 0.3), "smoothing": chance(rng, 0.5)}
        return lambda n: HT(mcs, n, **common)
    mcs, streams = int(rng.integers(10)), int(rng.integers(1, 5))
    stbc = streams if chance(rng, 0.3) else 0
    return lambda n: VHT.of_length(mcs, n, streams, stbc=stbc, **common)


def random_mpdus(rng, most):
    """Return MPDUs with random content, no two of which are equal."""
    mpdus = []
    for _ in range(most):
        body = rng.bytes(int(10 ** rng.uniform(1.2, 3.1)))
        mpdus.append(body + mac.fcs(body))
    return mpdus


def random_frame(rng, rate):
    """Return (MPDUs, samples of the transmit antennas) of a frame of any format."""
    megahertz = rate / 1e6
    while True:
        make = random_format(rng, megahertz)
        try:
            probe = make(0 if chance(rng, 0.02) else 100)
            aggregated = probe.aggregated and probe.length
            mpdus = random_mpdus(rng, int(rng.integers(1, 6)) if aggregated else 1)
            streams = probe.num_space_time_streams
            half = int(max(20, megahertz) - probe.bandwidth_mhz) // 20
            centre = 32 * int(rng.integers(half + 1)) * 2 - 32 * half
            transmitter = Transmitter(streams, max(20e6, rate), centre)
            if not probe.length:
                return [], transmitter.frame(probe)
            return mpdus, transmitter.mpdu(make, mpdus, int(rng.integers(1, 128)))[1]
        except ValueError:    # not a format of the standard
            continue


def received(rng, samples, num_rx):
    """Return the samples of the receive antennas, of mean power 1 per antenna."""
    num_tx = len(samples)
    taps = int(rng.choice([1, 1, 3, 8]))
    shape = (taps, num_rx, num_tx)
    h = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    if num_tx == num_rx and taps == 1:
        h[0] = np.linalg.qr(h[0])[0]
    h *= np.exp(-np.arange(taps) / 2)[:, None, None]
    out = np.zeros((num_rx, samples.shape[1] + taps - 1), complex)
    for delay, tap in enumerate(h):
        out[:, delay:delay + samples.shape[1]] += tap @ samples
    return out / np.sqrt(np.mean(np.abs(out)**2))


def scene(number, rate=None, num_rx=None, longest_gap=2000):
    """Return (samples, sample rate, lists of MPDUs) of a stream with frames of all kinds.

    None makes the sample rate and the number of antennas random. Between frames, there are 10 to
    ``longest_gap`` samples of noise alone.
    """
    rng = np.random.default_rng([802, number])
    any_rate, any_number = float(rng.choice(SAMPLE_RATES, p=WEIGHTS)), int(rng.integers(1, 5))
    rate, num_rx = rate or any_rate, num_rx or any_number
    parts, sent, at = [], [], 400
    for _ in range(SCENE):
        mpdus, samples = random_frame(rng, rate)
        part = received(rng, samples, num_rx) * 10 ** (rng.uniform(0, 38) / 20)
        offset = rng.uniform(-0.01, 0.01)    # 200 kHz at 20 MS/s
        part *= np.exp(2j * np.pi * (offset * min(1.0, 20e6 / rate) * np.arange(part.shape[1])
                                     + rng.random()))
        if parts and chance(rng, 0.1):
            at -= int(rng.integers(part.shape[1] // 2))
        parts.append((max(0, at), part))
        sent.append(mpdus)
        at = max(0, at) + part.shape[1] + int(10 ** rng.uniform(1, np.log10(longest_gap)))
    total = max(at + part.shape[1] for at, part in parts) + 1000
    noise = rng.standard_normal((2, num_rx, total)) / np.sqrt(2)
    stream = noise[0] + 1j * noise[1]
    for at, part in parts:
        stream[:, at:at + part.shape[1]] += part
    if chance(rng, 0.1):
        stream += 10 ** rng.uniform(-1, 0.5) * np.exp(2j * np.pi * rng.uniform(-0.5, 0.5)
                                                      * np.arange(total))
    return (10 ** rng.uniform(-4, -1) * stream).astype(np.complex64), rate, sent


def run(number):
    """Receive a scene; return (Counter, description of what is wrong or None)."""
    samples, rate, sent = scene(number)
    rng = np.random.default_rng([11, number])
    options = {"passes": int(rng.integers(1, 4)), "smoothing": chance(rng, 0.7),
               "whitening": str(rng.choice(["antennas", "covariance"])),
               "detector": str(rng.choice(["mmse", "nway", "fpfsd"])),
               "iterations": int(rng.choice([1, 1, 2]))}
    if options["iterations"] > 1:
        options["detector"] = "nway"
    receiver = Receiver(len(samples), rate, backend="cpu", **options)
    cuts = np.sort(rng.integers(0, samples.shape[1], 5))
    frames = [frame for part in np.split(samples, cuts, axis=1) if part.size
              for frame in receiver.process(part)] + receiver.finish()
    good = Counter(mpdu.data for frame in frames for mpdu in frame.mpdus if mpdu.fcs_ok)
    all_sent = {mpdu for mpdus in sent for mpdu in mpdus}
    counts = Counter({
        "frames": len(sent), "reported": len(frames), "mpdus": len(all_sent),
        "decoded": sum(bool(mpdus) and all(mpdu in good for mpdu in mpdus) for mpdus in sent),
        "mpdus_ok": good.total(), "wrong": sum(n for data, n in good.items()
                                               if data not in all_sent),
        "repeated": sum(n - 1 for data, n in good.items() if data in all_sent),
        "failures": receiver.counts["failures"]})
    if any(counts[name] for name in FAULTS):
        return counts, {"scene": number, "options": options,
                        **{name: counts[name] for name in FAULTS}}
    return counts, None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=20_000, help="frames to send in this run")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after this time")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--output", type=Path, default=RESULTS / "wifi-loops.json")
    arguments = parser.parse_args()
    with continued(arguments.output, WHAT) as pieces, Pool(arguments.jobs) as pool:
        first = pieces.totals.get("frames", 0) // SCENE
        counts, faults, written = Counter(), [], 0.0
        numbers = range(first, first + -(-arguments.frames // SCENE))
        # Scenes count in order, so that the next run continues after the last one.
        for result, fault in pool.imap(run, numbers):
            counts += result
            faults += [fault] if fault else []
            if pieces.seconds - written > 60:
                written = pieces.seconds
                pieces.write(counts, first_scene=first, faults=faults)
                print(f"{written:.0f} s: {dict(counts)}", flush=True)
            if pieces.seconds > arguments.seconds:
                break
        pieces.write({name: counts[name] for name in (*counts, *FAULTS)}, first_scene=first,
                     faults=faults)
        print(f"this run: {dict(counts)}\nall runs: {pieces.totals}")
        pool.terminate()
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
