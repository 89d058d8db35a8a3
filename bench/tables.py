#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the tables of measurements into the documents, from the files in bench/results/.

    bench/tables.py [--check]

A table stands between two comments, the first of which names its kind and its file:

    <!-- measured: targets cpu-2core-epyc.json -->
    <!-- end of measured -->

With --check nothing is written, and the status is 1 where a document would change.
"""

import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
DOCUMENTS = [ROOT / "docs" / name for name in ("detectors.md", "performance.md")]

MARKED = re.compile(r"(<!-- measured: (\w+) (\S+\.json) -->\n).*?(<!-- end of measured -->)",
                    re.DOTALL)
ENOUGH_VECTORS = 2000    # fewer say nothing of a bit error rate

# What a peer's method is compared with.
COUNTERPARTS = {
    "FULL_ENUM_MAXLOG": "mla", "FULL_ENUM_LOGMAP": "omap", "ZF_LOGMAP": "zf",
    "kbest16": "kbest(k=16)", "kbest64": "kbest(k=64)", "ep": "ep", "mmsepic": "mmsepic",
    "lmmse": "mmse"}
NAMES = {"qpsk": "QPSK", "qam16": "16-QAM", "qam64": "64-QAM", "": ""}


def number(value):
    """Three digits, in plain notation."""
    if value is None:
        return "-"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"


def duration(seconds):
    return f"{number(1e6 * seconds)} us" if seconds < 1e-3 else f"{number(1e3 * seconds)} ms"


def percent(value):
    return "-" if value is None else f"{100 * value:.0f} %"


def error_rate(row):
    if row["vectors_compared"] < ENOUGH_VECTORS:
        return "-"
    return f"{row['ber']:.1e}" if row["ber"] else f"< {3 / row['bits_compared']:.0e}"


def markdown(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def best_isa(results):
    return [row for row in results["results"] if row["isa"] == results["results"][0]["isa"]]


def four_by_four(rows):
    """Those with one matrix per vector."""
    return [row for row in rows if row["num_tx"] == row["num_rx"] == 4
            and row["symbols_per_channel"] == 1]


def targets(results):
    rows = [row for row in best_isa(results) if "target_mbit_per_s" in row]
    return markdown(
        ["case", "", "Mbit/s", "at least", "reached", "limit", "share of it", "vectors/s"],
        [[row["label"], NAMES[row["constellation"]], number(row["mbit_per_s"]),
          number(row["target_mbit_per_s"]), percent(row["of_target"]),
          number(row["limit_mbit_per_s"][row["limited_by"]])
          + ("" if row["limited_by"] == "arithmetic" else f" ({row['limited_by']})"),
          percent(row["of_limit"]), f"{row['vectors_per_s']:.2e}"] for row in rows])


def detectors(results):
    """All of them by falling rate, three settings side by side."""
    settings = ((4, "qam16"), (4, "qam64"), (8, "qam16"))
    found = {}
    for row in best_isa(results):
        if row["symbols_per_channel"] == 1:
            # N-way with all passes has another N with 8 antennas
            full = row["parameters"].get("num_passes") == row["num_tx"]
            name = "nway, all passes" if full else row["label"]
            found.setdefault(name, {})[row["num_tx"], row["constellation"]] = row
    order = sorted((name for name in found if settings[0] in found[name]),
                   key=lambda name: -found[name][settings[0]]["mbit_per_s"])
    lines = []
    for name in order:
        line = [name]
        for setting in settings:
            row = found[name].get(setting)
            line += [number(row["mbit_per_s"]), error_rate(row)] if row else ["", ""]
        lines.append(line)
    return markdown(["detector", "16-QAM Mbit/s", "bit error rate", "64-QAM Mbit/s",
                     "bit error rate", "8x8 16-QAM Mbit/s", "bit error rate"], lines)


def isas(results):
    """The cases with targets, one column for each instruction set."""
    found = {}
    for row in four_by_four(results["results"]):
        key = row["label"], row["constellation"]
        found.setdefault(key, {})[row["isa"]] = row["mbit_per_s"]
    names = list(dict.fromkeys(row["isa"] for row in results["results"]))
    return markdown(["case", "", *names],
                    [[label, NAMES[constellation], *(number(rates[name]) for name in names)]
                     for (label, constellation), rates in found.items() if len(rates) > 1])


def peers(results):
    """Each method of another project beside ours."""
    ours = {(row["label"], row["constellation"]): row
            for row in four_by_four(best_isa(results))}
    lines = []
    for row in results["peers"]:
        mine = ours[COUNTERPARTS[row["method"]], row["constellation"]]
        threads = row["threads"]
        lines.append([f"{row['peer'].split(',')[0]} {row['method']}", NAMES[row["constellation"]],
                      str(threads), number(row["mbit_per_s"]), error_rate(row),
                      f"`{mine['label']}`", number(mine["mbit_per_s"]), error_rate(mine),
                      number(mine["mbit_per_s"] / row["mbit_per_s"] * threads
                             / results["threads"])])
    return markdown(["peer", "", "threads", "Mbit/s", "bit error rate", "ours", "Mbit/s",
                     "bit error rate", "times, per thread"], lines)


def threads(results):
    counts = sorted({row["threads"] for row in results["results"]})
    found = {}
    for row in results["results"]:
        found.setdefault((row["label"], row["constellation"]), {})[row["threads"]] = row
    lines = []
    for (label, constellation), rows in found.items():
        alone = rows[1].get("mbit_per_s")
        lines.append([label, NAMES[constellation], number(alone),
                      *(percent(rows[count]["of_linear"]) for count in counts[1:])])
    return markdown(["case", "", "Mbit/s with one thread",
                     *(f"{count} threads" for count in counts[1:])], lines)


def antennas(results):
    kinds = list(dict.fromkeys((row["detector"], row["constellation"])
                               for row in results["results"]))
    found = {(row["detector"], row["constellation"], row["num_tx"]): row
             for row in results["results"]}
    lines = []
    for count in sorted({row["num_tx"] for row in results["results"]}):
        line = [str(count)]
        for kind in kinds:
            row = found[(*kind, count)]
            line.append(f"{number(1e7 / row['vectors_per_s'])} ({number(row['speedup'])})")
        lines.append(line)
    return markdown(["antennas", *(f"{name} {NAMES[constellation]}"
                                   for name, constellation in kinds)], lines)


def batch(results):
    kinds = list(dict.fromkeys((row["label"], row["threads"]) for row in results["results"]))
    found = {(row["label"], row["threads"], row["vectors"]): row for row in results["results"]}
    lines = []
    for size in sorted({row["vectors"] for row in results["results"]}):
        rows = [found[(*kind, size)] for kind in kinds]
        lines.append([str(size), *(f"{duration(row['seconds'])}, {number(row['mbit_per_s'])}"
                                   for row in rows)])
    return markdown(["vectors", *(f"{label}, {count} thread{'s' * (count > 1)}"
                                  for label, count in kinds)], lines)


def flowgraph(results):
    return markdown(
        ["block", "threads", "Mvectors/s", "of the no-op", "at least",
         "on arrays, Mvectors/s", "of the slower of both"],
        [[row["label"], str(row["threads"]), number(row["vectors_per_s"] / 1e6),
          percent(row.get("of_no_op")), percent(row.get("target_of_no_op")),
          number(row["arrays_vectors_per_s"] / 1e6) if "arrays_vectors_per_s" in row else "-",
          percent(row.get("of_slower"))] for row in results["results"]])


def packets(results):
    """What became of a recording's packets, the fewest losses first."""
    rows = sorted(results["detectors"], key=lambda row: (
        row["packet_error_rate"], row["bit_error_rate_before_decoding"]))
    return markdown(
        ["detector", "packets lost", "bit error rate before decoding"],
        [[f"`{row['detector']}`",
          f"{row['packets_sent'] - row['packets_decoded']} of {row['packets_sent']}",
          f"{row['bit_error_rate_before_decoding']:.2e}"] for row in rows])


KINDS = {kind.__name__: kind for kind in (targets, detectors, isas, peers, threads, antennas,
                                          batch, flowgraph, packets)}


def render(kind, name):
    """A table and the line that says where it comes from."""
    results = json.loads((RESULTS / name).read_text())
    machine = results["machine"]
    threads = results.get("threads", machine["threads"])
    return (f"{KINDS[kind](results)}\n\n"
            f"[{name}](../bench/results/{name}): {machine['processor']}, {threads} threads, "
            f"`{machine['command']}`, commit {machine['commit']}.\n")


def update(text):
    """A document with its tables written anew."""
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
