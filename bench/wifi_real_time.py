#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the speed of the Wi-Fi receiver with several threads, by wall-clock time.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 bench/wifi_real_time.py [--case NAME]
        [--threads 1,2,4] [--seconds 2] [--rounds 3] [--sigmf | --arrays | --open]
        [--piece 131072]
        [--output FILE.json]

The loads are those of bench/wifi.py, and some with frames of several formats at 10 % airtime. Each
load repeats for --seconds seconds. A flowgraph with GNU Radio's default scheduler takes the samples
from vector sources and sends the PDUs to GNU Radio's message_debug. --sigmf plays a recording of 16
bits instead, with sigmf_multichannel_source. --arrays measures the receiver without GNU Radio, in
pieces of --piece samples. --open compares the open chain (wifi_channel_estimator, nway_detector,
wifi_llr_decoder) with wifi_receiver(passes=1), in turns. The receiver has its default options and
detects on the CPU. The first second of a round is not counted, because decoders and tables are made
then. The numbers of threads take turns. Each figure is the median of the rounds. All frames must
decode.

The results include the CPU seconds per second of samples in the flowgraph: for each stage of the
receiver, and in "others" for all else, such as copies, PDUs and the sources.
"""

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import wifi as loads
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.recording import write
from gnuradio.mimopack.text import json_rows
from gnuradio.mimopack.wifi import HT, NonHT, Receiver, Transmitter, mac

WARM_UP = 1.0
MIXED = {"10 % airtime, 2 antennas": 2, "10 % airtime, 4 antennas": 4}


def mixed(antennas, frames=40, seed=1):
    """Return samples (antennas, n) with frames of several formats at 10 % airtime."""
    rng = np.random.default_rng(seed)
    transmitter = Transmitter(antennas)
    channel = np.fft.fft(np.eye(antennas))
    formats = [lambda n: NonHT(54, n), lambda n: NonHT(6, n), lambda n: HT(7, n),
               lambda n: HT(8 * antennas - 5, n)]
    parts = []
    for index in range(frames):
        data = rng.bytes(int(rng.integers(40, 1500)))
        _, sent = transmitter.mpdu(formats[index % 4], [data + mac.fcs(data)])
        parts += [np.zeros((antennas, 9 * sent.shape[1])), channel @ sent]
    stream = np.concatenate(parts, axis=1)
    noise = rng.standard_normal((2, *stream.shape))
    stream = stream + 10**-2 / np.sqrt(2) * (noise[0] + 1j * noise[1])
    return stream.astype(np.complex64), frames


def load(name):
    """Return (samples, number of frames in them, sample rate)."""
    if name in MIXED:
        return *mixed(MIXED[name]), 20e6
    case = loads.CASES[name]
    return loads.simulate(case, 100), 100 if case.format_of else 0, case.sample_rate


def recorded(samples, rate, folder):
    """Write samples as a recording of 16 bits at a third of full scale; return its path."""
    peak = np.abs(samples.view(np.float32)).max()
    write(folder / "load", samples * np.float32(1 / (3 * peak)), rate, datatype="ci16_le",
          description="simulated", overwrite=True)
    return folder / "load"


def in_a_flowgraph(samples, rate, threads, seconds, recording=None):
    """Return (multiple of real time, CPU seconds of each stage per second of samples).

    The samples come from vector sources, or from a recording with this path.
    """
    from gnuradio import blocks, gr, mimopack

    top = gr.top_block()
    receiver = mimopack.wifi_receiver(len(samples), rate, backend="cpu", threads=threads)
    statuses = []    # (CPU seconds of the process, status) of each second
    receiver.listen(None, lambda told: statuses.append((time.process_time(), told)))
    pdus = blocks.message_debug()
    if recording:
        source = mimopack.sigmf_multichannel_source(recording, repeat=True)
        outputs = [(source, port) for port in range(len(samples))]
    else:
        outputs = [blocks.vector_source_c(antenna.tolist(), True) for antenna in samples]
    for port, output in enumerate(outputs):
        top.connect(output, (receiver, port))
    top.msg_connect(receiver, "out", pdus, "store")
    top.start()
    time.sleep(WARM_UP)
    marks = []
    for _ in range(2):
        marks.append((time.perf_counter(), receiver.counts()["samples"], pdus.num_messages(),
                      len(statuses)))
        time.sleep(seconds)
    top.stop()
    top.wait()
    counts = receiver.counts()
    # Two frames may be cut: one where the source stops, and one where it begins again.
    lost = counts["frames"] - counts["decoded"]
    if lost > 2 or counts["failures"] or counts["frames"] and marks[1][2] <= marks[0][2]:
        raise RuntimeError(f"not all frames were decoded: {counts}")
    (begin, first, _, status), (end, last, _, _) = marks
    return (last - first) / rate / (end - begin), stages_of(statuses[status:-1], rate)


def in_a_chain(samples, rate, frame_format, seconds, is_open):
    """Return the multiple of real time of the open chain, or of wifi_receiver(passes=1)."""
    from gnuradio import blocks, gr, mimopack

    top, num_rx = gr.top_block(), len(samples)
    last = first = mimopack.wifi_receiver(num_rx, rate, backend="cpu", passes=1)
    if is_open:
        chosen = frame_format.num_streams, frame_format.constellation
        first = mimopack.wifi_channel_estimator(num_rx, rate, *chosen)
        make = mimopack.nway_detector if chosen[0] > 1 else mimopack.mmse_detector
        detector = make(chosen[0], num_rx, chosen[1], backend="cpu")
        last = mimopack.wifi_llr_decoder(*chosen)
        for port in range(2):
            top.connect((first, port), (detector, port))
        top.connect(detector, last)
    for port, antenna in enumerate(samples):
        top.connect(blocks.vector_source_c(antenna.tolist(), True), (first, port))
    pdus = blocks.message_debug()
    top.msg_connect(last, "out", pdus, "store")
    top.start()
    time.sleep(WARM_UP)
    begin, before = time.perf_counter(), last.counts()["frames"]
    time.sleep(seconds)
    taken, frames = time.perf_counter() - begin, last.counts()["frames"] - before
    top.stop()
    top.wait()
    counts = last.counts()
    # Two frames may be cut where the source begins again.
    if counts["frames"] - counts["decoded"] > 2 or counts["failures"]:
        raise RuntimeError(f"not all frames were decoded: {counts}")
    return frames * samples.shape[1] / 100 / rate / taken


def stages_of(statuses, rate):
    """Return CPU seconds per second of samples, by stage, from the first status to the last."""
    stages, samples = Counter(), 0
    for _, told in statuses[1:]:
        stages.update(told["stages"])
        samples += told["samples"]
    if not samples:
        return {}
    found = {stage: seconds / (samples / rate) for stage, seconds in stages.items()}
    found["others"] = (statuses[-1][0] - statuses[0][0]) / (samples / rate) - sum(found.values())
    return found


def on_arrays(samples, frames, rate, threads, piece, seconds):
    """Return the speed of the receiver over real time, without GNU Radio."""
    receiver = Receiver(len(samples), rate, backend="cpu", threads=threads)
    passes, begun, counted = 0, time.perf_counter(), None
    while counted is None or time.perf_counter() - counted < seconds:
        for begin in range(0, samples.shape[1], piece):
            receiver.process(samples[:, begin:begin + piece], wait=False)
        passes += counted is not None
        if counted is None and time.perf_counter() - begun > WARM_UP:
            counted = time.perf_counter()
    taken = time.perf_counter() - counted
    receiver.finish()
    if receiver.counts["decoded"] != receiver.counts["frames"] or (
            frames and receiver.counts["frames"] % frames):
        raise RuntimeError(f"not all frames were decoded: {dict(receiver.counts)}")
    return passes * samples.shape[1] / rate / taken


def compare(names, rounds, seconds):
    """Return the results of --open, a list of dictionaries."""
    results = []
    for name in names:
        case = loads.CASES[name]
        samples, _, rate = load(name)
        runs = [[in_a_chain(samples, rate, case.format_of(case.payload), seconds, is_open)
                 for is_open in (False, True)] for _ in range(rounds)]
        closed, opened = np.median(runs, axis=0).tolist()
        ratio = float(np.median([one[1] / one[0] for one in runs]))
        results.append({"case": name, "wifi_receiver": closed, "open_chain": opened,
                        "ratio": ratio})
        print(f"{name:<26} wifi_receiver: {closed:.2f}, open chain: {opened:.2f}, "
              f"ratio {ratio:.2f}", flush=True)
    return results


def medians(taken):
    """Return the medians of dictionaries, key by key; a missing key counts as 0."""
    names = dict.fromkeys(name for one in taken for name in one)
    return {name: round(float(np.median([one.get(name, 0.0) for one in taken])), 4)
            for name in names}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default="", help="loads whose name contains this")
    parser.add_argument("--threads", default="1,2", help="numbers of threads")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--sigmf", action="store_true", help="play a recording of 16 bits")
    ways.add_argument("--arrays", action="store_true", help="without GNU Radio")
    ways.add_argument("--open", action="store_true", help="compare the open chain")
    parser.add_argument("--piece", type=int, default=1 << 17, help="samples per call, for arrays")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    threads = [int(one) for one in arguments.threads.split(",")]
    if arguments.open:
        return compare([name for name, case in loads.CASES.items()
                        if case.format_of and arguments.case in name], arguments.rounds,
                       arguments.seconds)
    results, folder = [], tempfile.TemporaryDirectory()
    for name in [one for one in (*loads.CASES, *MIXED) if arguments.case in one]:
        samples, frames, rate = load(name)
        recording = recorded(samples, rate, Path(folder.name)) if arguments.sigmf else None
        runs, stages = {count: [] for count in threads}, {count: [] for count in threads}
        for _ in range(arguments.rounds):
            for count in threads:
                if arguments.arrays:
                    runs[count].append(on_arrays(samples, frames, rate, count, arguments.piece,
                                                 arguments.seconds))
                    continue
                found, taken = in_a_flowgraph(samples, rate, count, arguments.seconds, recording)
                runs[count].append(found)
                stages[count].append(taken)
        found = {str(count): round(float(np.median(run)), 4) for count, run in runs.items()}
        results.append({"case": name, "antennas": len(samples), "sample_rate": rate,
                        "times_real_time": found,
                        "cpu_s_per_s": {str(count): medians(taken)
                                        for count, taken in stages.items() if taken}})
        print(f"{name:<26}", ", ".join(f"{count}: {value:.2f}" for count, value in found.items()),
              flush=True)
    if arguments.output:
        arguments.output.write_text(json_rows(
            {"what": "Wi-Fi receiver, times real time by wall clock and threads",
             "machine": describe(), "detector": Receiver().detector,
             "in": ("arrays" if arguments.arrays else "a flowgraph that plays SigMF"
                    if arguments.sigmf else "a flowgraph"),
             "piece": arguments.piece if arguments.arrays else None,
             "seconds": arguments.seconds, "rounds": arguments.rounds, "gap_s": loads.GAP,
             "results": results}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
