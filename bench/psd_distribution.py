#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time the parallel sphere detector on a GPU: thread teams, distribution of vectors, streams.

    bench/psd_distribution.py [--num-tx 4] [--constellation qpsk]... [--quick] [--output FILE.json]

The link has as many receive as transmit antennas and i.i.d. Rayleigh channels, one per vector;
arrays are on the device, and the SNR is per receive antenna. A team of tt threads searches a
vector, with the levels and expansions of 004 table 5 (which has tt = 16, 64 or 128). With tt = 1,
one thread searches a vector depth first. With *static* distribution, all threads or teams get the
same number of vectors; with *dynamic* distribution, a thread or team takes the next vector when it
is ready. The vectors are processed in one launch, or in 8 launches that alternate between 1, 2, 4
or 8 streams.
"""

import argparse
from pathlib import Path

import numpy as np
from gnuradio.mimopack import detectors
from gnuradio.mimopack.apps.bench.data import Data, Setting
from gnuradio.mimopack.apps.machine import describe, describe_gpu
from gnuradio.mimopack.text import json_rows

CONSTELLATIONS = ("qpsk", "qam16")    # without --constellation
SNRS, TEAMS, STREAMS = (5, 10, 15, 20, 25), (1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 8)
DISTINCT, LARGEST = 2**17, 2**22    # vectors
LAUNCHES = 8    # launches when streams are used
# Mbit/s in 004 (GTX 690, 20 dB), by number of antennas: table 5, and with 32 streams those of
# figure 9 and table 6 that its text states.
PAPER = {2: {"qpsk": {"one_stream": 163}, "qam16": {"one_stream": 268, "streams": 350},
             "qam64": {"one_stream": 153}},
         4: {"qpsk": {"one_stream": 169, "streams": 218},
             "qam16": {"one_stream": 121, "streams": 141}, "qam64": {"one_stream": 24}}}


class OnDevice:
    """Repeated vectors of a setting on the GPU, and an array for their LLRs."""

    def __init__(self, setting):
        import cupy

        self.setting, self._data = setting, Data(setting, DISTINCT)
        copies = LARGEST // DISTINCT
        self.y = cupy.tile(cupy.asarray(self._data.y), (copies, 1))
        self.h = cupy.tile(cupy.asarray(self._data.h), (copies, 1, 1))
        self.llr = cupy.empty((LARGEST, setting.bits_per_vector), np.float32)
        self.compared = 10_000
        own = detectors.SD(setting.num_tx, setting.num_rx, setting.constellation, backend="cpu")
        self.expected = own.detect(
            self._data.y[:self.compared], self._data.h[:self.compared], setting.noise_var)

    def detect(self, detector, n, streams):
        """Detect n vectors on the streams, or in one launch without streams."""
        if not streams:
            self._part(detector, 0, n)
            return
        import cupy

        begin = cupy.cuda.get_current_stream().record()
        for stream in streams:
            stream.wait_event(begin)
        size = n // LAUNCHES
        for part in range(LAUNCHES):
            with streams[part % len(streams)]:
                self._part(detector, part * size, size)
        for stream in streams:
            cupy.cuda.get_current_stream().wait_event(stream.record())

    def _part(self, detector, first, n):
        end = first + n
        detector.detect(self.y[first:end], self.h[first:end], self.setting.noise_var,
                        out=self.llr[first:end])

    def seconds(self, detector, n, streams, calls):
        """Return the seconds per call of several calls in a row, by CUDA events."""
        import cupy

        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        for _ in range(calls):
            self.detect(detector, n, streams)
        end.record()
        end.synchronize()
        return 1e-3 * cupy.cuda.get_elapsed_time(begin, end) / calls

    def different(self):
        """Return the number of compared vectors whose decisions differ from the CPU's."""
        found = self.llr[:self.compared].get()
        return int(((found > 0) != (self.expected > 0)).any(axis=1).sum())


def make(setting, team, how):
    """Return a compiled detector."""
    antennas = setting.num_tx
    import cupy

    detector = detectors.PSD(antennas, antennas, setting.constellation, preset="table5",
                             team_size=team, distribution=how, backend="cuda")
    y, h = (cupy.zeros((32, *[antennas] * axes), np.complex64) for axes in (1, 2))
    detector.detect(y, h, 1.0)
    return detector


def measure(data, team, how, detector, seconds, rounds, counts):
    """Return rows for one launch of all vectors, then for launches on streams."""
    import cupy

    setting = data.setting
    once = data.seconds(detector, DISTINCT, (), 1)
    once = data.seconds(detector, DISTINCT, (), 1)
    n = int(min(LARGEST, max(1, seconds / once) * DISTINCT))
    n -= n % (32 * LAUNCHES)
    data.llr.fill(np.nan)
    data.detect(detector, n, ())
    different = data.different()
    all_streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(max(counts, default=0))]
    cases = [(0, ()), *((count, all_streams[:count]) for count in counts)]
    times = {count: [] for count, _ in cases}
    calls = max(1, round(seconds / (once * n / DISTINCT)))
    for _ in range(rounds):
        for count, streams in cases:
            times[count].append(data.seconds(detector, n, streams, calls))
    return [{"constellation": setting.constellation, "snr_db": setting.snr_db, "team_size": team,
             "distribution": how, "launches": LAUNCHES if count else 1, "streams": count or 1,
             "vectors": n, "calls": calls, "seconds": float(np.median(times[count])),
             "mbit_per_s": n * setting.bits_per_vector / float(np.median(times[count])) / 1e6,
             "vectors_compared": data.compared, "vectors_different": different}
            for count, _ in cases]


def run(arguments):
    rows = []
    antennas = arguments.num_tx
    for constellation in arguments.constellation or CONSTELLATIONS:
        setting = Setting(antennas, antennas, constellation)
        table_5 = detectors.PSD(antennas, antennas, constellation, preset="table5").team_size
        teams = sorted({*((1, 8, 32) if arguments.quick else TEAMS), table_5})
        made = {(team, how): make(setting, team, how)
                for team in teams for how in ("static", "dynamic")}
        for snr in (20,) if arguments.quick else SNRS:
            data = OnDevice(Setting(antennas, antennas, constellation, float(snr)))
            for (team, how), detector in made.items():
                counts = STREAMS if team in (1, table_5) else ()
                rows += measure(data, team, how, detector, arguments.seconds, arguments.rounds,
                                counts)
                found = rows[-1 - len(counts):]
                print(f"{constellation:<6} {snr:2d} dB  tt {team:2d}  {how:<8}"
                      f"{found[0]['mbit_per_s']:10.0f} Mbit/s"
                      + "".join(f", {row['streams']} streams {row['mbit_per_s']:.0f}"
                                for row in found[1:])
                      + f", {found[0]['vectors_different']} different", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-tx", type=int, choices=PAPER, default=4,
                        help="transmit and receive antennas")
    parser.add_argument("--constellation", choices=PAPER[4], action="append",
                        help="may be given several times; default: qpsk and qam16")
    parser.add_argument("--quick", action="store_true", help="20 dB, fewer teams")
    parser.add_argument("--seconds", type=float, default=0.05, help="of a measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    antennas = arguments.num_tx
    results = {"machine": {**describe(), "gpu": describe_gpu()},
               "model": f"{antennas}x{antennas}, i.i.d. Rayleigh, one channel per vector",
               "paper_mbit_per_s": PAPER[antennas], "results": run(arguments)}
    if arguments.output:
        arguments.output.write_text(json_rows(results) + "\n")
        print(f"written: {arguments.output}")


if __name__ == "__main__":
    main()
