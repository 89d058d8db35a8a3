# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the tables of docs/reproduction.md, which compare the papers with our results.

bench/tables.py writes them. The functions in FROM_FILE make a table of one file of results, those
in FROM_FOLDER of several. Figures of the papers are from their text. The times of 000 and 001 are
in suites/gpu_sweeps.py, the speeds of 004 in psd_distribution.py.
"""

import json

import numpy as np
from gnuradio.mimopack.apps.bench.table import Table, number, percent
from psd_distribution import PAPER as PAPER_004
from suites.tables import NAMES, best_isa

FIGURE_3 = ("001-fig3-qam16.json", "001-fig3-qam64.json")
FIGURE_7 = "002-fig7.json"
LIMITS = "llr-clipping-2core-xeon.json"
# Curves of figure 3 by our detectors: name, and what 001 says.
CURVES = {"nway:num_passes=1,llr_clip=8": ("N-way, N = 1 (SSFE)", "up to 2 dB worse than ML"),
          "nway:num_passes=2,llr_clip=8": ("N-way, N = 2", "better than trellis"),
          "nway:num_passes=3,llr_clip=8": ("N-way, N = 3", "similar to K-best"),
          "nway:num_passes=4,llr_clip=None": ("N-way, N = 4, not clipped",
                                              "close to exhaustive search"),
          "nway:num_passes=4,llr_clip=8": ("N-way, N = 4, clipped", ""),
          "kbest": ("K-best, K = 64 with 16-QAM, 256 with 64-QAM", ""),
          "trellis": ("trellis", ""), "softsphere:llr_clip=8": ("ML", "")}
# Text of 004 about figure 10: nodes per thread, and the share of ASD's work that a thread saves.
PSD_NODES, ASD_NODES = 260, 7500    # 4x4 64-QAM at 5 dB
SAVED = {5: 0.97, 20: 0.95}


def load(folder, name):
    return json.loads((folder / name).read_text())


def link(name):
    return f"[{name}](../bench/results/{name})"


def curve(results, detector, rate):
    """Return [(SNR, rate)] of a detector by SNR; its parameters may be left out if it is alone."""
    return sorted((row["at_db"], rate(row)) for row in results["results"]
                  if detector in (row["detector"], row["detector"].split(":")[0]))


def needed(points, level):
    """Return the SNR at which a curve falls to a level, interpolated in its logarithm, or None."""
    for (low, above), (high, below) in zip(points[:-1], points[1:], strict=True):
        if above >= level > below:
            share = np.log(above / level) / np.log(above / max(below, 1e-12))
            return low + (high - low) * float(share)
    return None


def to_ml(results):
    """Return {curve: (SNR at a frame error rate of 1e-2, distance to ML)} of a file of figure 3."""
    snrs = {name: needed(curve(results, name, lambda row: row["fer"][-1]), 1e-2) for name in CURVES}
    ml = snrs["softsphere:llr_clip=8"]
    return {name: (snr, snr - ml) for name, snr in snrs.items()}


def frame_errors_001(folder):
    """Compare the detectors of figure 3 of 001 with ML."""
    both = [to_ml(load(folder, name)) for name in FIGURE_3]
    return [Table(["detector", "SNR, 16-QAM", "distance to ML", "SNR, 64-QAM", "distance to ML",
                   "001 says"],
                  [[spelled, *(f"{value:{form}}" if spelled != "ML" or form == ".2f" else ""
                               for found in both
                               for value, form in zip(found[name], (".2f", "+.2f"), strict=True)),
                    says] for name, (spelled, says) in CURVES.items()])]


def limits_001(folder):
    """Return the wrong frames by the limit of the LLRs at 13 dB."""
    rows = {row["detector"]: row for row in load(folder, LIMITS)["results"]}

    def cell(*names):
        row = next((rows[name] for name in names if name in rows), None)
        errors = row and row["counts"]["frame_errors"][-1]
        return "" if row is None else (
            number(1e3 * row["fer"][-1]) if errors else f"0 of {row['frames']} frames")

    detectors = {f"N-way, N = {n}": f"nway:num_passes={n}" for n in (1, 2, 3)} | {
        "N-way, N = 4": "nway", "FPFSD": "fpfsd", "SFSD": "sfsd"}
    return [Table(["detector", "limit 8", "limit 16", "no limit"],
                  [[spelled, cell(name, f"{name},llr_clip=8"), cell(f"{name},llr_clip=16"),
                    cell(f"{name}:llr_clip=None")] for spelled, name in detectors.items()])]


def passes_002(results):
    """Return {feedback: [SNR at a bit error rate of 1e-3 after each pass]} and those of ZF-SIC."""
    needs = {}
    for scale in ("1", "0.4"):
        name = f"bitflip:feedback_scale={scale}"
        needs[scale] = [needed(curve(results, name, lambda row, at=at: row["ber"][at]), 1e-3)
                        for at in range(results["parameters"]["iterations"])]
    needs["coded"] = needed(curve(results, "zfsic", lambda row: row["ber"][-1]), 1e-3)
    needs["uncoded"] = needed(curve(results, "zfsic", lambda row: row["ber_before_decoding"]), 1e-3)
    return needs


def bit_errors_002(folder):
    """Return the SNRs that the receivers of figure 7 of 002 need."""
    results = load(folder, FIGURE_7)
    needs, last = passes_002(results), max(row["at_db"] for row in results["results"])

    def cell(snr):
        return f"{snr:.2f}" if snr else f"beyond {last:g}"

    times = ("without feedback", "with feedback once", "with feedback twice",
             "with feedback three times", "with feedback four times")
    return [Table(["receiver", "feedback unchanged", "feedback times 0.4"], [
        ["hard ZF-SIC, uncoded", cell(needs["uncoded"]), ""],
        ["hard ZF-SIC, coded", cell(needs["coded"]), ""],
        *([f"bit flipping, {when}", cell(plain), cell(scaled) if feedback else ""]
          for feedback, (when, plain, scaled) in enumerate(
              zip(times, needs["1"], needs["0.4"], strict=True)))])]


def growth_000(folder):
    """Compare a GPU's speed with two CPU threads', as the detectors grow."""
    gpu = load(folder, "gpu-detectors-h200.json")
    cpu = {(row["label"], row["num_tx"], row["constellation"]): row["mbit_per_s"]
           for row in best_isa(load(folder, "cpu-16core-xeon.json"))
           if row["symbols_per_channel"] == 1}
    rows = []
    for row in gpu["results"]:
        key = row["label"], row["num_tx"], row["constellation"]
        if row["label"] in ("sfsd", "fpfsd") and key in cpu:
            rows.append([row["label"], f"{row['num_tx']}x{row['num_tx']}",
                         NAMES[row["constellation"]], number(cpu[key]),
                         number(row["mbit_per_s"]), number(row["mbit_per_s"] / cpu[key])])
    return [Table(["detector", "antennas", "constellation", "2 CPU threads, Mbit/s",
                   "H200, Mbit/s", "H200 over CPU"], sorted(rows)),
            f"Results: {link('gpu-detectors-h200.json')} and {link('cpu-16core-xeon.json')}. "
            "Commands: `mimopack bench --suite gpu` and `mimopack bench --suite cpu`."]


def sharing_gains(results):
    """Return {way: gain} of the ways to share the receiver's work that 002 draws."""
    rates = {row["way"]: row["codewords_per_s"] for row in (*results["sharing"],
                                                            *results["devices"])}
    batches = {(row["way"], row["codewords"]): row["codewords_per_s"] for row in results["batches"]}
    return {"two GPUs": rates["two GPUs"] / rates["one GPU"],
            "CPU": rates["GPU and CPU together"] / rates["one GPU"],
            "streams": rates["two streams of the GPU"] / rates["one GPU"],
            **{size: batches["graph", size] / batches["calls", size] for size in (1, 64, 512)}}


def sharing_002(results):
    """Return what the ideas of figures 8 to 10 of 002 gain."""
    gains = sharing_gains(results)
    graphs = ", ".join(f"{gains[size]:.2g} with {size} codeword{'s' * (size > 1)}"
                       for size in (1, 64, 512))
    return [Table(["figure of 002", "idea", "ours", "our gain"], [
        ["8", "CPU threads give codewords to two GPUs", "a receiver for each GPU, over one GPU",
         f"{gains['two GPUs']:.2f}"],
        ["8", "CPU and GPUs work together",
         "a GPU and 32 CPU threads both detect and decode, over the GPU alone",
         f"{gains['CPU']:.2f}"],
        ["9", "a stream for each CPU thread (Hyper-Q)",
         "two receivers on two streams of a GPU, over one", f"{gains['streams']:.2f}"],
        ["10", "kernels start kernels (dynamic parallelism)",
         "a CUDA graph of all passes, over calls from the CPU", graphs]])]


def at_20_db(results, constellation):
    """Return {name: Mbit/s} of the ways that compare with 004, in a file of psd_distribution.py."""
    rates = {(row["team_size"], row["distribution"], row["launches"], row["streams"]):
             row["mbit_per_s"] for row in results["results"]
             if row["snr_db"] == 20 and row["constellation"] == constellation}
    return {"one_stream": rates[64, "static", 1, 1], "streams": rates[64, "dynamic", 8, 8],
            "thread": rates[1, "dynamic", 8, 8]}


def speeds_004(results):
    """Compare table 5 of 004, and what is known of figure 9, with our speeds at 20 dB."""
    measured = {row["constellation"] for row in results["results"]}
    rows = []
    for antennas, of_constellation in PAPER_004.items():
        for constellation, paper in of_constellation.items():
            row = [f"{antennas}x{antennas}", NAMES[constellation], number(paper["one_stream"]),
                   number(paper.get("streams"))]
            if antennas == 4 and constellation in measured:
                ours = at_20_db(results, constellation)
                row += [cell for name in ("one_stream", "streams")
                        for cell in (number(ours[name]), number(ours[name] / paper[name]))]
                row += [number(ours["thread"]), number(ours["thread"] / paper["streams"])]
            else:
                row += ["not measured", "", "not measured", "", "not measured", ""]
            rows.append(row)
    return [Table(["antennas", "constellation", "004, table 5, Mbit/s", "004, 32 streams, Mbit/s",
                   "ours, 64 threads per vector, one launch, Mbit/s", "over table 5",
                   "the same, 8 streams, Mbit/s", "over 004's 32 streams",
                   "ours, one thread per vector, 8 streams, Mbit/s", "over 004's 32 streams"],
                  rows)]


def stream_gains_004(results):
    """Return what several streams gain over one, for the same 8 launches at 20 dB."""
    rates = {(row["constellation"], row["team_size"], row["distribution"], row["streams"]):
             row["mbit_per_s"] for row in results["results"]
             if row["snr_db"] == 20 and row["launches"] == 8}
    cases = list(dict.fromkeys(case[:3] for case in rates))
    return [Table(["constellation", "threads per vector", "distribution",
                   "8 streams over one, % faster"],
                  [[NAMES[constellation], str(team), how,
                    percent(rates[constellation, team, how, 8]
                            / rates[constellation, team, how, 1] - 1)]
                   for constellation, team, how in cases])]


def by_search(results):
    """Return {(antennas, constellation, SNR): {search: row}} of bench/node_counts.py."""
    found = {}
    for row in results["results"]:
        found.setdefault((row["num_tx"], row["constellation"], row["snr_db"]), {})[
            row["search"]] = row
    return found


def saved(rows):
    """Return the share of ASD's nodes that a thread of PSD saves."""
    return 1 - rows["PSD"]["nodes_per_thread"] / rows["ASD"]["nodes_per_thread"]


def nodes_004(results):
    """Compare figure 10 of 004 with our counts, at the SNRs that its text names."""
    rows = []
    for (antennas, constellation, snr), own in by_search(results).items():
        if snr not in SAVED:
            continue
        largest = (antennas, constellation) == (4, "qam64")
        says = ([f"{PSD_NODES}, {ASD_NODES}; " * (snr == 5) + f"{percent(SAVED[snr])} %"]
                if largest else ["90 to 97 %" if antennas == 4 else ""])
        rows.append([f"{antennas}x{antennas}", NAMES[constellation], f"{snr:g}",
                     str(own["PSD"]["threads"]),
                     *(f"{number(own[name]['nodes_per_thread'])} ± "
                       f"{number(2 * own[name]['nodes_per_thread_std_error'])}"
                       for name in ("SD", "SD, default", "ASD", "PSD")),
                     percent(saved(own)), *says])
    return [Table(["antennas", "constellation", "SNR, dB", "threads of PSD", "SD",
                   "SD, our default", "ASD", "PSD, one thread", "saved over ASD, %",
                   "004 says (PSD, ASD; saved)"], rows)]


def span(values):
    """Return the smallest and the largest value in words."""
    return f"{number(min(values))} to {number(max(values))}"


def summary(folder):
    """Return the table at the top: what is reproduced, and ours over the papers'."""
    slot, psd = load(folder, "gpu-slot-h200.json"), load(folder, "gpu-psd-h200.json")
    nodes = by_search(load(folder, "node-counts-2core-xeon.json"))[4, "qam64", 5]
    gains = sharing_gains(load(folder, "iterative-rates-2xh200.json"))
    first = [to_ml(load(folder, name))["nway:num_passes=1,llr_clip=8"][1] for name in FIGURE_3]
    exact = [np.divide(row["paper_seconds"], row["seconds"][:3]) for row in slot["exact"]
             if row["label"] in ("omap", "mla(method=plain)")]
    kernels = [row["paper_seconds"] / row["seconds"] for row in slot["results"]]
    calls = [row["paper_total_seconds"] / row["total_seconds"]["pinned"]
             for row in slot["results"]]
    psd_ours = {name: at_20_db(psd, name) for name in ("qpsk", "qam16")}
    needs = passes_002(load(folder, FIGURE_7))

    def over(ours, theirs):
        return span([psd_ours[name][ours] / PAPER_004[4][name][theirs] for name in psd_ours])

    return [Table(["figure", "reproduced", "ours over theirs"], [
        ["[000, table 2](#000-table-2-exact-and-max-log-llrs)", "yes",
         "speed: " + "; ".join(
             f"{name} {number(threads)} (16 threads over 48), {number(gpu)} (H200 over K20Xm)"
             for name, (_, threads, gpu) in zip(("OMAP", "MLA"), exact, strict=True))],
        ["[000, figures 3 and 4](#000-figures-3-and-4-more-antennas)",
         "in part: speed-ups with CPU threads; on a GPU only with 4 and 8 antennas",
         "none: 000's values are only a picture"],
        ["[001, figure 3](#001-figure-3-frame-error-rates-of-detectors)",
         "yes: order of the curves; 001's values are only a picture",
         f"N = 1 is {first[0]:.2f} and {first[1]:.2f} dB behind ML, in 001 up to 2 dB"],
        ["[001, table I](#001-tables-i-to-iii-times-of-a-slot)",
         "in part: only together with table II, since one kernel does both", "see table II"],
        ["[001, table II](#001-tables-i-to-iii-times-of-a-slot)", "yes",
         f"speed, H200 over GTX 560 Ti, with table I: {span(kernels)}"],
        ["[001, table III](#001-tables-i-to-iii-times-of-a-slot)", "yes",
         f"speed, H200 over GTX 560 Ti: {span(calls)}"],
        ["[002, figure 7](#002-figure-7-bit-error-rates-of-the-iterative-receiver)",
         "in part: order of the curves; 002's code is not known in full",
         "none: 002's values are only a picture. Feedback gains "
         f"{needs['1'][0] - min(needs['1']):.1f} dB"],
        ["[002, figures 8 to 10](#002-figures-8-to-10-sharing-the-work)",
         "in part: they are drawings without figures; we measured what the ideas gain",
         f"none; gains {gains['two GPUs']:.2f}, {gains['streams']:.2f} and {gains[1]:.2g}"],
        ["[003, figure 2](#003-figure-2-the-tree-of-the-soft-fixed-sphere-decoder)",
         "yes: the candidates", "1 (16 candidates)"],
        ["[004, table 5](#004-table-5-figure-9-and-table-6-speed-of-the-parallel-sphere-detector)",
         "in part: two of six settings",
         f"speed, H200 over GTX 690: {over('one_stream', 'one_stream')}"],
        ["[004, figure 9](#004-table-5-figure-9-and-table-6-speed-of-the-parallel-sphere-detector)",
         "in part: 4x4 with QPSK and 16-QAM; most values of 004 are only a picture",
         f"speed at 20 dB, H200 over GTX 690: {over('streams', 'streams')}"],
        ["[004, table 6](#004-table-5-figure-9-and-table-6-speed-of-the-parallel-sphere-detector)",
         "yes: both columns of PSD",
         f"speed, H200 over GTX 690: {over('streams', 'streams')}; with a thread per vector "
         f"{over('thread', 'streams')}"],
        ["[004, figure 10](#004-figure-10-nodes-of-a-thread)", "yes",
         f"nodes of a thread of PSD: {nodes['PSD']['nodes_per_thread'] / PSD_NODES:.2f}; of ASD: "
         f"{nodes['ASD']['nodes_per_thread'] / ASD_NODES:.2f}"]])]


FROM_FILE = {kind.__name__: kind for kind in (sharing_002, speeds_004, stream_gains_004, nodes_004)}
FROM_FOLDER = {kind.__name__: kind for kind in (
    summary, growth_000, frame_errors_001, limits_001, bit_errors_002)}
