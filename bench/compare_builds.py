#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the speed of two builds: suites of `mimopack bench`, by turns in one run.

    bench/compare_builds.py COMMIT=FOLDER COMMIT=FOLDER [--suite cpu] [--suite codes] [--turns 3]
        [--output FILE.json] [-- OPTIONS]

The first build is the old one. FOLDER goes into PYTHONPATH and contains gnuradio/mimopack, as does
build/python of a checkout. COMMIT is the name of the build in the results. OPTIONS are those of
`mimopack bench`. The suite "wifi" is bench/wifi.py with its own options and variables.

In each turn, every suite runs once with each build, in processes of their own. The figure of a row
is the median of the turns. Its time ratio is the time of the new build over that of the old one;
above 1, the new build is slower. The ratio of the fastest turns says more if other programs use the
machine. The spread of a row is the speed of the fastest turn of the old build over that of its
slowest turn, which shows how much the machine alone changes the figures.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.text import json_rows

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "from gnuradio.mimopack.apps.cli import main; main(prog_name='mimopack')"
# What a row of a suite is, in contrast to what it measured.
KEYS = ("label", "case", "where", "detector", "code", "decoder", "parameters", "constellation",
        "num_tx", "num_rx", "symbols_per_channel", "prior", "backend", "isa", "threads",
        "iterations", "ebn0_db", "precision", "early_stop", "algorithm")
RATES = ("vectors_per_s", "codewords_per_s", "mbit_per_s", "samples_per_s")


def build(text):
    """Return (commit, folder) of an argument COMMIT=FOLDER."""
    commit, _, folder = text.partition("=")
    if not commit or not (Path(folder) / "gnuradio/mimopack").is_dir():
        raise argparse.ArgumentTypeError(
            f"{text}: must be COMMIT=FOLDER, and FOLDER must contain gnuradio/mimopack")
    return commit, folder


def run(folder, suite, options):
    """Return the rates of a suite's rows with one build, as {row: rate}."""
    program = ["-c", COMMAND, "bench", "--suite", suite]
    if suite == "wifi":
        program = [str(ROOT / "bench/wifi.py")]
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch) / "rows.json"
        subprocess.run(
            [sys.executable, *program, "--output", str(output), *options],
            cwd=ROOT, env=os.environ | {"PYTHONPATH": folder}, check=True,
            stdout=subprocess.DEVNULL)
        results = json.loads(output.read_text(encoding="utf-8"))["results"]
    rates = {}
    for row in results:
        rate = next((row[name] for name in RATES if row.get(name)), None)
        if rate is not None:
            row = json.dumps({key: row[key] for key in KEYS if key in row})
            if row in rates:
                raise RuntimeError(f"suite {suite}: two rows are called {row}")
            rates[row] = rate
    if not rates:
        raise RuntimeError(f"suite {suite}: no row has any of {', '.join(RATES)}")
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs=2, type=build, metavar="COMMIT=FOLDER")
    parser.add_argument("--suite", action="append", help="suite to run; default: cpu")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--output", type=Path)
    arguments, options = parser.parse_known_args()
    options = [option for option in options if option != "--"]
    suites = arguments.suite or ["cpu"]
    before = os.getloadavg()
    measured = {}
    for turn in range(arguments.turns):
        for suite in suites:
            for place, (_, folder) in enumerate(arguments.builds):
                for row, rate in run(folder, suite, options).items():
                    measured.setdefault((suite, row), ([], []))[place].append(rate)
        print(f"turn {turn + 1} of {arguments.turns}", flush=True)
    results = []
    for (suite, row), (old, new) in measured.items():
        if len(old) != arguments.turns or len(new) != arguments.turns:
            raise RuntimeError(f"suite {suite}: only one build has this row, or not always: {row}")
        results.append({
            "suite": suite, **json.loads(row),
            "old_per_s": float(np.median(old)), "new_per_s": float(np.median(new)),
            "time_ratio": float(np.median(old) / np.median(new)),
            "time_ratio_fastest": max(old) / max(new),
            "old_spread": max(old) / min(old)})
    ratios = np.array([row["time_ratio"] for row in results])
    print(f"{len(ratios)} rows; time of the new build over the old one: median "
          f"{np.median(ratios):.3f}, smallest {ratios.min():.3f}, largest {ratios.max():.3f}")
    for row in sorted(results, key=lambda row: -row["time_ratio"])[:10]:
        name = next(row[key] for key in ("label", "case", "code", "detector") if row.get(key))
        ratios = f"{row['time_ratio']:.3f}, fastest turns {row['time_ratio_fastest']:.3f}"
        print(f"  {ratios} (spread {row['old_spread']:.2f}) {row['suite']} {name} "
              f"{row.get('constellation', '')} {row.get('num_tx', '')}")
    if arguments.output:
        (old, _), (new, _) = arguments.builds
        arguments.output.write_text(json_rows(
            {"what": "speed of two builds, suites of mimopack bench by turns",
             "machine": describe(), "old": old, "new": new, "suites": suites,
             "options": options, "turns": arguments.turns,
             "load_average_before": before, "load_average_after": os.getloadavg(),
             "results": results}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
