#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Count the instructions that detectors execute on a CPU, for each one that the limit counts.

    bench/instructions.py [--output FILE.json]

The cases are those of the suite "arrays". Each runs a batch with one thread and the instruction set
AVX2 under callgrind, which counts exactly, however busy the machine is. Valgrind does not know
AVX-512. The limit of the suite counts the arithmetic instructions that an algorithm takes; loads,
stores, comparisons and whatever else a program needs are beyond them.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from gnuradio.mimopack.apps.bench.data import Data
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.text import json_rows
from suites.arrays import cases
from suites.limits import instructions_per_vector

ISA, LANES = "avx2", 8
DRIVER = f"*mimopack::{ISA}::drive<*"    # runs a batch, or a thread's part of it
CHUNKS = 4 * LANES    # of a batch: vectors with the same matrix
TOTAL = re.compile(r"^(?:totals|summary): (\d+)$", re.MULTILINE)


def run_all():
    """Run a batch of each case, in a process under callgrind."""
    for case in cases():
        detector = case.create(threads=1, isa=ISA, backend="cpu")
        data = Data(case.setting, CHUNKS * case.setting.per_channel)
        detector.detect(data.y, data.h, case.setting.noise_var)
        subprocess.run(["callgrind_control", "--dump", str(os.getpid())], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def executed(folder):
    """Return the number of instructions that each case executed."""
    subprocess.run(["valgrind", "--tool=callgrind", f"--toggle-collect={DRIVER}",
                    f"--callgrind-out-file={folder}/count", sys.executable, __file__, "--run"],
                   check=True)
    dumps = sorted(Path(folder).glob("count.*"), key=lambda file: int(file.suffix[1:]))
    return [int(TOTAL.findall(file.read_text())[-1]) for file in dumps]


def row(case, count):
    """Return a row of the result: executed and counted instructions for a vector in each lane."""
    setting = case.setting
    data = Data(setting, CHUNKS * setting.per_channel)
    mine = count * LANES / data.vectors
    counted = instructions_per_vector(case.create(threads=1, isa=ISA, backend="cpu"), data, LANES)
    return {"label": case.label, "num_tx": setting.num_tx, "num_rx": setting.num_rx,
            "constellation": setting.points.name, "symbols_per_channel": setting.per_channel,
            "executed": mine, "counted": counted, "ratio": mine / counted}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        return run_all()
    with tempfile.TemporaryDirectory() as folder:
        counts = executed(folder)
    rows = [row(*one) for one in zip(cases(), counts, strict=True)]
    for one in rows:
        print(f"{one['label']:<26} {one['num_rx']}x{one['num_tx']} {one['constellation']:<6} "
              f"{one['ratio']:.2f}")
    if arguments.output:
        arguments.output.write_text(json_rows({
            "what": "instructions that detectors execute, counted by callgrind",
            "machine": describe(), "isa": ISA, "results": rows}) + "\n")


if __name__ == "__main__":
    main()
