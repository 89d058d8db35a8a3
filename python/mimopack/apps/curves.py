# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw error rates over SNR, without a display."""

import numpy as np

from .style import STYLE, as_text, plt, save

_AXES = {"snr": "SNR per receive antenna, dB", "ebn0": "Eb/N0, dB"}
_MARKERS = "osD^v<>ph*"


def draw(rows, parameters, path, title=None):
    """Draw frame and bit error rates with their 95 % intervals into a file.

    Without a code there are only bit error rates: a frame is then just a number of vectors. Points
    that are not complete are hollow.

    Args:
        rows: result rows of ``sim.Simulation.run``.
        parameters: ``parameters`` of the simulation's ``store``.
        path: path of the file.
        title: title of the figure; None describes the link.

    Raises:
        ValueError, OSError: as for ``style.save``.
    """
    coded = not parameters["code"].startswith("none")
    names = {"fer": "frame error rate", "ber": "bit error rate (dotted: before decoding)"}
    if not coded:
        names = {"ber": "bit error rate"}
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(names), figsize=(5.5 * len(names), 5), sharex=True,
                                    layout="constrained", squeeze=False)
        axes = dict(zip(names, axes[0], strict=True))
        for number, detector in enumerate(dict.fromkeys(row["detector"] for row in rows)):
            own = [row for row in rows if row["detector"] == detector]
            look = {"color": f"C{number % 10}", "marker": _MARKERS[number % len(_MARKERS)]}
            for name, axis in axes.items():
                _passes(axis, own, name, detector, look)
            if coded:
                _line(axes["ber"], own, [row["ber_before_decoding"] for row in own],
                      [row["ber_before_decoding_95"] for row in own],
                      {**look, "linestyle": ":", "marker": ""}, None)
        first = next(iter(axes.values()))
        if not all(row["complete"] for row in rows):
            first.plot([], [], "o", markersize=4, color="grey", markerfacecolor="white",
                       label="not complete")
        for name, axis in axes.items():
            drawn = np.concatenate([line.get_ydata() for line in axis.lines])
            lowest = np.nanmin(drawn) if np.isfinite(drawn).any() else 1e-1
            axis.set(yscale="log", ylim=(lowest / 2, 1.2), ylabel=names[name],
                     xlabel=_AXES[parameters["snr_kind"]])
            axis.grid(True, which="both", alpha=0.25)
        first.legend(fontsize=8)
        figure.suptitle(as_text(
            title or "Simulated: {num_tx}x{num_rx} {constellation}, code {code}, channel {channel}"
            .format(**parameters)))
        save(figure, path)


def _passes(axis, rows, name, detector, look):
    """Draw a line for each pass of detector and decoder, solid for the last pass."""
    last = len(rows[0][name])
    for index in range(last):
        style = look if index + 1 == last else {**look, "linestyle": "--", "marker": "",
                                                "alpha": 0.35 + 0.5 * index / last}
        label = as_text(detector) + f", pass {index + 1}" * (last > 1)
        _line(axis, rows, [row[name][index] for row in rows],
              [row[f"{name}_95"][index] for row in rows], style, label)


def _line(axis, rows, rates, intervals, style, label):
    at = [row["at_db"] for row in rows]
    shown = np.where(np.array(rates) > 0, rates, np.nan)
    axis.plot(at, shown, markersize=4, linewidth=1.3, label=label, **style)
    going = [not row["complete"] for row in rows]
    axis.plot(np.array(at)[going], shown[going], markersize=4, markerfacecolor="white",
              **{**style, "linestyle": ""})
    low, high = np.where(np.isnan(shown)[:, None], np.nan, intervals).T
    axis.fill_between(at, np.maximum(low, 1e-12), high, color=style["color"], alpha=0.1,
                      linewidth=0)
