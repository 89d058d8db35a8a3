#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare detectors for large arrays by the SNR that they need and by their speed.

    bench/near_ml.py [--seconds 300] [--output FILE.json]
    bench/near_ml.py --draw FILE.json

A link with an LDPC code, i.i.d. Rayleigh channels, one per vector. The SNR is that at which the
receiver without feedback loses one frame in a hundred: the script simulates SNRs in steps of 0.5 dB
around it, then in steps of 0.25 dB, as `mimopack sim` does on the CPU, and interpolates the
logarithm of the error rate. Speeds are those of the detector alone with one matrix per vector, on
the CPU with all threads, and on an NVIDIA GPU if there is one, with data on the device.

--seconds is shared: two thirds for error rates, and one third for speeds without compiling. When
the time for error rates is over, the points so far count; a detector that has not reached the error
rate by then has no SNR. --draw makes docs/images/near_ml.png of a file.
"""

import argparse
import json
import math
import time
from pathlib import Path

from gnuradio.mimopack import _core, sim, specs
from gnuradio.mimopack.apps.bench.data import Data, Setting
from gnuradio.mimopack.apps.bench.detector import Case, DetectorRun, detector_row
from gnuradio.mimopack.apps.bench.measuring import take_turns
from gnuradio.mimopack.apps.machine import describe, describe_gpu
from gnuradio.mimopack.text import json_rows
from suites import first_call
from suites.failures import attempt

RECEIVERS = ("mmse", "mmsepic:num_iterations=3", "ep:num_iterations=2", "ep:num_iterations=4",
             "ep:num_iterations=10", "kbest:k=16", "kbest:k=64", "kbest:k=256", "sfsd:levels=1",
             "sfsd:levels=2", "sfsd:levels=3", "nway", "fpfsd")
TARGET = 0.01    # frame error rate
STEP_DB, MOST_STEPS = 0.5, 20
ROUNDS = 3
VECTORS = {"cpu": 20_000, "cuda": 200_000}
IMAGE = Path(__file__).resolve().parents[1] / "docs" / "images" / "near_ml.png"
# Colours by the detector's name
COLOURS = {"ep": "#1f6fb4", "kbest": "#d95f02", "sfsd": "#2a9d5c", "mmse": "#555555",
           "mmsepic": "#555555", "nway": "#9054a8", "fpfsd": "#9054a8"}


def fer_of(rows, label):
    """Return {SNR: frame error rate} of a receiver."""
    return {row["at_db"]: row["fer"][-1] for row in rows if row["detector"] == label}


def around_target(curve):
    """Return the neighbouring SNRs (above, below) the target, None where there is no such SNR."""
    above = [snr for snr, fer in curve.items() if fer > TARGET]
    low = max(above, default=None)
    below = [snr for snr, fer in curve.items() if fer <= TARGET and (low is None or snr > low)]
    return low, min(below, default=None)


def needed_db(curve):
    """Return the SNR at which the error rate falls to the target, or None."""
    low, high = around_target(curve)
    if None in (low, high):
        return None
    floor = TARGET / 100    # no errors at all
    above, below = (math.log(max(curve[snr], floor)) for snr in (low, high))
    return low + (high - low) * (above - math.log(TARGET)) / (above - below)


def error_rates(link, arguments, seconds):
    """Return the rows of ``Simulation``, around the target of each receiver."""
    end, rows, labels = time.monotonic() + seconds, [], list(arguments.receivers)

    def run(snr, active):
        left = end - time.monotonic()
        if active and left > 0:
            rows.extend(sim.Simulation(link, active, threads=arguments.threads).run(
                [snr], arguments.errors, round(arguments.errors / TARGET), seconds=left))
            print(f"{snr:g} dB: " + ", ".join(
                f"{label} {fer_of(rows, label)[snr]:.2g}" for label in active
                if snr in fer_of(rows, label)), flush=True)

    for step in range(MOST_STEPS):
        snr = arguments.first_db + STEP_DB * step
        active = [label for label in labels
                  if min(fer_of(rows, label).values(), default=1) > TARGET]
        if not active or time.monotonic() > end:
            break
        run(snr, active)
    between = {label: sum(around_target(fer_of(rows, label))) / 2 for label in labels
               if None not in around_target(fer_of(rows, label))}
    for snr in sorted(set(between.values())):
        run(snr, [label for label in labels if between.get(label) == snr])
    return rows


def cases(arguments):
    setting = Setting(arguments.num_tx, arguments.num_rx, arguments.constellation,
                      arguments.speed_snr)
    for label in arguments.receivers:
        spec = specs.parse(label)
        yield label, Case(spec.name, spec.keywords, setting)


def speeds_on_cpu(arguments, seconds):
    """Return a row for each receiver."""
    own = list(cases(arguments))
    data = Data(own[0][1].setting, VECTORS["cpu"])
    runs = [DetectorRun(case.create(backend="cpu", threads=arguments.threads), data)
            for _, case in own]
    take_turns(runs, seconds / len(runs), ROUNDS)
    return [{"receiver": label, **detector_row(case, run)}
            for (label, case), run in zip(own, runs, strict=True)]


def speeds_on_gpu(arguments, seconds):
    """Return (rows, {receiver: why it has none})."""
    from suites.on_gpu import DeviceData, DeviceRun

    own, rows, missing, runs = list(cases(arguments)), [], {}, []
    data = DeviceData(Data(own[0][1].setting, VECTORS["cpu"]), VECTORS["cuda"])
    with first_call.empty_cache():
        compiled = first_call.all_of([case for _, case in own])
        for (label, case), first in zip(own, compiled, strict=True):
            if isinstance(first, str):
                missing[label] = first
            else:
                runs.append((label, case, DeviceRun(case.create(backend="cuda"), data)))
        take_turns([run for *_, run in runs], seconds / len(own), ROUNDS)
    for label, case, run in runs:
        row, why = attempt(lambda case=case, run=run: detector_row(case, run), run)
        if row:
            rows.append({"receiver": label, **row})
        else:
            missing[label] = why
    return rows, missing


def measure(arguments):
    machine = describe()
    link = sim.Link(arguments.num_tx, arguments.num_rx, arguments.constellation, arguments.code)
    found = {"what": "SNR that detectors need, simulated, and their speed", "machine": machine,
             "num_tx": link.num_tx, "num_rx": link.num_rx, "constellation": link.constellation,
             "code": link.code, "target_fer": TARGET, "errors": arguments.errors,
             "seconds": arguments.seconds, "threads": arguments.threads or _core.max_threads(),
             "speed_snr_db": arguments.speed_snr}
    rows = error_rates(link, arguments, 2 / 3 * arguments.seconds)
    found["needed_db"] = {label: needed_db(fer_of(rows, label)) for label in arguments.receivers}
    found["error_rates"] = [{"receiver": row["detector"], "at_db": row["at_db"],
                             "frames": row["frames"], "complete": row["complete"],
                             "fer": row["fer"][-1], "fer_95": row["fer_95"][-1]} for row in rows]
    share = arguments.seconds / 6
    found["cpu"] = speeds_on_cpu(arguments, share)
    try:
        machine["gpu"] = describe_gpu()
    except (ValueError, ImportError) as error:
        print(f"no speeds on a GPU: {error}")
    else:
        found["cuda"], found["missing"] = speeds_on_gpu(arguments, share)
    return found


def show(found):
    speeds = {backend: {row["receiver"]: row["mbit_per_s"] for row in found.get(backend, ())}
              for backend in ("cpu", "cuda")}
    for label, needed in sorted(found["needed_db"].items(), key=lambda one: one[1] or 99):
        print(f"{label:26}", "-" if needed is None else f"{needed:.2f} dB", *(
            f"{backend} {rates[label]:.4g} Mbit/s" for backend, rates in speeds.items()
            if label in rates), sep="  ")


def draw(path):
    import matplotlib
    from picture import place_labels

    plt = matplotlib.pyplot
    found = json.loads(path.read_text())
    machine = found["machine"]
    panels = [(backend, where) for backend, where in (
        ("cpu", f"{machine['processor']}, {found['threads']} threads"),
        ("cuda", machine.get("gpu", {}).get("name"))) if found.get(backend)]
    with plt.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = plt.subplots(len(panels), 1, figsize=(9, 5 * len(panels)), dpi=110,
                                    squeeze=False)
        drawn = []
        for (backend, where), one in zip(panels, axes[:, 0], strict=True):
            marks = [(row["receiver"].replace(":", " ").replace("num_iterations=", ""),
                      row["mbit_per_s"], found["needed_db"][row["receiver"]],
                      COLOURS.get(row["detector"], "#222222"), "o") for row in found[backend]
                     if found["needed_db"][row["receiver"]] is not None]
            for _, x, y, colour, mark in marks:
                one.plot(x, y, mark, color=colour, ms=5.5, zorder=3)
            one.set(xscale="log", xlabel="Mbit/s of coded bits (better to the right)",
                    ylabel=f"SNR in dB where {100 * TARGET:g} % of frames are lost (better below)")
            one.set_title(f"{found['num_rx']}x{found['num_tx']} {found['constellation']}, "
                          f"{found['code']}, one channel per vector; {where}", fontsize=9)
            x, y = [mark[1] for mark in marks], [mark[2] for mark in marks]
            one.set_xlim(min(x) / 2, max(x) * 3)
            one.set_ylim(min(y) - 0.4, max(y) + 0.4)
            one.grid(True, which="both", alpha=0.25)
            drawn.append((one, marks))
        figure.tight_layout()
        figure.canvas.draw()
        for one, marks in drawn:
            place_labels(one, marks)
        figure.savefig(IMAGE, metadata={"Software": None})
    print(f"written: {IMAGE}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-tx", type=int, default=16)
    parser.add_argument("--num-rx", type=int, default=16)
    parser.add_argument("--constellation", default="qam16")
    parser.add_argument("--code", default="wifi:1944:1/2")
    parser.add_argument("--receivers", nargs="+", default=RECEIVERS, metavar="DETECTOR")
    parser.add_argument("--first-db", type=float, default=11.0, metavar="DB",
                        help="lowest SNR per receive antenna")
    parser.add_argument("--errors", type=int, default=100, help="frame errors that end a point")
    parser.add_argument("--speed-snr", type=float, default=12.0, metavar="DB",
                        help="SNR per receive antenna at which the speed is measured")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--draw", type=Path, metavar="FILE.json", help="draw a file, and end")
    arguments = parser.parse_args()
    if arguments.draw:
        draw(arguments.draw)
        return
    found = measure(arguments)
    if arguments.output:
        arguments.output.write_text(json_rows(found) + "\n", encoding="utf-8")
    show(found)


if __name__ == "__main__":
    main()
