# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results as tables of text."""

import click

# Bit errors come several to a vector; fewer vectors than this say nothing of a rate.
ENOUGH_VECTORS = 2000


def table(header, rows):
    """Columns as wide as they must be; the first ones to the left, numbers to the right."""
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(header))]
    for line in lines:
        click.echo("  ".join(text.rjust(width) if right else text.ljust(width)
                             for text, width, right in zip(line, widths, numeric, strict=True))
                   .rstrip())


def _is_number(text):
    return not text.strip("0123456789.e+-%<x ") and (text == "" or any(map(str.isdigit, text))
                                                     or text == "-")


def number(value, digits=4):
    return "-" if value is None else f"{value:.{digits}g}"


def percent(value):
    return "-" if value is None else f"{100 * value:.0f} %"


def _antennas(row):
    return f"{row['num_tx']}x{row['num_rx']}"


def _threads(count):
    return "1 thread" if count == 1 else f"{count} threads"


def bit_error_rate(row):
    if row["vectors_compared"] < ENOUGH_VECTORS:
        return "-"
    return f"{row['ber']:.2e}" if row["ber"] else f"< {3 / row['bits_compared']:.0e}"


def print_cpu(results):
    header = ("detector", "antennas", "constellation", "isa", "vectors/s", "Mbit/s", "target",
              "of it", "limit", "of it", "by", "BER")
    rows = []
    for row in results["results"]:
        limit = row["limit_mbit_per_s"][row["limited_by"]]
        rows.append((row["label"], _antennas(row), row["constellation"], row["isa"],
                     number(row["vectors_per_s"]), number(row["mbit_per_s"]),
                     number(row.get("target_mbit_per_s")), percent(row.get("of_target")),
                     number(limit, 3), percent(row["of_limit"]), row["limited_by"],
                     bit_error_rate(row)))
    for row in results["peers"]:
        rows.append((f"{row['peer'].split(',')[0]} {row['method']}", _antennas(row),
                     row["constellation"], _threads(row["threads"]), number(row["vectors_per_s"]),
                     number(row["mbit_per_s"]), "-", "-", "-", "-", "", bit_error_rate(row)))
    table(header, rows)
    for peer, reason in results["peers_missing"].items():
        click.echo(f"{peer}: {reason}")
    rates = results["rates"]
    issue = ", ".join(f"{isa} {rate / 1e9:.1f}"
                      for isa, rate in rates["simd_instructions_per_s"].items())
    click.echo(f"limits from 1e9 SIMD instructions a second ({issue}) and "
               f"{rates['copy_bytes_per_s'] / 1e9:.1f} GB/s of a copy, read and written together")


def print_codes(results):
    header = ("code", "decoder", "iterations", "codewords/s", "Mbit/s", "x IT++", "at least", "BER")
    rows = [(row["code"], row.get("peer", row.get("precision", row.get("isa"))),
             str(row["iterations"]), number(row["codewords_per_s"]), number(row["mbit_per_s"]),
             number(row.get("times_itpp"), 3), number(row.get("target_times_itpp")),
             f"{row['ber']:.1e}") for row in (*results["results"], *results["peers"])]
    table(header, rows)
    for peer, reason in results["peers_missing"].items():
        click.echo(f"{peer}: {reason}")


def print_gpu_codes(results):
    header = ("code", "iterations", "taken", "codewords/s", "Mbit/s", "at least", "BER")
    table(header, [(", ".join(filter(None, (row["code"], row.get("algorithm")))),
                    str(row["iterations"]), number(row["iterations_taken"], 3),
                    number(row["codewords_per_s"]), number(row["mbit_per_s"]),
                    number(row.get("target_mbit_per_s")), f"{row['ber']:.1e}")
                   for row in results["results"]])


def print_single(rows):
    """The free form: one table of detectors and backends."""
    header = ("detector", "backend", "vectors/s", "Mbit/s", "BER", "x reference")
    table(header, [(row["label"], f"{row['backend']} {row['isa'] or ''}".rstrip(),
                    number(row["vectors_per_s"]), number(row["mbit_per_s"]), bit_error_rate(row),
                    number(row.get("ratio_to_reference"), 3)) for row in rows])


def print_threads(results):
    header = ("detector", "constellation", "threads", "Mbit/s", "x one thread", "of linear",
              "at least")
    table(header, [(row["label"], row["constellation"], str(row["threads"]),
                    number(row.get("mbit_per_s")), number(row["speedup"], 3),
                    percent(row["of_linear"]), percent(row.get("target_of_linear")))
                   for row in results["results"]])


def print_antennas(results):
    header = ("detector", "constellation", "antennas", "ms for 10000", "Mbit/s",
              "ms, one plain thread", "speed-up")
    table(header, [(row["detector"], row["constellation"], str(row["num_tx"]),
                    number(1e7 / row["vectors_per_s"]), number(row["mbit_per_s"]),
                    number(1e7 / row["plain_vectors_per_s"]), number(row["speedup"], 3))
                   for row in results["results"]])


def print_batch(results):
    header = ("detector", "threads", "vectors", "us a call", "99 % under", "at most", "vectors/s",
              "Mbit/s")
    table(header, [(row["label"], str(row["threads"]), str(row["vectors"]),
                    number(1e6 * row["seconds"]), number(1e6 * row["seconds_99"]),
                    number(row["target_seconds"] and 1e6 * row["target_seconds"]),
                    number(row["vectors_per_s"]), number(row["mbit_per_s"]))
                   for row in results["results"]])


def print_flowgraph(results):
    header = ("block", "backend", "threads", "Mvec/s", "mean batch", "of no-op", "at least",
              "arrays, Mvec/s", "of the slower")
    table(header, [(row["label"], row["backend"], str(row["threads"]),
                    number(row["vectors_per_s"] / 1e6, 3), number(row["mean_batch"]),
                    percent(row.get("of_no_op")),
                    percent(row.get("target_of_no_op")),
                    number(row.get("arrays_vectors_per_s", 0) / 1e6 or None, 3),
                    percent(row.get("of_slower"))) for row in results["results"]])
    print_missing(results)


print_gpu_flowgraph = print_flowgraph


def print_missing(results):
    for row in results["missing"]:
        click.echo(f"missing: {row['label']} {row['constellation']} {_antennas(row)}: "
                   f"{row['reason']}", err=True)


def print_gpu(results):
    header = ("detector", "antennas", "constellation", "Gvec/s", "Gbit/s", "target", "of it",
              "limit", "of it", "by", "registers", "local", "blocks", "first call", "BER")
    rows = []
    for row in results["results"]:
        limit, kernel = row["limit_mbit_per_s"][row["limited_by"]], row["kernel"]
        target = row.get("target_mbit_per_s")
        rows.append((row["label"], _antennas(row), row["constellation"],
                     number(row["vectors_per_s"] / 1e9), number(row["mbit_per_s"] / 1e3),
                     number(target and target / 1e3), percent(row.get("of_target")),
                     number(limit / 1e3, 3), percent(row["of_limit"]), row["limited_by"],
                     str(kernel["registers"]), str(kernel["local_bytes"]),
                     str(kernel["blocks_per_processor"]),
                     f"{row['first_call_seconds']:.1f}", bit_error_rate(row)))
    for row in results["peers"]:
        rows.append((f"{row['peer'].split(',')[0]} {row['method']}, {row['mode']}",
                     _antennas(row), row["constellation"], number(row["vectors_per_s"] / 1e9),
                     number(row["mbit_per_s"] / 1e3), *["-"] * 4, "", *["-"] * 4,
                     bit_error_rate(row)))
    table(header, rows)
    print_missing(results)
    for peer, why in results["peers_missing"].items():
        click.echo(f"{peer}: {why}")
    rates = results["rates"]
    click.echo(f"limits from {rates['thread_instructions_per_s'] / 1e12:.1f}e12 instructions of "
               f"threads a second and {rates['copy_bytes_per_s'] / 1e9:.0f} GB/s of a copy, read "
               "and written together")


def print_gpu_batch(results):
    header = ("detector", "where", "vectors", "us a call", "99 % under", "Mbit/s",
              "without waiting, Mbit/s")
    table(header, [(row["label"], row["where"], str(row["vectors"]),
                    number(1e6 * row["seconds"]), number(1e6 * row["seconds_99"]),
                    number(row["mbit_per_s"]), number(row.get("queued_mbit_per_s")))
                   for row in results["results"]])
    print_missing(results)


def print_gpu_slot(results):
    header = ("N-way, 8400 vectors", "antennas", "constellation", "us", "paper", "with transport",
              "from ordinary memory", "paper")
    table(header, [(row["label"], f"{row['num_tx']}x{row['num_tx']}", row["constellation"],
                    *(number(1e6 * seconds) for seconds in (
                        row["seconds"], row["paper_seconds"], row["total_seconds"]["pinned"],
                        row["total_seconds"]["ordinary"], row["paper_total_seconds"])))
                   for row in results["results"]])
    header = ("exact, 10000 vectors", "s, one plain thread", "threads", "GPU", "GPU, data there",
              "paper", "threads", "GPU")
    table(header, [(row["label"], *map(number, row["seconds"]), *map(number, row["paper_seconds"]))
                   for row in results["exact"]])
    print_missing(results)


def print_gpu_link(results):
    header = ("detector", "memory", "Mvec/s", "link, Mvec/s", "of it", "at least")
    table(header, [(row["label"], row["where"], number(row["vectors_per_s"] / 1e6),
                    number(row["link_vectors_per_s"] / 1e6), percent(row["of_link"]),
                    percent(row.get("target_of_link"))) for row in results["results"]])
    print_missing(results)


def print_gpu_devices(results):
    header = ("detector", "first, Gbit/s", "second", "both", "times the first", "at least")
    table(header, [(row["label"], *(number(rate / 1e3) for rate in row["single_mbit_per_s"]),
                    number(row["mbit_per_s"] / 1e3), number(row["speedup"], 3),
                    number(row["target_speedup"])) for row in results["results"]])
    print_missing(results)
