#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Profile the kernels of a suite of `mimopack bench` with Nsight Compute.

    bench/ncu.py [--suite gpu|gpu-arrays] [--detector NAME] [--antennas RXxTX] [--vectors N] [--all]
                 [--output FILE]

The script measures which share of the GPU's peak rates each kernel reaches: of the suite gpu those
with a target, of gpu-arrays every one. It needs ncu on the path, the permission to read the
counters, and an importable gnuradio.mimopack.
"""

import argparse
import csv
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from gnuradio.mimopack.apps.machine import describe, describe_gpu
from gnuradio.mimopack.text import json_rows
from suites import arrays, cases, first_call
from suites.failures import missing_row, reason

LIMIT_SECONDS = 300
SECTIONS = ("SpeedOfLight", "ComputeWorkloadAnalysis", "LaunchStats", "Occupancy",
            "SchedulerStats", "MemoryWorkloadAnalysis", "WarpStateStats")
# The metrics of ncu for each column; the first one that ncu offers is used. Registers are a number,
# the others are percentages.
COLUMNS = {
    "issue slots busy, %": ("sm__inst_issued.avg.pct_of_peak_sustained_active",
                            "sm__instruction_throughput.avg.pct_of_peak_sustained_active",
                            "smsp__issue_active.avg.pct_of_peak_sustained_active"),
    "multiprocessors, %": ("sm__throughput.avg.pct_of_peak_sustained_elapsed",),
    "memory, %": ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",),
    "DRAM, %": ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
                "dram__throughput.avg.pct_of_peak_sustained_elapsed"),
    "FMA pipe, %": ("sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
                    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"),
    "ALU pipe, %": ("sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active",
                    "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active"),
    "LSU pipe, %": ("sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active",),
    "XU pipe, %": ("sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active",),
    "warps active, %": ("sm__warps_active.avg.pct_of_peak_sustained_active",),
    "registers": ("launch__registers_per_thread",)}
# Reasons for which warps wait, in cycles per issued instruction ("selected" is the issue cycle).
STALL = re.compile(r"smsp__average_warps_issue_stalled_(?!selected|\w+_not_issued)(\w+)"
                   r"_per_issue_active\.ratio")
STALLS = 3


def launch(chosen, vectors, said):
    """Launch each case's kernel once, and record the kernels launched."""
    store = arrays.SizedDeviceStore(vectors, min(vectors, 100_000))
    launched = []
    for index, case in enumerate(chosen):
        try:
            data = store.get(case.setting)
            detector = case.create(backend="cuda")
            detector.detect(data.y, data.h, case.setting.noise_var, out=data.llr)
            _ = detector.erasures
            launched.append([index, None])
        except Exception as error:
            launched.append([index, reason(error)])
    Path(said).write_text(json.dumps(launched))


def parse(text):
    """Parse ncu's raw page into [{metric: value}], without values that are not numbers."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    found = []
    for row in csv.DictReader(io.StringIO("\n".join(lines[first:]))):
        if row["ID"]:    # the line after the header has units and no ID
            values = {}
            for name, value in row.items():
                try:
                    values[name] = float((value or "").replace(",", ""))
                except ValueError:
                    continue
            found.append(values)
    return found


def stalls(metrics):
    """Return {reason: cycles} of the longest waits."""
    found = {STALL.fullmatch(name)[1]: value for name, value in metrics.items()
             if STALL.fullmatch(name)}
    return dict(sorted(found.items(), key=lambda item: -item[1])[:STALLS])


def profile(chosen, arguments, scratch):
    said = Path(scratch) / "launched.json"
    command = ["ncu", "--csv", "--page", "raw", "--clock-control", "none",
               "--kernel-name-base", "function", "--kernel-name", "detect",
               *(word for section in SECTIONS for word in ("--section", section)),
               sys.executable, __file__, "--vectors", str(arguments.vectors), "--launch", str(said),
               "--suite", arguments.suite, *(["--all"] if arguments.all else []),
               *(word for name in arguments.detector for word in ("--detector", name)),
               *(word for size in arguments.antennas for word in ("--antennas", size))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    if not said.exists():
        sys.exit(f"ncu.py: ncu failed: {(done.stderr or done.stdout).strip()[-500:]}")
    kernels, rows, missing = parse(done.stdout), [], []
    launched = json.loads(said.read_text())
    if len(kernels) != sum(why is None for _, why in launched):
        sys.exit(f"ncu.py: ncu reports {len(kernels)} kernels, which is not the number of "
                 f"launched ones: {done.stdout.strip()[-500:]}")
    kernels = iter(kernels)
    for index, why in launched:
        case = chosen[index]
        if why:
            missing.append(missing_row(case, why))
            continue
        metrics = next(kernels)
        setting = case.setting
        rows.append({"label": case.label, "constellation": setting.points.name,
                     "num_tx": setting.num_tx, "num_rx": setting.num_rx,
                     "symbols_per_channel": setting.per_channel, "values": {
                         column: next((metrics[name] for name in names if name in metrics), None)
                         for column, names in COLUMNS.items()}, "stalls": stalls(metrics)})
    return {"columns": list(COLUMNS), "results": rows, "missing": missing}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=("gpu", "gpu-arrays"), default="gpu")
    parser.add_argument("--detector", action="append", default=[], metavar="NAME",
                        help="profile only this one; may be given several times")
    parser.add_argument("--antennas", action="append", default=[], metavar="RXxTX",
                        help="profile only this size; may be given several times")
    parser.add_argument("--vectors", type=int, default=500_000)
    parser.add_argument("--all", action="store_true", help="also profile the cases without targets")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--launch", help=argparse.SUPPRESS)    # the script runs itself
    arguments = parser.parse_args()
    chosen = arrays.cases() if arguments.suite == "gpu-arrays" else [
        *cases.GPU_TARGETS, *(cases.GPU_OTHERS if arguments.all else ())]
    if arguments.detector:
        chosen = [case for case in chosen if case.detector in arguments.detector]
    if arguments.antennas:
        chosen = [case for case in chosen
                  if f"{case.setting.num_rx}x{case.setting.num_tx}" in arguments.antennas]
    if arguments.launch:
        return launch(chosen, arguments.vectors, arguments.launch)
    if not shutil.which("ncu"):
        sys.exit("ncu.py: ncu (Nsight Compute) is not on the path")
    with tempfile.TemporaryDirectory() as scratch, first_call.empty_cache():
        first_call.all_of(chosen)    # compile several at a time, outside the profiler
        results = profile(chosen, arguments, scratch)
    for row in results["results"]:
        print(f"{row['label']:20s} {row['num_rx']}x{row['num_tx']} T={row['symbols_per_channel']} "
              f"{row['constellation']:6s} " + "  ".join(
            f"{name} {value:.4g}" for name, value in (row["values"] | row["stalls"]).items()
            if value is not None))
    for row in results["missing"]:
        print(f"missing: {row['label']} {row['constellation']}: {row['reason']}")
    if arguments.output:
        machine = describe() | {"gpu": describe_gpu()}
        arguments.output.write_text(json_rows(
            {"what": "kernels under Nsight Compute", "machine": machine, **results})
            + "\n")
        print(f"written: {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
