# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make tables of the suites' results, for the terminal and, through ``bench/tables.py``, documents.

Each function takes results as in the JSON file, and returns ``Table`` objects and lines of text.
"""

from gnuradio.mimopack.apps.bench.table import (
    Table,
    bit_error_rate,
    duration,
    number,
    percent,
    spelled,
    thread_count,
)

# Our detector to compare with each peer's method.
COUNTERPARTS = {
    "FULL_ENUM_MAXLOG": "mla", "FULL_ENUM_LOGMAP": "omap", "ZF_LOGMAP": "zf",
    "kbest16": "kbest(k=16)", "kbest64": "kbest(k=64)", "ep": "ep", "mmsepic": "mmsepic",
    "lmmse": "mmse"}
NAMES = {"qpsk": "QPSK", "qam16": "16-QAM", "qam64": "64-QAM", "qam256": "256-QAM",
         "qam1024": "1024-QAM", "": ""}
MODES = ("eager", "compiled")
ISA_NAMES = {"avx512": "AVX-512", "avx2": "AVX2"}


def missing(results):
    """Return lines about failed measurements and their reasons."""
    lines = [f"Missing: {spelled(row['label'])} {NAMES[row['constellation']]}, {row['reason']}."
             for row in results.get("missing", ())]
    return lines + [f"Missing: {name}, {why}."
                    for name, why in results.get("peers_missing", {}).items()]


def best_isa(results):
    return [row for row in results["results"] if row["isa"] == results["results"][0]["isa"]]


def four_by_four(rows):
    """Return the rows with 4x4 antennas and one matrix per vector."""
    return [row for row in rows if row["num_tx"] == row["num_rx"] == 4
            and row["symbols_per_channel"] == 1]


def detectors(results):
    """Return all detectors by falling rate, with several settings side by side."""
    settings = ((4, "qam16"), (4, "qam64"), (8, "qam16"))
    rows = {}
    for row in best_isa(results):
        if row["symbols_per_channel"] == 1:
            # N-way with all passes has a different N with 8 antennas
            full = row["parameters"].get("num_passes") == row["num_tx"]
            name = "N-way, all passes" if full else spelled(row["label"])
            rows.setdefault(name, {})[row["num_tx"], row["constellation"]] = row
    order = sorted((name for name in rows if settings[0] in rows[name]),
                   key=lambda name: -rows[name][settings[0]]["mbit_per_s"])
    on_gpu = results["results"][0]["backend"] == "cuda"
    rate, unit = (gigabits, "Gbit/s") if on_gpu else (megabits, "Mbit/s")
    lines = []
    for name in order:
        line = [name]
        for setting in settings:
            row = rows[name].get(setting)
            line += [rate(row), bit_error_rate(row)] if row else ["", ""]
        lines.append(line)
    return [Table(["detector", *(
        f"{antennas}x{antennas} {NAMES[constellation]}, {quantity}"
        for antennas, constellation in settings for quantity in (unit, "bit error rate"))],
        lines)]


def isas(results):
    """Return the cases of several instruction sets, with a column for each set."""
    rates_of = {}
    for row in four_by_four(results["results"]):
        key = row["label"], row["constellation"]
        rates_of.setdefault(key, {})[row["isa"]] = row["mbit_per_s"]
    names = list(dict.fromkeys(row["isa"] for row in results["results"]))
    return [Table(["detector", "constellation",
                   *(f"{ISA_NAMES.get(name, name)}, Mbit/s" for name in names)],
                  [[spelled(label), NAMES[constellation], *(number(rates[name]) for name in names)]
                   for (label, constellation), rates in rates_of.items() if len(rates) > 1])]


def peers(results):
    """Compare each method of another project with our detector."""
    ours = {(row["label"], row["constellation"]): row
            for row in four_by_four(best_isa(results))}
    lines = []
    for row in results["peers"]:
        mine = ours[COUNTERPARTS[row["method"]], row["constellation"]]
        threads = row["threads"]
        lines.append([f"{row['peer'].split(',')[0]} {row['method']}", NAMES[row["constellation"]],
                      str(threads), number(row["mbit_per_s"]), bit_error_rate(row),
                      spelled(mine["label"]), number(mine["mbit_per_s"]), bit_error_rate(mine),
                      number(mine["mbit_per_s"] / row["mbit_per_s"] * threads
                             / results["threads"])])
    return [Table(["their program and method", "constellation", "their threads", "theirs, Mbit/s",
                   "theirs, bit error rate", "our detector", "ours, Mbit/s", "ours, bit error rate",
                   "our speed-up per thread"], lines)]


def threads(results):
    counts = sorted({row["threads"] for row in results["results"]})
    cases = {}
    for row in results["results"]:
        cases.setdefault((row["label"], row["constellation"]), {})[row["threads"]] = row
    lines = []
    for (label, constellation), rows in cases.items():
        alone = rows[1].get("mbit_per_s")
        lines.append([spelled(label), NAMES[constellation], number(alone),
                      *(percent(rows[count]["of_linear"]) for count in counts[1:])])
    return [Table(["detector", "constellation", "1 thread, Mbit/s",
                   *(f"{count} threads, % of linear" for count in counts[1:])], lines)]


def antennas(results):
    kinds = list(dict.fromkeys((row["detector"], row["constellation"])
                               for row in results["results"]))
    rows = {(row["detector"], row["constellation"], row["num_tx"]): row
            for row in results["results"]}
    lines = []
    for count in sorted({row["num_tx"] for row in results["results"]}):
        line = [str(count)]
        for kind in kinds:
            row = rows[(*kind, count)]
            line.append(f"{number(1e7 / row['vectors_per_s'])} ({number(row['speedup'])})")
        lines.append(line)
    return [Table(["antennas on each side", *(f"{name} {NAMES[constellation]}, ms (speed-up)"
                                              for name, constellation in kinds)], lines)]


def arrays(results):
    """Return the speed of each detector with 16-QAM, with a column for each size.

    The speed with T = 14 stands in parentheses.
    """
    rows = [row for row in results["results"] if row["constellation"] == "qam16"]
    sizes = list(dict.fromkeys((row["num_rx"], row["num_tx"]) for row in rows))
    rates = {}
    for row in rows:
        name, _, shared = row["label"].partition(", T = ")
        rates.setdefault(name, {})[row["num_rx"], row["num_tx"], bool(shared)] = row["mbit_per_s"]

    def cell(own, size):
        plain, shared = (own.get((*size, shared)) for shared in (False, True))
        return number(plain) + (f" ({number(shared)})" if shared else "")

    return [Table(["detector: Mbit/s (with T = 14)",
                   *(f"{num_rx}x{num_tx}" for num_rx, num_tx in sizes)],
                  [[spelled(name), *(cell(own, size) for size in sizes)]
                   for name, own in rates.items()])]


def batch(results):
    kinds = list(dict.fromkeys((row["label"], row["threads"]) for row in results["results"]))
    table = {(row["label"], row["threads"], row["vectors"]): row for row in results["results"]}
    lines = []
    for size in sorted({row["vectors"] for row in results["results"]}):
        rows = [table[(*kind, size)] for kind in kinds]
        lines.append([str(size), *(f"{duration(row['seconds'])} ({number(row['mbit_per_s'])})"
                                   for row in rows)])
    return [Table(["vectors per call",
                   *(f"{spelled(label)} on {thread_count(count)}: time (Mbit/s)"
                     for label, count in kinds)], lines)]


def flowgraph(results):
    def place(row):
        return "GPU" if row.get("backend") == "cuda" else thread_count(row["threads"])

    def millions(row, name):
        return number(row[name] / 1e6) if row.get(name) is not None else "-"

    return [Table(
        ["block", "runs on", "block, Mvectors/s", "% of no-op block",
         "detector on arrays, Mvectors/s", "% of bound"],
        [[spelled(row["label"]), place(row), millions(row, "vectors_per_s"),
          percent(row.get("of_no_op")), millions(row, "arrays_vectors_per_s"),
          percent(row.get("of_slower"))] for row in results["results"]])]


def codes(results):
    return [Table(
        ["code", "decoder", "iterations", "codewords/s", "Mbit/s", "speed-up over IT++",
         "bit error rate"],
        [[row["code"], row.get("peer", row.get("precision", row.get("isa"))),
          str(row["iterations"]), number(row["codewords_per_s"]), number(row["mbit_per_s"]),
          number(row.get("times_itpp")),
          f"{row['ber']:.1e}"] for row in (*results["results"], *results["peers"])])]


def megabits(row):
    return number(row["mbit_per_s"])


def gigabits(row):
    return number(row["mbit_per_s"] / 1e3)


def gpu_peers(results):
    """Compare Sionna's methods with our detectors, with one matrix per vector."""
    def setting(row):
        return row["num_rx"], row["num_tx"], row["constellation"]

    ours = {(row["label"], *setting(row)): row for row in results["results"]}
    theirs = {}
    for row in results.get("peers", ()):
        theirs.setdefault((row["method"], *setting(row)), {})[row["mode"]] = row
    lines = []
    for (method, num_rx, num_tx, constellation), modes in theirs.items():
        mine = ours.get((COUNTERPARTS[method], num_rx, num_tx, constellation))
        if mine:
            best = max(row["mbit_per_s"] for row in modes.values())
            lines.append([
                method, f"{num_rx}x{num_tx} {NAMES[constellation]}",
                *(gigabits(modes[mode]) if mode in modes else "-" for mode in MODES),
                bit_error_rate(next(iter(modes.values()))), spelled(mine["label"]),
                gigabits(mine), bit_error_rate(mine), number(mine["mbit_per_s"] / best)])
    return [Table(["Sionna's method", "receive antennas x layers",
                   *(f"Sionna, {mode}, Gbit/s" for mode in MODES), "Sionna, bit error rate",
                   "our detector", "ours, Gbit/s", "ours, bit error rate", "our speed-up"], lines)]


def by_size(results):
    """Return the rows as {label: {where: {vectors: row}}}."""
    rows = {}
    for row in results["results"]:
        rows.setdefault(row["label"], {}).setdefault(row["where"], {})[row["vectors"]] = row
    return rows


def gpu_batch(results):
    """Return the time of a call and Mbit/s, with a table for each detector."""
    parts = []
    for label, places in by_size(results).items():
        lines = []
        for size in sorted(set().union(*places.values())):
            rows = [rows.get(size) for rows in places.values()]
            lines.append([str(size), *(
                f"{duration(row['seconds'])} "
                f"({number(row.get('queued_mbit_per_s', row['mbit_per_s']))})" if row else ""
                for row in rows)])
        names = {"device": "data on the GPU"} | {
            where: f"{where} memory" for where in ("pinned", "ordinary")}
        parts.append(Table([f"{spelled(label)}: vectors per call",
                            *(f"{names.get(where, where)}: time (Mbit/s)" for where in places)],
                           lines))
    return parts


def gpu_crossover(results):
    """Return the smallest size from which on a call is faster on the GPU than on the CPU."""
    lines = []
    for label, places in by_size(results).items():
        for rival in (where for where in places if where.endswith("threads")):
            line = [spelled(label), rival]
            for where in ("device", "pinned", "ordinary"):
                rows = places.get(where, {})
                slower = [size for size, row in places[rival].items()
                          if size not in rows or rows[size]["seconds"] >= row["seconds"]]
                later = [size for size in places[rival] if size > max(slower, default=0)]
                line.append(str(min(later)) if later else f"over {max(slower)}")
            lines.append(line)
    places = ("data on the GPU", "pinned memory", "ordinary memory")
    return [Table(["detector", "threads of the CPU",
                   *(f"{place}: smallest number of vectors" for place in places)], lines)]


def gpu_searches(results):
    """Return the rates of tree searches, their latency, and the rates of the CPU and of Sionna."""
    def rate(row):
        return [number(1e-6 * row["vectors_per_s"]), gigabits(row)]

    def antennas(row):
        return f"{row['num_rx']}x{row['num_tx']} {NAMES[row['constellation']]}"

    lines = [[spelled(row["label"]), antennas(row), f"{row['snr_db']:g}", *rate(row),
              bit_error_rate(row), number(1e-6 * row["cpu_vectors_per_s"]), number(row["speedup"]),
              duration(row["latency_s"]), duration(row["latency_999_s"]),
              number(100 * row["truncated"] / row["vectors"])] for row in results["results"]]
    lines += [[f"Sionna {row['method']}, {row['mode']}", antennas(row), "20", *rate(row),
               bit_error_rate(row), *5 * ["-"]] for row in results["peers"]]
    return [Table(
        ["detector", "antennas", "SNR, dB", "GPU, Mvectors/s", "GPU, Gbit/s", "bit error rate",
         f"{results['threads']} threads, Mvectors/s", "GPU over threads", "latency, median",
         "latency, 99.9th percentile", "truncated, %"], lines)]


def gpu_slot(results):
    """Compare tables I to III of 001 with our times."""
    return [Table(
        ["antennas", "constellation", "N", "kernel, Gbit/s", "kernel, time",
         "001: QR and detection, time", "kernel, speed-up", "call from pinned memory, time",
         "call from ordinary memory, time", "001: total, time",
         "call from pinned memory, speed-up"],
        [[f"{row['num_tx']}x{row['num_tx']}", NAMES[row["constellation"]], str(row["passes"]),
          gigabits(row), duration(row["seconds"]), duration(row["paper_seconds"]),
          number(row["paper_seconds"] / row["seconds"]),
          duration(row["total_seconds"]["pinned"]), duration(row["total_seconds"]["ordinary"]),
          duration(row["paper_total_seconds"]),
          number(row["paper_total_seconds"] / row["total_seconds"]["pinned"])]
         for row in results["results"]])]


def gpu_exact(results):
    """Compare table 2 of 000 with our times."""
    threads = results["exact"][0]["threads"] if results["exact"] else 0

    def over(row, at):
        return number(row["paper_seconds"][at] / row["seconds"][at])

    return [Table(
        ["detector", *(f"{place}: time (speed-up)" for place in (
            "1 thread, baseline", f"{threads} threads", "GPU, data in host memory",
            "GPU, data on the GPU", "000, sequential", "000, 48 threads", "000, GPU")),
         "ours over 000, threads", "ours over 000, GPU with data in host memory"],
        [[spelled(row["label"]), *(f"{duration(seconds)} ({number(row['seconds'][0] / seconds)})"
                          for seconds in row["seconds"]),
          *(f"{seconds} s ({number(row['paper_seconds'][0] / seconds)})"
            for seconds in row["paper_seconds"]), over(row, 1), over(row, 2)]
         for row in results["exact"]])]


def gpu_antennas(results):
    """Return speed-ups over one thread, with a table for each detector."""
    names = list(dict.fromkeys(row["detector"] for row in results["results"]))
    return [_gpu_antennas(name, [row for row in results["results"] if row["detector"] == name])
            for name in names]


def _gpu_antennas(name, rows):
    places = (thread_count(rows[0]["threads"]), "GPU, host memory", "GPU")
    sizes, constellations = (list(dict.fromkeys(row[key] for row in rows))
                             for key in ("num_tx", "constellation"))
    speedups = {(row["num_tx"], row["constellation"]): row["speedup"] for row in rows}
    missing = [None] * len(places)
    return Table([f"{name}: antennas on each side",
                  *(f"{NAMES[constellation]}: {place}" for constellation in constellations
                    for place in places)],
                 [[str(size), *(number(speedup) for constellation in constellations
                                for speedup in speedups.get((size, constellation), missing))]
                  for size in sizes])


def gpu_psd(results):
    """Compare table 5 of 004, and its speed with 32 streams, with ours, in Mbit/s."""
    def over(rate, paper):
        return f"{number(rate)} ({number(rate / paper)})" if paper else number(rate)

    lines = []
    for row in results["results"]:
        if row["snr_db"] == 20:
            alone, most = row["paper_mbit_per_s"]
            first, *middle, last = row["streams"].values()
            lines.append([_antennas(row), NAMES[row["constellation"]], number(alone),
                          number(most) if most else "", over(first, alone), *map(number, middle),
                          over(last, most), over(row["mbit_per_s"], alone),
                          number(row["cpu_mbit_per_s"])])
    return [Table(["antennas", "constellation", "004: table 5", "004: 32 streams",
                   "ours: 1 stream (over table 5)", "2 streams", "4 streams", "8 streams",
                   "16 streams", "32 streams (over 004's)", "one launch (over table 5)",
                   f"CPU, {thread_count(results['threads'])}"], lines)]


def gpu_psd_snrs(results):
    """Return the speed with one stream and with 32 over SNR (figure 9 of 004)."""
    rates = {(_antennas(row), row["constellation"], row["snr_db"]):
             f"{number(row['streams']['1'])}, {number(row['streams']['32'])}"
             for row in results["results"]}
    sizes = list(dict.fromkeys(key[:2] for key in rates))
    return [Table(["SNR, dB", *(f"{antennas} {NAMES[name]}: 1, 32 streams"
                                for antennas, name in sizes)],
                  [[f"{snr:g}", *(rates.get((*size, snr), "-") for size in sizes)]
                   for snr in dict.fromkeys(key[2] for key in rates)])]


def _antennas(row):
    return f"{row['num_tx']}x{row['num_tx']}"


def gpu_link(results):
    return [Table(
        ["detector", "host memory", "detector, Mvectors/s", "link alone, Mvectors/s", "% of link"],
        [[spelled(row["label"]), row["where"], number(row["vectors_per_s"] / 1e6),
          number(row["link_vectors_per_s"] / 1e6), percent(row["of_link"])]
         for row in results["results"]])]


def gpu_devices(results):
    return [Table(
        ["detector", "first GPU, Gbit/s", "second GPU, Gbit/s", "both, Gbit/s", "speed-up"],
        [[spelled(row["label"]), *(number(rate / 1e3) for rate in row["single_mbit_per_s"]),
          gigabits(row), f"{row['speedup']:.2f}"]
         for row in results["results"]])]


def gpu_codes(results):
    return [Table(
        ["code", "most iterations", "mean iterations", "codewords/s", "Mbit/s", "bit error rate"],
        [[", ".join(filter(None, (row["code"], row.get("algorithm")))),
          str(row["iterations"]), number(row["iterations_taken"]),
          number(row["codewords_per_s"]), number(row["mbit_per_s"]), f"{row['ber']:.1e}"]
         for row in results["results"]])]
