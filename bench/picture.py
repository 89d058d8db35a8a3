#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw bit error rate against speed.

The picture is docs/images/speed.png for results of the suite cpu, docs/images/gpu.png for
results of the suite gpu:

    bench/picture.py bench/results/cpu-2core-epyc.json
    bench/picture.py bench/results/gpu-sionna-h200.json
"""

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
ENOUGH_VECTORS = 1000
HARD = {"hfsd", "zfsic", "sd", "asd", "psd"}
BLUE, ORANGE, GREY = "#1f6fb4", "#d95f02", "#8a8a8a"
# Possible positions of a label, in points from its mark, the nearest first.
PLACES = [(sign * 5, 3) for sign in (1, -1)] + [
    (dx, dy) for dy in (-14, 14, -26, 26, -38, 38, -50, 50, -62, 62, -74, 74)
    for dx in (0, 14, -14, 30, -30, 50, -50)]


def points(results, antennas):
    """Return (label, speed, bit error rate, colour, mark) of all 16-QAM rows with ``antennas``.

    The speed is in Mbit/s, for a GPU in Gbit/s.
    """
    own = results["results"]
    ours = [(row["label"], row["mbit_per_s"], row["ber"], BLUE,
             "s" if row["detector"] in HARD else "o")
            for row in own if row["isa"] == own[0]["isa"] and row["constellation"] == "qam16"
            and row["num_tx"] == antennas and row["symbols_per_channel"] == 1]
    theirs = [(" ".join([row["peer"].split()[0], row["method"], row.get("mode", "")]).strip(),
               row["mbit_per_s"], row["ber"], ORANGE, "^")
              for row in results["peers"] if row["constellation"] == "qam16"
              and row["num_tx"] == antennas and row["vectors_compared"] >= ENOUGH_VECTORS]
    unit = 1e3 if "gpu" in results["machine"] else 1
    return [(label, rate / unit, ber, colour, mark)
            for label, rate, ber, colour, mark in (*ours, *theirs) if ber]


def place_labels(axes, marks):
    """Draw labels at positions where they cover neither marks nor other labels."""
    figure = axes.figure
    renderer = figure.canvas.get_renderer()
    taken = []
    for _, x, y, _, _ in marks:
        at = axes.transData.transform((x, y))
        taken.append(matplotlib.transforms.Bbox.from_bounds(at[0] - 4, at[1] - 4, 8, 8))
    inside = axes.get_window_extent(renderer)
    for label, x, y, colour, _ in sorted(marks, key=lambda mark: -mark[1]):
        for dx, dy in PLACES:
            text = axes.annotate(
                label, (x, y), (dx, dy), textcoords="offset points", fontsize=7.5, color=colour,
                ha="left" if dx > 0 else "right" if dx < 0 else "center",
                arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.5, "shrinkA": 0,
                            "shrinkB": 3} if abs(dy) > 5 else None)
            text.update_positions(renderer)
            box = matplotlib.text.Text.get_window_extent(text, renderer).padded(1)
            fits = (inside.x0 < box.x0 and box.x1 < inside.x1 and inside.y0 < box.y0
                    and box.y1 < inside.y1)
            if fits and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()
        else:
            raise RuntimeError(f"no room for the label {label}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    results = json.loads(arguments.results.read_text())
    card = results["machine"].get("gpu")
    output = arguments.output or IMAGES / ("gpu.png" if card else "speed.png")
    place = (f"data on one {card['name']}" if card
             else f"{results['threads']} threads, {results['machine']['processor']}")
    with plt.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, panels = plt.subplots(2, 1, figsize=(9, 10), dpi=110)
        drawn = [(axes, points(results, antennas))
                 for axes, antennas in zip(panels, (4, 8), strict=True)]
        for (axes, marks), antennas in zip(drawn, (4, 8), strict=True):
            for _, x, y, colour, mark in marks:
                axes.plot(x, y, mark, color=colour, ms=5.5, zorder=3)
            axes.set(xscale="log", yscale="log", ylabel="uncoded bit error rate (better below)",
                     xlabel=f"{'Gbit/s' if card else 'Mbit/s'} of coded bits (better to the "
                            "right)")
            axes.set_title(f"{antennas}x{antennas} 16-QAM, 20 dB per receive antenna, one channel "
                           f"per vector; {place}", fontsize=9)
            x, y = [mark[1] for mark in marks], [mark[2] for mark in marks]
            axes.set_xlim(min(x) / 3, max(x) * 3)
            axes.set_ylim(min(y) / 2.5, max(y) * 1.8)
            axes.grid(True, which="both", alpha=0.25)
        for text, colour, mark in (("soft output", BLUE, "o"), ("hard decisions", BLUE, "s"),
                                   ("other projects, same run", ORANGE, "^")):
            panels[0].plot([], [], mark, color=colour, label=text)
        panels[0].legend(loc="upper left", frameon=False)
        figure.tight_layout()
        figure.canvas.draw()
        for axes, marks in drawn:
            place_labels(axes, marks)
        figure.savefig(output, metadata={"Software": None})
    print(f"written: {output}")


if __name__ == "__main__":
    main()
