#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets that the MIMO-OFDM receiver loses with one and more passes of detector and decoder.

    bench/ofdm_iterations.py [--frames 500] [--processes 2] [--output FILE.json]

Frames of 500 bytes, LDPC rate 1/2, as many receive antennas as layers, each frame over a
realisation of its own of TDL-B (3GPP TR 38.901, 50 ns rms delay spread, static, antennas not
correlated), simulated; SNR per receive antenna. The whole receiver on arrays: synchroniser,
estimates of channel and noise, detector, decoder of 20 iterations a pass. All receivers get the
same frames, and all SNRs the same channels and noise. A packet is lost where the frame is not
found or its CRC fails; with fewer passes those are lost, too, that took more. The last lines say
at which SNR one packet in ten, and in fifty, is lost (interpolated).
"""

import argparse
import json
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from gnuradio.mimopack import channel, detectors, ofdm
from gnuradio.mimopack.apps.machine import describe

PAYLOAD, CODE_RATE, PROFILE, DELAY_SPREAD = 500, "ldpc:1/2", "tdl_b", 50e-9
PASSES = (1, 2, 4)
# Antennas, constellation, SNRs in dB.
CASES = ((2, "wlan_qam16", range(12, 23, 2)), (4, "wlan_qam16", range(13, 19)),
         (2, "wlan_qam64", range(18, 29, 2)), (4, "wlan_qam64", range(18, 25)))
# Detector, feedback_scale
DETECTORS = (("mmsepic", 0.6), ("nway", 0.6), ("nway", 0.4))
RATES = (0.1, 0.02)
GAP = 300


def frames_of(parameters, snr_db, count):
    """(payload, estimate or None where the frame was not found) of each frame."""
    rng, antennas = np.random.default_rng(1), parameters.num_tx
    transmitter = ofdm.Transmitter(parameters)
    link = channel.MIMOChannel(antennas, antennas, PROFILE, DELAY_SPREAD, snr_db=snr_db, seed=1)
    estimator = ofdm.ChannelEstimator(parameters, antennas)
    for _ in range(count):
        link.renew()
        payload = rng.bytes(PAYLOAD)
        received = link.apply(np.pad(transmitter.frame(payload), [(0, 0), (GAP, GAP)]))
        sync = ofdm.FrameSync(parameters, antennas)
        found = [frame for frame in sync.process(received) + sync.finish()
                 if not frame.truncated and abs(frame.start - GAP - link.latency) < 40]
        yield payload, estimator.estimate(ofdm.to_subcarriers(found[0].symbols)) if found else None


def measure(point):
    """One point, (antennas, constellation, snr_db, frames): a row for each detector."""
    antennas, constellation, snr_db, count = point
    parameters = ofdm.Parameters(antennas, constellation, CODE_RATE, PAYLOAD)
    receivers = {
        (name, scale): ofdm.PacketReceiver(parameters, detectors.create(
            name, num_tx=antennas, num_rx=antennas, constellation=constellation, extrinsic=True,
            threads=1), max(PASSES), feedback_scale=scale) for name, scale in DETECTORS}
    # passes that each packet took; none was enough where it is lost
    taken = {key: np.full(count, np.inf) for key in receivers}
    missed = 0
    for index, (payload, estimate) in enumerate(frames_of(parameters, snr_db, count)):
        if estimate is None:
            missed += 1
            continue
        for key, receiver in receivers.items():
            packet = receiver.receive(estimate.y, estimate.h, estimate.noise_var)
            if packet.crc_ok and packet.payload == payload:
                taken[key][index] = packet.iterations
    return [{"antennas": antennas, "constellation": constellation, "snr_db": snr_db,
             "detector": name, "feedback_scale": scale, "frames": count, "not_found": missed,
             "lost": {passes: int(np.sum(taken[name, scale] > passes)) for passes in PASSES}}
            for name, scale in DETECTORS]


def needed_db(rows, passes, rate):
    """SNR at which the share of lost packets falls to rate, linear in its logarithm; or None."""
    curve = [(row["snr_db"], np.log(row["lost"][passes] / row["frames"])) for row in rows
             if row["lost"][passes]]
    for (low, above), (high, below) in zip(curve[:-1], curve[1:], strict=True):
        if above >= np.log(rate) > below:
            return low + (high - low) * (above - np.log(rate)) / (above - below)
    return None


def summarise(rows):
    """SNRs at RATES, of each case and detector."""
    needs = []
    for antennas, constellation, _ in CASES:
        for name, scale in DETECTORS:
            own = [row for row in rows if row["antennas"] == antennas
                   and row["constellation"] == constellation and row["detector"] == name
                   and row["feedback_scale"] == scale]
            for rate in RATES:
                snrs = {passes: needed_db(own, passes, rate) for passes in PASSES}
                needs.append({"antennas": antennas, "constellation": constellation,
                              "detector": name, "feedback_scale": scale, "lost": rate,
                              "snr_db": {passes: snr and round(snr, 2)
                                         for passes, snr in snrs.items()}})
    return needs


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=500, help="per point")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    points = [(antennas, constellation, snr_db, arguments.frames)
              for antennas, constellation, snrs in CASES for snr_db in snrs]
    rows = []
    with Pool(arguments.processes) as pool:
        for own in pool.imap(measure, points):
            rows += own
            print("{antennas}x{antennas} {constellation} {snr_db} dB".format(**own[0]), PASSES,
                  *(f"{row['detector']} ({row['feedback_scale']}) {tuple(row['lost'].values())}"
                    for row in own), flush=True)
    needs = summarise(rows)
    for need in needs:
        print("{antennas}x{antennas} {constellation} {detector} ({feedback_scale}), {lost} lost: "
              "{snr_db} dB".format(**need))
    if arguments.output:
        arguments.output.write_text(json.dumps(
            {"what": "packets lost by the MIMO-OFDM receiver over iterations; simulated",
             "machine": describe(), "payload_bytes": PAYLOAD, "code_rate": CODE_RATE,
             "profile": PROFILE, "delay_spread_s": DELAY_SPREAD, "needs": needs,
             "results": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
