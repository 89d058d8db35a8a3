#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the tables of measurements into the documents, from the files in bench/results/.

    bench/tables.py [--check]

A table stands between two comments. The first comment names the kind of table and its file:

    <!-- measured: targets cpu-2core-epyc.json -->
    <!-- end of measured -->

The kinds are the tables of the suites (bench/suites/tables.py), those of the papers
(bench/papers.py) and those of other scripts, defined below. A kind that takes its figures from
several files names none, such as "headlines" (bench/headlines.py). With --check, the script writes
nothing and exits with 1 if a document would change. It needs an importable gnuradio.mimopack.
"""

import argparse
import json
import re
import sys
from pathlib import Path

import papers
from gnuradio.mimopack.apps.bench.table import Table, markdown, number, thread_count
from headlines import headlines
from suites import tables as of_suites
from suites.tables import NAMES

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
DOCUMENTS = [*(ROOT / "docs" / name for name in (
    "README.md", "detectors.md", "performance.md", "reproduction.md")), ROOT / "soapy/README.md"]

MARKED = re.compile(r"(<!-- measured: (\w+)(?: (\S+\.json))? -->\n).*?(<!-- end of measured -->)",
                    re.DOTALL)


def gpu_picture(results):
    """Return the picture that bench/picture.py draws from the same file."""
    return ["![bit error rate against Gbit/s of our detectors and Sionna's, 4x4 and 8x8 16-QAM]"
            "(images/gpu.png)"]


def recording_frames(results):
    """Return the frames of a recording that each detector decodes by SNR, fewest losses first."""
    rows = sorted(results["detectors"], key=lambda row: -row["frames_decoded"])
    levels = [level["snr_db"] for level in rows[0]["decoded_by_snr"]]
    return [Table(
        ["detector", "frames lost", *(f"decoded at {snr:g} dB" for snr in levels)],
        [[f"`{row['detector']}`",
          f"{row['frames_sent'] - row['frames_decoded']} of {row['frames_sent']}",
          *(f"{level['decoded']} of {level['sent']}" for level in row["decoded_by_snr"])]
         for row in rows])]


def psd_distribution(results):
    """Return rates of teams by distribution and streams, at the SNR of the paper's figures."""
    found = {}
    for row in results["results"]:
        if row["snr_db"] == 20:
            found.setdefault((row["constellation"], row["team_size"], row["distribution"]), {})[
                row["launches"], row["streams"]] = row["mbit_per_s"]
    columns = sorted({column for rates in found.values() for column in rates})
    return [Table(["constellation", "threads per vector", "distribution",
                   *((f"{launches} launches in {streams} streams" if streams > 1
                      else f"{launches} launches" if launches > 1 else "one launch") + ", Mbit/s"
                     for launches, streams in columns)],
                  [[NAMES[constellation], str(team), distribution,
                    *(number(rates.get(column)) for column in columns)]
                   for (constellation, team, distribution), rates in found.items()])]


def softsphere_losses(results):
    """Return the loss in dB for each limit of the LLRs, by link."""
    rows = results["losses"]
    limits = list(rows[0]["loss_db"])
    return [Table(["constellation", "code", *(f"limit {float(limit):g}, dB" for limit in limits)],
                  [[NAMES[row["constellation"]], row["code"],
                    *(f"{round(row['loss_db'][limit], 3) + 0.0:.3f}" for limit in limits)]
                   for row in rows])]


def softsphere_nodes(results):
    """Return the mean number of nodes of a search for each limit of the LLRs, by SNR."""
    found = {}
    for row in results["searches"]:
        found.setdefault((row["constellation"], row["at_db"], row["vectors"]), {})[
            row["llr_clip"]] = row["mean_nodes"]
    limits = list(next(iter(found.values())))
    return [Table(["constellation", "SNR, dB", "vectors",
                   *("no limit" if limit is None else f"limit {limit:g}" for limit in limits)],
                  [[NAMES[constellation], str(snr), str(vectors),
                    *(number(nodes[limit]) for limit in limits)]
                   for (constellation, snr, vectors), nodes in found.items()])]


def near_ml(results):
    """Return the SNR that each detector needs, and its speed, and the picture of both."""
    speeds = {backend: {row["receiver"]: row["mbit_per_s"] for row in results.get(backend, ())}
              for backend in ("cpu", "cuda")}
    needed = {label: snr for label, snr in results["needed_db"].items() if snr is not None}
    least = min(needed.values())
    rows = [[label.replace(":", ", "), f"{snr:.2f}", f"{snr - least:.2f}",
             *(number(rates.get(label)) for rates in speeds.values() if rates)]
            for label, snr in sorted(needed.items(), key=lambda one: one[1])]
    names = {"cpu": f"CPU with {thread_count(results['threads'])}", "cuda": "GPU"}
    none = [label for label, snr in results["needed_db"].items() if snr is None]
    return ["![SNR that detectors need against their speed](images/near_ml.png)",
            Table(["detector", "SNR needed, dB", "above the least, dB",
                   *(f"{names[backend]}, Mbit/s" for backend, rates in speeds.items() if rates)],
                  rows),
            *([f"At all SNRs simulated, more frames were lost with {', '.join(none)}."]
              if none else [])]


def soapy_rates(results):
    """Return the speed of the SoapySDR driver, in million samples per second of each channel."""
    return [Table(["case", "MS/s", "MS/s per core", "cores"],
                  [[row["case"], number(row["samples_per_s"] / 1e6),
                    number(row["samples_per_core_s"] / 1e6), number(row["cores"])]
                   for row in results["results"]])]


OTHERS = {kind.__name__: kind for kind in (
    gpu_picture, recording_frames, psd_distribution, softsphere_losses, softsphere_nodes, near_ml,
    soapy_rates)} | papers.FROM_FILE
FROM_FOLDER = {"headlines": headlines} | papers.FROM_FOLDER


def render(kind, name):
    """Return a table, and where and how its figures were measured."""
    if kind in FROM_FOLDER:
        return f"{markdown(FROM_FOLDER[kind](RESULTS))}\n"
    if not (RESULTS / name).exists():
        return f"Not measured yet: there is no bench/results/{name}.\n"
    results = json.loads((RESULTS / name).read_text())
    machine = results["machine"]
    threads = thread_count(results.get("threads", machine["threads"]))
    place = f"{machine['processor']} with {threads}"
    if "gpu" in machine:
        card = machine["gpu"]
        driver = card.get("driver") or f"for CUDA {card['driver_cuda']}"
        place = (f"{card['name']} (driver {driver}, NVRTC {card['nvrtc']}, CuPy {card['cupy']}) "
                 f"and {place}")
    table = OTHERS.get(kind) or getattr(of_suites, kind)
    return (f"{markdown(table(results))}\n\n"
            f"Measured on {place}, at commit {machine['commit']}. Results: "
            f"[{name}](../bench/results/{name}). Command: `{machine['command']}`.\n")


def update(text):
    """Return a document with its tables rewritten."""
    return MARKED.sub(lambda found: found[1] + render(found[2], found[3]) + found[4], text)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    changed = False
    for path in DOCUMENTS:
        text = path.read_text()
        new = update(text)
        if new != text:
            changed = True
            print(f"{path.relative_to(ROOT)}: {'differs' if arguments.check else 'written'}")
            if not arguments.check:
                path.write_text(new)
    return int(changed and arguments.check)


if __name__ == "__main__":
    sys.exit(main())
