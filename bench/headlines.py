# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the table of headline figures for docs/README.md; bench/tables.py writes it."""

import json

from gnuradio.mimopack.apps.bench.table import Table, number, thread_count
from suites.tables import COUNTERPARTS, best_isa, four_by_four


def one(rows, **wanted):
    """Return the only row with the wanted values."""
    [row] = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    return row


def speed(row):
    rate = row["mbit_per_s"]
    return f"{number(rate / 1e3)} Gbit/s" if rate >= 1e3 else f"{number(rate)} Mbit/s"


def place(results, threads=None):
    """Return the machine of the results in words."""
    machine = results["machine"]
    if "gpu" in machine:
        return machine["gpu"]["name"]
    processor = machine["processor"].replace("(R)", "").replace(" Processor", "")
    return f"{processor}, {thread_count(threads or results['threads'])}"


def receiver(case, threads):
    """Return a function that says how fast the Wi-Fi receiver is."""
    def told(results):
        times = one(results["results"], case=case)["times_real_time"][threads]
        return f"{times:.2f} times real time", place(results, int(threads))
    return told


def sensitivity(results):
    worst = max(need["snr_db"]["whole"] - need["snr_db"]["known"] for need in results["needs"])
    formats = len({need["format"] for need in results["needs"]})
    return f"{worst:.1f} dB or less, in {formats} formats", "simulated"


def gain(results):
    needs = [one(results["needs"], format="HT MCS 27", coding="bcc", correlation=correlation)
             for correlation in (0.0, 0.7)]
    apart, correlated = (need["snr_db"]["mmse"] - need["snr_db"]["nway"] for need in needs)
    return f"{apart:.1f} dB; {correlated:.1f} dB if antennas are correlated", "simulated"


def detector(results):
    row = one(four_by_four(best_isa(results)), label="nway(N=4)", constellation="qam16")
    return speed(row), place(results)


def peer(results, method="kbest16"):
    theirs = one(results["peers"], method=method, constellation="qam16")
    ours = one(four_by_four(best_isa(results)), label=COUNTERPARTS[method], constellation="qam16")
    ratio = ours["mbit_per_s"] / theirs["mbit_per_s"] * theirs["threads"] / results["threads"]
    return f"{number(ratio)} times", place(results)


def decoder(results):
    row = results["results"][0]
    over = f", {number(row['times_itpp'])} times IT++" if "times_itpp" in row else ""
    return speed(row) + over, place(results)


# (what, file of results, function that returns the figure and where it was measured)
FIGURES = (
    ("speed of the Wi-Fi receiver at 20 MS/s, two streams of 64-QAM (HT MCS 15)",
     "wifi-real-time-2core-epyc.json", receiver("HT MCS 15", "2")),
    ("the same, four streams of 16-QAM (HT MCS 27)",
     "wifi-real-time-16core-xeon.json", receiver("HT MCS 27", "4")),
    ("SNR that the Wi-Fi receiver needs beyond an ideal receiver",
     "wifi-sensitivity-2core-xeon.json", sensitivity),
    ("SNR that the detector N-way saves over MMSE, HT MCS 27",
     "wifi-detectors-error-rates-2core-epyc.json", gain),
    ("N-way, 4x4 16-QAM, coded bits", "cpu-2core-epyc.json", detector),
    ("the same on a GPU", "gpu-detectors-h200.json", detector),
    ("speed of K-best (K = 16) over Sionna's, per thread", "cpu-2core-epyc.json", peer),
    ("LDPC decoder, (2304, 1152), 20 iterations, coded bits", "codes-2core-epyc.json", decoder),
    ("the same on a GPU", "gpu-codes-h200.json", decoder),
)


def headlines(folder):
    """Return the table, from the folder of results."""
    rows = []
    for what, name, figure in FIGURES:
        value, where = figure(json.loads((folder / name).read_text()))
        rows.append([what, value, f"[{where}](../bench/results/{name})"])
    return [Table(["what", "figure", "measured on"], rows)]
