#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate the packets that the Wi-Fi receiver loses to interference and IQ imbalance.

    bench/wifi_interference.py tone      [--frames 100] [--processes 2] [--output FILE.json]
    bench/wifi_interference.py iq        [...]
    bench/wifi_interference.py whitening [...]

Processes share the cores. Set OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 to keep each process to one.

Frames of 500 bytes with an offset of 40 kHz pass through TDL-B of 3GPP TR 38.901 with 50 ns rms
delay spread. Each frame gets a new realisation of the channel. Powers are means at a receive
antenna. The interferer is present before, during and after the frame. All cases of a format use
the same channels.

"tone" adds a sine at 30 dB SNR. Its level is relative to the signal. It lies at the centre of a
subcarrier or between two, drawn anew for each frame, with a random phase at each antenna.

"iq" puts the imbalance of both sides at the receiver: y = a x + b x*,
a, b = (1 +- g exp(-+j phi)) / 2.

"whitening" uses two streams and four antennas. The SNR and the level of the interferer are relative
to the thermal noise. The interferer arrives through a flat channel of its own. It is white noise
("noise") or another station's OFDM signal ("ofdm"), whose symbols and carriers are not aligned with
ours.

Receivers make one pass over each frame, or three. A packet is "decoded" if its bytes are recovered.
Otherwise the first stage that failed counts: "preamble" (no long training field was found),
"header" (signal fields), or "data".
"""

import argparse
from collections import Counter
from itertools import product
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from gnuradio.mimopack import channel
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.text import json_rows
from gnuradio.mimopack.wifi import HT, NonHT, Receiver, Transmitter, carriers, mac

PAYLOAD, DELAY_SPREAD, CFO, RATE = 500, 50e-9, 40e3, 20e6
PAD = 500    # samples around a frame
SPACING = RATE / carriers.FFT_20
STAGES = ("preamble", "header", "data", "decoded")
# Name: (function from PSDU length to format, streams).
FORMATS = {
    "non-HT 6": (lambda n: NonHT(6, n), 1),
    "non-HT 24": (lambda n: NonHT(24, n), 1),
    "HT MCS 3": (lambda n: HT(3, n), 1),
    "HT MCS 7": (lambda n: HT(7, n), 1),
    "HT MCS 11": (lambda n: HT(11, n), 2),
    "HT MCS 15": (lambda n: HT(15, n), 2),
}


def gaussian(rng, *shape):
    """Return complex Gaussian values of power 1."""
    return rng.standard_normal((*shape, 2)).view(complex)[..., 0] / np.sqrt(2)


def frames(name, num_rx, count, snr_db):
    """Yield (PSDU, format, samples (num_rx, n) with signal power 1 and noise, generator)."""
    frame_format_of, streams = FORMATS[name]
    frame_format = frame_format_of(PAYLOAD)
    transmitter = Transmitter(streams)
    tdl = channel.MIMOChannel(streams, num_rx, "tdl_b", DELAY_SPREAD, RATE, seed=2)
    for index in range(count):
        rng = np.random.default_rng([1, index])
        body = rng.bytes(PAYLOAD - mac.FCS)
        psdu = body + mac.fcs(body)
        sent = np.pad(transmitter.frame(frame_format, psdu, int(rng.integers(1, 128))),
                      ((0, 0), (PAD, PAD)))
        tdl.renew()
        received = tdl.apply(sent)
        received = received * np.exp(2j * np.pi * CFO / RATE * np.arange(received.shape[1]))
        noise = gaussian(rng, *received.shape) * 10 ** (-snr_db / 20)
        yield psdu, frame_format, received + noise, rng


def tone(rng, shape, place):
    """Return a sine of power 1 at or between subcarriers of the transmitter."""
    k = rng.integers(1, 26) * rng.choice([-1, 1]) + (0.5 if place == "between" else 0)
    phases = np.exp(2j * np.pi * rng.random((shape[0], 1)))
    return phases * np.exp(2j * np.pi * (k * SPACING + CFO) / RATE * np.arange(shape[1]))


def directed(rng, shape, kind):
    """Return an interferer of power 1 from one direction."""
    n = shape[1]
    if kind == "noise":
        source = gaussian(rng, n)
    else:
        count = n // 80 + 2
        points = np.zeros((count, 64), complex)
        used = carriers.legacy().used
        points[:, used] = np.exp(0.5j * np.pi * rng.integers(0, 4, (count, used.size)))
        symbols = np.fft.ifft(points, axis=1) * 64 / np.sqrt(used.size)
        start = rng.integers(80)
        source = np.concatenate([symbols[:, -16:], symbols], axis=1).ravel()[start:start + n]
        source = source * np.exp(2j * np.pi * rng.uniform(-40e3, 40e3) / RATE * np.arange(n))
    return gaussian(rng, shape[0], 1) * source


def imbalanced(samples, gain_db, degrees):
    """Return the samples of a receiver whose quadrature path has a different gain and angle."""
    factor = 10 ** (gain_db / 20) * np.exp(1j * np.deg2rad(degrees))
    return (1 + factor.conjugate()) / 2 * samples + (1 - factor) / 2 * samples.conj()


def spoilt(case, samples, rng):
    """Return samples with the impairment of a case."""
    if "tone_db" in case:
        level = 10 ** (case["tone_db"] / 20)
        return samples + level * tone(rng, samples.shape, case["place"])
    if "interferer" in case:
        if case["interferer"] == "none":
            return samples
        level = 10 ** ((case["inr_db"] - case["snr_db"]) / 20)
        return samples + level * directed(rng, samples.shape, case["interferer"])
    return imbalanced(samples, case["gain_db"], case["degrees"])


def stage(receiver, samples, psdu, frame_format):
    """Return the stage, one of STAGES, at which the reception of a frame ends."""
    before = receiver.counts["preambles"]
    found = receiver.process(samples.astype(np.complex64)) + receiver.finish()
    if any(frame.psdu == psdu for frame in found):
        return "decoded"
    if any(frame.format is not None and frame.format.key == frame_format.key for frame in found):
        return "data"
    return "header" if receiver.counts["preambles"] > before else "preamble"


def measure(task):
    """Return a case with its counts."""
    case, count = task
    receiver = Receiver(case["antennas"], RATE, backend="cpu", passes=case["passes"],
                        whitening=case.get("whitening", "antennas"))
    counts = Counter(
        stage(receiver, spoilt(case, samples, rng), psdu, frame_format)
        for psdu, frame_format, samples, rng in frames(case["format"], case["antennas"], count,
                                                       case["snr_db"]))
    return {**case, "frames": count, **{name: counts[name] for name in STAGES}}


def cases(suite):
    """Return the cases of a suite, as dictionaries."""
    if suite == "tone":
        return [{"format": name, "antennas": antennas, "snr_db": 30, "place": place,
                 "tone_db": level, "passes": passes}
                for antennas, name, place, level, passes in product(
                    (1, 2), ("non-HT 6", "non-HT 24", "HT MCS 3", "HT MCS 11"),
                    ("centre", "between"), range(-25, 11, 5), (1, 3))
                if antennas >= FORMATS[name][1]]
    if suite == "iq":
        return [{"format": name, "antennas": antennas, "snr_db": 35, "gain_db": gain,
                 "degrees": degrees, "passes": 3}
                for (name, antennas), (gain, degrees) in product(
                    (("HT MCS 7", 1), ("HT MCS 7", 2), ("HT MCS 15", 2), ("HT MCS 15", 3)),
                    ((0, 0), (0.4, 2), (0.6, 3), (0.8, 4), (1, 5), (1.4, 7), (2, 10)))]
    points = [(snr, "none", None) for snr in (6, 7, 8, 9)]
    points += [(16, kind, level) for kind, level in product(("noise", "ofdm"), range(0, 21, 5))]
    return [{"format": "HT MCS 11", "antennas": 4, "snr_db": snr, "interferer": kind,
             "inr_db": level, "whitening": whitening, "passes": passes}
            for (snr, kind, level), whitening, passes in product(
                points, ("antennas", "covariance"), (1, 3))]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=("tone", "iq", "whitening"))
    parser.add_argument("--frames", type=int, default=100, help="frames per point")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="formats whose name contains this")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    tasks = [(case, arguments.frames) for case in cases(arguments.suite)
             if arguments.only in case["format"]]
    results = []
    with Pool(arguments.processes) as pool:
        for row in pool.imap(measure, tasks):
            results.append(row)
            print(*row.values(), flush=True)
    if arguments.output:
        arguments.output.write_text(json_rows(
            {"what": f"packets that the Wi-Fi receiver loses, {arguments.suite}; simulated",
             "machine": describe(), "payload_bytes": PAYLOAD, "delay_spread_s": DELAY_SPREAD,
             "results": results}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
