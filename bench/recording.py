#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the speed of the SigMF sink with several channels of 20 MS/s.

    bench/recording.py --folder FOLDER [--channels 1 2 4] [--datatypes cf32_le ci16_le]
        [--rate 20e6] [--seconds 10] [--rounds 3] [--output FILE.json]

FOLDER must be on the disk to measure. The script writes recordings of --seconds there and removes
them, which needs room for channels x rate x seconds x 8 bytes.

For each case, the script measures:
- disk: speed of the disk for writes of 4 MiB from memory, without other load;
- most, hashed: samples per second and channel of a flowgraph from memory to the sink, which waits
  for the disk, without and with checksum;
- live: dropped samples when a source delivers --rate by the clock and the sink drops samples that
  the disk cannot take, and the delay of the source at the end;
- CPU: processor seconds of this process per second of the live run, source included, and of the
  same run with null sinks for comparison;
- others: cores that other processes used during the live run; this should be near 0.

A disk with a write cache is as fast as memory for a while. --seconds should be long enough to fill
the system's cache (vm.dirty_ratio).
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import recording
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.text import json_rows

PIECE = 1 << 18


class Source(gr.sync_block):
    """Source that repeats samples from memory, ``count`` of them on each output.

    It delivers at a rate by the clock, or without a rate as fast as possible.
    """

    def __init__(self, channels, count, rate=None):
        gr.sync_block.__init__(self, "bench_source", None, [np.complex64] * channels)
        parts = np.random.default_rng(1).uniform(-0.7, 0.7, (channels, PIECE, 2))
        self._samples = parts.astype(np.float32).view(np.complex64)[..., 0]
        self._count, self._rate, self._begun, self.late = count, rate, None, 0.0
        self.set_output_multiple(PIECE)

    def start(self):
        self.set_output_multiple(1)
        return True

    def work(self, _input_items, output_items):
        now = time.perf_counter()
        if self._begun is None:
            self._begun = now
        at = self.nitems_written(0)
        count = min(len(output_items[0]), self._count - at, PIECE - at % PIECE)
        if not count:
            return -1
        if self._rate is not None:
            wait = self._begun + (at + count) / self._rate - now
            self.late = max(0.0, -wait)
            if wait > 0:
                time.sleep(wait)
        for row, out in zip(self._samples, output_items, strict=True):
            out[:count] = row[at % PIECE:at % PIECE + count]
        return count


def busy():
    """Return the processor seconds that all processes have used so far."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _, _, irq, soft_irq, steal = map(int, fields[:8])
    return (user + nice + system + irq + soft_irq + steal) / os.sysconf("SC_CLK_TCK")


def disk(folder, size):
    """Return the bytes per second that the disk can write."""
    block = memoryview(np.random.default_rng(1).bytes(1 << 22))
    path = folder / "disk"
    start = time.perf_counter()
    with path.open("wb", buffering=0) as handle:
        for _ in range(max(1, size // len(block))):
            handle.write(block)
    seconds = time.perf_counter() - start
    size = path.stat().st_size
    path.unlink()
    return size / seconds


def run(source, sinks):
    """Run a flowgraph; return (seconds, CPU seconds)."""
    top = gr.top_block()
    for port, (sink, sink_port) in enumerate(sinks):
        top.connect((source, port), (sink, sink_port))
    start, cpu = time.perf_counter(), time.process_time()
    top.run()
    return time.perf_counter() - start, time.process_time() - cpu


def recorded(folder, channels, datatype, rate, source, overload, checksum=False):
    """Run a source into the sink; return (seconds, CPU seconds, counts of the sink)."""
    sink = mimopack.sigmf_multichannel_sink(
        str(folder / "bench"), channels, datatype, rate, overload=overload, overwrite=True,
        checksum=checksum, description="SIMULATED")
    seconds, cpu = run(source, [(sink, port) for port in range(channels)])
    sink.close()
    counts = sink.counts()
    reader = recording.Reader(folder / "bench")
    assert reader.num_samples == counts["samples"]
    if overload == "wait":
        assert not counts["dropped"]
    for path in folder.glob("bench*"):
        path.unlink()
    return seconds, cpu, counts


def measure(folder, channels, datatype, rate, seconds):
    """Measure one round of a case; return a dictionary."""
    count = int(rate * seconds)
    size = count * 2 * channels * recording.get_datatype(datatype).component.itemsize
    row = {"disk_bytes_per_s": disk(folder, size)}
    for key, checksum in (("most_samples_per_s", False), ("hashed_samples_per_s", True)):
        taken, _, _ = recorded(folder, channels, datatype, rate, Source(channels, count), "wait",
                               checksum)
        row[key] = count / taken
    source = Source(channels, count, rate)
    others, begun = busy() - time.process_time(), time.perf_counter()
    taken, cpu, counts = recorded(folder, channels, datatype, rate, source, "drop")
    others = (busy() - time.process_time() - others) / (time.perf_counter() - begun)
    assert counts["samples"] + counts["dropped"] == count, "samples are missing in the counts"
    row |= {"live_samples": count, "live_dropped": counts["dropped"], "live_drops": counts["drops"],
            "live_late_s": source.late, "live_cpu_share": cpu / taken,
            "others_cores": max(0.0, others)}
    nulls = [(blocks.null_sink(gr.sizeof_gr_complex), 0) for _ in range(channels)]
    taken, cpu = run(Source(channels, count, rate), nulls)
    row["source_cpu_share"] = cpu / taken
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True, type=Path)
    parser.add_argument("--channels", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--datatypes", nargs="+", default=["cf32_le", "ci16_le"])
    parser.add_argument("--rate", type=float, default=20e6)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    cases = [(channels, datatype) for channels in options.channels
             for datatype in options.datatypes]
    rounds = {case: [] for case in cases}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for _ in range(options.rounds):
            for case in cases:
                rounds[case].append(measure(Path(folder), *case, options.rate, options.seconds))
    rows = []
    print(f"{'case':<22} {'disk MB/s':>10} {'most MS/s':>10} {'hashed':>7} {'dropped':>9} "
          f"{'late ms':>8} {'CPU %':>7} {'source %':>9} {'others':>7}")
    for (channels, datatype), measured in rounds.items():
        row = {key: statistics.median(one[key] for one in measured) for key in measured[0]}
        # The worst round counts: a median would hide it.
        row["live_dropped_worst"] = max(one["live_dropped"] for one in measured)
        row["others_cores"] = max(one["others_cores"] for one in measured)
        rows.append({"channels": channels, "datatype": datatype, "rate": options.rate, **row})
        print(f"{channels} x {datatype:<18} {row['disk_bytes_per_s'] / 1e6:>10.0f} "
              f"{row['most_samples_per_s'] / 1e6:>10.1f} "
              f"{row['hashed_samples_per_s'] / 1e6:>7.1f} "
              f"{row['live_dropped_worst'] / row['live_samples']:>9.2%} "
              f"{1e3 * row['live_late_s']:>8.1f} {100 * row['live_cpu_share']:>7.0f} "
              f"{100 * row['source_cpu_share']:>9.0f} {row['others_cores']:>7.2f}")
    if options.output:
        options.output.write_text(json_rows(
            {"what": "SigMF sink, samples per second and channel", "machine": describe(),
             "seconds": options.seconds, "rounds": options.rounds, "results": rows})
            + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
