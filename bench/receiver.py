#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rates of the MIMO-OFDM receiver: its array parts alone, and the whole flowgraph.

    bench/receiver.py [--payloads 500,1500,4000] [--samples N] [--rounds 5] [--output FILE.json]

4x4 16-QAM, rate 1/2, MMSE; frames without gaps through an orthogonal flat channel at 30 dB SNR per
receive antenna, where every packet decodes, and noise alone. The synchroniser takes pieces of 8192
samples, as a flowgraph's buffers hold them. The flowgraph is ofdm_receiver, its start included.
Rates are samples per second and antenna; cases take turns, each figure is the median of the rounds.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import channel, detectors, ofdm
from gnuradio.mimopack.apps.machine import describe

ANTENNAS, CONSTELLATION, CODE_RATE, DETECTOR = 4, "wlan_qam16", "1/2", "mmse"
SNR_DB, PIECE = 30.0, 8192


def simulate(payload_length, samples, seed=1):
    """Parameters, received samples (4, n) of whole frames, how many; None makes noise alone."""
    rng = np.random.default_rng(seed)
    parameters = ofdm.Parameters(ANTENNAS, CONSTELLATION, CODE_RATE, payload_length or 500)
    count = -(-samples // parameters.frame_samples) if payload_length else 0
    length = count * parameters.frame_samples or samples
    received = channel.awgn((length, ANTENNAS), 10 ** (-SNR_DB / 10), rng).T
    if count:
        transmitter = ofdm.Transmitter(parameters)
        sent = np.concatenate([transmitter.frame(rng.bytes(payload_length))
                               for _ in range(count)], axis=1)
        # A Fourier matrix: orthogonal layers, mean power 1 at each receive antenna.
        h = np.fft.fft(np.eye(ANTENNAS))
        received = received + h @ sent
    return parameters, np.ascontiguousarray(received, np.complex64), count


def _timed(work, over):
    start = time.perf_counter()
    results = [work(item) for item in over]
    return results, time.perf_counter() - start


def time_parts(parameters, received, count):
    """One pass of each part: {"sync_samples_per_s": ..., "estimator_s_per_frame": ...}."""
    sync = ofdm.FrameSync(parameters, ANTENNAS)
    pieces = [received[:, at:at + PIECE] for at in range(0, received.shape[1], PIECE)]
    found, seconds = _timed(sync.process, pieces)
    frames = [frame for group in [*found, sync.finish()] for frame in group]
    if len(frames) != count or any(frame.truncated for frame in frames):
        raise RuntimeError(f"synchroniser: found {len(frames)} of {count} frames")
    figures = {"sync_samples_per_s": received.shape[1] / seconds}
    if not count:
        return figures
    estimator = ofdm.ChannelEstimator(parameters, ANTENNAS)
    estimates, seconds = _timed(
        lambda frame: estimator.estimate(ofdm.to_subcarriers(frame.symbols)), frames)
    figures["estimator_s_per_frame"] = seconds / count
    detector = detectors.create(DETECTOR, num_tx=ANTENNAS, num_rx=ANTENNAS,
                                constellation=CONSTELLATION, backend="cpu")
    llrs, seconds = _timed(lambda e: detector.detect(e.y, e.h, e.noise_var), estimates)
    figures["detector_s_per_frame"] = seconds / count
    packets, seconds = _timed(ofdm.PacketDecoder(parameters).decode, llrs)
    figures["decoder_s_per_frame"] = seconds / count
    if not all(packet.crc_ok for packet in packets):
        raise RuntimeError("decoder: a packet was lost")
    return figures


def time_flowgraph(parameters, received, count):
    """The flowgraph from its start to its end: samples per second."""
    top = gr.top_block()
    receiver = mimopack.ofdm_receiver(ANTENNAS, ANTENNAS, CONSTELLATION, CODE_RATE,
                                      parameters.payload_length, detector=DETECTOR)
    for port, samples in enumerate(received):
        top.connect(blocks.vector_source_c(samples.tolist()), (receiver, port))
    widths = (ANTENNAS * parameters.bits_per_symbol, ANTENNAS, ANTENNAS**2)
    sinks = [blocks.null_sink(size * width)
             for size, width in zip((4, 8, 8), widths, strict=True)]
    for port, sink in enumerate(sinks):
        top.connect((receiver, port), sink)
    start = time.perf_counter()
    top.run()
    seconds = time.perf_counter() - start
    statistics = receiver.statistics()
    if (statistics["packets"], statistics["crc_failures"]) != (count, 0):
        raise RuntimeError(f"flowgraph: {statistics}, sent were {count} packets")
    return received.shape[1] / seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--payloads", default="500,1500,4000", help="bytes per frame")
    parser.add_argument("--samples", type=int, default=2_000_000, help="per antenna and run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    cases = [*map(int, arguments.payloads.split(",")), None]
    data = {payload: simulate(payload, arguments.samples) for payload in cases}
    rounds = {payload: [] for payload in cases}
    for _ in range(arguments.rounds):
        for payload in cases:
            figures = time_parts(*data[payload])
            figures["flowgraph_samples_per_s"] = time_flowgraph(*data[payload])
            rounds[payload].append(figures)
    results = []
    for payload, runs in rounds.items():
        medians = {name: float(np.median([run[name] for run in runs])) for name in runs[0]}
        parameters, _, count = data[payload]
        results.append({"payload_bytes": payload, "frames": count,
                        "frame_samples": parameters.frame_samples if count else None, **medians})
        print(f"{f'{payload} bytes' if payload else 'noise alone':<12}" + ", ".join(
            f"{name.split('_')[0]} " + (f"{value / 1e6:.2f} MS/s" if name.endswith("samples_per_s")
                                        else f"{1e3 * value:.3f} ms a frame")
            for name, value in medians.items()))
    if arguments.output:
        arguments.output.write_text(json.dumps(
            {"what": "MIMO-OFDM receiver, parts and flowgraph", "machine": describe(),
             "antennas": ANTENNAS, "constellation": CONSTELLATION, "code_rate": CODE_RATE,
             "detector": DETECTOR, "samples": arguments.samples, "rounds": arguments.rounds,
             "results": results}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
