#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the tables of measurements into the documents, from the files in bench/results/.

    bench/tables.py [--check]

A table stands between two comments. The first comment names the kind of table and its file:

    <!-- measured: targets cpu-2core-epyc.json -->
    <!-- end of measured -->

The kinds are the tables of the suites (bench/suites/tables.py) and those defined below. With
--check, the script writes nothing and exits with 1 if a document would change. It needs an
importable gnuradio.mimopack.
"""

import argparse
import json
import re
import sys
from pathlib import Path

from gnuradio.mimopack.apps.bench.table import Table, markdown, number, percent, thread_count
from suites import tables as of_suites

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
DOCUMENTS = sorted((ROOT / "docs").glob("*.md"))

MARKED = re.compile(r"(<!-- measured: (\w+) (\S+\.json) -->\n).*?(<!-- end of measured -->)",
                    re.DOTALL)


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


def sionna_link(results):
    """Return the times of Sionna's detectors and ours in Sionna's PUSCH link, and the gain."""
    def milliseconds(row, name):
        return f"{1e3 * row[name + '_s']:.3g}" if name + "_s" in row else "-"

    def factor(row, name):
        return f"{row[name]:.3g}" if name in row else "-"

    return [Table(
        ["method", "receive antennas", "mode", "Sionna's detector, ms", "ours, ms",
         "speed-up of the detector", "Sionna's detector: share of the link", "speed-up of the link",
         "blocks lost: Sionna", "ours"],
        [[row["method"], str(row["antennas"]), row["mode"], milliseconds(row, "sionna_detector"),
          milliseconds(row, "ours_detector"), factor(row, "detector_speedup"),
          f"{row['sionna_share_of_link']:.0%}" if "sionna_share_of_link" in row else "-",
          factor(row, "link_speedup"), f"{row['sionna_blocks_lost']} of {row['blocks']}",
          str(row["ours_blocks_lost"])]
         for row in results["results"]])]


def noise_cov(results):
    """Return the time of detect() with a covariance of the noise, relative to its variance."""
    return [Table(
        ["detector", "receive antennas x layers", "vectors per matrix", "matrices",
         "with `noise_var`, ms", "one covariance: ratio", "one per matrix: ratio"],
        [[f"`{row['detector']}`", f"{row['num_rx']}x{row['num_tx']}",
          str(row["symbols_per_channel"]), str(row["matrices"]),
          f"{1e3 * row['noise_var_s']:.3g}",
          *(f"{row[f'{key}_ratio']:.2f}" for key in ("one", "each"))]
         for row in results["results"]])]


def node_counts(results):
    """Return the mean number of nodes that a thread visits, at the SNRs that 004's text names."""
    rows = {}
    for row in results["results"]:
        if row["snr_db"] in (5, 20):
            setting = row["num_tx"], row["constellation"], row["snr_db"]
            rows.setdefault(setting, {})[row["search"]] = row

    def nodes(row):
        mean, error = row["nodes_per_thread"], row["nodes_per_thread_std_error"]
        return f"{number(mean)} ± {number(2 * error)}"

    def line(antennas, constellation, snr, found):
        saved = 1 - found["PSD"]["nodes_per_thread"] / found["ASD"]["nodes_per_thread"]
        return [f"{antennas}x{antennas}", of_suites.NAMES[constellation], f"{snr:g}",
                *(nodes(found[name]) for name in ("SD", "SD, default", "ASD", "PSD")),
                str(found["PSD"]["threads"]), percent(saved)]

    return [Table(["antennas", "constellation", "SNR, dB", "SD, as Algorithm 1", "SD, our default",
                   "ASD", "PSD, one thread", "threads of PSD", "saved over ASD, %"],
                  [line(*setting, found) for setting, found in rows.items()])]


def soft_lists(results):
    """Return the SNR that each detector needs before a decoder, and its time, by case."""
    cases, lines = [], {}
    for row in results["results"]:
        antennas = f"{row['num_tx']}x{row['num_tx']} {of_suites.NAMES[row['constellation']]}"
        if antennas not in cases:
            cases.append(antennas)
        lines.setdefault(row["detector"], [f"`{row['detector']}`"]).extend(
            [f"{row['snr_db']:.2f}", number(row["us_per_vector"])])
    return [Table(["detector", *(text for case in cases for text in (f"{case}: SNR, dB", "us"))],
                  list(lines.values()))]


OTHERS = {"recording_frames": recording_frames, "sionna_link": sionna_link, "noise_cov": noise_cov,
          "node_counts": node_counts, "soft_lists": soft_lists}


def render(kind, name):
    """Return a table, and where its figures were measured."""
    results = json.loads((RESULTS / name).read_text())
    machine = results["machine"]
    place = machine["processor"].replace("(R)", "").replace(" Processor", "")
    place += f" with {thread_count(results.get('threads', machine['threads']))}"
    if "gpu" in machine:
        place = f"{machine['gpu']['name']} and {place}"
    table = OTHERS.get(kind) or getattr(of_suites, kind)
    return (f"{markdown(table(results))}\n\n"
            f"[{place}, commit {machine['commit'][:8]}](../bench/results/{name})\n")


def update(text):
    """Return a document with its tables rewritten."""
    return MARKED.sub(lambda match: match[1] + render(match[2], match[3]) + match[4], text)


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
