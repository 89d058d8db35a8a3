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
NAMES = {"qpsk": "QPSK", "qam16": "16-QAM", "qam64": "64-QAM", "qam256": "256-QAM", "": ""}


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


def on(row):
    """Where a row of a flowgraph was measured."""
    if row.get("backend") == "cuda":
        return "GPU"
    return f"{row['threads']} thread{'s' * (row['threads'] > 1)}"


def gigabits(row, name="mbit_per_s"):
    return number(row[name] / 1e3) if row.get(name) is not None else "-"


def without(results):
    """Lines that say which rows are missing, and why."""
    lines = [f"Missing: {row['label']} {NAMES[row['constellation']]}, {row['reason']}."
             for row in results["missing"]]
    lines += [f"Missing: {name}, {why}." for name, why in results.get("peers_missing", {}).items()]
    return "".join(f"\n\n{line}" for line in lines)


def gpu(results):
    """The cases with targets."""
    rows = [row for row in results["results"] if "target_mbit_per_s" in row]
    return markdown(
        ["case", "", "Gbit/s", "at least", "reached", "limit", "share of it", "registers",
         "local memory, bytes", "blocks of a multiprocessor", "first call"],
        [[row["label"], NAMES[row["constellation"]], gigabits(row),
          gigabits(row, "target_mbit_per_s"), percent(row["of_target"]),
          f"{number(row['limit_mbit_per_s'][row['limited_by']] / 1e3)} ({row['limited_by']})",
          percent(row["of_limit"]), *kernel(row)] for row in rows]) + without(results)


def kernel(row):
    """What it takes of a multiprocessor, and until it first ran."""
    taken = row["kernel"]
    return [str(taken[name]) for name in ("registers", "local_bytes", "blocks_per_processor")] + [
        f"{row['first_call_seconds']:.1f} s"]


def gpu_detectors(results):
    rows = sorted(results["results"], key=lambda row: (
        row["num_tx"], NAMES[row["constellation"]], -row["mbit_per_s"]))
    return markdown(
        ["detector", "", "Gbit/s", "vectors/s", "bit error rate", "limit", "share of it",
         "registers", "local memory, bytes", "blocks of a multiprocessor", "first call"],
        [[row["label"], f"{row['num_tx']}x{row['num_rx']} {NAMES[row['constellation']]}",
          gigabits(row), f"{row['vectors_per_s']:.2e}", error_rate(row), row["limited_by"],
          percent(row["of_limit"]), *kernel(row)] for row in rows])


def gpu_peers(results):
    """Sionna's methods beside ours."""
    ours = {(row["label"], row["constellation"]): row
            for row in four_by_four(results["results"])}
    lines = []
    for row in results["peers"]:
        mine = ours.get((COUNTERPARTS[row["method"]], row["constellation"]))
        lines.append([
            f"{row['peer'].split(',')[0]} {row['method']}, {row['mode']}",
            NAMES[row["constellation"]], f"{row['vectors']}", gigabits(row), error_rate(row),
            *([f"`{mine['label']}`", gigabits(mine), error_rate(mine),
               number(mine["mbit_per_s"] / row["mbit_per_s"])] if mine else ["-"] * 4)])
    return markdown(["peer", "", "vectors of a call", "Gbit/s", "bit error rate", "ours", "Gbit/s",
                     "bit error rate", "times"], lines)


def gpu_picture(results):
    """What bench/picture.py draws of the same file."""
    return ("![bit error rate against Gbit/s of our detectors and Sionna's, 4x4 and 8x8 16-QAM]"
            "(images/gpu.png)")


def by_size(results):
    """{label: {where: {vectors: row}}}"""
    found = {}
    for row in results["results"]:
        found.setdefault(row["label"], {}).setdefault(row["where"], {})[row["vectors"]] = row
    return found


def gpu_batch(results):
    """Time of a call and Mbit/s."""
    tables = []
    for label, places in by_size(results).items():
        lines = []
        for size in sorted(places["device"]):
            rows = [places[where].get(size) for where in places]
            lines.append([str(size), *(
                f"{duration(row['seconds'])}, "
                f"{number(row.get('queued_mbit_per_s', row['mbit_per_s']))}" if row else ""
                for row in rows)])
        names = {"device": "data on the GPU"} | {
            where: f"{where} memory" for where in ("pinned", "ordinary")}
        tables.append(markdown(
            [f"{label}, vectors", *(names.get(where, where) for where in places)], lines))
    return "\n\n".join(tables) + without(results)


def gpu_crossover(results):
    """The smallest of the sizes from which on a GPU's call takes less time than a CPU's."""
    lines = []
    for label, places in by_size(results).items():
        for rival in (where for where in places if where.endswith("threads")):
            line = [label, rival]
            for where in ("device", "pinned", "ordinary"):
                slower = [size for size, row in places[rival].items()
                          if places[where][size]["seconds"] >= row["seconds"]]
                later = [size for size in places[rival] if size > max(slower, default=0)]
                line.append(str(min(later)) if later else f"over {max(slower)}")
            lines.append(line)
    return markdown(["detector", "CPU", "data on the GPU", "pinned memory", "ordinary memory"],
                    lines)


def gpu_slot(results):
    """Tables I to III of 001 beside ours."""
    return markdown(
        ["antennas", "", "N", "kernel", "001: QR and detection", "times", "with transport, pinned",
         "ordinary memory", "001: total", "times"],
        [[f"{row['num_tx']}x{row['num_tx']}", NAMES[row["constellation"]], str(row["passes"]),
          f"{duration(row['seconds'])}, {gigabits(row)} Gbit/s", duration(row["paper_seconds"]),
          number(row["paper_seconds"] / row["seconds"]),
          duration(row["total_seconds"]["pinned"]), duration(row["total_seconds"]["ordinary"]),
          duration(row["paper_total_seconds"]),
          number(row["paper_total_seconds"] / row["total_seconds"]["pinned"])]
         for row in results["results"]]) + without(results)


def gpu_exact(results):
    """Table 2 of 000 beside ours."""
    threads = results["exact"][0]["threads"] if results["exact"] else 0
    return markdown(
        ["detector", "one plain thread", f"{threads} threads", "GPU", "GPU, data there",
         "000: sequential", "000: 48 threads", "000: GPU"],
        [[row["label"], *(f"{duration(seconds)} ({number(row['seconds'][0] / seconds)})"
                          for seconds in row["seconds"]),
          *(f"{seconds} s ({number(row['paper_seconds'][0] / seconds)})"
            for seconds in row["paper_seconds"])] for row in results["exact"]])


def gpu_link(results):
    return markdown(
        ["detector", "memory", "Mvectors/s", "the link alone, Mvectors/s", "of it", "at least"],
        [[row["label"], row["where"], number(row["vectors_per_s"] / 1e6),
          number(row["link_vectors_per_s"] / 1e6), percent(row["of_link"]),
          percent(row.get("target_of_link"))] for row in results["results"]]) + without(results)


def gpu_devices(results):
    return markdown(
        ["detector", "first GPU, Gbit/s", "second GPU", "both", "times the first", "at least"],
        [[row["label"], *(number(rate / 1e3) for rate in row["single_mbit_per_s"]), gigabits(row),
          f"{row['speedup']:.2f}", number(row["target_speedup"])]
         for row in results["results"]]) + without(results)


def gpu_profile(results):
    """What ncu said of each kernel."""
    columns = results["columns"]
    return markdown(
        ["case", "", *columns, "warps wait for, cycles of an instruction"],
        [[row["label"], NAMES[row["constellation"]],
          *(number(row["values"].get(name)) for name in columns),
          ", ".join(f"{why.replace('_', ' ')} {number(cycles)}"
                    for why, cycles in row["stalls"].items())]
         for row in results["results"]]) + without(results)


def flowgraph(results):
    def wanted(row):
        rate = row.get("target_vectors_per_s")
        return percent(row.get("target_of_no_op")) + (
            f" and {number(rate / 1e6)} Mvectors/s" if rate else "")

    return markdown(
        ["block", "on", "Mvectors/s", "of the no-op", "at least",
         "on arrays, Mvectors/s", "of the slower of both"],
        [[row["label"], on(row), number(row["vectors_per_s"] / 1e6),
          percent(row.get("of_no_op")), wanted(row),
          number(row["arrays_vectors_per_s"] / 1e6) if "arrays_vectors_per_s" in row else "-",
          percent(row.get("of_slower"))] for row in results["results"]])


def recording_frames(results):
    """Frames of a recording that each detector decodes, by SNR, the fewest losses first."""
    rows = sorted(results["detectors"], key=lambda row: -row["frames_decoded"])
    levels = [level["snr_db"] for level in rows[0]["decoded_by_snr"]]
    return markdown(
        ["detector", "frames lost", *(f"decoded at {snr:g} dB" for snr in levels)],
        [[f"`{row['detector']}`",
          f"{row['frames_sent'] - row['frames_decoded']} of {row['frames_sent']}",
          *(f"{level['decoded']} of {level['sent']}" for level in row["decoded_by_snr"])]
         for row in rows])


def psd_distribution(results):
    """Teams by distribution and streams, at the SNR of the paper's figures."""
    found = {}
    for row in results["results"]:
        if row["snr_db"] == 20:
            found.setdefault((row["constellation"], row["team_size"], row["distribution"]), {})[
                row["launches"], row["streams"]] = row["mbit_per_s"]
    columns = sorted({column for rates in found.values() for column in rates})
    return markdown(["", "threads of a vector", "distribution",
                     *(f"{launches} launches, {streams} streams" if streams > 1
                       else f"{launches} launches" if launches > 1 else "one launch"
                       for launches, streams in columns)],
                    [[NAMES[constellation], str(team), distribution,
                      *(number(rates.get(column)) for column in columns)]
                     for (constellation, team, distribution), rates in found.items()])


def psd_by_snr(results):
    """A thread and the paper's team by SNR, in one launch with dynamic distribution."""
    found = {}
    for row in results["results"]:
        if (row["launches"], row["distribution"]) == (1, "dynamic") and row["team_size"] in (1, 64):
            found.setdefault((row["constellation"], row["team_size"]), {})[row["snr_db"]] = row
    snrs = sorted({snr for rows in found.values() for snr in rows})
    return markdown(["", "threads of a vector", *(f"{snr:.0f} dB" for snr in snrs)],
                    [[NAMES[constellation], str(team),
                      *(number(rows[snr]["mbit_per_s"]) if snr in rows else "-" for snr in snrs)]
                     for (constellation, team), rows in found.items()])


KINDS = {kind.__name__: kind for kind in (targets, detectors, isas, peers, threads, antennas,
                                          batch, flowgraph, recording_frames, gpu, gpu_detectors,
                                          gpu_peers, gpu_picture, gpu_batch, gpu_crossover,
                                          gpu_slot,
                                          gpu_exact, gpu_link, gpu_devices, gpu_profile,
                                          psd_distribution, psd_by_snr)}


def render(kind, name):
    """A table and the line that says where it comes from."""
    if not (RESULTS / name).exists():
        return f"Not measured yet: there is no bench/results/{name}.\n"
    results = json.loads((RESULTS / name).read_text())
    machine = results["machine"]
    threads = results.get("threads", machine["threads"])
    place = f"{machine['processor']}, {threads} threads"
    if "gpu" in machine:
        card = machine["gpu"]
        driver = card.get("driver") or f"for CUDA {card['driver_cuda']}"
        place = (f"{card['name']}, driver {driver}, NVRTC {card['nvrtc']}, CuPy "
                 f"{card['cupy']}; {place}")
    return (f"{KINDS[kind](results)}\n\n"
            f"[{name}](../bench/results/{name}): {place}, "
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
