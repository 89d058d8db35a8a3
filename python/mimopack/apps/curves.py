# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw error rates over SNR, without a display."""

import numpy as np

from .. import detectors
from ..constellation import BUILT_IN
from .style import STYLE, as_text, plt, save

_AXES = {"snr": "SNR per receive antenna, dB", "ebn0": "Eb/N0, dB"}
_MARKERS = "osD^v<>ph*"
_DETECTORS = {"bitflip": "BitFlip", "kbest": "K-best", "mmsepic": "MMSE-PIC", "nway": "N-way",
              "softsphere": "SoftSphere", "trellis": "Trellis", "zfsic": "ZF-SIC"}
_CODES = {"conv": "convolutional", "nr": "5G NR LDPC", "wifi": "Wi-Fi LDPC", "wimax": "WiMAX LDPC"}
_CHANNELS = {"awgn": "AWGN", "block": "block Rayleigh", "rayleigh": "Rayleigh"}
# Rates count for the axis if the interval of the frame error rate is shorter than this factor: from
# three wrong frames on.
_CERTAIN = 10


def detector_in_words(name):
    """Return a detector's name with parameters as people write it, such as "K-best (8)".

    Of a parameter that is the detector's first one and an integer, only the value stays.
    """
    origin, separator, name = name.rpartition(": ")    # of a campaign: the simulation's name
    name, _, given = name.partition(":")
    kind = detectors.REGISTRY.get(name)
    first = kind and kind.PARAMETERS and kind.PARAMETERS[0]
    main = f"{first.name}=" if first and first.kind == "int" else None
    values = [pair.removeprefix(main) if main else pair for pair in given.split(",") if pair]
    words = ", ".join(values).replace("_", " ").replace("=", " ")
    if kind and not kind.IN_PYTHON:
        name = _DETECTORS.get(name, name.upper())
    return f"{origin}{separator}{name}" + f" ({words})" * bool(words)


def constellation_in_words(name):
    """Return a constellation's name as people write it, such as "16-QAM"."""
    words = name.removeprefix("wlan_")
    words = f"{words[3:]}-QAM" if words.startswith("qam") else words.upper()
    return words + " (802.11)" * name.startswith("wlan_") if name in BUILT_IN else name


def _link_in_words(link):
    family, _, size = link["code"].partition(":")
    code = "uncoded" if family == "none" else f"{_CODES.get(family, family)} {size}".strip()
    kind, _, options = link["channel"].partition(":")
    channel = _CHANNELS.get(kind, kind.upper().replace("_", "-")) + f" ({options})" * bool(options)
    power = link.get("interferer")
    interferer = "" if power is None else f", interferer {power:g} dB"
    return (f"Simulated: {link['num_tx']}x{link['num_rx']} "
            f"{constellation_in_words(link['constellation'])}, {code}, channel {channel}"
            f"{interferer}")


def draw(rows, parameters, path, title=None, labels=None):
    """Draw frame and bit error rates with their 95 % intervals into a file.

    Without a code there are only bit error rates: a frame is then just a number of vectors. Points
    that are not complete are hollow. A point without errors is an arrow that begins at the upper
    end of its interval, or at the rate of the SNR before it if that is lower. So is a point below
    the picture, which ends below the lowest rate that three wrong frames or more have given.

    Args:
        rows: result rows of ``sim.Simulation.run``.
        parameters: ``parameters`` of the simulation's ``store``.
        path: path of the file.
        title: title of the figure; None describes the link.
        labels: {detector: its name in the legend}; others get the name that people write.
    """
    coded = not parameters["code"].startswith("none")
    names = {"fer": "frame error rate", "ber": "bit error rate (dotted: before decoding)"}
    if not coded:
        names = {"ber": "bit error rate"}
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(names), figsize=(5.5 * len(names), 5), sharex=True,
                                    layout="constrained", squeeze=False)
        axes = dict(zip(names, axes[0], strict=True))
        bottoms = {name: _bottom(rows, name) for name in names}
        for number, detector in enumerate(dict.fromkeys(row["detector"] for row in rows)):
            own = [row for row in rows if row["detector"] == detector]
            look = {"color": f"C{number % 10}", "marker": _MARKERS[number % len(_MARKERS)]}
            label = as_text((labels or {}).get(detector) or detector_in_words(detector))
            for name, axis in axes.items():
                _passes(axis, own, name, label, look, bottoms[name])
            if coded:
                _line(axes["ber"], own, [row["ber_before_decoding"] for row in own],
                      [row["ber_before_decoding_95"] for row in own],
                      {**look, "linestyle": ":", "marker": ""}, None, bottoms["ber"])
        first = next(iter(axes.values()))
        if not all(row["complete"] for row in rows):
            first.plot([], [], "o", markersize=4, color="grey", markerfacecolor="white",
                       label="not complete")
        for name, axis in axes.items():
            axis.set(yscale="log", ylim=(bottoms[name], 1.2), ylabel=names[name],
                     xlabel=_AXES[parameters["snr_kind"]])
            axis.grid(True, which="both", alpha=0.25)
        first.legend(fontsize=8)
        figure.suptitle(as_text(title or _link_in_words(parameters)))
        save(figure, path)


def _bottom(rows, name):
    """Return the lower end of the axis of a rate."""
    cells = [cell for row in rows for cell in zip(row[name], row[f"{name}_95"], row["fer_95"],
                                                  strict=True)]
    certain = [rate for rate, _, (low, high) in cells if high < _CERTAIN * low]
    certain += [high for rate, (_, high), _ in cells if not rate]
    return min(certain or [rate for rate, *_ in cells], default=1e-1) / 2


def _passes(axis, rows, name, label, look, bottom):
    """Draw a line for each pass of detector and decoder, solid for the last pass."""
    last = len(rows[0][name])
    for index in range(last):
        style = look if index + 1 == last else {**look, "linestyle": "--", "marker": "",
                                                "alpha": 0.35 + 0.5 * index / last}
        _line(axis, rows, [row[name][index] for row in rows],
              [row[f"{name}_95"][index] for row in rows], style,
              label + f", pass {index + 1}" * (last > 1), bottom)


def _line(axis, rows, rates, intervals, style, label, bottom):
    """Draw a line through the points; where a rate is 0 or too low, the point is an arrow."""
    at = np.array([row["at_db"] for row in rows])
    going = np.array([not row["complete"] for row in rows])
    floor, shown = 2 * bottom, [1.0]
    arrow = np.array(rates) < floor
    for rate, (_, high) in zip(rates, intervals, strict=True):
        shown.append(max(rate, floor) if rate else min(high, shown[-1]))
    shown = np.array(shown[1:])
    axis.plot(at, np.where(arrow, np.nan, shown), markersize=4, linewidth=1.3, label=label, **style)
    axis.plot(at[going & ~arrow], shown[going & ~arrow], markersize=4, markerfacecolor="white",
              **{**style, "linestyle": ""})
    if arrow.any():
        axis.errorbar(at[arrow], shown[arrow], 0.4 * shown[arrow], uplims=True, fmt="none",
                      ecolor=style["color"], alpha=style.get("alpha", 1))
    low, high = np.where(arrow[:, None], np.nan, intervals).T
    axis.fill_between(at, np.maximum(low, 1e-12), high, color=style["color"], alpha=0.1,
                      linewidth=0)
