#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the speed of the Wi-Fi receiver with several threads, by wall-clock time.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 bench/wifi_real_time.py [--case NAME]
        [--threads 1,2,4] [--seconds 2] [--rounds 3]
        [--sigmf | --arrays | --open | --command]
        [--piece 131072]
        [--output FILE.json]

The loads are those of bench/wifi.py, some with frames of several formats at 10 % airtime, and short
frames: 50 to 300 bytes, each MCS of a number of streams in turn, 16 us apart. Each load repeats for
--seconds seconds. A flowgraph with GNU Radio's default scheduler takes the samples
from vector sources and sends the PDUs to GNU Radio's message_debug. --sigmf plays a recording of 16
bits instead, with sigmf_multichannel_source. --arrays measures the receiver without GNU Radio, in
pieces of --piece samples. --open compares the open chain (wifi_channel_estimator, nway_detector,
wifi_llr_decoder) with wifi_receiver(passes=1), in turns. --command plays a recording of --seconds
seconds of the short frames with ``mimopack wifi FILE --json``, as a user types it. Its start-up is
measured with a recording of 10 ms, and is left out. The receiver has its default options and
detects on the CPU. The first second of a round is not counted, because decoders and tables are made
then. The numbers of threads take turns. Each figure is the median of the rounds. All frames must
decode.

The results include the CPU seconds per second of samples in the flowgraph: for each stage of the
receiver, and in "others" for all else, such as copies, PDUs and the sources.
"""

import argparse
import json
import os
import subprocess
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
from gnuradio.mimopack.wifi.formats.non_ht import RATES

WARM_UP = 1.0
SHORT = {"short frames, non-HT": 1, "short frames, 2 streams": 2, "short frames, 4 streams": 4}
MIXED = {"10 % airtime, 2 antennas": 2, "10 % airtime, 4 antennas": 4}


def mixed(antennas):
    """Return (samples (antennas, n), number of frames), of several formats at 10 % airtime."""
    rng, frames = np.random.default_rng(1), 40
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


def short_frames(antennas, seconds=0.2):
    """Return (samples (antennas, n), number of frames), with as many streams as antennas."""
    rng = np.random.default_rng(1)
    transmitter = Transmitter(antennas)
    channel = np.fft.fft(np.eye(antennas))
    modes = list(RATES) if antennas == 1 else range(8 * antennas - 8, 8 * antennas)
    kind = NonHT if antennas == 1 else HT
    gap = np.zeros((antennas, round(loads.GAP * 20e6)))
    parts, length = [gap], 0
    while length < seconds * 20e6:
        mode = modes[len(parts) // 2 % len(modes)]
        data = rng.bytes(int(rng.integers(50, 301)) - mac.FCS)
        _, sent = transmitter.mpdu(lambda n, mode=mode: kind(mode, n), [data + mac.fcs(data)])
        parts += [channel @ sent, gap]
        length += sent.shape[1] + gap.shape[1]
    stream = np.concatenate(parts, axis=1)
    noise = rng.standard_normal((2, *stream.shape))
    stream = stream + 10**-2 / np.sqrt(2) * (noise[0] + 1j * noise[1])
    return stream.astype(np.complex64), len(parts) // 2


def load(name):
    """Return (samples, number of frames in them, sample rate)."""
    if name in SHORT:
        return *short_frames(SHORT[name]), 20e6
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


def by_command(name, seconds, rounds, folder):
    """Return the results of --command for a load: medians of the rounds."""
    samples, frames = short_frames(SHORT[name], seconds)
    peak = 3 * np.abs(samples.view(np.float32)).max()
    for file, part in (("start", samples[:, :200_000]), ("all", samples)):
        write(folder / file, part / peak, 20e6, datatype="ci16_le", description="simulated",
              overwrite=True)
    runs = []
    for _ in range(rounds):
        walls, cpus = zip(*(_timed_command(folder / file) for file in ("start", "all")),
                          strict=True)
        runs.append((walls[0], walls[1] - walls[0], cpus[1] - cpus[0]))
    received = json.loads((folder / "frames.json").read_text(encoding="utf-8"))
    if sum(frame["complete"] for frame in received) < frames:
        raise RuntimeError(f"{name}: not all frames were decoded")
    start, wall, cpu = np.median(runs, axis=0)
    duration = (samples.shape[1] - 200_000) / 20e6
    return {"case": name, "antennas": len(samples),
            "frames_per_s": round(frames / samples.shape[1] * 20e6),
            "times_real_time": round(duration / wall, 3),
            "cpu_us_per_frame": round(1e6 * cpu / (frames * duration * 20e6 / samples.shape[1]), 1),
            "start_up_s": round(start, 3)}


def _timed_command(recording):
    """Return (seconds, CPU seconds) of ``mimopack wifi`` over a recording."""
    before, begin = os.times(), time.perf_counter()
    subprocess.run(["mimopack", "wifi", f"{recording}.sigmf-meta", "--json",
                    recording.parent / "frames.json"], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return (time.perf_counter() - begin,
            after.children_user + after.children_system
            - before.children_user - before.children_system)


def on_arrays(samples, frames, rate, threads, piece, seconds):
    """Return (speed over real time, frames per second of CPU time), without GNU Radio."""
    receiver = Receiver(len(samples), rate, backend="cpu", threads=threads)
    passes, begun, counted, cpu = 0, time.perf_counter(), None, 0.0
    while counted is None or time.perf_counter() - counted < seconds:
        for begin in range(0, samples.shape[1], piece):
            receiver.process(samples[:, begin:begin + piece], wait=False)
        passes += counted is not None
        if counted is None and time.perf_counter() - begun > WARM_UP:
            counted, cpu = time.perf_counter(), time.process_time()
    taken, cpu = time.perf_counter() - counted, time.process_time() - cpu
    receiver.finish()
    if receiver.counts["decoded"] != receiver.counts["frames"] or (
            frames and receiver.counts["frames"] % frames):
        raise RuntimeError(f"not all frames were decoded: {dict(receiver.counts)}")
    return passes * samples.shape[1] / rate / taken, passes * frames / cpu


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
    ways.add_argument("--command", action="store_true", help="mimopack wifi over short frames")
    parser.add_argument("--piece", type=int, default=1 << 17, help="samples per call, for arrays")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    threads = [int(one) for one in arguments.threads.split(",")]
    if arguments.open:
        return compare([name for name, case in loads.CASES.items()
                        if case.format_of and arguments.case in name], arguments.rounds,
                       arguments.seconds)
    results, folder = [], tempfile.TemporaryDirectory()
    names = [name for name in (*loads.CASES, *MIXED, *SHORT) if arguments.case in name]
    if arguments.command:
        for name in [name for name in names if name in SHORT]:
            results.append(by_command(name, arguments.seconds, arguments.rounds,
                                      Path(folder.name)))
            print(", ".join(f"{key} {value}" for key, value in results[-1].items()), flush=True)
        names = []
    for name in names:
        samples, frames, rate = load(name)
        recording = recorded(samples, rate, Path(folder.name)) if arguments.sigmf else None
        runs, stages, per_core = ({count: [] for count in threads} for _ in range(3))
        for _ in range(arguments.rounds):
            for count in threads:
                if arguments.arrays:
                    speed, frame_rate = on_arrays(samples, frames, rate, count, arguments.piece,
                                                  arguments.seconds)
                    runs[count].append(speed)
                    per_core[count].append(frame_rate)
                    continue
                found, taken = in_a_flowgraph(samples, rate, count, arguments.seconds, recording)
                runs[count].append(found)
                stages[count].append(taken)
        found = {str(count): round(float(np.median(run)), 4) for count, run in runs.items()}
        results.append({"case": name, "antennas": len(samples), "sample_rate": rate,
                        "times_real_time": found,
                        "cpu_s_per_s": {str(count): medians(taken)
                                        for count, taken in stages.items() if taken},
                        "frames_per_cpu_s": {str(count): round(float(np.median(rates)))
                                             for count, rates in per_core.items() if rates}})
        print(f"{name:<26}", ", ".join(f"{count}: {value:.2f}" for count, value in found.items()),
              flush=True)
    if arguments.output:
        arguments.output.write_text(json_rows(
            {"what": "Wi-Fi receiver, times real time by wall clock and threads",
             "machine": describe(), "detector": Receiver().detector,
             "in": ("arrays" if arguments.arrays else "mimopack wifi" if arguments.command
                    else "a flowgraph that plays SigMF" if arguments.sigmf else "a flowgraph"),
             "piece": arguments.piece if arguments.arrays else None,
             "seconds": arguments.seconds, "rounds": arguments.rounds, "gap_s": loads.GAP,
             "results": results}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
